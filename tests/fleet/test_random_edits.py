"""Random edits of a full fleet: nothing moves but what the edit is about."""

from collections import Counter
from random import Random
from typing import Any

from packings import Size, Worker, fit
from small_fleet import H100, L4, Document, class_, cluster, deployment, fleet, role
from worker_sizes import workers_of

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import PoolKey, node

EDITS = 120
LARGE = "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))"
SIX = class_("six", 6, memory="48Gi", cpu="40")
_Documents = dict[tuple[str, str], Document]


def test_an_edit_of_a_full_fleet_moves_only_what_it_is_about() -> None:
    """Clusters come, nodes, deployments and replicas come and go; files are read in another order."""
    assert needless_moves(EDITS, seed=1) == []


def needless_moves(edits: int, seed: int) -> list[str]:
    """Plan after each edit with the lock of the plan before; return what left a place without need."""
    random = Random(seed)
    documents: _Documents = {}
    for number in range(4):
        _put(documents, _cluster(f"c{number}", random))
    for number in range(24):
        _put(documents, _deployment(f"d{number}", random))
    before = plan(fleet(SIX, *documents.values()), Lock(stack="test"))
    moves = []
    for number in range(edits):
        about, edited = _edited(documents, random, f"n{number}")
        order = list(edited.values())
        random.shuffle(order)
        planned = plan(fleet(SIX, *order), before.lock)
        moves += [f"{number} {about}: {text}" for text in _left(before, planned, about, edited)]
        documents, before = edited, planned
    return moves


def _left(before: Plan, planned: Plan, about: str, documents: _Documents) -> list[str]:
    """Return the spots that have fewer replicas than before though the edit is not about their deployment,
    and each of their pools holds all that was there before.

    A pool that was too small already may be left only when it shrinks further.
    """
    return [
        f"{change.spot} {change.before} -> {change.after}"
        for change in planned.changes
        if change.after < change.before
        and about != change.spot.name
        and all(
            _holds(before, planned, (change.spot.cluster, pool), documents) for _, pool in change.spot.pools
        )
    ]


def _holds(before: Plan, planned: Plan, pool: PoolKey, documents: _Documents) -> bool:
    """Return whether a pool of the edited fleet is sure to hold the pods of the plan before, as far as their
    deployments still ask for them.
    """
    cluster_ = documents["InferenceCluster", pool[0]]
    assert isinstance(cluster_, InferenceCluster)
    of_pool = cluster_.spec.pool(pool[1])
    empty = node({"l4": L4, "h100": H100, "six": SIX}[of_pool.class_name])
    assert empty
    workers: list[Worker] = []
    for placement in before.placements:
        spot = placement.spot
        there = min(placement.replicas, _wanted(documents, spot.name)) if spot.cluster == pool[0] else 0
        for role_, name in spot.pools:
            if there and name == pool[1]:
                workers += workers_of(planned.demands.of(spot.deployment, role_, pool), there)
    return fit([Size(empty.gpus, empty.cpu, empty.memory)] * of_pool.size, workers) is True


def _wanted(documents: _Documents, name: str) -> int:
    document = documents.get(("ModelDeployment", name))
    return document.spec.replicas if isinstance(document, ModelDeployment) else 0


def _edited(documents: _Documents, random: Random, new: str) -> tuple[str, _Documents]:
    """Return the name of the document that an edit is about, and all documents after it."""
    edited = dict(documents)
    clusters = [document for document in documents.values() if isinstance(document, InferenceCluster)]
    models = [document for document in documents.values() if isinstance(document, ModelDeployment)]
    kind = random.choice(["add", "remove", "scale", "scale", "scale", "nodes", "nodes", "join", "swap"])
    if kind == "add" or len(models) < 12:
        name = _put(edited, _deployment(new, random))
    elif kind == "remove":
        name = random.choice(models).metadata.name
        del edited["ModelDeployment", name]
    elif kind == "scale":
        name = _put(edited, _with(random.choice(models), replicas=random.randint(0, 9)))
    elif kind == "join" and len(clusters) < 8:
        name = _put(edited, _cluster(new, random))
    elif kind == "swap":
        name = _put(edited, _with(random.choice(models), priority=random.randint(-3, 3)))
    else:
        chosen = random.choice(clusters)
        pools = [
            pool.model_copy(
                update={"node_count": min(4, max(1, (pool.node_count or 0) + random.randint(-1, 1)))}
            )
            for pool in chosen.spec.node_pools
        ]
        name = _put(edited, _with(chosen, node_pools=tuple(pools)))
    return name, edited


def _put(documents: _Documents, document: Document) -> str:
    documents[document.kind, document.metadata.name] = document
    return document.metadata.name


def _with(document: Any, **spec: Any) -> Any:
    return document.model_copy(update={"spec": document.spec.model_copy(update=spec)})


def _cluster(name: str, random: Random) -> InferenceCluster:
    classes = random.sample(["h100", "l4", "six"], 2)
    return cluster(name, {class_name: (class_name, random.randint(1, 3)) for class_name in classes})


def _deployment(name: str, random: Random) -> ModelDeployment:
    gang = random.random() < 0.15
    prefill = random.choice((None, None, role(1), role(2, workers=2)))
    return deployment(
        name,
        random.randint(1, 5),
        topology={"tensor": 4, "pipeline": 2} if gang else {"tensor": random.choice((1, 2, 3, 4, 8))},
        cel=random.choice((None, LARGE)),
        resources={"requests": {"cpu": str(random.randint(1, 9))}},
        rollout=random.choice(("DeleteFirst", "DeleteFirst", "Surge")),
        **({"prefill": prefill} if prefill else {}),
    )


def test_such_a_fleet_is_full() -> None:
    """Otherwise nothing would have to move in any case."""
    random = Random(1)
    documents: _Documents = {}
    for number in range(4):
        _put(documents, _cluster(f"c{number}", random))
    for number in range(24):
        _put(documents, _deployment(f"d{number}", random))
    planned = plan(fleet(SIX, *documents.values()), Lock(stack="test"))
    assert Counter(missing.replicas > 0 for missing in planned.unplaced)[True] > 4
