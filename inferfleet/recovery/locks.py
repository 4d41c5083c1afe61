"""What a killed engine left on disk: the lock of a stack and who holds it, half-written files."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

_PLACES = (
    "stacks/{project}/{stack}.json*.attrs",
    "locks/organization/{project}/{stack}/*.attrs",
    "history/{project}/{stack}/*.attrs",
    "backups/{project}/{stack}/*.attrs",
)


def half_written(folder: Path, *, project: str, stack: str) -> tuple[Path, ...]:
    """The files of the stack that hold no attributes, sorted."""
    return tuple(
        file
        for place in _PLACES
        for file in sorted((folder / ".pulumi").glob(place.format(project=project, stack=stack)))
        if not _whole(file)
    )


def _whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text()), dict)
    except FileNotFoundError:
        return True
    except ValueError:
        return False


# Between the start of a process and its lock; a clock that was set may have moved them apart a little.
_SLACK = 5.0
# The engine takes every file in the folder for a lock, but those.
_BESIDE = ".attrs"


class Holder(StrEnum):
    GONE = "gone"
    ALIVE = "alive"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StackLock:
    """One lock as its file has it; `since` in seconds of Unix time."""

    host: str
    user: str
    process: int
    since: float

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.process} of {self.user} on {self.host}, since {when}"


def holder(lock: StackLock, *, host: str, started: Callable[[int], float | None]) -> Holder:
    """Whether the process that took the lock lives. `started` tells when one that lives began, else None."""
    if lock.host != host:
        return Holder.UNKNOWN
    began = started(lock.process)
    # A process that began after the lock was taken has the number of one that is gone.
    return Holder.GONE if began is None or began > lock.since + _SLACK else Holder.ALIVE


def this_host() -> str:
    return socket.gethostname()


def process_started(process: int) -> float | None:
    """When a process began, in Unix time; 0 where it lives and the system does not tell, None for none."""
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


def folder_of(backend: str, root: Path) -> Path | None:
    """The folder of a backend of files, seen from the project's folder; None for any other backend."""
    url = urlsplit(backend)
    if url.scheme != "file":
        return None
    return root / Path(unquote(url.netloc + url.path)).expanduser()


def read_locks(folder: Path, *, project: str, stack: str) -> tuple[StackLock, ...]:
    """The locks of a stack in a backend of files. A file that cannot be read is one of nobody knows whom."""
    found = []
    place = folder / ".pulumi/locks/organization" / project / stack
    for file in sorted(place.iterdir() if place.is_dir() else ()):
        if file.suffix == _BESIDE:
            continue
        try:
            values = json.loads(file.read_text())
            since = datetime.fromisoformat(values["timestamp"]).timestamp()
            found.append(StackLock(values["hostname"], values["username"], int(values["pid"]), since))
        except FileNotFoundError:
            # Whoever held it has just ended.
            continue
        except (ValueError, KeyError, TypeError):
            found.append(StackLock("an unknown host", "an unknown user", 0, file.stat().st_mtime))
    return tuple(found)
