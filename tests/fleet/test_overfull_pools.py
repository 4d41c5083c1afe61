"""Pools that do not hold what the lock has on them: who leaves, and who does not unasked."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_fleets import random_fleets, random_locks
from small_fleet import Document, class_, cluster, deployment, fleet, lock, placed, spot

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EAST = cluster("east", {"l4": ("l4", 1)})  # a node of four GPUs
WEST = cluster("west", {"l4": ("l4", 2)})
A, B = deployment("a", 1, gpus=2), deployment("b", 1, gpus=4)
BOTH = {"a east/l4": 1, "b east/l4": 1}
MERGED = (
    "; or, where branches were merged, take the lock of the branch that yours went to, and run inferfleet "
    "plan --stack test --write"
)
TOO_SMALL = "1000Gi of memory is too small for the replicas that placement.lock has on it:"
SMALL = "pool east/l4 is too small for its pods"


def _lock(placements: dict[str, int], *, had: int, yielding: tuple[str, ...] = ()) -> Lock:
    """A lock that was planned with so many nodes of the pool in the east."""
    known = lock(placements, nodes={"east/l4": had} if had else {})
    return replace(known, yielding=frozenset(yielding))


def test_some_leave_a_pool_that_has_fewer_nodes_than_it_had() -> None:
    """The smallest that suffices, whoever it is."""
    planned = plan(fleet(EAST, WEST, A, B), _lock(BOTH, had=2))
    assert (placed(planned), planned.problems) == ({"a west/l4": 1, "b east/l4": 1}, ())
    assert planned.departure_reasons == {spot("a east/l4"): SMALL}
    assert planned.lock.nodes == {"east/l4": 1, "west/l4": 2}


def test_a_pool_that_has_fewer_nodes_than_it_had_is_an_error_where_nothing_else_has_room() -> None:
    planned = plan(fleet(EAST, A, B), _lock(BOTH, had=2))
    assert placed(planned) == BOTH
    assert planned.problems == (
        Problem(
            f"pool east/l4 with 1 node of 4 GPUs, 200 cores, {TOO_SMALL} ml/a (1 replica: 2 GPUs), "
            "ml/b (1 replica: 4 GPUs); it has fewer nodes than it had, and there is no room elsewhere",
            "Give it more nodes, make room on another pool, or lower replicas",
            "spec.nodePools[0]",
            kind="InferenceCluster",
            key="east",
        ),
    )


@pytest.mark.parametrize("had", [0, 1])
def test_nobody_leaves_another_pool_unasked_though_there_is_room_elsewhere(had: int) -> None:
    """Two branches that each added a deployment leave such a lock; one that had no line says nothing else."""
    planned = plan(fleet(EAST, WEST, A, B), _lock(BOTH, had=had))
    assert (placed(planned), planned.changes, planned.unplaced) == (BOTH, (), ())
    assert planned.problems == (
        Problem(
            f"pool east/l4 with 1 node of 4 GPUs, 200 cores, {TOO_SMALL} ml/a (1 replica: 2 GPUs), "
            "ml/b (1 replica: 4 GPUs); it lost no nodes: pods grew, its class changed, or branches were "
            "merged, and nobody moves unasked",
            "Say who may leave it: inferfleet plan --stack test --write --yield NAMESPACE/NAME, which may be "
            f"repeated; or give it more nodes, or lower replicas{MERGED}",
            "spec.nodePools[0]",
            kind="InferenceCluster",
            key="east",
        ),
    )


def _grown(name: str, replicas: int, **requests: str) -> Document:
    return deployment(name, replicas, resources={"requests": requests})


@pytest.mark.parametrize(
    ("documents", "held"),
    [
        (
            fleet(EAST, WEST, _grown("a", 2, cpu="150", memory="8Gi")),
            f" 200 cores, {TOO_SMALL} ml/a (2 replicas: 2 GPUs, 300 cores, 16Gi of memory)",
        ),
        (
            fleet(class_("l4", 4, cpu="10"), EAST, WEST, _grown("a", 2, cpu="8")),
            f" 10 cores, {TOO_SMALL} ml/a (2 replicas: 2 GPUs, 16 cores)",
        ),
    ],
    ids=["pods grew", "nodes of another shape"],
)
def test_pods_that_grew_and_nodes_that_are_less_move_nobody_unasked(documents: Documents, held: str) -> None:
    before = {"a east/l4": 2}
    planned = plan(documents, _lock(before, had=1))
    (problem,) = planned.problems
    assert placed(planned) == before
    assert held in problem.what
    assert problem.next_step == (
        "Say who may leave it: inferfleet plan --stack test --write --yield ml/a; or give it more nodes, or "
        f"lower replicas{MERGED}"
    )
    yielded = plan(documents, _lock(before, had=1, yielding=("ml/a",)))
    assert (placed(yielded), yielded.problems) == ({"a east/l4": 1, "a west/l4": 1}, ())


@pytest.mark.parametrize(
    ("yielding", "placements"),
    [
        (("ml/a",), {"a west/l4": 1, "b east/l4": 1, "c east/l4": 1}),
        (("ml/b",), {"a east/l4": 1, "b west/l4": 1, "c east/l4": 1}),
        (("ml/b", "ml/c"), {"a east/l4": 1, "b east/l4": 1, "c west/l4": 1}),
    ],
)
def test_of_those_that_yield_as_few_leave_as_suffice_and_all_others_stay(
    yielding: tuple[str, ...], placements: dict[str, int]
) -> None:
    documents = fleet(EAST, WEST, A, deployment("b", 1, gpus=2), deployment("c", 1, gpus=1))
    known = {"a east/l4": 1, "b east/l4": 1, "c east/l4": 1}
    planned = plan(documents, _lock(known, had=1, yielding=yielding))
    assert (placed(planned), planned.problems) == (placements, ())
    assert set(planned.departure_reasons.values()) == {SMALL}
    assert plan(documents, planned.lock).changes == ()


def test_where_those_that_yield_are_too_few_the_error_names_who_is_left() -> None:
    documents = fleet(EAST, WEST, deployment("a", 1, gpus=1), B, deployment("c", 1, gpus=4))
    known = {"a east/l4": 1, "b east/l4": 1, "c east/l4": 1}
    planned = plan(documents, _lock(known, had=1, yielding=("ml/a",)))
    (problem,) = planned.problems
    assert "on it: ml/b (1 replica: 4 GPUs), ml/c (1 replica: 4 GPUs); it lost" in problem.what


def test_one_that_yields_and_finds_no_other_place_is_one_that_would_be_lost() -> None:
    """So an update is refused as where a cluster is given up, unless documents say otherwise."""
    planned = plan(fleet(EAST, A, B), _lock(BOTH, had=1, yielding=("ml/b",)))
    assert (placed(planned), planned.problems) == ({"a east/l4": 1}, ())
    assert [(missing.deployment, missing.replicas, missing.running) for missing in planned.unplaced] == [
        ("ml/b", 1, 1)
    ]
    assert planned.departure_reasons == {spot("b east/l4"): SMALL}


def test_those_that_yield_stay_on_pools_that_hold_them() -> None:
    planned = plan(fleet(EAST, WEST, A), _lock({"a east/l4": 1}, had=1, yielding=("ml/a",)))
    assert planned.changes == ()


def test_those_that_yield_leave_a_pool_that_shrank_before_others_do() -> None:
    planned = plan(fleet(EAST, WEST, A, B), _lock(BOTH, had=2, yielding=("ml/b",)))
    assert placed(planned) == {"a east/l4": 1, "b west/l4": 1}


def test_nodes_of_a_lost_cluster_stay_in_the_lock_and_count_when_it_is_back() -> None:
    lost, smaller = cluster("east", {"l4": ("l4", 1)}, state="lost"), EAST
    away = plan(fleet(lost, WEST, A, B), _lock(BOTH, had=2))
    assert (placed(away), away.lock.nodes) == (BOTH, {"east/l4": 2, "west/l4": 2})
    back = plan(fleet(smaller, WEST, A, B), away.lock)
    assert (placed(back), back.problems) == ({"a west/l4": 1, "b east/l4": 1}, ())


def test_pools_of_abandoned_clusters_and_removed_pools_have_no_line() -> None:
    gone = cluster("east", {"l4": ("l4", 1)}, state="abandoned")
    known = lock({}, nodes={"east/l4": 1, "west/l4": 1, "west/old": 0, "north/l4": 3})
    assert plan(fleet(gone, WEST), known).lock.nodes == {"west/l4": 2}


def test_of_many_deployments_on_a_pool_some_are_named() -> None:
    names = [f"d{number:02}" for number in range(15)]
    documents = fleet(EAST, WEST, *(deployment(name, 1) for name in names))
    (problem,) = plan(documents, _lock({f"{name} east/l4": 1 for name in names}, had=1)).problems
    assert "ml/d10 (1 replica: 1 GPU), ml/d11 (1 replica: 1 GPU), and 3 more; it lost" in problem.what


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.sets(st.sampled_from(["ml/d0", "ml/d1", "ml/d2"])))
def test_only_who_yields_leaves_a_pool_that_has_as_many_nodes_as_it_had(
    documents: list[Document], locked: Lock, yielding: set[str]
) -> None:
    every = fleet(*documents)
    planned = plan(every, replace(locked, yielding=frozenset(yielding)))
    shrunk = {
        (name, pool.name)
        for name, of in every.clusters.items()
        for pool in of.spec.node_pools
        if pool.size < locked.nodes.get(f"{name}/{pool.name}", 0)
    }
    for spot_, why in planned.departure_reasons.items():
        if "is too small for its pods" in why and spot_.deployment not in yielding:
            assert any((spot_.cluster, pool) in shrunk for _, pool in spot_.pools)
