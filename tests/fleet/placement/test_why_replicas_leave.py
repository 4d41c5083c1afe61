"""Why a plan moves replicas that run."""

import pytest
from small_fleet import cluster, deployment, fleet, lock

from inferfleet.api.documents import Documents
from inferfleet.fleet import plan

ONE_NODE = cluster("east", {"l4": ("l4", 1)})
SMALL_POOL = "pool east/l4 is too small for its pods"


@pytest.mark.parametrize(
    ("documents", "locked", "left"),
    [
        (
            fleet(ONE_NODE, cluster("west", {"l4": ("l4", 1)}), deployment("a", 2, gpus=2, rollout="Surge")),
            {"a east/l4": 2},
            f"{SMALL_POOL} and the room for 1 more that rollout: Surge of ml/a keeps free",
        ),
        (
            fleet(ONE_NODE, cluster("west", {"l4": ("l4", 2)}), deployment("a", 3, gpus=2)),
            {"a east/l4": 3},
            SMALL_POOL,
        ),
        (
            fleet(
                cluster("east", {"l4": ("l4", 1)}, state="drained"),
                cluster("west", {"l4": ("l4", 1)}),
                deployment("a", 1),
            ),
            {"a east/l4": 1},
            "drained",
        ),
    ],
)
def test_a_plan_says_why_running_replicas_leave_a_spot(
    documents: Documents, locked: dict[str, int], left: str
) -> None:
    planned = plan(documents, lock(locked))
    assert planned.left == {change.spot: left for change in planned.changes if change.before > change.after}
    assert len(planned.left) == 1


def test_replicas_that_are_no_longer_wanted_leave_without_a_reason() -> None:
    assert plan(fleet(ONE_NODE, deployment("a", 1)), lock({"a east/l4": 3})).left == {}
