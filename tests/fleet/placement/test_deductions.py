"""New replicas are planned with the smaller of what documents declare and what was seen."""

from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_fleet import Document, cluster, deployment, fleet, lock, placed

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.lock.capacity import Amounts, Observation, observation_problems
from inferfleet.fleet.planning import plan

DAY = date(2026, 11, 23)
EAST = cluster("east", {"l4": ("l4", 2)})


GI = 2**30
# Four of these fit on a node, whatever counts.
EIGHT = deployment("a", 8, resources={"requests": {"cpu": "25", "memory": "125Gi"}})


seen_pools = st.builds(
    Observation,
    st.just(DAY),
    st.integers(0, 2),
    st.lists(st.integers(0, 4), max_size=2).map(tuple),
    st.sampled_from([None, 0, 2, 3, 4]),
    st.sampled_from([None, 1000, 200_000]),
    foreign=st.lists(st.integers(1, 4), max_size=3).map(tuple),
    most=st.sampled_from([None, 0, 1, 2]),
    missing=st.integers(0, 3),
)


def _planned(one: Observation, *documents: Document, running: int = 0) -> Any:
    known = lock({"a east/l4": running} if running else {})
    wanted = documents or (EAST, EIGHT)
    return plan(fleet(*wanted), replace(known, seen={("east", "l4"): one}))


@pytest.mark.parametrize(
    ("one", "replicas"),
    [
        (Observation(DAY, 2, gpus=4, cpu=200_000, memory=1000 * 2**30), 8),
        (Observation(DAY, 3, gpus=8), 8),
        # A node is cordoned, or not there.
        (Observation(DAY, 1, (4,)), 4),
        (Observation(DAY, 1, missing=1), 4),
        (Observation(DAY, 0, missing=2), 0),
        # Documents ask for a node more since then.
        (Observation(DAY, 1), 8),
        # It became smaller: of three there was one, and of two there is one.
        (Observation(DAY, 1, missing=2), 4),
        # Of four there were two, and these are all that it has now.
        (Observation(DAY, 2, missing=2), 8),
        (Observation(DAY, 0, missing=1, most=1), 4),
        # Pods of others, on nodes that nobody knows.
        (Observation(DAY, 2, foreign=(1, 2)), 5),
        (Observation(DAY, 2, foreign=(4, 4, 4)), 0),
        # Each node lacks one GPU.
        (Observation(DAY, 2, gpus=3), 6),
        (Observation(DAY, 1, (4,), gpus=3), 3),
        # Quota or reservation.
        (Observation(DAY, 2, most=1), 4),
        (Observation(DAY, 2, most=9), 8),
        # Cores and memory of a replica are 25 and 125Gi; a class says 200 and 1000Gi.
        (Observation(DAY, 2, cpu=200_000, others=(Amounts(120_000, 0),)), 7),
        (
            Observation(
                DAY, 2, cpu=200_000, memory=1000 * GI, others=(Amounts(0, 600 * GI), Amounts(0, 600 * GI))
            ),
            6,
        ),
        (Observation(DAY, 2, cpu=200_000, daemons=Amounts(101_000, 0)), 6),
        # A node has more than its class says, which is what others may take without anybody's notice.
        (Observation(DAY, 2, cpu=320_000, daemons=Amounts(1000, 0), others=(Amounts(119_000, 0),)), 8),
        (Observation(DAY, 2, cpu=320_000, daemons=Amounts(1000, 0), others=(Amounts(239_000, 0),)), 7),
    ],
)
def test_new_replicas_have_the_room_that_was_seen(one: Observation, replicas: int) -> None:
    assert placed(_planned(one)) == ({"a east/l4": replicas} if replicas else {})


def test_what_others_leave_is_not_more_than_was_seen() -> None:
    """Eight run where a quota allows one node of four GPUs; six of them leave room for two."""
    planned = _planned(Observation(DAY, 2, most=1), EAST, deployment("a", 2), deployment("b", 8), running=8)
    assert placed(planned) == {"a east/l4": 2, "b east/l4": 2}


def test_what_nodes_lack_is_held_back_on_each_that_has_room_for_it() -> None:
    """A pod that runs has all that its class says of one node; the two others are as they were seen."""
    whole, most = ({"requests": {"cpu": cpu}} for cpu in ("200", "195"))
    three = cluster("east", {"l4": ("l4", 3)})
    running, new = deployment("a", 1, resources=whole), deployment("b", 2, resources=most)
    lacking = Observation(DAY, 3, gpus=4, cpu=190_000)
    assert placed(_planned(lacking, three, running, new, running=1)) == {"a east/l4": 1}


def test_what_moves_comes_to_no_node_that_is_missing() -> None:
    """Both deployments should leave: `a` the pool that lacks a node, and `b` its cluster for that pool."""
    memory = "capacity['gpu.nvidia.com/memory'].isLessThan(quantity('40Gi'))"
    documents = (
        cluster("east", {"l4": ("l4", 2), "h100": ("h100", 1)}),
        cluster("west", {"l4": ("l4", 2)}, state="drained"),
        deployment("a", 2, gpus=4, cel=f"!{memory}"),
        deployment("b", 2, gpus=4, cel=memory),
    )
    known = replace(
        lock({"a east/l4": 2, "b west/l4": 2}), seen={("east", "l4"): Observation(DAY, 1, missing=1)}
    )
    after = {"a east/h100": 2, "b east/l4": 1, "b west/l4": 1}
    assert placed(plan(fleet(*documents), known)) == after


@settings(max_examples=60, deadline=None)
@example(Observation(DAY, 1, missing=1, foreign=(2,)), 6, 3, 3, 1)
@given(seen_pools, st.integers(1, 8), st.integers(0, 8), st.integers(1, 8), st.sampled_from([1, 2, 4]))
def test_what_is_held_back_follows_from_those_that_stay(
    one: Observation, ran: int, stay: int, new: int, gpus: int
) -> None:
    """It makes no difference whether others left in this plan, or in the one before."""
    wanted = EAST, deployment("a", min(ran, stay)), deployment("b", new, gpus=gpus)
    at_once = _planned(one, *wanted, running=ran)
    assert placed(at_once) == placed(_planned(one, *wanted, running=min(ran, stay)))


def test_an_autoscaler_may_still_add_nodes_that_are_not_there() -> None:
    pools = [{"name": "l4", "className": "l4", "minNodeCount": 0, "maxNodeCount": 2}]
    spec = EAST.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)["spec"]
    place = {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}}
    scaled = InferenceCluster.model_validate(
        {"metadata": {"name": "east"}, "spec": {**spec, "cluster": place, "nodePools": pools}}
    )
    assert placed(_planned(Observation(DAY, 0, missing=2), scaled, deployment("a", 8))) == {"a east/l4": 8}
    assert placed(_planned(Observation(DAY, 0, (4,)), scaled, deployment("a", 8))) == {"a east/l4": 4}


def test_nothing_that_runs_moves_for_what_was_seen() -> None:
    west = cluster("west", {"l4": ("l4", 4)})
    random = Random(1)
    for _ in range(300):
        running = random.randint(1, 8)
        one = Observation(
            DAY,
            random.randint(0, 2),
            tuple(random.choices(range(5), k=random.randint(0, 2))),
            random.choice([None, 0, 2, 4]),
            random.choice([None, 1000, 200_000]),
            foreign=tuple(random.choices(range(1, 5), k=random.randint(0, 3))),
            most=random.choice([None, 0, 1, 2]),
            missing=random.randint(0, 3),
        )
        made = _planned(one, EAST, west, deployment("a", running), running=running)
        assert (placed(made), made.changes) == ({"a east/l4": running}, ())


def test_a_running_replica_on_a_cordoned_node_takes_no_room_elsewhere() -> None:
    """Three of four GPUs of the cordoned node are the stack's, so one is held, and the other node is free."""
    assert placed(_planned(Observation(DAY, 1, (1,)), EAST, deployment("a", 7), running=3)) == {
        "a east/l4": 7
    }


def test_the_plan_says_what_leaves_less_room_and_which_nodes_are_not_what_their_class_says() -> None:
    pool = cluster("east", {"l4": ("l4", 3)})
    one = Observation(
        DAY,
        1,
        (4,),
        gpus=2,
        cpu=100_000,
        memory=1000 * GI,
        foreign=(1, 1),
        most=1,
        missing=1,
        daemons=Amounts(500, GI),
        others=(Amounts(1500, 2 * GI), Amounts(0, 3 * GI)),
    )
    made = _planned(one, pool, deployment("a", 8))
    told = {(problem.severity, problem.what) for problem in made.problems if problem.severity != "error"}
    assert told == {
        (
            "notice",
            "new replicas have less room on pool east/l4, seen on 2026-11-23: 1 of its nodes cordoned or not "
            "ready, 1 of 3 nodes not there, 2 GPUs held by pods of others, up to 1.5 cores and 3Gi taken by "
            "other pods on 2 nodes, 0.5 cores and 1Gi of each node requested by DaemonSets, quotas and "
            "reservations allow 1 of 3 nodes",
        ),
        ("warning", "nodes of pool east/l4 offer 2 GPUs, and class l4 says 4"),
        ("warning", "nodes of pool east/l4 offer 100 cores, and class l4 says 200"),
    }


def test_what_is_older_than_a_week_is_told_once() -> None:
    seen = {("east", "l4"): Observation(DAY, 1), ("west", "l4"): Observation(date(2026, 11, 20), 1)}
    documents = fleet(EAST, cluster("west", {"l4": ("l4", 2)}))
    assert list(observation_problems(documents, seen, today=date(2026, 11, 27))) == []
    assert [problem.what for problem in observation_problems(documents, seen, today=date(2026, 12, 1))] == [
        "capacity.lock has pool west/l4 as of 2026-11-20, 11 days ago, and 1 more before 2026-11-24"
    ]
