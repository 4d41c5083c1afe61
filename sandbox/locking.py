"""A file lock between processes, which the kernel releases when its holder ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(
    path: Path, *, waiting: Callable[[str], None], check: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the lock at `path`.

    When another process holds it, call `waiting` once with its process id and wait. `check` is called again
    and again meanwhile, and may raise what ends the wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+") as file:
        reported = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not reported:
                    file.seek(0)
                    waiting(file.read().strip() or "?")
                    reported = True
                check()
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
