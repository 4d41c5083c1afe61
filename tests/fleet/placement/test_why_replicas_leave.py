"""Why a plan moves replicas that run."""

import pytest
from small_fleet import cluster, deployment, fleet, lock, placed

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.planning import plan

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
        (
            fleet(
                cluster("east", {"l4": ("l4", 1)}, state="abandoned"),
                cluster("west", {"l4": ("l4", 1)}),
                deployment("a", 1),
            ),
            {"a east/l4": 1},
            "abandoned",
        ),
    ],
)
def test_a_plan_says_why_running_replicas_leave_a_spot(
    documents: Documents, locked: dict[str, int], left: str
) -> None:
    planned = plan(documents, lock(locked, nodes={"east/l4": 2}))
    assert planned.departure_reasons == {
        change.spot: left for change in planned.changes if change.before > change.after
    }
    assert len(planned.departure_reasons) == 1


def test_replicas_that_are_no_longer_wanted_leave_without_a_reason() -> None:
    assert plan(fleet(ONE_NODE, deployment("a", 1)), lock({"a east/l4": 3})).departure_reasons == {}
    abandoned = cluster("east", {"l4": ("l4", 1)}, state="abandoned")
    assert plan(fleet(abandoned), lock({"a east/l4": 1})).departure_reasons == {}


@pytest.mark.parametrize(
    ("replicas", "locked", "what"),
    [
        (0, {"a east/l4": 1}, "replicas is 0, but 1 replica stays on east, which is lost"),
        (
            2,
            {"a east/l4": 2, "a west/l4": 1},
            "replicas is 2, but 3 replicas stay on east, west, which are lost",
        ),
    ],
)
def test_replicas_that_lost_clusters_keep_beyond_those_wanted_stay_and_are_told(
    replicas: int, locked: dict[str, int], what: str
) -> None:
    lost = [cluster(name, {"l4": ("l4", 1)}, state="lost") for name in ("east", "west")]
    north = cluster("north", {"l4": ("l4", 1)})
    planned = plan(fleet(*lost, north, deployment("a", replicas)), lock({**locked, "a north/l4": 1}))
    assert placed(planned) == locked
    assert planned.problems == (
        Problem(
            what,
            "Surplus replicas end once their cluster is active again; "
            "write state: abandoned for one that will not come back",
            "spec.replicas",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        ),
    )


def test_replicas_on_a_lost_cluster_that_are_wanted_are_not_told() -> None:
    lost = cluster("east", {"l4": ("l4", 1)}, state="lost")
    assert plan(fleet(lost, deployment("a", 1)), lock({"a east/l4": 1})).problems == ()
