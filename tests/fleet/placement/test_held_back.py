"""New replicas are planned with the smaller of what documents declare and what was seen."""

from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import pytest
from small_fleet import Document, cluster, deployment, fleet, lock, placed

from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet import plan
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.fleet.placement.held_back import stale

DAY = date(2026, 11, 23)
EAST = cluster("east", {"l4": ("l4", 2)})


def _planned(one: Seen, *documents: Document, running: int = 0) -> Any:
    known = lock({"a east/l4": running} if running else {})
    wanted = documents or (EAST, deployment("a", 8))
    return plan(fleet(*wanted), replace(known, seen={("east", "l4"): one}))


@pytest.mark.parametrize(
    ("one", "replicas"),
    [
        (Seen(DAY, 2, gpus=4, cpu=200_000, memory=1000 * 2**30), 8),
        (Seen(DAY, 3, gpus=8), 8),
        # A node is cordoned, or not there.
        (Seen(DAY, 1, (4,)), 4),
        (Seen(DAY, 1), 4),
        (Seen(DAY, 0), 0),
        # Pods of others, on nodes that nobody knows.
        (Seen(DAY, 2, foreign=(1, 2)), 5),
        (Seen(DAY, 2, foreign=(4, 4, 4)), 0),
        # Each node lacks one GPU.
        (Seen(DAY, 2, gpus=3), 6),
        (Seen(DAY, 1, (4,), gpus=3), 3),
        # Quota or reservation.
        (Seen(DAY, 2, most=1), 4),
        (Seen(DAY, 2, most=9), 8),
    ],
)
def test_new_replicas_have_the_room_that_was_seen(one: Seen, replicas: int) -> None:
    assert placed(_planned(one)) == ({"a east/l4": replicas} if replicas else {})


def test_an_autoscaler_may_still_add_nodes_that_are_not_there() -> None:
    pools = [{"name": "l4", "className": "l4", "minNodeCount": 0, "maxNodeCount": 2}]
    spec = EAST.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)["spec"]
    place = {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}}
    scaled = InferenceCluster.model_validate(
        {"metadata": {"name": "east"}, "spec": {**spec, "cluster": place, "nodePools": pools}}
    )
    assert placed(_planned(Seen(DAY, 0), scaled, deployment("a", 8))) == {"a east/l4": 8}
    assert placed(_planned(Seen(DAY, 0, (4,)), scaled, deployment("a", 8))) == {"a east/l4": 4}


def test_nothing_that_runs_moves_for_what_was_seen() -> None:
    west = cluster("west", {"l4": ("l4", 4)})
    random = Random(1)
    for _ in range(300):
        running = random.randint(1, 8)
        one = Seen(
            DAY,
            random.randint(0, 2),
            tuple(random.choices(range(5), k=random.randint(0, 2))),
            random.choice([None, 0, 2, 4]),
            random.choice([None, 1000, 200_000]),
            foreign=tuple(random.choices(range(1, 5), k=random.randint(0, 3))),
            most=random.choice([None, 0, 1, 2]),
        )
        made = _planned(one, EAST, west, deployment("a", running), running=running)
        assert (placed(made), made.changes) == ({"a east/l4": running}, ())


def test_a_running_replica_on_a_cordoned_node_takes_no_room_elsewhere() -> None:
    """Three of four GPUs of the cordoned node are the stack's, so one is held, and the other node is free."""
    assert placed(_planned(Seen(DAY, 1, (1,)), EAST, deployment("a", 7), running=3)) == {"a east/l4": 7}


def test_the_plan_says_what_leaves_less_room_and_which_nodes_are_not_what_their_class_says() -> None:
    made = _planned(Seen(DAY, 1, (4,), gpus=2, cpu=100_000, foreign=(1, 1), most=1))
    told = {(problem.severity, problem.what) for problem in made.problems if problem.severity != "error"}
    assert told == {
        (
            "notice",
            "new replicas have less room on pool east/l4, seen on 2026-11-23: 1 of its nodes cordoned or not "
            "ready, 2 GPUs held by pods of others, quotas and reservations allow 1 of 2 nodes",
        ),
        ("warning", "nodes of pool east/l4 offer 2 GPUs, and class l4 says 4"),
        ("warning", "nodes of pool east/l4 offer 100 cores, and class l4 says 200"),
    }


def test_what_is_older_than_a_week_is_told_once() -> None:
    seen = {("east", "l4"): Seen(DAY, 1), ("west", "l4"): Seen(date(2026, 11, 20), 1)}
    assert list(stale(seen, today=date(2026, 11, 27))) == []
    assert [problem.what for problem in stale(seen, today=date(2026, 12, 1))] == [
        "capacity.lock has pool west/l4 as of 2026-11-20, 11 days ago, and 1 more before 2026-11-24"
    ]
