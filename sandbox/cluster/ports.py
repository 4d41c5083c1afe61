"""Ports of simulated clusters: reserved per user, so that clusters of all checkouts can run at once.

kwokctl picks ports that are free at that moment. Two of them at once pick the same, and a stopped cluster
loses its ports to the next. So every cluster keeps a block of its own as long as its stack's folder is there.

They are below the range that Linux takes the ports of connections from (32768 and up): a cluster that starts
again would find some connection there.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.reservations import Reservations

FIRST, LAST, BLOCK = 20_000, 29_990, 10
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


@contextmanager
def held(count: int) -> Iterator[list[int]]:
    """Different ports for programs that come and go, which nobody else is given until the block is left.

    A port that is merely free would be taken by whatever connects or listens before the program does. These
    are bound and do not listen: Linux hands them out no more, and still lets a program listen there that sets
    SO_REUSEADDR, as all of the sandbox do.
    """
    with ExitStack() as sockets:
        found = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("", 0))
            except OSError as error:
                raise SandboxProblem(
                    f"no port is free on this machine: {error.strerror}. End programs that listen or connect."
                ) from error
        yield [one.getsockname()[1] for one in found]


def free(port: int) -> bool:
    """True when nothing listens on the port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
