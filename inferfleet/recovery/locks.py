"""The locks of a stack in a backend of files, who holds them, and files that were written half.

Pulumi's own description: https://www.pulumi.com/docs/iac/concepts/state-and-backends/ (state locking).
"""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes of a file, which the engine writes beside it. It takes every other file among the locks for one.
_ATTRIBUTES = ".attrs"
_WITH_ATTRIBUTES = (
    "stacks/{project}/{stack}.json*.attrs",
    "locks/organization/{project}/{stack}/*.attrs",
    "history/{project}/{stack}/*.attrs",
    "backups/{project}/{stack}/*.attrs",
)
# Seconds between the start of a process and its lock; setting the clock may have moved them apart a little.
_SLACK = 5.0


class Holder(StrEnum):
    GONE = "gone"
    ALIVE = "alive"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StackLock:
    """One lock of a stack as its file has it; `since` is in seconds of Unix time."""

    host: str
    user: str
    process: int
    since: float

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.process} of {self.user} on {self.host}, since {when}"


def folder_of(backend: str, root: Path) -> Path | None:
    """Return the folder of a backend of files, relative to the project's folder; None for other backends."""
    url = urlsplit(backend)
    if url.scheme != "file":
        return None
    return root / Path(unquote(url.netloc + url.path)).expanduser()


def read_locks(folder: Path, *, project: str, stack: str) -> tuple[StackLock, ...]:
    """Return the locks of a stack in a backend of files. Of an unreadable file the holder is unknown."""
    locks = []
    place = folder / ".pulumi/locks/organization" / project / stack
    for file in sorted(place.iterdir() if place.is_dir() else ()):
        if file.suffix == _ATTRIBUTES:
            continue
        try:
            values = json.loads(file.read_text())
            since = datetime.fromisoformat(values["timestamp"]).timestamp()
            locks.append(StackLock(values["hostname"], values["username"], int(values["pid"]), since))
        except FileNotFoundError:
            # The process that held it has just ended.
            continue
        except (ValueError, KeyError, TypeError):
            locks.append(StackLock("an unknown host", "an unknown user", 0, file.stat().st_mtime))
    return tuple(locks)


def holder(lock: StackLock, *, host: str, started: Callable[[int], float | None]) -> Holder:
    """Return whether the process that took the lock lives. `started` returns when a process began, None for
    one that does not live.
    """
    if lock.host != host:
        return Holder.UNKNOWN
    began = started(lock.process)
    # A process that began after the lock was taken has the number of one that is gone.
    return Holder.GONE if began is None or began > lock.since + _SLACK else Holder.ALIVE


def this_host() -> str:
    """Return the name of this machine, as locks have it."""
    return socket.gethostname()


def process_started(process: int) -> float | None:
    """Return when a process began, in Unix time: None for one that ended, 0 where the system does not say."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        # The name, in parentheses, may hold anything: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
    except (OSError, StopIteration):
        return 0.0
    if fields[0] == "Z":
        return None
    return int(boot.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def half_written(folder: Path, *, project: str, stack: str) -> tuple[Path, ...]:
    """Return the files of attributes of the stack that hold no JSON object, sorted within each folder."""
    return tuple(
        file
        for place in _WITH_ATTRIBUTES
        for file in sorted((folder / ".pulumi").glob(place.format(project=project, stack=stack)))
        if not _is_whole(file)
    )


def _is_whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text()), dict)
    except FileNotFoundError:
        return True
    except ValueError:
        return False
