"""Whether a cluster's pods have a network namespace of their own, and how programs get into it."""

import sys
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.processes import processes_in

# The name of the process that holds the namespace, by which it is found and ended.
HOLDER = "namespace"
# With this file in its folder a cluster has a namespace, from its creation to its end: its addresses, and the
# controllers that work with them, depend on that.
_MARK = "network-namespace"


def give(cluster_folder: Path) -> None:
    """Give a new cluster a network namespace, which begins when its companions do."""
    cluster_folder.mkdir(parents=True, exist_ok=True)
    (cluster_folder / _MARK).touch()


def has_namespace(cluster_folder: Path) -> bool:
    """Return whether the pods of the cluster have a network namespace."""
    return (cluster_folder / _MARK).exists()


def holder(cluster_folder: Path) -> int | None:
    """Return the number of the process that holds the namespace; None while there is none."""
    pids = (process.pid for process in processes_in(cluster_folder) if process.program.name == HOLDER)
    return next(pids, None)


def inside(cluster_folder: Path, cluster: str) -> list[str]:
    """Return the beginning of a command line whose rest runs in the network namespace of the cluster's pods.

    Raises SandboxProblem where the process that holds it has ended.
    """
    pid = holder(cluster_folder)
    if pid is None:
        raise SandboxProblem(
            f"cluster {cluster}: the network of its pods ended before the programs beside it began. "
            "Run the same command again: it starts what is missing."
        )
    return entering(pid)


def entering(pid: int) -> list[str]:
    """Return the beginning of a command line whose rest runs in the network namespace of the process."""
    python = Path(sys.executable).resolve()
    return [str(python), "-I", "-S", str(Path(__file__).with_name("enter.py")), str(pid)]
