"""Finds and ends the processes of a sandbox, whose programs are all started from inside its folder."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A running process and the path its program was started by."""

    pid: int
    program: Path

    @property
    def mebibytes(self) -> int:
        """The memory in use now; what several processes share is divided among them (PSS)."""
        try:
            lines = (PROC / str(self.pid) / "smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            return 0
        return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("Pss:")), 0)


def processes_in(folder: Path) -> tuple[Process, ...]:
    """Return the processes that were started as `<folder>/.../program`.

    They are found by their command lines, so that no record can get lost. A shell, an editor or a `tail` that
    merely names a file in the folder is not among them.
    """
    inside = os.fsencode(folder) + b"/"
    processes = []
    for entry in os.scandir(PROC):
        if entry.name.isdigit() and (program := _program(Path(entry.path), inside)):
            processes.append(Process(int(entry.name), program))
    return tuple(sorted(processes, key=lambda process: process.pid))


def own_processes() -> tuple[Process, ...]:
    """Return the processes of this user, in this mount namespace, whose program is called by its full path.

    A path of another mount namespace, such as that of a container, names another file here or none.
    """
    mounts = os.readlink(PROC / "self/ns/mnt")
    processes = []
    for entry in os.scandir(PROC):
        try:
            if not entry.name.isdigit() or entry.stat().st_uid != os.getuid():
                continue
            program = _program(Path(entry.path), b"/")
            if program and os.readlink(Path(entry.path) / "ns/mnt") == mounts:
                processes.append(Process(int(entry.name), program))
        except OSError:  # it has ended meanwhile
            continue
    return tuple(processes)


def end_processes(folder: Path) -> int:
    """Kill all processes of the folder and return how many there were.

    They get SIGKILL at once: an API server would wait for its watchers, and etcd's files survive it.
    """
    first = processes_in(folder)
    until = time.monotonic() + 10
    while (left := processes_in(folder)) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    return len(first)


def _program(entry: Path, inside: bytes) -> Path | None:
    """Return the program of a process if it was started from inside. Of other processes no more is read."""
    try:
        first = (entry / "cmdline").read_bytes().split(b"\0", 1)[0]
        if not first.startswith(inside):
            return None
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # it has ended meanwhile, or is another user's
        return None
    return None if state == "Z" else Path(os.fsdecode(first))
