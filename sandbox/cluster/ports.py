"""Ports of simulated clusters: reserved per user, so that clusters of all checkouts can run at once.

kwokctl picks ports that are free at that moment. Two of them at once pick the same ports, and a stopped
cluster loses its ports to the next one. So every cluster keeps a block of its own for as long as its stack's
folder exists.

The blocks are below the range from which Linux takes the local ports of connections (32768 and up). Otherwise
a connection could hold a port that a restarted cluster needs.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sandbox.cluster.reservations import Reservations
from sandbox.problem import SandboxProblem

FIRST, LAST, BLOCK = 20_000, 29_990, 10
NAMES = (
    "etcdPort",
    "etcdPeerPort",
    "kubeApiserverPort",
    "kubeControllerManagerPort",
    "kubeSchedulerPort",
    "kwokControllerPort",
)
# A cluster's last port is that of the webhooks of its LeaderWorkerSet controller (see lws/).
_USED = len(NAMES) + 1
_RESERVATIONS = Reservations("ports")


def reserve(cluster_folder: Path, *, avoid: frozenset[int] = frozenset()) -> int:
    """Return the first port of the cluster's block: the one it has, or a new one whose ports are all free.

    The block it has is given up when it is among `avoid`. Raises SandboxProblem when no block is free.
    """
    first = _RESERVATIONS.reserve(
        cluster_folder,
        range(FIRST, LAST, BLOCK),
        avoid=avoid,
        usable=lambda first: all(free(port) for port in range(first, first + _USED)),
    )
    if first is None:
        raise SandboxProblem(
            f"no {_USED} free ports in a row between {FIRST} and {LAST}. "
            "End sandboxes of other checkouts with `inferfleet sandbox down`."
        )
    return first


def release(cluster_folder: Path) -> None:
    """Give the cluster's ports back."""
    _RESERVATIONS.release(cluster_folder)


def reserved() -> tuple[Path, ...]:
    """Return the folders of all clusters of the user that have ports, also of those that are gone."""
    return _RESERVATIONS.folders()


def numbers(first: int) -> dict[str, int]:
    """Return the ports of a block by the names that kwokctl's configuration has for them."""
    return {name: first + offset for offset, name in enumerate(NAMES)}


def webhooks(first: int) -> int:
    """Return the port of a block that is for webhooks."""
    return first + len(NAMES)


@contextmanager
def held(count: int) -> Iterator[list[int]]:
    """Yield different ports that no other program is given until the block is left.

    A port that is merely free could be taken by whatever connects or listens before the intended program
    does. These ports are bound but do not listen: Linux hands them out to nobody else, and still lets a
    program listen there that sets SO_REUSEADDR, as all programs of the sandbox do.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                bound.bind(("", 0))
            except OSError as error:
                raise SandboxProblem(
                    f"no port is free on this machine: {error.strerror}. End programs that listen or connect."
                ) from error
        yield [bound.getsockname()[1] for bound in sockets]


def free(port: int) -> bool:
    """Return whether nothing listens on the port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
