"""Pods that a queue holds back: who does, and why, in the words of Kueue and Volcano."""

import copy
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from status_fleet import NOW, POD, WORKLOAD, ago, all_serving, condition, desired_in
from test_status_read import Start, look

from inferfleet.clusters.status.pods import admissions, group_waits, held_back, waits_for_nodes
from inferfleet.clusters.status.read import LiveCluster
from inferfleet.clusters.status.status import status
from inferfleet.clusters.status.values import Phase, PodStatus
from inferfleet.serving.schedulers import SchedulerNeed

QUOTA = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu"
GATE = "kueue.x-k8s.io/admission"


def gated(*gates: str, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "a-1", "namespace": "ml", "labels": labels},
        "spec": {"schedulingGates": [{"name": gate} for gate in gates]},
    }


def workload(kind: str, name: str, *conditions: dict[str, str], **annotations: str) -> dict[str, Any]:
    """A Workload of Kueue for pods that this owner has."""
    owner = {"kind": kind, "name": name}
    metadata = {"name": "w", "namespace": "ml", "ownerReferences": [owner], "annotations": annotations}
    return {"metadata": metadata, "status": {"conditions": list(conditions)}}


WAITS = condition("QuotaReserved", "False", message=QUOTA)
SET = {"leaderworkerset.sigs.k8s.io/name": "a", "leaderworkerset.sigs.k8s.io/group-index": "1"}


@pytest.mark.parametrize(
    ("pod", "said", "words"),
    [
        (gated(), {}, ""),
        (gated("example.com/later"), {}, "held back by example.com/later (spec.schedulingGates)"),
        (gated(GATE), {}, "waits for room in its queue of Kueue"),
        (
            gated(GATE, "kueue.x-k8s.io/topology", **{"kueue.x-k8s.io/queue-name": "team-a"}),
            {("Pod", "ml", "a-1"): QUOTA},
            f"waits for room in queue team-a of Kueue: {QUOTA}",
        ),
        (
            gated(GATE, **SET),
            {("LeaderWorkerSet", "ml", "a/0"): "no", ("LeaderWorkerSet", "ml", "a/1"): QUOTA},
            f"waits for room in its queue of Kueue: {QUOTA}",
        ),
        (
            gated("kueue.x-k8s.io/topology"),
            {},
            "Kueue has admitted it and has not chosen its node yet",
        ),
    ],
)
def test_a_pod_with_gates_says_who_holds_it_back(pod: dict[str, Any], said: Any, words: str) -> None:
    assert held_back(pod, said) == words


def test_kueue_is_quoted_on_what_it_has_not_admitted() -> None:
    admitted = condition("QuotaReserved"), condition("Admitted")
    checked = condition("QuotaReserved"), condition("Admitted", "False", message="waits for\ncheck dws")
    number = {"kueue.x-k8s.io/component-workload-index": "1"}
    every = [
        workload("Pod", "a-1", WAITS),
        workload("Pod", "a-2", *admitted),
        workload("Pod", "a-3", *checked),
        workload("Pod", "a-4"),
        workload("LeaderWorkerSet", "b", WAITS, **number),
    ]
    assert dict(admissions(every)) == {
        ("Pod", "ml", "a-1"): QUOTA,
        ("Pod", "ml", "a-3"): "waits for check dws",
        ("LeaderWorkerSet", "ml", "b/1"): QUOTA,
    }


def group(phase: str | None, *conditions: dict[str, str]) -> dict[str, Any]:
    return {
        "spec": {"queue": "team-a"},
        "status": {"phase": phase, "conditions": list(conditions)} if phase else {},
    }


@pytest.mark.parametrize(
    ("live", "words"),
    [
        (None, ""),
        (group("Running"), ""),
        (group(None), "PodGroup a-gang waits for room in queue team-a of Volcano"),
        (
            group("Pending", condition("Unschedulable", message="queue resource quota insufficient")),
            "PodGroup a-gang waits for room in queue team-a of Volcano: queue resource quota insufficient",
        ),
        (
            group("Inqueue", condition("Unschedulable", message="2/2 tasks in gang unschedulable")),
            "PodGroup a-gang waits until all of its pods have nodes: 2/2 tasks in gang unschedulable",
        ),
    ],
)
def test_a_group_says_what_it_waits_for(live: dict[str, Any] | None, words: str) -> None:
    template = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "a-gang"}}}
    deployment = {"kind": "Deployment", "metadata": {"namespace": "ml"}, "spec": {"template": template}}
    assert group_waits(deployment, {("PodGroup", "ml", "a-gang"): live} if live else {}) == words


REQUEST = ("ProvisioningRequest", "ml", "r")
NO_QUOTA = condition(
    "Provisioned", "False", reason="QuotaExceeded", message="Quota 'PREEMPTIBLE_NVIDIA_L4_GPUS' exceeded."
)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (None, "takes nodes of ProvisioningRequest r, which is not there"),
        ([], "ProvisioningRequest r has no nodes yet"),
        (
            [condition("Accepted"), NO_QUOTA],
            "ProvisioningRequest r has no nodes yet (QuotaExceeded: Quota 'PREEMPTIBLE_NVIDIA_L4_GPUS' "
            "exceeded.)",
        ),
        (
            [condition("Failed", reason="OutOfCapacity"), NO_QUOTA],
            "ProvisioningRequest r failed, and is not tried again (OutOfCapacity)",
        ),
        (
            [{**condition("Provisioned"), "lastTransitionTime": "2026-11-24T10:00:00Z"}],
            "ProvisioningRequest r brought its nodes at 2026-11-24T10:00:00Z, and brings no others",
        ),
    ],
)
def test_a_pod_without_a_node_says_what_became_of_the_request_for_it(conditions: Any, words: str) -> None:
    annotations = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}
    pod = {"metadata": {"name": "a-1", "namespace": "ml", "annotations": annotations}}
    objects = {REQUEST: {"status": {"conditions": conditions}}} if conditions is not None else {}
    assert waits_for_nodes(pod, objects) == words
    assert waits_for_nodes(gated(), objects) == ""


def test_an_engine_that_waits_in_a_queue_is_pending_and_not_broken(tmp_path: Path) -> None:
    """Kubernetes counts the time in the queue against the rollout, and so says that it makes no progress."""
    fleet = desired_in(tmp_path)
    seen = all_serving(fleet)
    objects, pods = copy.deepcopy(dict(seen.objects)), copy.deepcopy(list(seen.pods))
    late = condition("Progressing", "False", message="ReplicaSet has timed out progressing.")
    objects[WORKLOAD]["status"]["conditions"] = [late]
    waiting = next(pod for pod in pods if pod["metadata"]["name"] == POD)
    waiting["spec"] = {"schedulingGates": [{"name": GATE}]}
    waiting["metadata"]["creationTimestamp"] = ago(100)
    waiting["status"] = {"phase": "Pending"}
    told = status(fleet, {"east": LiveCluster(objects, tuple(pods), {("Pod", "ml", POD): QUOTA})}, NOW)
    (placement,) = told.deployments[0].placements
    assert (placement.phase, placement.pods) == (
        Phase.PENDING,
        (
            PodStatus(
                POD,
                Phase.PENDING,
                f"waits for room in its queue of Kueue: {QUOTA}",
                seconds=100,
                budget=placement.pods[0].budget,
            ),
        ),
    )


NEED = SchedulerNeed(
    "Kueue", "kueue.x-k8s.io", "LocalQueue", "ml", "team-a", (), "ml/a", "ModelDeployment", "ml/a", "x"
)
SERVED = {**KINDS, "kueue.x-k8s.io/v1beta2": {"Workload": ("workloads", True)}}


def test_what_kueue_says_is_read_where_pods_wait_in_its_queues(cluster: Start) -> None:
    told = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", **workload("Pod", "a-1", WAITS)}
    fake = cluster(kinds=SERVED, objects=[told])
    assert look(fake, scheduler_needs=(NEED,)) == {
        "east": LiveCluster(admissions={("Pod", "ml", "a-1"): QUOTA})
    }
    assert look(fake) == {"east": LiveCluster()}


@pytest.mark.parametrize(
    "fake", [{}, {"kinds": SERVED, "status": {"/apis/kueue.x-k8s.io/v1beta2/namespaces/ml/workloads": 403}}]
)
def test_a_cluster_that_does_not_tell_has_said_nothing(cluster: Start, fake: dict[str, Any]) -> None:
    made: FakeCluster = cluster(objects=[thing("Namespace", "ml")], **fake)
    assert look(made, scheduler_needs=(NEED,)) == {"east": LiveCluster()}
