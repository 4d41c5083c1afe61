"""What is said of capacity.lock: where new replicas have less room than documents say, and that it is old."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Literal

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.capacity import FILE, FRESH, Seen
from inferfleet.fleet.placement.held_back import pools_of, shortage
from inferfleet.fleet.shapes import PoolKey, node


def remarks(documents: Documents, seen: Mapping[PoolKey, Seen]) -> Iterator[Problem]:
    """Yield notices of pools that have less room than their documents say, and warnings of nodes that are
    not what their class says.
    """
    for key, pool in pools_of(documents):
        one, empty = seen.get(key), node(documents.classes[pool.class_name])
        if one is None or empty is None:
            continue
        name = "/".join(key)
        if less := shortage(pool, one, empty):
            what = f"new replicas have less room on pool {name}, seen on {one.day}: {less}"
            yield _problem(key, what, "Run inferfleet capacity --write when that has changed", "notice")
        for has, wanted, unit in (
            (one.gpus, empty.gpus, "GPUs"),
            (one.cpu and one.cpu / 1000, empty.cpu / 1000, "cores"),
            (one.memory and one.memory / 2**30, empty.memory / 2**30, "GiB"),
        ):
            if has is not None and has < wanted:
                what = f"nodes of pool {name} offer {has:,.10g} {unit}, and class {pool.class_name} says"
                step = f"Correct the class, or the pool's className; {FILE} counts meanwhile"
                yield _problem(key, f"{what} {wanted:,.10g}", step, "warning")


def stale(seen: Mapping[PoolKey, Seen], *, today: date) -> Iterator[Problem]:
    """Yield a warning when what was seen is older than a week."""
    last = today - timedelta(days=FRESH)
    old = sorted((one.day, key) for key, one in seen.items() if one.day < last)
    if old:
        day, key = old[0]
        more = f", and {len(old) - 1} more before {last}" if len(old) > 1 else ""
        what = f"{FILE} has pool {'/'.join(key)} as of {day}, {(today - day).days} days ago{more}"
        yield Problem(what, "Run inferfleet capacity --write", severity="warning")


def _problem(key: PoolKey, what: str, step: str, severity: Literal["notice", "warning"]) -> Problem:
    return Problem(what, step, "spec.nodePools", kind="InferenceCluster", key=key[0], severity=severity)
