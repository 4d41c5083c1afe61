"""Queues of Kueue that an update would change, against what its webhooks let change."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing
from own_cluster import east_problem

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan
from inferfleet.preflight.observe import observe

Start = Callable[..., FakeCluster]
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def look(fake: FakeCluster, wanted: dict[str, Any]) -> list[Problem]:
    components = (Component("ModelReplicas", "east", (KubeObject("n", wanted),)),)
    connection = Connection("east", "existing/east", "active", config_key="east")
    desired = Desired("prod", (DesiredCluster(connection, components),), Plan(), frozenset(), ())
    return list(observe(desired, {"east": fake.kubeconfig}).problems)


def workload(queue: str | None, *, ready: int = 0, manager: str = "kueue") -> dict[str, Any]:
    labels = {**OURS, **({"kueue.x-k8s.io/queue-name": queue} if queue else {})}
    owned = {"f:metadata": {"f:labels": {"f:kueue.x-k8s.io/queue-name": {}}}}
    managed = [{"manager": manager, "fieldsV1": owned}] if queue else []
    return thing(
        "Deployment",
        "a-decode-l4",
        "ml",
        labels=labels,
        metadata={"managedFields": managed},
        spec={"template": {"metadata": {}, "spec": {"containers": []}}},
        status={"readyReplicas": ready},
    )


@pytest.mark.parametrize(
    ("before", "after", "queues", "when"),
    [
        (
            workload(None, ready=2),
            workload("team-a"),
            "no queue of Kueue and would be in queue team-a",
            "while pods are ready (2 are)",
        ),
        (
            workload("b", ready=1),
            workload("team-a"),
            "queue b of Kueue and would be in queue team-a",
            "while pods are ready (1 are)",
        ),
        (
            workload("b", manager="pulumi-kubernetes-1a"),
            workload(None),
            "queue b of Kueue and would be in no queue",
            "for as long as the workload exists",
        ),
    ],
)
def test_a_queue_that_kueue_would_refuse_to_change_is_told_before(
    cluster: Start, before: dict[str, Any], after: dict[str, Any], queues: str, when: str
) -> None:
    assert look(cluster(objects=[before]), after) == [
        east_problem(
            f"workload ml/a-decode-l4 on cluster 'east' is in {queues}, which Kueue refuses {when}",
            "Write replicas: 0 for its deployment, run `pulumi up`, and change the queue then; or give the "
            "deployment another name, and remove the old one once the new one serves",
            "spec.serving.scheduler",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (workload("team-a", ready=2), workload("team-a")),
        (workload("b"), workload("team-a")),
        (workload("default", ready=2), workload(None)),
        (workload(None, ready=2), workload(None)),
    ],
)
def test_a_queue_that_stays_or_that_nothing_runs_in_is_no_problem(
    cluster: Start, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert look(cluster(objects=[before]), after) == []
