"""One at a time: a lock held by a process and released by the kernel when it ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock at `path`; calls `waiting` once with the holder's process number when it must wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    file.seek(0)
                    waiting(file.read().strip() or "?")
                    told = True
                time.sleep(0.3)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.seek(0)
            file.truncate()
            fcntl.flock(file, fcntl.LOCK_UN)
