"""The last lines of every container: a file each, in the folder of its pod."""

import contextlib
import os
from pathlib import Path
from typing import Any

# A file that grows beyond this becomes the previous one, and the one before that is gone.
LIMIT = 4 * 2**20
PREVIOUS = ".previous"
# What Kubernetes takes of a log for a termination message.
MESSAGE_LINES, MESSAGE_BYTES = 80, 2048


def pod_folder(cluster_folder: Path, pod: dict[str, Any]) -> Path:
    """Everything the agent keeps for a pod."""
    metadata = pod["metadata"]
    return cluster_folder / "pods" / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"


class ContainerLog:
    """The log of one container."""

    def __init__(self, folder: Path, container: str) -> None:
        self.path = folder / f"{container}.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._begun = 0

    def begin(self) -> None:
        """A new run of the container begins."""
        self.path.touch(mode=0o600)
        self._begun = self.path.stat().st_size

    def descriptor(self) -> int:
        """For a program that writes its log itself; the caller closes it."""
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, line: str) -> None:
        with (
            contextlib.suppress(FileNotFoundError),  # the pod is gone, and its folder
            open(self.path, "a", encoding="utf-8", errors="replace") as file,
        ):
            file.write(line.rstrip("\n") + "\n")

    def last_words(self) -> str:
        """The end of the log since the last `begin`, as much as a termination message may have."""
        try:
            with open(self.path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                begun = self._begun if self._begun <= size else 0  # trimmed meanwhile
                start = max(begun, size - MESSAGE_BYTES)
                file.seek(start)
                text = file.read().decode(errors="replace")
                if start > begun:
                    text = text.partition("\n")[2] or text  # begins in the middle of a line
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-MESSAGE_LINES:]).strip()


def trim(log: Path) -> None:
    """Bounds the disk space of a container that says much. The writer appends, and goes on."""
    if log.stat().st_size > LIMIT:
        log.with_suffix(f"{PREVIOUS}.log").write_bytes(log.read_bytes())
        os.truncate(log, 0)
