"""What capacity.lock leaves of pools: new replicas are planned with the smaller of declared and seen.

Nodes that are missing, what others hold and what nodes lack are put onto pools as if it were pods, after the
replicas that run and only as far as there is room beside them. So what was seen keeps new replicas away, and
moves none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.capacity import FILE, FRESH, Seen
from inferfleet.fleet.placement.rooms import More, Rooms
from inferfleet.fleet.shapes import Demand, Node, Pod, PoolKey, node


def hold_back(documents: Documents, seen: Mapping[PoolKey, Seen], rooms: Rooms) -> None:
    """Put onto the pools what keeps new replicas away from them."""
    for key, pool in _pools(documents):
        room, one = rooms.by_key.get(key), seen.get(key)
        if room is None or one is None:
            continue
        for number, (demand, most) in enumerate(_demands(pool, one, room.node, room.size)):
            role, count = ("", f"held back {number}"), most
            while count and not room.fits(More(role, demand, count)):
                count -= 1
            if count:
                rooms.add(key, More(role, demand, count))


def remarks(documents: Documents, seen: Mapping[PoolKey, Seen]) -> Iterator[Problem]:
    """Yield notices of pools that have less room than their documents say, and warnings of nodes that are
    not what their class says.
    """
    for key, pool in _pools(documents):
        one, empty = seen.get(key), node(documents.classes[pool.class_name])
        if one is None or empty is None:
            continue
        name = "/".join(key)
        if less := _less(pool, one):
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


def _demands(pool: NodePool, one: Seen, empty: Node, size: int) -> Iterator[tuple[Demand, int]]:
    """Yield what is held back, with how often: whole nodes, pods of others, and what each node lacks."""
    whole = Pod(empty.gpus, empty.cpu, empty.memory, empty.huge_2mi, empty.huge_1gi)
    free_of_us = [whole if gpus >= empty.gpus else Pod(gpus, 0, 0) for gpus in one.held]
    pods = Counter([whole] * _absent(pool, one) + free_of_us)
    pods.update(Pod(min(gpus, empty.gpus), 0, 0) for gpus in one.foreign)
    for pod in sorted(pods, reverse=True):
        yield Demand(pod, 1, 0), pods[pod]
    lacks = Pod(
        *(
            max(0, has - offered) if offered is not None else 0
            for has, offered in ((empty.gpus, one.gpus), (empty.cpu, one.cpu), (empty.memory, one.memory))
        )
    )
    left = size - _absent(pool, one) - len(one.held)
    if any(lacks) and left > 0:
        # The pods of a gang are each on a node of their own.
        yield Demand(lacks, left, 0, gang=left, follower=lacks), 1


def _absent(pool: NodePool, one: Seen) -> int:
    """Return how many nodes of the pool there cannot be: an autoscaler may still add those not there."""
    there = pool.size if pool.autoscaled else one.nodes + len(one.held)
    return pool.size - min(pool.size, there, pool.size if one.most is None else one.most)


def _less(pool: NodePool, one: Seen) -> str:
    """Return in words why a pool has less room than its document says; "" where it has not."""
    absent = 0 if pool.autoscaled else max(0, pool.size - one.nodes - len(one.held))
    parts = [
        f"{len(one.held)} of its nodes cordoned or not ready" if one.held else "",
        f"{absent} of {pool.size} nodes not there" if absent else "",
        f"{sum(one.foreign)} GPUs held by pods of others" if one.foreign else "",
        f"quotas and reservations allow {one.most} of {pool.size} nodes"
        if one.most is not None and one.most < pool.size
        else "",
    ]
    return ", ".join(filter(None, parts))


def _pools(documents: Documents) -> Iterator[tuple[PoolKey, NodePool]]:
    for name, cluster in sorted(documents.clusters.items()):
        for pool in cluster.spec.node_pools:
            yield (name, pool.name), pool


def _problem(key: PoolKey, what: str, step: str, severity: str) -> Problem:
    return Problem(
        what,
        step,
        "spec.nodePools",
        kind="InferenceCluster",
        key=key[0],
        severity="warning" if severity == "warning" else "notice",
    )
