"""Edits of random fleets and of their locks, such as people and merges make them."""

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from random import Random

from fleet_cases import (
    FIELDS,
    POOLS,
    STATES,
    random_cluster,
    random_deployment,
    random_quota,
    random_taints,
)
from fleet_documents import CLASSES, Fleet

from inferfleet.fleet.lock import lock as locks
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot


def edited(fleet: Fleet, random: Random) -> tuple[str, Fleet]:
    """Return the name of a random edit, and the fleet after it."""
    while True:
        edit = random.choice(_EDITS)
        after = copy.deepcopy(fleet)
        try:
            edit(after, random)
            after.loaded()
        except (ValueError, IndexError):
            continue  # a document that is refused, or nothing to edit
        return edit.__name__.strip("_"), after


def _remove(fleet: Fleet, random: Random) -> None:
    del fleet.documents[random.choice([*fleet.documents])]


def _scale(fleet: Fleet, random: Random) -> None:
    random.choice(fleet.of("ModelDeployment"))["spec"]["replicas"] = random.randint(0, 7)


def _resize(fleet: Fleet, random: Random) -> None:
    pool = random.choice(random.choice(fleet.of("InferenceCluster"))["spec"]["nodePools"])
    count = "maxNodeCount" if "maxNodeCount" in pool else "nodeCount"
    pool[count] = random.choice((0, max(0, pool[count] - 1), min(5, pool[count] + 1), random.randint(0, 4)))


def _reorder(fleet: Fleet, random: Random) -> None:
    documents = [*fleet.documents.items()]
    random.shuffle(documents)
    fleet.documents = dict(documents)
    for cluster in fleet.of("InferenceCluster"):
        random.shuffle(cluster["spec"]["nodePools"])


def _rename(fleet: Fleet, random: Random) -> None:
    kind, name = random.choice([*fleet.documents])
    raw = fleet.documents.pop((kind, name))
    raw["metadata"]["name"] = random.choice(("d0", "d1", "c0", "x", f"{'long-' * 11}name"))
    if kind == "InferenceCluster":
        raw["metadata"]["name"] = random.choice(("c0", "c1", "x"))
    fleet.put(kind, raw)


def _rename_pool(fleet: Fleet, random: Random) -> None:
    pools = random.choice(fleet.of("InferenceCluster"))["spec"]["nodePools"]
    taken = {pool["name"] for pool in pools}
    random.choice(pools)["name"] = random.choice([name for name in "pqrst" if name not in taken])


def _change(fleet: Fleet, random: Random) -> None:
    random.choice(FIELDS)(random.choice(fleet.of("ModelDeployment"))["spec"], random)


def _change_cluster(fleet: Fleet, random: Random) -> None:
    cluster = random.choice(fleet.of("InferenceCluster"))
    other = random_cluster(cluster["metadata"]["name"], random)
    match random.randrange(4):
        case 0:
            cluster["spec"]["state"] = random.choice(STATES)
        case 1:
            cluster["metadata"]["labels"] = other["metadata"]["labels"]
        case 2:
            cluster["spec"]["taints"] = random_taints(random)
        case _:
            fleet.put("InferenceCluster", other)


def _change_pool(fleet: Fleet, random: Random) -> None:
    pools = random.choice(fleet.of("InferenceCluster"))["spec"]["nodePools"]
    random.choice(pools)["className"] = random.choice(sorted(CLASSES))


def _add(fleet: Fleet, random: Random) -> None:
    if random.random() < 0.3:
        fleet.put("InferenceCluster", random_cluster(random.choice(("c0", "c1", "c4")), random))
    else:
        fleet.put("ModelDeployment", random_deployment(random.choice(("d0", "d3", "d7", "d8", "d9")), random))


def _limit(fleet: Fleet, random: Random) -> None:
    fleet.put("Quota", random_quota(random))


def _settings(fleet: Fleet, random: Random) -> None:
    fleet.objective = random.choice(("balance", "cost", "pack"))


def _look(fleet: Fleet, random: Random) -> None:
    """What clusters have, as capacity.lock would say it of the pools of today."""
    fleet.seen = {}
    for cluster in fleet.of("InferenceCluster"):
        for pool in cluster["spec"]["nodePools"]:
            size = pool.get("nodeCount", pool.get("maxNodeCount", 0))
            spec = CLASSES[pool["className"]]
            gpus = spec["devices"][0]["count"] if "devices" in spec else 0
            nodes = random.randint(0, size)
            held = tuple(random.randint(0, gpus) for _ in range(random.randint(0, size - nodes)))
            if random.random() < 0.6:
                fleet.seen[cluster["metadata"]["name"], pool["name"]] = Observation(
                    date(2026, 1, 1),
                    nodes,
                    held=held,
                    gpus=random.choice((gpus, gpus, max(0, gpus - 1))) if nodes else None,
                    cpu=int(spec["node"]["cpu"]) * 1000 - random.choice((0, 2000)) if nodes else None,
                    memory=random.choice((None, 30 * 2**30)) if nodes else None,
                    foreign=tuple(random.randint(1, gpus) for _ in range(random.randint(0, nodes)) if gpus),
                    most=random.choice((None, None, random.randint(0, size))),
                    missing=size - nodes - len(held) if "nodeCount" in pool else 0,
                )


def _forget(fleet: Fleet, random: Random) -> None:
    fleet.lock, fleet.seen = random.choice((Lock(stack="test"), fleet.lock)), {}


def _edit_lock(fleet: Fleet, random: Random) -> None:
    """Lines of the lock that somebody wrote or merged: they can be read, whatever they say."""
    lock = fleet.lock
    placements, nodes = dict(lock.placements), dict(lock.nodes)
    for _ in range(random.choice((1, 1, 2, 4))):
        spots = [*placements]
        spot = random.choice(spots) if spots else Spot("ml/d0", "c0", (("decode", "p"),))
        number = placements.get(spot, 1)
        match random.randrange(8):
            case 0:
                placements.pop(spot, None)
            case 1:
                placements[spot] = random.choice((1, 2, 7))
            case 2:
                placements[spot._replace(cluster=random.choice(("c0", "c1", "c9")))] = number
            case 3:
                pools = tuple((role, random.choice(POOLS)) for role, _ in spot.pools)
                placements[spot._replace(pools=pools)] = number
            case 4:
                more = dict(spot.pools) | {random.choice(("encode", "prefill", "x")): random.choice(POOLS)}
                placements[spot._replace(pools=tuple(sorted(more.items())))] = placements.pop(spot, 1)
            case 5 if len(spot.pools) > 1:
                fewer = tuple(pool for pool in spot.pools if pool != random.choice(spot.pools))
                if fewer:
                    placements[spot._replace(pools=fewer)] = placements.pop(spot, 1)
            case 6:
                placements[spot._replace(revision=random.choice(("", "3fa01c")))] = placements.pop(spot, 1)
            case _:
                placements[spot._replace(deployment=random.choice(("ml/d1", "ml/gone")))] = number
        if random.random() < 0.3:
            nodes[f"{random.choice(('c0', 'c1', 'c9'))}/{random.choice(POOLS)}"] = random.randint(0, 9)
    clusters = dict(lock.clusters) if random.random() < 0.8 else {}
    services = dict(lock.services) if random.random() < 0.8 else {"ml/gone": ("c0",)}
    damaged = replace(lock, placements=placements, clusters=clusters, services=services, nodes=nodes)
    yielding = frozenset(random.sample(("ml/d0", "ml/d1", "ml/d2", "ml/gone"), random.randint(0, 2)))
    known = locks.parse(locks.text(damaged), file="placement.lock", stack="test")
    fleet.lock = replace(known, yielding=yielding)


_EDITS: tuple[Callable[[Fleet, Random], None], ...] = (
    _remove,
    _scale,
    _scale,
    _resize,
    _resize,
    _reorder,
    _rename,
    _rename_pool,
    _change,
    _change,
    _change,
    _change,
    _change_cluster,
    _change_cluster,
    _change_pool,
    _add,
    _add,
    _limit,
    _settings,
    _look,
    _forget,
    _edit_lock,
    _edit_lock,
)
