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
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        program = _program(entry)
        if program is not None and folder in program.parents:
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


def _program(entry: Path) -> Path | None:
    try:
        first = (entry / "cmdline").read_bytes().split(b"\0", 1)[0]
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # ended meanwhile, or somebody else's
        return None
    return Path(os.fsdecode(first)) if first.startswith(b"/") and state != "Z" else None
