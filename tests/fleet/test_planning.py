"""The plan, case by case: what runs where, what moves, what is kept and why."""

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, placed, service, spot

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Change, Endpoint, Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.planning import plan

EMPTY = lock({})
EAST = cluster("east", {"l4": ("l4", 2)})
WEST = cluster("west", {"h100": ("h100", 2), "l4": ("l4", 1)})


def _messages(plan: Plan) -> tuple[list[str], list[str]]:
    """Errors and warnings."""
    errors, warnings = of_severity(plan.problems, "error"), of_severity(plan.problems, "warning")
    return [problem.what for problem in errors], [problem.what for problem in warnings]


def test_replicas_spread_over_clusters_and_take_the_smallest_nodes_that_do() -> None:
    planned = plan(fleet(EAST, WEST, deployment("a", 3), deployment("big", 1, gpus=8)), EMPTY)
    assert placed(planned) == {"a east/l4": 2, "a west/l4": 1, "big west/h100": 1}
    assert planned.lock == Lock(
        stack="test",
        clusters={"east": LockedCluster("Existing"), "west": LockedCluster("Existing")},
        placements={spot("a east/l4"): 2, spot("a west/l4"): 1, spot("big west/h100"): 1},
        nodes={"east/l4": 2, "west/h100": 2, "west/l4": 1},
    )
    assert planned.changes == (
        Change(spot("a east/l4"), 0, 2),
        Change(spot("a west/l4"), 0, 1),
        Change(spot("big west/h100"), 0, 1),
    )
    assert _messages(planned) == ([], [])


def test_partly_used_nodes_are_taken_before_whole_ones() -> None:
    both = cluster("both", {"a": ("h100", 1), "b": ("h100", 1)})
    planned = plan(fleet(both, deployment("run", 1), deployment("next", 1)), lock({"run both/b": 1}))
    assert placed(planned) == {"next both/b": 1, "run both/b": 1}


def test_an_endpoint_carries_its_deployments_labels_before_its_clusters() -> None:
    east = cluster("east", {"l4": ("l4", 1), "l4b": ("l4", 1)}, labels={"tier": "prod", "region": "eu"})
    model = deployment("a", 8, labels={"tier": "gold", "family": "qwen"})
    labels = {"tier": "gold", "region": "eu", "family": "qwen"}
    made = {"inferfleet.dev/deployment": "a", "inferfleet.dev/cluster": "east"}
    assert plan(fleet(east, model), EMPTY).endpoints == (Endpoint("ml/a", "east", 8, {**labels, **made}),)


@pytest.mark.parametrize(
    ("documents", "locked", "placements"),
    [
        pytest.param(
            fleet(EAST, WEST, deployment("a", 2)),
            {"a west/h100": 2},
            {"a west/h100": 2},
            id="placed ones stay",
        ),
        pytest.param(
            fleet(EAST, WEST, deployment("a", 1)),
            {"a east/l4": 1, "a west/l4": 2},
            {"a east/l4": 1},
            id="fewer: the most loaded cluster first, then the last name",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 2)}, state="drained"), WEST, deployment("a", 1)),
            {"a east/l4": 1, "a west/l4": 2},
            {"a west/l4": 1},
            id="fewer: a drained cluster first",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 2)}, state="cordoned"), WEST, deployment("a", 2)),
            {"a east/l4": 1, "a west/l4": 2},
            {"a west/l4": 2},
            id="fewer: a cordoned cluster first",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 2)}, state="cordoned"), WEST, deployment("a", 3)),
            {"a east/l4": 1},
            {"a east/l4": 1, "a west/l4": 2},
            id="cordoned: nothing new, and what runs stays",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 2)}, state="drained"), WEST, deployment("a", 2)),
            {"a east/l4": 2},
            {"a west/l4": 2},
            id="drained: what runs moves",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 2)}, state="abandoned"), WEST, deployment("a", 2)),
            {"a east/l4": 2},
            {"a west/l4": 2},
            id="abandoned: placed elsewhere",
        ),
        pytest.param(
            fleet(cluster("east", {"l4": ("l4", 0)}, state="lost"), WEST, deployment("a", 3)),
            {"a east/l4": 2},
            {"a east/l4": 2, "a west/l4": 1},
            id="lost: untouched, unchecked, counted",
        ),
        pytest.param(
            fleet(
                cluster("east", {"l4": ("l4", 2)}, taints=[{"key": "gone", "effect": "NoExecute"}]),
                WEST,
                deployment("a", 1),
            ),
            {"a east/l4": 1},
            {"a west/l4": 1},
            id="NoExecute: what runs moves",
        ),
        pytest.param(
            fleet(
                cluster("east", {"l4": ("l4", 2)}, taints=[{"key": "new", "effect": "NoSchedule"}]),
                WEST,
                deployment("a", 3),
            ),
            {"a east/l4": 1},
            {"a east/l4": 1, "a west/l4": 2},
            id="NoSchedule: nothing new",
        ),
        pytest.param(
            fleet(
                cluster(
                    "east", {"l4": ("l4", 2)}, taints=[{"key": "new", "value": "x", "effect": "NoSchedule"}]
                ),
                deployment("a", 1, tolerations=[{"key": "new", "value": "x"}]),
            ),
            {},
            {"a east/l4": 1},
            id="a tolerated taint does not matter",
        ),
        pytest.param(
            fleet(EAST, WEST, deployment("a", 1, topology={"tensor": 2, "data": 4, "dataLocal": 4})),
            {"a east/l4": 1},
            {"a west/h100": 1},
            id="a shape that outgrew its nodes moves",
        ),
        pytest.param(
            fleet(EAST, WEST, deployment("a", 1, gpus=8)),
            {"a east/l4": 1},
            {"a east/l4": 1},
            id="a group that has room on several nodes stays, slow as their network is",
        ),
        pytest.param(
            fleet(class_("l4", 4, allocation="DRA"), EAST, WEST, deployment("a", 1)),
            {"a east/l4": 1},
            {"a east/l4": 1},
            id="a class that changed to DRA keeps what runs",
        ),
        pytest.param(
            fleet(
                WEST,
                deployment("a", 1, cel='capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0'),
            ),
            {"a west/l4": 1},
            {"a west/h100": 1},
            id="a selector that turned false moves what runs",
        ),
        pytest.param(fleet(EAST, deployment("b", 1)), {"a east/l4": 1}, {"b east/l4": 1}, id="removed: goes"),
    ],
)
def test_what_runs_where(documents: Documents, locked: dict[str, int], placements: dict[str, int]) -> None:
    planned = plan(documents, lock(locked))
    assert (placed(planned), _messages(planned), planned.unplaced) == (placements, ([], []), ())


def test_an_abandoned_cluster_is_forgotten_with_its_services() -> None:
    gone = cluster("east", {"l4": ("l4", 1)}, state="abandoned")
    before = Lock(
        stack="test",
        clusters={"east": LockedCluster("Existing", "1"), "west": LockedCluster("Existing", "2")},
        placements={spot("a east/l4"): 1},
        services={"ml/chat": ("east",)},
        nodes={"east/l4": 1},
    )
    planned = plan(fleet(gone, WEST, deployment("a", 1), service("chat", (1, {}))), before)
    assert planned.lock == Lock(
        stack="test",
        clusters={"west": LockedCluster("Existing", "2")},
        placements={spot("a west/l4"): 1},
        services={"ml/chat": ("west",)},
        nodes={"west/h100": 2, "west/l4": 1},
    )


def test_a_shape_that_outgrew_its_nodes_does_not_push_its_neighbours_out() -> None:
    documents = fleet(EAST, cluster("west", {"l4": ("l4", 1), "h100": ("h100", 0)}), deployment("b", 2))
    grown = fleet(*documents.clusters.values(), *documents.deployments.values(), deployment("a", 1, gpus=8))
    assert placed(plan(grown, lock({"a east/l4": 1, "b east/l4": 2}))) == {"a east/l4": 1, "b east/l4": 2}
