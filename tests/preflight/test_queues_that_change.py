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


QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}


def group(
    *, queued: bool = True, size: int = 2, written: str = "", manager: str = "pulumi", **pod: Any
) -> dict[str, Any]:
    """A LeaderWorkerSet; `pod` is what its followers have besides a container, whose fields are `engine`."""
    engine = {"name": "engine", "resources": {"requests": {"cpu": "4"}}, "ports": [{"containerPort": 8000}]}
    leader = {"metadata": {}, "spec": {"containers": [engine]}}
    engine = {**engine, **pod.pop("engine", {})}
    worker = {"metadata": {}, "spec": {"containers": [engine], **pod}}
    owned: dict[str, Any] = {f"f:{field}": {} for field in pod} | {"f:nodeSelector": {"f:zone": {}}}
    fields = {"f:spec": {"f:leaderWorkerTemplate": {"f:workerTemplate": {"f:spec": owned}}}}
    annotations = {"inferfleet.dev/spec": written} if written else {}
    managed = [{"manager": manager, "fieldsV1": fields}]
    return thing(
        "LeaderWorkerSet",
        "a-decode-h200",
        "ml",
        labels={**OURS, **(QUEUE if queued else {})},
        metadata={"annotations": annotations, "managedFields": managed},
        spec={
            "replicas": 1,
            "leaderWorkerTemplate": {"size": size, "leaderTemplate": leader, "workerTemplate": worker},
        },
        status={"readyReplicas": 1},
    )


SPREAD = {"tolerations": [{"key": "a", "operator": "Exists"}]}
PORTS = {"ports": [{"containerPort": 8001}]}
FOLLOWER = "workerTemplate.spec"


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        (group(), group(size=4), "size"),
        (
            group(),
            group(engine={"resources": {"requests": {"cpu": "5", "memory": "1Gi"}}, **PORTS}),
            f"{FOLLOWER}.containers[0].ports, {FOLLOWER}.containers[0].resources.requests.cpu, "
            f"{FOLLOWER}.containers[0].resources.requests.memory",
        ),
        (group(written="1"), group(written="2", **SPREAD), f"{FOLLOWER}.tolerations"),
        (group(nodeSelector={"zone": "a"}), group(), f"{FOLLOWER}.nodeSelector.zone"),
        (group(), group(resourceClaims=[{"name": "gpu"}]), f"{FOLLOWER}.resourceClaims"),
    ],
)
def test_what_kueue_counts_of_a_group_cannot_change(
    cluster: Start, before: dict[str, Any], after: dict[str, Any], fields: str
) -> None:
    assert east_problem(
        "LeaderWorkerSet ml/a-decode-h200 on cluster 'east' is in queue team-a of Kueue, and an update would "
        f"change {fields} of leaderWorkerTemplate, which Kueue refuses for as long as the workload exists",
        "Write replicas: 0 for its deployment, run `pulumi up`, and change it then; or give the deployment "
        "another name, and remove the old one once the new one serves",
        "spec.serving.scheduler",
    ) in look(cluster(objects=[before]), after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (group(), group(engine={"image": "engine:2", "args": ["--new"], "env": [{"name": "A"}]})),
        (group(engine={"resources": {"requests": {"cpu": "4000m"}}}), group()),
        (
            group(engine={"ports": [{"containerPort": 8000, "protocol": "TCP"}]}),
            group(engine={"resources": {"limits": {"cpu": "8"}, "requests": {"cpu": 4}}}),
        ),
        (group(manager="kyverno", **SPREAD), group()),
        (group(written="1", **SPREAD), group(written="1")),
        (group(queued=False), group(queued=False, size=4)),
    ],
)
def test_what_kueue_lets_change_and_what_others_added_is_no_problem(
    cluster: Start, before: dict[str, Any], after: dict[str, Any]
) -> None:
    refused = [problem for problem in look(cluster(objects=[before]), after) if "of Kueue" in problem.what]
    assert refused == []


def test_a_workload_of_the_other_kind_may_be_in_another_queue(cluster: Start) -> None:
    before = workload("b", ready=1)
    after = {**group(), "metadata": {**group()["metadata"], "name": "a-decode-l4"}}
    refused = [problem for problem in look(cluster(objects=[before]), after) if "of Kueue" in problem.what]
    assert refused == []
