"""What a plan says about what finds no place, cannot leave, or cannot be right."""

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, placed, service

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Plan, Reason, Unplaced
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EMPTY = lock({})
EAST = cluster("east", {"l4": ("l4", 2)})
FOUR = "has 4 GPUs per node, needs 8, and class l4 has no network between its nodes"
WEST = cluster("west", {"h100": ("h100", 2), "l4": ("l4", 1)})


def _messages(plan: Plan) -> tuple[list[str], list[str]]:
    """Errors and warnings."""
    errors, warnings = of_severity(plan.problems, "error"), of_severity(plan.problems, "warning")
    return [problem.what for problem in errors], [problem.what for problem in warnings]


@pytest.mark.parametrize(
    ("documents", "reasons"),
    [
        (
            fleet(cluster("east", {"l4": ("l4", 2)}), deployment("a", 3, gpus=3)),
            [Reason("east", "l4", "2 of 2 nodes full: 1 free GPU on the emptiest node, needs 3")],
        ),
        (
            fleet(EAST, cluster("west", {"h100": ("h100", 0)}), deployment("a", 1, gpus=8)),
            [Reason("east", "l4", FOUR), Reason("west", "h100", "has no nodes")],
        ),
        (
            fleet(
                cluster("dev", {"l4": ("l4", 1)}, labels={"tier": "dev"}),
                cluster("none", {"l4": ("l4", 1)}),
                cluster("prod", {"l4": ("l4", 1)}, labels={"tier": "prod"}, state="cordoned"),
                deployment("a", 1, selector={"tier": "prod"}),
            ),
            [
                Reason("dev", "", "cluster label tier=dev, needs tier=prod"),
                Reason("none", "", "no cluster label tier, needs tier=prod"),
                Reason("prod", "", "cordoned, with 1 node suitable for it"),
            ],
        ),
        (
            fleet(
                cluster(
                    "east", {"l4": ("l4", 2)}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]
                ),
                deployment("a", 1),
            ),
            [Reason("east", "", "taint k=v:NoSchedule is not tolerated")],
        ),
        (
            fleet(EAST, deployment("a", 1, resources={"requests": {"cpu": "300"}})),
            [Reason("east", "l4", "has 200 cores per node, needs 300")],
        ),
        (
            fleet(EAST, deployment("a", 1, resources={"limits": {"memory": "2000Gi"}})),
            [Reason("east", "l4", "has 1000Gi of memory per node, needs 2000Gi")],
        ),
        (
            fleet(
                cluster("east", {"l4": ("l4", 1)}), deployment("a", 2, resources={"requests": {"cpu": "150"}})
            ),
            [Reason("east", "l4", "1 of 1 nodes full: 50 free cores beside enough GPUs, needs 150")],
        ),
        (
            fleet(cluster("east", {"l4": ("l4", 1)}), deployment("a", 1, gpus=2, workers=3)),
            [Reason("east", "l4", "room for 2 of the 3 pods of a replica")],
        ),
        (
            fleet(cluster("east", {"l4": ("l4", 1)}), deployment("a", 1, gpus=4, rollout="Surge")),
            [Reason("east", "l4", "room for 1 of the 2 pods (1 of a replica, 1 kept free for rollouts)")],
        ),
    ],
)
def test_what_finds_no_place_says_why_for_each_cluster_and_pool(
    documents: Documents, reasons: list[Reason]
) -> None:
    planned = plan(documents, EMPTY)
    assert planned.unplaced == (Unplaced("ml/a", 1, tuple(reasons)),)


def test_a_placed_deployment_says_why_it_is_not_elsewhere() -> None:
    planned = plan(fleet(EAST, WEST, deployment("a", 1, gpus=8), deployment("b", 1)), EMPTY)
    assert planned.reasons == {
        "ml/a": (
            Reason("east", "l4", FOUR),
            Reason("west", "l4", FOUR),
        ),
        "ml/b": (Reason("west", "h100", "has room"), Reason("west", "l4", "has room")),
    }


@pytest.mark.parametrize(
    ("documents", "locked", "problem"),
    [
        (
            fleet(EAST, deployment("a", 2, cel='capcity["x"] == 1')),
            {"a east/l4": 1},
            "line 1, column 1 of the expression: undeclared reference to 'capcity'",
        ),
        (
            fleet(EAST, deployment("a", 2, cel='device.driver == "x"')),
            {"a east/l4": 1},
            "nodeSelector matches no class of the clusters that clusterSelector matches "
            "(l4: nodeSelector is false)",
        ),
        (
            fleet(EAST, deployment("a", 2, gpus=6)),
            {"a east/l4": 1},
            "each pod needs 6 GPUs (tensor x dataLocal); "
            "no node of the fleet has more than 4 GPUs (class l4), and several together do not do: "
            "tensor 6 is no number of whole nodes of 4",
        ),
        (
            fleet(EAST, deployment("a", 2, selector={"tier": "prod"})),
            {"a east/l4": 1},
            "clusterSelector tier=prod matches no cluster",
        ),
        (
            fleet(
                cluster("east", {"l4": ("odd", 1)}),
                class_("odd", 0, devices=[{"name": "x", "driver": "x.dev", "deviceClassName": "x"}]),
                deployment("a", 1),
            ),
            {"a east/l4": 1},
            "class odd has 0 claimable devices of a supported driver or with a resource; a class in use must "
            "have exactly one, or none that pods could claim",
        ),
    ],
)
def test_what_is_invalid_keeps_its_replicas_and_is_a_problem(
    documents: Documents, locked: dict[str, int], problem: str
) -> None:
    planned = plan(documents, lock(locked))
    assert (placed(planned), planned.unplaced) == (locked, ())
    assert problem in _messages(planned)[0]


def test_every_problem_names_its_field_and_its_severity() -> None:
    planned = plan(
        fleet(
            cluster("east", {"l4": ("l4", 1)}),
            cluster("west", {"odd": ("odd", 1)}, state="drained"),
            class_("odd", 0, devices=[{"name": "x", "driver": "x.dev", "deviceClassName": "x"}]),
            deployment("a", 2, gpus=4),
            deployment("b", 0, labels={"size": "b"}),
            deployment("c", 1, cel="capcity"),
            deployment("d", 1, selector={"tier": "prod"}),
            deployment("e", 1, gpus=6),
            service("chat", (1, {"size": "b"}), (1, {"size": "z"})),
        ),
        lock({"a east/l4": 2, "b west/odd": 1, "c west/gone": 1}),
    )
    assert {(problem.severity, problem.kind, problem.key, problem.path) for problem in planned.problems} == {
        ("error", "", "", ""),  # the lock's, which knows its own lines
        ("error", "InferenceClass", "odd", "spec.devices"),
        ("error", "InferenceCluster", "east", "spec.nodePools[0]"),
        ("error", "ModelDeployment", "ml/c", "spec.nodeSelector.cel"),
        ("error", "ModelDeployment", "ml/d", "spec.clusterSelector"),
        ("error", "ModelDeployment", "ml/e", "spec.workers.topology"),
        ("error", "ModelService", "ml/chat", "spec.endpoints[1].selector"),
        ("warning", "ModelService", "ml/chat", ""),
    }
    drained = cluster("east", {"l4": ("l4", 1)}, state="drained")
    (problem,) = plan(fleet(drained, deployment("a", 1)), lock({"a east/l4": 1})).problems
    assert (problem.severity, problem.kind, problem.key) == ("warning", "ModelDeployment", "ml/a")


def test_what_cannot_leave_stays_and_says_why() -> None:
    drained = cluster("east", {"l4": ("l4", 2)}, state="drained")
    full = cluster("west", {"l4": ("l4", 1)})
    planned = plan(fleet(drained, full, deployment("a", 3, gpus=4)), lock({"a east/l4": 2, "a west/l4": 1}))
    assert placed(planned) == {"a east/l4": 2, "a west/l4": 1}
    assert _messages(planned) == (
        [],
        [
            "2 replicas of ml/a cannot leave east/l4 (drained): "
            "west/l4: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 4"
        ],
    )


def test_a_shape_that_outgrew_its_nodes_and_finds_no_room_is_kept_with_a_problem() -> None:
    full = cluster("west", {"h100": ("h100", 1)})
    copies = deployment("a", 1, topology={"tensor": 2, "data": 4, "dataLocal": 4})
    planned = plan(
        fleet(EAST, full, copies, deployment("b", 1, gpus=8)),
        lock({"a east/l4": 1, "b west/h100": 1}),
    )
    assert placed(planned) == {"a east/l4": 1, "b west/h100": 1}
    assert _messages(planned)[0] == [
        "1 replica of ml/a cannot leave east/l4 (has 4 GPUs per node, needs 8): "
        "west/h100: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 8"
    ]


@pytest.mark.parametrize(
    ("documents", "locked", "problem"),
    [
        (
            fleet(WEST, deployment("a", 1)),
            lock({"a east/l4": 1}),
            "the lock has 1 replica of ml/a on cluster east, but that cluster has no document",
        ),
        (
            fleet(WEST, deployment("a", 1)),
            lock({"a west/old": 2}),
            "the lock has 2 replicas of ml/a on pool old of cluster west, but the cluster has no such pool",
        ),
        (
            fleet(cluster("east", {"l4": ("l4", 1)}, state="lost")),
            lock({"a east/l4": 1}),
            "cluster east is lost and the lock has 1 replica of ml/a there, "
            "but that deployment has no document",
        ),
        (
            fleet(cluster("east", {"l4": ("l4", 1)}, state="lost")),
            lock({}, {"chat": ("east",)}),
            "cluster east is lost and the lock has service ml/chat there, but that service has no document",
        ),
    ],
)
def test_documents_that_still_hold_something_cannot_go(
    documents: Documents, locked: Lock, problem: str
) -> None:
    planned = plan(documents, locked)
    assert (placed(planned), _messages(planned)[0], planned.lock.placements) == (
        {},
        [problem],
        locked.placements,
    )
