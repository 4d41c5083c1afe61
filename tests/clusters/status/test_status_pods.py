"""What a pod's own status says about its phase."""

from typing import Any

import pytest
from status_fleet import NOW, ago, broken_pod, condition, pod

from inferfleet.clusters.status.pods import last_words, pod_status
from inferfleet.clusters.status.values import Phase, PodStatus

PROBE = {"failureThreshold": 120, "periodSeconds": 10, "initialDelaySeconds": 5}
BARE: dict[str, Any] = {"name": "engine"}


def made(container: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {}}, "spec": {"containers": [container]}}
    return pod({"metadata": {"namespace": "ml"}, "spec": {"template": template}}, "x", "engine")


READY = made({**BARE, "startupProbe": PROBE})
RUNNING = {"running": {"startedAt": ago(38)}}


def ended(message: str = "", code: int = 1, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def unscheduled(*conditions: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": READY["metadata"],
        "spec": {"containers": [BARE]},
        "status": {"phase": "Pending", "conditions": list(conditions)},
    }


def status(pod: dict[str, Any]) -> PodStatus:
    return pod_status(pod, main="engine", deadline=3000, now=NOW)


def on_node(phase: Phase, message: str = "", **more: Any) -> PodStatus:
    return PodStatus("x", phase, message, node="l4-0", **more)


def _says(pod: dict[str, Any], message: str) -> dict[str, Any]:
    pod["status"]["conditions"] = [condition("Ready", "False", message=message)]
    return pod


FULL = condition("PodScheduled", "False", message="0/3 nodes are available:\n 3 Insufficient nvidia.com/gpu.")
CASES = {
    "ready": (READY, on_node(Phase.READY)),
    "the scheduler says why not": (
        unscheduled(FULL),
        PodStatus(
            "x",
            Phase.PENDING,
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
            seconds=100,
            budget=3000,
        ),
    ),
    "no scheduler": (
        unscheduled(),
        PodStatus("x", Phase.PENDING, "the scheduler has not looked at it yet", seconds=100, budget=3000),
    ),
    "image on its way": (
        broken_pod(READY, state=waiting("ContainerCreating")),
        on_node(Phase.STARTING, "ContainerCreating", seconds=100, budget=3000),
    ),
    "model loads, within its startup probe": (
        broken_pod(READY, state=RUNNING),
        on_node(Phase.STARTING, seconds=38, budget=1205),
    ),
    "model loads, and the kubelet says more than that": (
        _says(broken_pod(READY, state=RUNNING), "containers with unready status: [engine]; probe: 503"),
        on_node(Phase.STARTING, "probe: 503", seconds=38, budget=1205),
    ),
    "loads again after it was killed": (
        broken_pod(READY, state=RUNNING, restarts=2, lastState=ended(code=137, reason="OOMKilled")),
        on_node(Phase.STARTING, "ended with exit code 137 (OOMKilled)", seconds=38, budget=1205, restarts=2),
    ),
    "no startup probe": (
        broken_pod(made(BARE), state=RUNNING, started=True),
        on_node(Phase.STARTING, seconds=38, budget=3000),
    ),
    "started, and its readiness probe fails": (
        broken_pod(READY, state=RUNNING, started=True),
        on_node(Phase.NOT_READY, "engine does not pass its readiness probe", seconds=38),
    ),
    "its own last words": (
        broken_pod(
            READY,
            restarts=4,
            state=waiting("CrashLoopBackOff", "back-off 5m0s"),
            lastState=ended("one\ntwo\n\nthree\n\x1b[31mfour\n"),
        ),
        on_node(
            Phase.FAILED,
            "engine CrashLoopBackOff: ended with exit code 1: two | three | [31mfour",
            restarts=4,
        ),
    ),
    "no image": (
        broken_pod(READY, state=waiting("ErrImagePull", "vllm:1: not found")),
        on_node(Phase.FAILED, "engine ErrImagePull: vllm:1: not found"),
    ),
    "ended, not yet restarted": (
        broken_pod(READY, state=ended("unknown flag: --x", code=2)),
        on_node(Phase.FAILED, "engine ended with exit code 2: unknown flag: --x"),
    ),
    "evicted": (
        {**READY, "status": {"phase": "Failed", "reason": "Evicted", "message": "node was low on memory"}},
        on_node(Phase.FAILED, "Evicted: node was low on memory"),
    ),
    "being deleted": (
        {**READY, "metadata": {**READY["metadata"], "deletionTimestamp": ago(3)}},
        on_node(Phase.LEAVING),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pod_has_a_phase_a_reason_and_a_budget(case: str) -> None:
    pod, expected = CASES[case]
    assert status(pod) == expected


def test_an_init_container_that_is_done_is_no_failure() -> None:
    done = {"name": "fetch", "restartCount": 0, "state": ended(code=0, reason="Completed")}
    pod = {**READY, "status": {**READY["status"], "initContainerStatuses": [done]}}
    assert status(pod) == on_node(Phase.READY)


def test_a_native_sidecar_runs_as_long_as_its_pod() -> None:
    spec = {**READY["spec"], "initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}

    def beside(**sidecar: Any) -> Any:
        inits = [{"name": "proxy", "restartCount": 3, **sidecar}]
        return {**READY, "spec": spec, "status": {**READY["status"], "initContainerStatuses": inits}}

    assert status(beside(state={"running": {}})) == on_node(Phase.READY, restarts=3)
    assert status(beside(state=ended(code=0, reason="Completed"))) == on_node(Phase.READY, restarts=3)
    crashing = beside(state=waiting("CrashLoopBackOff", "back-off"), lastState=ended("no such value", code=0))
    assert status(crashing) == on_node(
        Phase.FAILED, "proxy CrashLoopBackOff: ended with exit code 0: no such value", restarts=3
    )


def test_last_words_are_the_end_of_a_log_and_not_all_of_it() -> None:
    assert last_words("a\n" * 500) == "a | a | a"
    assert last_words("x" * 5000) == "x" * 600
    assert last_words("\n \n") == ""


def test_last_words_are_no_list_of_flags() -> None:
    usage = "Usage of epp:\n      --v int   verbosity\n  -h, --help\ninvalid argument"
    assert last_words(usage) == "Usage of epp: | invalid argument"
