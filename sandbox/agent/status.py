"""What the agent writes into a pod's status: the kubelet's words, from what the containers do."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class ContainerView:
    """What is to be said about one container. `complaint`: why it is not ready, if anybody knows."""

    name: str
    image: str
    state: Object = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    last_state: Object = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0
    complaint: str = ""

    @property
    def ran(self) -> bool:
        return bool(self.last_state) or "waiting" not in self.state


def pod_status(pod: Object, views: tuple[ContainerView, ...], at: str) -> Object:
    """The patch of the pod's status."""
    status = pod.get("status", {})
    unready = [view.name for view in views if not view.ready]
    conditions = {one["type"]: one for one in status.get("conditions", [])}
    gates = [one["conditionType"] for one in pod["spec"].get("readinessGates", [])]
    closed = [kind for kind in gates if conditions.get(kind, {}).get("status") != "True"]
    contained = _condition("ContainersReady", not unready, "ContainersNotReady", _unready(views))
    ready = contained | {"type": "Ready"}
    if closed and not unready:
        ready = _condition(
            "Ready", False, "ReadinessGatesNotReady", f"readiness gates not true: {', '.join(closed)}"
        )
    wanted = [_condition("Initialized", True, "", ""), contained, ready]
    return {
        "phase": "Running" if any(view.ran for view in views) else "Pending",
        "startTime": status.get("startTime") or at,
        "conditions": [_since(one, conditions.get(one["type"]), at) for one in wanted],
        "containerStatuses": [_container(view) for view in views],
        "initContainerStatuses": [_init(one, at) for one in pod["spec"].get("initContainers", [])],
    }


def _unready(views: tuple[ContainerView, ...]) -> str:
    names = " ".join(view.name for view in views if not view.ready)
    complaints = [f"{view.name}: {view.complaint}" for view in views if not view.ready and view.complaint]
    return "; ".join([f"containers with unready status: [{names}]", *complaints])


def _condition(kind: str, true: bool, reason: str, message: str) -> Object:
    if true:
        return {"type": kind, "status": "True", "reason": None, "message": None}
    return {"type": kind, "status": "False", "reason": reason, "message": message}


def _since(condition: Object, before: Object | None, at: str) -> Object:
    same = before is not None and before["status"] == condition["status"]
    return {**condition, "lastTransitionTime": before["lastTransitionTime"] if before and same else at}


def _container(view: ContainerView) -> Object:
    return {
        "name": view.name,
        "image": view.image,
        "imageID": "",
        "ready": view.ready,
        "started": view.started,
        "restartCount": view.restarts,
        "state": view.state,
        "lastState": view.last_state,
    }


def _init(container: Object, at: str) -> Object:
    """Init containers are taken as done, and those that stay as running."""
    stays = container.get("restartPolicy") == "Always"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "started": stays,
        "restartCount": 0,
        "state": {"running": {"startedAt": at}} if stays else {"terminated": ended},
    }
