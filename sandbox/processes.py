"""The processes of a sandbox: those whose program was started from inside its folder."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A running program."""

    pid: int
    program: Path

    @property
    def mebibytes(self) -> int:
        """Its share of the memory in use now: what several processes have in common is divided among them."""
        try:
            lines = (PROC / str(self.pid) / "smaps_rollup").read_text().splitlines()
        except OSError:  # ended meanwhile
            return 0
        return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("Pss:")), 0)


def processes_in(folder: Path) -> tuple[Process, ...]:
    """Processes started as `<folder>/.../program`, by their command lines, so that no record can get lost.

    A shell, an editor or a `tail` that merely names a file in the folder is not among them.
    """
    inside = os.fsencode(folder) + b"/"
    found = []
    for entry in os.scandir(PROC):
        if entry.name.isdigit() and (program := _program(Path(entry.path), inside)):
            found.append(Process(int(entry.name), program))
    return tuple(sorted(found, key=lambda one: one.pid))


def end_processes(folder: Path) -> int:
    """Ends all processes of the folder and returns how many there were.

    By force: an API server would wait for its watchers, and etcd's files are made to survive this.
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
    """What runs there, if it was started from inside. Of all others no more is read than that."""
    try:
        first = (entry / "cmdline").read_bytes().split(b"\0", 1)[0]
        if not first.startswith(inside):
            return None
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # ended meanwhile, or somebody else's
        return None
    return None if state == "Z" else Path(os.fsdecode(first))
