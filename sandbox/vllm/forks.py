"""The process of a stack that holds vLLM in memory, and forks the engines of the pods of all its clusters.

It is in the folder of the stack, by which it and its engines are found and ended.
"""

import asyncio
import os
import subprocess
import time
from pathlib import Path

from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import PROC, Process, processes_in
from sandbox.toolchain.progress import Progress
from sandbox.vllm import packages

# The names of its socket, and of the programs by which processes are found.
_SOCKET, _SERVER, _ENGINE = "engines.sock", "fork-server", "engine"
_PROGRAM = Path(__file__).parent / "own_python" / "fork_server.py"
# Half a minute of a processor; a busy machine takes several.
_SECONDS = 900.0


def wanted(places: StackPlaces) -> bool:
    """Return whether pods of the stack get vLLM itself."""
    return places.vllm.exists()


def begin(places: StackPlaces, progress: Progress) -> None:
    """Install vLLM where it is missing, and start to import it unless that is done. Raises SandboxProblem."""
    installed = packages.installed(progress)
    places.vllm.mkdir(exist_ok=True)
    for name in ("lib", "pyvenv.cfg"):
        _link(places.vllm / name, installed / name)
    (places.vllm / "bin").mkdir(exist_ok=True)
    server = places.vllm / "bin" / _SERVER
    _link(server, packages.python(installed))
    if runs(places):
        return
    (places.vllm / _SOCKET).unlink(missing_ok=True)
    models = installed / f"tiny-{packages.digest(_PROGRAM.with_name('tiny_model.py'))}"
    with open(_log(places), "wb") as log:
        subprocess.Popen(
            [str(server), str(_PROGRAM), str(places.vllm / _SOCKET), str(models)],
            cwd=places.vllm,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(places.vllm),
                # vLLM gives its processes names of its own.
                "VLLM_PROCESS_NAME_PREFIX": str(places.vllm / "bin" / _ENGINE),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def await_ready(places: StackPlaces) -> None:
    """Wait until engines can be forked. Raises SandboxProblem."""
    until = time.monotonic() + _SECONDS
    while not (places.vllm / _SOCKET).exists():
        if not processes(places) or time.monotonic() > until:
            last = _log(places).read_text(errors="replace").strip().splitlines()[-3:]
            raise SandboxProblem(
                "vLLM was not imported:\n  " + "\n  ".join(last) + f"\nAll it said is in {_log(places)}."
            )
        time.sleep(0.1)


def runs(places: StackPlaces) -> bool:
    """Return whether the process runs that forks engines, which may still be reading."""
    return bool(_servers(processes(places)))


def engines(running: tuple[Process, ...]) -> int:
    """Return of how many engines these processes are: each is a child of the one that forks them."""
    servers = _servers(running)
    return sum(_parent(process.pid) in servers for process in running)


def processes(places: StackPlaces) -> tuple[Process, ...]:
    """Return the process that forks engines, and theirs."""
    return processes_in(places.vllm)


async def connected(places: StackPlaces) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection to the process, for one engine. Raises OSError."""
    # By way of the folder's descriptor, because the address of a Unix socket has at most 107 characters.
    folder = os.open(places.vllm, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{_SOCKET}")
    finally:
        os.close(folder)


def _servers(running: tuple[Process, ...]) -> set[int]:
    """Return those processes that another one of them has not forked."""
    pids = {process.pid for process in running}
    return {pid for pid in pids if _parent(pid) not in pids}


def _parent(pid: int) -> int | None:
    try:
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return None


def _log(places: StackPlaces) -> Path:
    return places.vllm / f"{_SERVER}.log"


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
