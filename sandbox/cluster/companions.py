"""The processes beside a cluster, which end with it: agent, gateway and LeaderWorkerSet controllers."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sandbox.cluster.kwok import KwokCluster
from sandbox.lws import controller
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools


@dataclass(frozen=True)
class Companion:
    """A module run as `python -m <module> <stack folder> <cluster>`; its log is `logs/<name>.log`.

    It finds the programs of the toolchain on its PATH. It may be killed at any time and must leave no process
    behind, so it starts its children through a link in the cluster's folder (see processes.py), and they end
    when it ends.
    """

    name: str
    module: str


COMPANIONS = (Companion("agent", "sandbox.agent"), Companion("gateway", "sandbox.gateway"))


def cluster_of(stack_folder: str, name: str) -> KwokCluster:
    """Return the cluster that a companion was started for, from its two arguments."""
    folder = Path(stack_folder)
    return KwokCluster(StackPlaces(folder.parent.parent, folder.name), name)


def missing(cluster: KwokCluster) -> tuple[str, ...]:
    """Return the names of the companions that are not running."""
    running = {process.program.name for process in cluster.processes()}
    names = [companion.name for companion in COMPANIONS]
    names += [controller.PROGRAM] if controller.installed(cluster) else []
    return tuple(name for name in names if name not in running)


def ensure_running(cluster: KwokCluster, tools: Tools) -> None:
    """Start every companion of the cluster that is not running."""
    absent = missing(cluster)
    for companion in COMPANIONS:
        if companion.name in absent:
            _start(companion, cluster, tools)
    if controller.PROGRAM in absent:
        controller.start(cluster, tools)


def _start(companion: Companion, cluster: KwokCluster, tools: Tools) -> None:
    logs = cluster.folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with open(logs / f"{companion.name}.log", "ab") as log:
        subprocess.Popen(
            [
                str(python_link(cluster.folder, companion.name)),
                *("-m", companion.module, str(cluster.places.folder), cluster.name),
            ],
            cwd=cluster.folder,
            env=python_environment() | {"PATH": tools.path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C ends the command that started it and must not end the companion.
            start_new_session=True,
        )


def python_link(cluster_folder: Path, name: str) -> Path:
    """Return a link to Python in the cluster's folder, by which its process is found and ended."""
    link = cluster_folder / "bin" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(Path(sys.executable).resolve())
    new.replace(link)
    return link


def python_environment() -> dict[str, str]:
    """Return the environment for a Python started by such a link, which cannot find its packages itself."""
    path = [str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "PYTHONUNBUFFERED": "1"}
