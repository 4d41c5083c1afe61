"""Says which plugin a command waits for, because one that never ends looks like a command that hangs."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from inferfleet.api.wording import one_line
from inferfleet.plugins.honesty import EDITING

# An edit is told of when it is seen three times in a row, so after 10 to 15 seconds.
SECONDS = 5.0


@contextmanager
def told_when_slow() -> Iterator[None]:
    """Say once per plugin on stderr, until the block ends, that one of its edits goes on for 10 seconds."""
    try:
        stderr = os.dup(2)  # what a block inside writes there may be caught
    except OSError:  # a program without a console
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(done, stderr), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        os.close(stderr)


def _watch(done: threading.Event, stderr: int) -> None:
    last, times = "", 0
    told: set[str] = set()
    while not done.wait(SECONDS):
        now = next(iter(EDITING[-1:]), "")
        # By identity: another edit of the same plugin has a text of its own.
        last, times = now, times + 1 if now and now is last else 0
        if times >= 2 and now not in told:
            told.add(now)
            with suppress(OSError):
                os.write(stderr, f"still in {one_line(now)}\n".encode(errors="replace"))
