"""What a plan says where the room that `rollout: Surge` keeps free is what others lack."""

import pytest
from small_fleet import cluster, deployment, fleet, lock

from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Reason, Unplaced
from inferfleet.fleet.planning import plan

EAST = cluster("east", {"l4": ("l4", 2)})


def test_a_pool_that_is_full_says_how_much_of_it_is_kept_for_rollouts() -> None:
    a, b = deployment("a", 1, gpus=4, priority=-1), deployment("b", 1, gpus=4, rollout="Surge")
    full = (
        "2 of 2 nodes full with the room for 1 more that rollout: Surge of ml/b keeps free: "
        "0 free GPUs on the emptiest node, needs 4"
    )
    assert plan(fleet(EAST, a, b), lock({})).unplaced == (Unplaced("ml/a", 1, (Reason("east", "l4", full),)),)


@pytest.mark.parametrize(
    ("rollout_of_b", "whose", "at"),
    [
        ("DeleteFirst", "1 more that rollout: Surge of ml/a", ("ModelDeployment", "ml/a", "spec.rollout")),
        (
            "Surge",
            "2 more that rollout: Surge of ml/a, ml/b",
            ("InferenceCluster", "east", "spec.nodePools[0]"),
        ),
    ],
)
def test_a_pool_that_is_too_small_for_rollouts_alone_says_so_where_they_are_written(
    rollout_of_b: str, whose: str, at: tuple[str, str, str]
) -> None:
    a, b = deployment("a", 1, gpus=4, rollout="Surge"), deployment("b", 1, gpus=4, rollout=rollout_of_b)
    planned = plan(fleet(EAST, a, b), lock({"a east/l4": 1, "b east/l4": 1}, nodes={"east/l4": 3}))
    assert planned.problems == (
        Problem(
            "pool east/l4 with 2 nodes of 4 GPUs, 200 cores, 1000Gi of memory is too small for the replicas "
            "that placement.lock has on it: ml/a (1 replica: 4 GPUs), ml/b (1 replica: 4 GPUs), and the room "
            f"for {whose} keeps free; it has fewer nodes than it had, and there is no room elsewhere",
            "Give it more nodes, make room on another pool, lower replicas, or write rollout: DeleteFirst",
            at[2],
            kind=at[0],
            key=at[1],
        ),
    )


def test_a_pool_that_is_too_small_without_room_for_rollouts_too_says_nothing_of_them() -> None:
    one_node = cluster("east", {"l4": ("l4", 1)})
    planned = plan(fleet(one_node, deployment("a", 2, gpus=4, rollout="Surge")), lock({"a east/l4": 2}))
    assert [problem.what for problem in planned.problems] == [
        "pool east/l4 with 1 node of 4 GPUs, 200 cores, 1000Gi of memory is too small for the replicas "
        "that placement.lock has on it: ml/a (2 replicas: 8 GPUs); it lost no nodes: pods grew, its "
        "class changed, or branches were merged, and nobody moves unasked"
    ]
