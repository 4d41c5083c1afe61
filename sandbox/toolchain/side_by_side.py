"""Does several things at once, each in a thread: the first that fails, or Ctrl-C, stops the others."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Result = TypeVar("Result")


class Stopped(Exception):  # noqa: N818 (nobody reads it: what stopped the others is raised)
    """Raised by what was stopped because something beside it failed."""


class Stop:
    """Whether what runs side by side should end early."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Have all that look at it end."""
        self._event.set()

    def check(self) -> None:
        """Raise Stopped if it is set."""
        if self._event.is_set():
            raise Stopped


def side_by_side(jobs: Iterable[Callable[[Stop], Result]], *, at_once: int) -> list[Result]:
    """Return what the jobs return. They begin in their order, `at_once` of them at once.

    A job looks at its Stop while it works. Raises what the first one raises that fails, once all have ended.
    """
    stop = Stop()
    with ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(job, stop) for job in jobs]
        try:
            for done in as_completed(pending):
                done.result()
        except BaseException:
            stop.set()
            for job in pending:
                job.cancel()
            raise
    return [done.result() for done in pending]
