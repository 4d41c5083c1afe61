"""How much work one run may do, in units and never in seconds: the verdict is the same on every machine.

Whatever grows with what people write spends its units here before it is done: values of files that are read,
pools that are tried for replicas, conditions that are evaluated, pods that are made. All of a run shares one
budget, so that many stacks, or many losses that are planned, do not add up to minutes. A unit is a
microsecond or less on machines of 2025.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from inferfleet.documents.problems import InvalidDocuments, Problem

# The largest fleet that is planned takes some ten million; a digest plans it twice.
MAX_UNITS = 50_000_000


@dataclass
class _Run:
    units: int = 0


_RUN: ContextVar[_Run | None] = ContextVar("run", default=None)


@contextmanager
def counted() -> Iterator[None]:
    """Begin a run with a budget of its own. Outside of such a block nothing is counted."""
    token = _RUN.set(_Run())
    try:
        yield
    finally:
        _RUN.reset(token)


def count(units: int) -> None:
    """Count units where nothing can be raised: the next `spend` is refused for them."""
    run = _RUN.get()
    if run is not None:
        run.units += units


def spend(units: int, doing: str) -> None:
    """Spend units on what is about to be done. Raises InvalidDocuments where the run has no more of them."""
    count(units)
    run = _RUN.get()
    if run is not None and run.units > MAX_UNITS:
        what = f"{doing} takes this run past {MAX_UNITS:,} steps, the budget of all that one run does"
        raise InvalidDocuments([Problem(what, "Name one stack, use several stacks, or write less")])
