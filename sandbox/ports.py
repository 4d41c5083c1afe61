"""Ports of simulated clusters: reserved per user, so that clusters of all checkouts can run at once.

kwokctl picks ports that are free at that moment. Two of them at once pick the same, and a stopped cluster
loses its ports to the next. So every cluster keeps a block of its own as long as its stack's folder is there.

All ports are below the range Linux takes outgoing ports from (32768 and up): a program that listens seconds
after its port was chosen would find some connection there.
"""

import random
import socket
from itertools import islice
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.reservations import Reservations

FIRST, LAST, BLOCK = 20_000, 29_990, 10
# Of programs that come and go, without a reservation.
UNRESERVED = range(10_000, 20_000)
NAMES = (
    "etcdPort",
    "etcdPeerPort",
    "kubeApiserverPort",
    "kubeControllerManagerPort",
    "kubeSchedulerPort",
    "kwokControllerPort",
)
_RESERVATIONS = Reservations("ports")


def reserve(cluster_folder: Path, *, avoid: frozenset[int] = frozenset()) -> int:
    """The first port of the cluster's block: its own, or a new one whose ports are all free.

    A cluster's own block is given up when it is among `avoid`.
    """
    first = _RESERVATIONS.reserve(
        cluster_folder,
        range(FIRST, LAST, BLOCK),
        avoid=avoid,
        usable=lambda first: all(free(port) for port in range(first, first + len(NAMES))),
    )
    if first is None:
        raise SandboxProblem(
            f"no {len(NAMES)} free ports in a row between {FIRST} and {LAST}. "
            "End sandboxes of other checkouts with `inferfleet sandbox down`."
        )
    return first


def release(cluster_folder: Path) -> None:
    """Gives the cluster's ports back."""
    _RESERVATIONS.release(cluster_folder)


def numbers(first: int) -> dict[str, int]:
    """The ports of a block by the names kwokctl's configuration has for them."""
    return {name: first + offset for offset, name in enumerate(NAMES)}


def unreserved(count: int) -> list[int]:
    """Different ports that are free on every address. At random: others choose at the same time."""
    at_random = random.sample(UNRESERVED, len(UNRESERVED))
    found = list(islice((port for port in at_random if free(port, "")), count))
    if len(found) < count:
        between = f"{UNRESERVED[0]} and {UNRESERVED[-1]}"
        raise SandboxProblem(f"no {count} free ports between {between}. End programs that listen there.")
    return found


def free(port: int, address: str = "127.0.0.1") -> bool:
    """True when nothing listens on the port of this machine; "" are all its addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
