"""The log files of containers: one per container in the folder of its pod, limited in size."""

import contextlib
import os
from pathlib import Path
from typing import Any

# A log that grows beyond this size (bytes) becomes the previous log, and replaces the one before.
LIMIT = 4 * 2**20
PREVIOUS = ".previous"
# How much of a log Kubernetes takes for a termination message.
MESSAGE_LINES, MESSAGE_BYTES = 80, 2048


def pod_folder(cluster_folder: Path, pod: dict[str, Any]) -> Path:
    """Return the folder with everything the agent keeps for a pod."""
    metadata = pod["metadata"]
    return cluster_folder / "pods" / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"


class ContainerLog:
    """The log of one container."""

    def __init__(self, folder: Path, container: str) -> None:
        self.path = folder / f"{container}.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._begun = 0

    def begin(self) -> None:
        """Mark the beginning of a new run of the container."""
        self.path.touch(mode=0o600)
        self._begun = self.path.stat().st_size

    def descriptor(self) -> int:
        """Return a descriptor for a program that writes its log itself. The caller closes it."""
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, line: str) -> None:
        """Append a line to the log."""
        with (
            contextlib.suppress(FileNotFoundError),  # the pod and its folder are gone
            open(self.path, "a", encoding="utf-8", errors="replace") as file,
        ):
            file.write(line.rstrip("\n") + "\n")

    def last_words(self) -> str:
        """Return the end of the log since the last `begin`, as much as fits a termination message."""
        try:
            with open(self.path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                begun = self._begun if self._begun <= size else 0  # the log was trimmed meanwhile
                start = max(begun, size - MESSAGE_BYTES)
                file.seek(start)
                text = file.read().decode(errors="replace")
                if start > begun:
                    text = text.partition("\n")[2] or text  # drop a partial first line
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-MESSAGE_LINES:]).strip()


def trim(log: Path) -> None:
    """Move a log that is too long aside. Its writer, which appends, goes on with an empty file."""
    if log.stat().st_size > LIMIT:
        log.with_suffix(f"{PREVIOUS}.log").write_bytes(log.read_bytes())
        os.truncate(log, 0)
