"""A roll that is not over: old pods serve, and the new ones say why they do not."""

from pathlib import Path
from typing import Any

import pytest
from status_fleet import NOW, ago, all_serving, broken_pod, condition, desired_in, pod

from inferfleet.cli.verbs.status import tables
from inferfleet.clusters.status.read import LiveCluster
from inferfleet.clusters.status.status import placement_status, status
from inferfleet.clusters.status.values import Phase

Pod = dict[str, Any]
OLD, NEW = "web-decode-h100-5d9c", "web-decode-h100-7f4b"
WEB = ("Deployment", "ml", "web")
CRASH = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 2, "message": "no such flag: --fast"}},
}
SAID = "engine CrashLoopBackOff: ended with exit code 2: no such flag: --fast"


def _workload(replicas: int) -> dict[str, Any]:
    labels = {"role": "decode"}
    return {
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "engine"}]}},
        },
    }


def _pod(name: str, owner: str, *, leaving: bool = False, **container: Any) -> Pod:
    ready = pod(_workload(1), name, "engine")
    made = broken_pod(ready, **container) if container else ready
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner}]
    if leaving:
        made["metadata"]["deletionTimestamp"] = ago(3)
    return made


def _placement(*pods: Pod, wanted: int = 1, paused: bool = False, **counts: Any) -> tuple[Phase, int, str]:
    """Phase, ready pods and message; `counts` are of the Deployment's own status. Its latest is NEW."""
    said = [condition("Progressing", message=f'ReplicaSet "{NEW}" is progressing.')]
    live = {**_workload(wanted), "status": {"conditions": said, **counts}}
    live["spec"]["paused"] = paused
    # The API server leaves the kind of items out of lists.
    del live["kind"]
    placement = placement_status(
        "east", "decode=h100", [_workload(wanted)], LiveCluster({WEB: live}, pods), NOW
    )
    return placement.phase, placement.ready, placement.message


def _rolls(words: str) -> str:
    return f"rolls: 0 of 1 pods of the latest template are ready: {words}; 1 of before serves"


STUCK = {
    "crashes": (CRASH, Phase.FAILED, f"new is Failed: {SAID}"),
    "cannot pull": (
        {"state": {"waiting": {"reason": "ErrImagePull", "message": "vllm:v0: not found"}}},
        Phase.FAILED,
        "new is Failed: engine ErrImagePull: vllm:v0: not found",
    ),
    "loads": ({"state": {"running": {"startedAt": ago(90)}}}, Phase.STARTING, "new is Starting for 90 s"),
}


@pytest.mark.parametrize("case", STUCK)
def test_a_new_pod_that_is_not_ready_holds_up_the_roll_though_the_old_one_serves(case: str) -> None:
    container, phase, words = STUCK[case]
    new = _pod("new", NEW, **container)
    assert _placement(_pod("old", OLD), new, replicas=2, updatedReplicas=1) == (phase, 1, _rolls(words))


def test_a_new_pod_without_a_node_says_what_the_scheduler_says() -> None:
    new = _pod("new", NEW)
    new["spec"].pop("nodeName")
    new["status"] = {"conditions": [condition("PodScheduled", "False", message="0/3 nodes are available")]}
    words = "new is Pending for 100 s: 0/3 nodes are available"
    told = _placement(_pod("old", OLD), new, replicas=2, updatedReplicas=1)
    assert told == (Phase.PENDING, 1, _rolls(words))


def test_of_old_pods_that_wait_too_a_roll_does_not_speak() -> None:
    pods = (_pod("a", OLD), _pod("b", OLD), _pod("c", OLD, **CRASH))
    new = _pod("new", NEW, state={"running": {"startedAt": ago(5)}})
    assert _placement(*pods, new, wanted=2, replicas=4, updatedReplicas=1) == (
        Phase.STARTING,
        2,
        "rolls: 0 of 2 pods of the latest template are ready: new is Starting for 5 s; 2 of before serve",
    )


def test_a_roll_is_over_while_old_pods_still_drain() -> None:
    leaving = _pod("old", OLD, leaving=True)
    assert _placement(leaving, _pod("new", NEW), replicas=1, updatedReplicas=1) == (Phase.READY, 1, "")


def test_pods_above_their_number_that_end_are_no_roll() -> None:
    pods = (_pod("a", NEW), _pod("b", NEW))
    assert _placement(*pods, replicas=2, updatedReplicas=2) == (Phase.READY, 2, "")


def test_a_roll_whose_pods_nobody_makes_says_why() -> None:
    quota = [condition("ReplicaFailure", message='pods "x" is forbidden: exceeded quota')]
    told = _placement(_pod("old", OLD), replicas=1, updatedReplicas=0, conditions=quota)
    words = 'rolls: 0 of 1 pods have the latest template; pods "x" is forbidden: exceeded quota'
    assert told == (Phase.FAILED, 1, words)


def test_a_roll_that_somebody_paused_says_how_it_goes_on() -> None:
    resume = (
        "it does not go on while its spec.paused is true: run `kubectl rollout resume deployment/web "
        "--namespace ml`"
    )
    old, broken, new = _pod("old", OLD), _pod("old", OLD, **CRASH), _pod("new", NEW)
    begun, half = {"replicas": 1, "updatedReplicas": 0}, {"replicas": 2, "updatedReplicas": 1}
    told = [
        _placement(old, paused=True, **begun),
        _placement(old, new, paused=True, **half),
        _placement(broken, paused=True, **begun),
        _placement(new, paused=True, replicas=1, updatedReplicas=1),
        _placement(_pod("new", NEW, **CRASH), paused=True, replicas=1, updatedReplicas=1),
    ]
    assert told == [
        (Phase.PENDING, 1, f"rolls: 0 of 1 pods have the latest template; {resume}"),
        (Phase.PENDING, 2, f"rolls: 1 of 1 pods have the latest template; {resume}"),
        (Phase.FAILED, 0, resume),
        (Phase.READY, 1, ""),
        (Phase.FAILED, 0, ""),
    ]


def test_where_nothing_names_the_latest_pods_each_that_waits_is_meant() -> None:
    new = _pod("new", NEW, **CRASH)
    phase, _, message = _placement(_pod("old", OLD), new, replicas=2, updatedReplicas=1, conditions=[])
    assert (phase, message) == (Phase.FAILED, f"rolls: new is Failed: {SAID}")


def test_groups_beyond_their_number_are_the_new_ones() -> None:
    """Of LeaderWorkerSets that surge all groups may be ready that there should be."""
    template: dict[str, Any] = {"metadata": {}, "spec": {}}
    workload = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 1, "workerTemplate": template}},
    }

    def of_group(number: int, revision: str, **container: Any) -> Pod:
        made = _pod(f"web-{number}", "web", **container)
        lws = "leaderworkerset.sigs.k8s.io"
        labels = {f"{lws}/name": "web", f"{lws}/group-index": str(number)}
        made["metadata"]["labels"] = labels | {f"{lws}/template-revision-hash": revision}
        return made

    live = {**workload, "status": {"updatedReplicas": 1, "conditions": [condition("Available", "False")]}}
    pods = (of_group(0, "a"), of_group(1, "b", **CRASH))
    key = ("LeaderWorkerSet", "ml", "web")
    placement = placement_status("east", "decode=h100", [workload], LiveCluster({key: live}, pods), NOW)
    assert (placement.phase, placement.message) == (Phase.FAILED, _rolls(f"web-1 is Failed: {SAID}"))
    done = {**live, "status": {"updatedReplicas": 1, "conditions": [condition("Available")]}}
    assert placement_status("", "", [workload], LiveCluster({key: done}, pods[:1]), NOW).phase == Phase.READY


def test_pods_of_groups_are_none_of_the_deployment_that_replaces_them() -> None:
    of_group = _pod("web-0", "web")
    of_group["metadata"]["labels"] = {"role": "decode", "leaderworkerset.sigs.k8s.io/name": "web"}
    new = _pod("new", NEW, **CRASH)
    assert _placement(of_group, new, replicas=1, updatedReplicas=1) == (Phase.FAILED, 0, "")


def test_a_picker_whose_next_pod_crashes_is_not_ready(tmp_path: Path) -> None:
    """A picker with one replica keeps its Deployment."""
    fleet = desired_in(tmp_path)
    healthy = all_serving(fleet)
    picker = healthy.objects["Deployment", "ml", "qwen-epp"]
    picker["status"] = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1}
    picker["status"]["conditions"] = [condition("Progressing", message='ReplicaSet "qwen-epp-1" is here.')]
    next_one = broken_pod(pod(picker, "qwen-epp-1-b", "epp"), **CRASH)
    next_one["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "qwen-epp-1"}]
    told = status(fleet, {"east": LiveCluster(healthy.objects, (*healthy.pods, next_one))}, NOW)
    [part] = [endpoint.picker for each in told.deployments for endpoint in each.endpoints]
    words = "qwen-epp-1-b is Failed: epp CrashLoopBackOff: ended with exit code 2: no such flag: --fast"
    assert (part.phase, part.message, told.phase) == (Phase.FAILED, _rolls(words), Phase.FAILED)
    [row] = [row for _, _, rows in tables(told) for row in rows if str(row[0]).endswith("ml/qwen-epp")]
    assert row[4] == part.message
