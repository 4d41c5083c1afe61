"""The process that a sandbox belongs to, such as a test run: with it the sandbox ends, however it ends."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.cluster.companions import python_environment
from sandbox.places import StackPlaces
from sandbox.private import owner_only, write_file
from sandbox.problem import SandboxProblem
from sandbox.processes import PROC

# The file in a stack's folder that names its owner.
RECORD = "owner.json"


@dataclass(frozen=True)
class Owner:
    """A process, told apart from a later one of the same number.

    `started` is in clock ticks since the boot; `boot` and `namespace` say where both numbers count.
    """

    pid: int
    started: int
    boot: str
    namespace: int

    def ended(self) -> bool:
        """Return whether the process has ended. Of one in another PID namespace nothing is known."""
        if self.boot != _boot():
            return True
        return self.namespace == _namespace() and _started(self.pid) != self.started


def claim(places: StackPlaces, pid: int) -> None:
    """Make the stack's sandbox belong to a running process, and watch that process.

    Call this before anything is started. Raises SandboxProblem when there is no such process.
    """
    started = _started(pid)
    if started is None:
        raise SandboxProblem(f"there is no process {pid} that a sandbox could belong to. Name one that runs.")
    owner = Owner(pid, started, _boot(), _namespace())
    with owner_only():
        write_file(places.folder / RECORD, json.dumps(asdict(owner)) + "\n")
    _watch(places.folder)


def owner_of(folder: Path) -> Owner | None:
    """Return the owner of a stack's folder; None when it has none, or the record is damaged."""
    try:
        return Owner(**json.loads((folder / RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _watch(folder: Path) -> None:
    subprocess.Popen(
        [sys.executable, "-m", "sandbox.orphans", str(folder)],
        cwd="/",
        env=python_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # What ends the owner and all of its group must not end the watcher.
        start_new_session=True,
    )


def _started(pid: int) -> int | None:
    """Return when the process was started (proc(5), field 22 of stat), or None when it does not run."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> int:
    return (PROC / "self/ns/pid").stat().st_ino
