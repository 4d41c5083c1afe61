"""How much work something is, on any machine.

It is counted in calls, of which a slow machine makes as many as a quick one, or in seconds of a processor,
which say nothing but beside others of the same run.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made")


def counted_calls(work: Callable[[], Made]) -> tuple[Made, int]:
    """Return what the work returns, and how many functions were called meanwhile, those in C included."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        made = work()
    finally:
        sys.setprofile(before)
    return made, calls


def least_cpu(work: Callable[[], object], tries: int = 3) -> float:
    """Return the seconds of a processor that the work takes, the least of several tries."""
    found = []
    for _ in range(tries):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)
