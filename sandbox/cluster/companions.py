"""Programs of ours beside a cluster's own: one process of each per cluster, started and ended with it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sandbox.cluster.kwok import KwokCluster
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools


@dataclass(frozen=True)
class Companion:
    """A module run as `python -m <module> <stack folder> <cluster>`; its log is `logs/<name>.log`.

    It finds programs of the toolchain on its PATH. It may be killed at any time, and must leave no process
    then: what it starts, it starts by a link in the cluster's folder (see processes.py) and to die with it.
    """

    name: str
    module: str


COMPANIONS = (Companion("agent", "sandbox.agent"), Companion("gateway", "sandbox.gateway"))


def cluster_of(stack_folder: str, name: str) -> KwokCluster:
    """The cluster a companion was started for, by its two arguments."""
    folder = Path(stack_folder)
    return KwokCluster(StackPlaces(folder.parent.parent, folder.name), name)


def missing(cluster: KwokCluster) -> tuple[str, ...]:
    """Names of companions that do not run."""
    running = {process.program.name for process in cluster.processes()}
    return tuple(one.name for one in COMPANIONS if one.name not in running)


def mend(cluster: KwokCluster, tools: Tools) -> None:
    """Every companion of the cluster runs."""
    absent = missing(cluster)
    for companion in COMPANIONS:
        if companion.name in absent:
            _start(companion, cluster, tools)


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
            # An interruption of the command that starts it is not meant for it.
            start_new_session=True,
        )


def python_link(cluster_folder: Path, name: str) -> Path:
    """Python by a name inside the cluster's folder, by which it is found and ended like the cluster."""
    link = cluster_folder / "bin" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(Path(sys.executable).resolve())
    new.replace(link)
    return link


def python_environment() -> dict[str, str]:
    """Under such a name Python does not find its virtual environment; it is told where the packages are."""
    path = [str(Path(__file__).parents[2]), *(one for one in sys.path if one)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "PYTHONUNBUFFERED": "1"}
