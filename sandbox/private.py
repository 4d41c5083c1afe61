"""Keeps what the sandbox writes from other users of the machine: files 0600, folders 0700, from the start."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Keys and tokens lie among what is written, so that nobody else may read any of it.
_OWNER_ONLY = 0o600
_NOBODY_ELSE = 0o077


@contextmanager
def owner_only() -> Iterator[None]:
    """Give no rights to others on files that this process, or one that it starts, makes in the block."""
    _UMASK.enter()
    try:
        yield
    finally:
        _UMASK.leave()


def write_file(path: Path, text: str, *, mode: int = _OWNER_ONLY) -> None:
    """Replace the file by one with this text and mode, whole or not at all: other processes read meanwhile.

    Makes the folders that are missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with open(descriptor, "w") as file:
        os.fchmod(descriptor, mode)
        file.write(text)
    temporary.replace(path)


class _Umask:
    """The umask of this process, which is one for all of its threads: the last to leave restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = os.umask(_NOBODY_ELSE)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                os.umask(self._before)


_UMASK = _Umask()
