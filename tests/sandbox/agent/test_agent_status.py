"""A pod's status says what its containers do, in the words a kubelet uses."""

from typing import Any

from sandbox.agent.container import Backoff
from sandbox.agent.status import ContainerView, pod_status

AT = "2026-01-02T03:04:05Z"
BEFORE = "2026-01-01T00:00:00Z"


def _pod(*conditions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": spec, "status": {"conditions": list(conditions), "startTime": BEFORE}}


def _true(kind: str, since: str) -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": None, "message": None, "lastTransitionTime": since}


def test_a_pod_whose_containers_are_ready_is_ready_since_they_all_are() -> None:
    running = {"running": {"startedAt": BEFORE}}
    view = ContainerView("engine", "vllm", state=running, ready=True, started=True)
    assert pod_status(
        _pod({"type": "Ready", "status": "False"}, _true("Initialized", BEFORE)), (view,), AT
    ) == {
        "phase": "Running",
        "startTime": BEFORE,
        "conditions": [
            _true("Initialized", BEFORE),
            _true("ContainersReady", AT),
            _true("Ready", AT),
        ],
        "containerStatuses": [
            {
                "name": "engine",
                "image": "vllm",
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": running,
                "lastState": {},
            }
        ],
        "initContainerStatuses": [],
    }


def test_a_pod_that_is_not_ready_says_which_containers_are_not_and_why() -> None:
    views = (
        ContainerView("epp", "x", complaint="readiness probe: it answers NOT_SERVING"),
        ContainerView("side", "y", ready=True),
    )
    status = pod_status(_pod(), views, AT)
    said = {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in status["conditions"]
    }
    why = "containers with unready status: [epp]; epp: readiness probe: it answers NOT_SERVING"
    assert said["Ready"] == said["ContainersReady"] == ("False", "ContainersNotReady", why)
    assert status["phase"] == "Pending"


def test_a_pod_with_a_closed_readiness_gate_is_not_ready_though_its_containers_are() -> None:
    view = ContainerView("engine", "vllm", ready=True)
    pod = _pod(
        {"type": "open", "status": "True"}, readinessGates=[{"conditionType": x} for x in ("open", "lb")]
    )
    status = pod_status(pod, (view,), AT)
    conditions = {condition["type"]: condition for condition in status["conditions"]}
    assert conditions["ContainersReady"]["status"] == "True"
    assert conditions["Ready"]["message"] == "readiness gates not true: lb"


def test_init_containers_are_taken_as_done_and_side_cars_as_running() -> None:
    init = [{"name": "load", "image": "i"}, {"name": "proxy", "image": "p", "restartPolicy": "Always"}]
    statuses = pod_status(_pod(initContainers=init), (), AT)["initContainerStatuses"]
    states = [status["state"] for status in statuses]
    assert [*states[0], *states[1]] == ["terminated", "running"]


def _sidecar(**state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The statuses of a pod with an engine that runs, and the one of its sidecar."""
    init = [{"name": "load", "image": "i"}, {"name": "proxy", "image": "p", "restartPolicy": "Always"}]
    engine = ContainerView("engine", "e", **state.pop("engine", {}))
    status = pod_status(
        _pod(initContainers=init), (engine,), AT, sidecars=(ContainerView("proxy", "p", **state),)
    )
    return {item["type"]: item for item in status["conditions"]}, status["initContainerStatuses"][1]


RUNNING: dict[str, Any] = {"state": {"running": {"startedAt": AT}}, "ready": True, "started": True}


def test_a_pod_is_initialized_when_its_sidecar_has_started_and_ready_with_it() -> None:
    conditions, proxy = _sidecar()
    assert conditions["Initialized"] == {
        "type": "Initialized",
        "status": "False",
        "reason": "ContainersNotInitialized",
        "message": "containers with incomplete status: [proxy]",
        "lastTransitionTime": AT,
    }
    assert (proxy["started"], proxy["ready"]) == (False, False)
    conditions, proxy = _sidecar(**RUNNING, engine=RUNNING)
    assert {item["status"] for item in conditions.values()} == {"True"}
    assert (proxy["started"], proxy["ready"], proxy["state"]) == (True, True, RUNNING["state"])


def test_a_sidecar_that_crashed_makes_the_pod_unready_and_leaves_it_initialized() -> None:
    conditions, proxy = _sidecar(
        state={"waiting": {"reason": "CrashLoopBackOff"}},
        restarts=2,
        complaint="it ended with code 137",
        engine=RUNNING,
    )
    assert conditions["Initialized"]["status"] == "True"
    assert conditions["Ready"]["message"] == (
        "containers with unready status: [proxy]; proxy: it ended with code 137"
    )
    assert (proxy["restartCount"], proxy["ready"]) == (2, False)


def test_restarts_wait_longer_and_longer_until_a_container_ran_for_long() -> None:
    backoff = Backoff()
    assert [backoff.after(1) for _ in range(7)] == [0, 10, 20, 40, 80, 160, 300]
    assert [backoff.after(600), backoff.after(1)] == [0, 10]
