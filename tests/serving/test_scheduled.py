"""What each scheduler reads of a finished workload, shown on whole manifests of both kinds."""

import copy
from typing import Any

import pytest

from inferfleet.documents.kinds.scheduler import Closeness
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot
from inferfleet.serving.schedulers import scheduled

SPOT = Spot("ml/kimi", "east", (("decode", "h200"), ("encode", "l4")))
BLOCK = "cloud.google.com/gce-topology-block"
RACK = "cloud.google.com/gce-topology-subblock"
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "engine"}]}}
KUEUE = Scheduling("Kueue", "team-a")
KAI = Scheduling("KAI", "team-a", "kai-scheduler")
VOLCANO = Scheduling("Volcano", "team-a", "volcano")


def close(name: str | None = None, **levels: str | int) -> Closeness:
    return Closeness.model_validate({"name": name, **levels})


def single(**pod: Any) -> dict[str, Any]:
    """The Deployment of a role whose workers have one pod."""
    template = {"metadata": {**POD["metadata"], **pod.pop("metadata", {})}, "spec": {**POD["spec"], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kimi-decode-h200", "namespace": "ml", "labels": {"c": "d"}},
        "spec": {"replicas": 2, "template": template},
    }


def group(*, entry: dict[str, Any] | None = None, follower: dict[str, Any] | None = None) -> dict[str, Any]:
    """The LeaderWorkerSet of a role with workers of four pods; each dict is what a template has besides."""
    pods = {
        name: {
            "metadata": {**POD["metadata"], **more.get("metadata", {})},
            "spec": {**POD["spec"], **more.get("spec", {})},
        }
        for name, more in (("leaderTemplate", entry), ("workerTemplate", follower or {}))
        if more is not None
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi-decode-h200", "namespace": "ml", "labels": {"c": "d"}},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4, **pods}},
    }


def labelled(manifest: dict[str, Any], **metadata: dict[str, str]) -> dict[str, Any]:
    """The workload with these labels and annotations of its own beside those it has."""
    made = copy.deepcopy(manifest)
    for field, marks in metadata.items():
        made["metadata"][field] = {**made["metadata"].get(field, {}), **marks}
    return made


def annotated(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}}


@pytest.mark.parametrize("manifest", [single(), group(entry={}), group()])
def test_without_a_scheduler_of_its_own_a_workload_stays_the_very_same(manifest: dict[str, Any]) -> None:
    assert scheduled(manifest, None, spot=SPOT, role="decode") is manifest


def test_another_name_of_kubernetes_own_scheduler_is_that_of_all_pods() -> None:
    packing = {"spec": {"schedulerName": "packing"}}
    made = scheduled(group(entry={}), Scheduling("None", scheduler_name="packing"), spot=SPOT, role="decode")
    assert made == group(entry=packing, follower=packing)


@pytest.mark.parametrize("manifest", [single(), group(entry={}), group()])
def test_kueue_reads_the_queue_from_the_workload_so_no_pod_restarts_for_it(manifest: dict[str, Any]) -> None:
    before = copy.deepcopy(manifest)
    made = scheduled(manifest, KUEUE, spot=SPOT, role="decode")
    assert made == labelled(manifest, labels={"kueue.x-k8s.io/queue-name": "team-a"})
    assert manifest == before


@pytest.mark.parametrize(
    ("topology", "key"),
    [
        (close(required=BLOCK), "kueue.x-k8s.io/podset-required-topology"),
        (close(preferred=BLOCK), "kueue.x-k8s.io/podset-preferred-topology"),
    ],
)
def test_kueue_places_leader_and_workers_together_where_they_are_close(topology: Closeness, key: str) -> None:
    """They are two sets of pods, which one name joins."""
    queue = {"kueue.x-k8s.io/queue-name": "team-a"}
    scheduling = Scheduling("Kueue", "team-a", topology=topology)
    both = annotated(**{key: BLOCK, "kueue.x-k8s.io/podset-group-name": "worker"})
    made = scheduled(group(entry={}), scheduling, spot=SPOT, role="decode")
    assert made == labelled(group(entry=both, follower=both), labels=queue)


def test_kai_reads_queue_and_topology_from_the_workload_and_its_name_from_pods() -> None:
    scheduling = Scheduling(
        "KAI", "team-a", "kai-scheduler", close("cluster-topology", required=BLOCK, preferred=RACK)
    )
    ours = {"spec": {"schedulerName": "kai-scheduler"}}
    made = scheduled(group(entry={}), scheduling, spot=SPOT, role="decode")
    assert made == labelled(
        group(entry=ours, follower=ours),
        labels={"kai.scheduler/queue": "team-a", "priorityClassName": "inference"},
        annotations={
            "kai.scheduler/topology": "cluster-topology",
            "kai.scheduler/topology-required-placement": BLOCK,
            "kai.scheduler/topology-preferred-placement": RACK,
        },
    )


@pytest.mark.parametrize(
    "said",
    [{"spec": {"priorityClassName": "serving"}}, {"metadata": {"labels": {"priorityClassName": "serving"}}}],
)
def test_kai_preempts_no_group_but_where_pods_have_a_priority_of_their_own(said: dict[str, Any]) -> None:
    """KAI takes a LeaderWorkerSet for training, and the label of the workload would hide one of its pods."""
    ours = {"spec": {"schedulerName": "kai-scheduler"}}
    theirs = {**said, "spec": {**said.get("spec", {}), **ours["spec"]}}
    made = scheduled(group(entry={}, follower=said), KAI, spot=SPOT, role="decode")
    assert made == labelled(group(entry=ours, follower=theirs), labels={"kai.scheduler/queue": "team-a"})
    unsaid = scheduled(group(entry={}), KAI, spot=SPOT, role="decode")
    assert unsaid["metadata"]["labels"]["priorityClassName"] == "inference"


def test_pods_that_are_workers_of_their_own_are_close_to_nobody() -> None:
    for scheduling, pod in (
        (
            Scheduling("KAI", "team-a", "kai-scheduler", close("t", required=BLOCK)),
            {"schedulerName": "kai-scheduler"},
        ),
        (Scheduling("Kueue", "team-a", topology=close(required=BLOCK)), {}),
    ):
        made = scheduled(single(), scheduling, spot=SPOT, role="decode")
        key = "kai.scheduler/queue" if pod else "kueue.x-k8s.io/queue-name"
        assert made == labelled(single(**pod), labels={key: "team-a"})


def test_volcano_reads_the_queue_from_pods_that_need_no_group_of_ours() -> None:
    made = scheduled(single(), VOLCANO, spot=SPOT, role="decode")
    assert made == single(
        schedulerName="volcano", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "team-a"}}
    )


def test_the_default_queue_of_volcano_is_not_written() -> None:
    made = scheduled(single(), Scheduling("Volcano", "default", "volcano"), spot=SPOT, role="decode")
    assert made == single(schedulerName="volcano")


def test_volcano_finds_the_group_of_a_worker_of_several_pods_by_the_name_of_their_workload() -> None:
    ours = {
        "spec": {"schedulerName": "volcano"},
        **annotated(**{"scheduling.k8s.io/group-name": "kimi-decode-h200"}),
    }
    made = scheduled(group(entry={}), VOLCANO, spot=SPOT, role="decode")
    assert made == group(entry=ours, follower=ours)


def test_roles_of_a_gang_are_in_one_group_and_others_are_not() -> None:
    gang = Scheduling("Volcano", "team-a", "volcano", gang={"decode": 1, "encode": 2})
    marks = {"annotations": {"scheduling.k8s.io/group-name": "kimi-h200-l4-gang"}}
    assert scheduled(single(), gang, spot=SPOT, role="encode") == single(
        schedulerName="volcano", metadata=marks
    )
    assert scheduled(single(), gang, spot=SPOT, role="router") == single(
        schedulerName="volcano", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "team-a"}}
    )
