"""The processes beside a cluster, which end with it: its network, agent, gateway and controllers."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.cluster.kwok import KwokCluster
from sandbox.front_door import installation
from sandbox.istio import control_plane
from sandbox.lws import controller
from sandbox.network import sockets
from sandbox.network.pod_network import HOLDER, has_namespace, inside
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
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


# It holds the network namespace of the cluster's pods, in which the others run.
NETWORK = Companion("network", "sandbox.network")
AGENT = Companion("agent", "sandbox.agent")
# The built-in gateway, which runs beside Istio too: a cluster's documents may come to name another class.
GATEWAY = Companion("gateway", "sandbox.gateway")
# Envoy Gateway, on clusters where an InferenceGateway stands.
FRONT_DOOR = Companion("front-door", "sandbox.front_door")
# The link in a cluster's folder to the folder with the programs of the toolchain.
_TOOLCHAIN = "toolchain"
# Seconds that a process may take to listen.
_REACHED_SECONDS = 300.0
# Seconds that killed processes may take to end: one that the kernel holds, on a disk for instance, stays.
_END_SECONDS = 20.0


def cluster_of(stack_folder: str, name: str) -> KwokCluster:
    """Return the cluster that a companion was started for, from its two arguments."""
    folder = Path(stack_folder)
    return KwokCluster(StackPlaces(folder.parent.parent, folder.name), name)


def missing(cluster: KwokCluster) -> tuple[str, ...]:
    """Return the names of the companions that are not running."""
    running = {process.program.name for process in cluster.processes()}
    if HOLDER not in running:
        running.discard(NETWORK.name)  # without its namespace it is about to end
    names = [NETWORK.name] if has_namespace(cluster.folder) else []
    names += [AGENT.name, GATEWAY.name]
    names += [FRONT_DOOR.name] if installation.installed(cluster.folder) else []
    names += [controller.PROGRAM] if controller.installed(cluster) else []
    names += [control_plane.PROGRAM] if control_plane.installed(cluster) else []
    return tuple(name for name in names if name not in running)


def ensure_running(cluster: KwokCluster, tools: Tools) -> None:
    """Start every companion of the cluster that is not running, and tell the others of new programs."""
    _link_toolchain(cluster, tools)
    absent = missing(cluster)
    if NETWORK.name in absent:
        _start_network(cluster, tools)
        absent = missing(cluster)
    enter = inside(cluster.folder, cluster.name) if absent and has_namespace(cluster.folder) else []
    for companion in (AGENT, GATEWAY, FRONT_DOOR):
        if companion.name in absent:
            _start(companion, cluster, tools, enter)
    if controller.PROGRAM in absent:
        controller.start(cluster, tools)
    if control_plane.PROGRAM in absent:
        control_plane.start(cluster, tools)


def _link_toolchain(cluster: KwokCluster, tools: Tools) -> None:
    """Make the first folder on the PATH of companions the one with the programs that there are now."""
    new = cluster.folder / f".{_TOOLCHAIN}.{os.getpid()}"
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    new.symlink_to(tools.own)
    new.replace(cluster.folder / _TOOLCHAIN)


def _start_network(cluster: KwokCluster, tools: Tools) -> None:
    """Start the network, and first end what runs in one that cannot be reached any more."""
    ours = {NETWORK.name, HOLDER, control_plane.PROGRAM, AGENT.name, GATEWAY.name, FRONT_DOOR.name}
    for process in cluster.processes():
        if process.program.name in ours:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    until = time.monotonic() + _END_SECONDS
    while left := [process for process in cluster.processes() if process.program.name in ours]:
        if time.monotonic() > until:
            raise SandboxProblem(
                f"cluster {cluster.name}: {', '.join(f'{one.program.name} ({one.pid})' for one in left)} "
                f"did not end within {_END_SECONDS:.0f} s of being killed, so the network of its pods cannot "
                "begin anew. End them yourself, or restart this machine, and run the same command again."
            )
        time.sleep(0.01)
    running = _start(NETWORK, cluster, tools)
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    wait_until_reached(
        lambda: sockets.connect(cluster.folder, host, int(port)),
        running,
        log=cluster.folder / "logs" / f"{NETWORK.name}.log",
        problem=f"cluster {cluster.name}: the network of its pods does not begin",
        next_step="Run the same command again, or `inferfleet sandbox down` and `up` for a new cluster.",
    )


def wait_until_reached(
    connect: Callable[[], socket.socket],
    process: "subprocess.Popen[bytes] | None",
    *,
    log: Path,
    problem: str,
    next_step: str,
) -> None:
    """Wait until `connect` finds somebody who listens: the process, which is None where it ran before.

    Raises SandboxProblem with the last lines of the log once it has ended, or had its time.
    """
    until = time.monotonic() + _REACHED_SECONDS
    while True:
        try:
            connect().close()
            return
        except OSError as error:
            ended = process is not None and process.poll() is not None
            if not ended and time.monotonic() < until:
                time.sleep(0.02)
                continue
            last = "\n  ".join(log.read_text(errors="replace").strip().splitlines()[-2:])
            raise SandboxProblem(f"{problem} ({error}):\n  {last}\n{next_step}") from error


def _start(
    companion: Companion, cluster: KwokCluster, tools: Tools, enter: Sequence[str] = ()
) -> "subprocess.Popen[bytes]":
    """Start a companion; `enter` begins its command line where it runs in the network of the pods."""
    logs = cluster.folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(cluster.folder / _TOOLCHAIN), tools.path])
    with open(logs / f"{companion.name}.log", "ab") as log:
        return subprocess.Popen(
            [
                *enter,
                str(python_link(cluster.folder, companion.name)),
                *("-m", companion.module, str(cluster.places.folder), cluster.name),
            ],
            cwd=cluster.folder,
            env=python_environment() | {"PATH": path},
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
