"""The status of a pod as a kubelet writes it, made from the state of its containers."""

from dataclasses import dataclass, field

from sandbox.cluster.objects import Object


@dataclass(frozen=True)
class ContainerView:
    """The state of one container. `complaint` is why it is not ready, as far as that is known."""

    name: str
    image: str
    state: Object = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    last_state: Object = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0
    complaint: str = ""

    @property
    def exit_code(self) -> int | None:
        """With what it ended for good, None while it runs or will run."""
        code: int | None = self.state.get("terminated", {}).get("exitCode")
        return code

    @property
    def has_run(self) -> bool:
        """Whether the container runs or ran before."""
        return bool(self.last_state) or "waiting" not in self.state


def pod_status(
    pod: Object,
    views: tuple[ContainerView, ...],
    at: str,
    *,
    first: tuple[ContainerView, ...] = (),
    sidecars: tuple[ContainerView, ...] = (),
) -> Object:
    """Return the patch of the pod's status. `first` and `sidecars` are those of its init containers that are
    run, to their end and beside the others.
    """
    status = pod.get("status", {})
    unready = [view.name for view in views + sidecars if not view.ready]
    present = {condition["type"]: condition for condition in status.get("conditions", [])}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates", [])]
    closed = [gate for gate in gates if present.get(gate, {}).get("status") != "True"]
    containers_ready = _condition(
        "ContainersReady", not unready, "ContainersNotReady", _unready(sidecars + views)
    )
    ready = containers_ready | {"type": "Ready"}
    if closed and not unready:
        ready = _condition(
            "Ready", False, "ReadinessGatesNotReady", f"readiness gates not true: {', '.join(closed)}"
        )
    has_run = any(view.has_run for view in views)
    waited_for = [view for view in first if view.exit_code != 0]
    pending = [] if has_run else waited_for + [view for view in sidecars if not view.started]
    initialized = _condition("Initialized", not pending, "ContainersNotInitialized", _incomplete(pending))
    by_name = {view.name: view for view in first + sidecars}
    init_containers = pod["spec"].get("initContainers", [])
    wanted = [initialized, containers_ready, ready]
    return {
        "phase": _phase(pod, views, has_run=has_run),
        "startTime": status.get("startTime") or at,
        "conditions": [_dated(condition, present.get(condition["type"]), at) for condition in wanted],
        "containerStatuses": [_container(view) for view in views],
        "initContainerStatuses": [
            _container(by_name[container["name"]]) if container["name"] in by_name else _init(container, at)
            for container in init_containers
        ],
    }


def _phase(pod: Object, views: tuple[ContainerView, ...], *, has_run: bool) -> str:
    """Return the phase, that of a pod that has ended for good where its policy says so."""
    codes = [view.exit_code for view in views]
    if views and pod["spec"].get("restartPolicy", "Always") != "Always" and None not in codes:
        return "Failed" if any(codes) else "Succeeded"
    return "Running" if has_run else "Pending"


def _incomplete(pending: list[ContainerView]) -> str:
    return f"containers with incomplete status: [{' '.join(view.name for view in pending)}]"


def _unready(views: tuple[ContainerView, ...]) -> str:
    names = " ".join(view.name for view in views if not view.ready)
    complaints = [f"{view.name}: {view.complaint}" for view in views if not view.ready and view.complaint]
    return "; ".join([f"containers with unready status: [{names}]", *complaints])


def _condition(condition_type: str, true: bool, reason: str, message: str) -> Object:
    if true:
        return {"type": condition_type, "status": "True", "reason": None, "message": None}
    return {"type": condition_type, "status": "False", "reason": reason, "message": message}


def _dated(condition: Object, before: Object | None, at: str) -> Object:
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
    """Report an init container as completed, or as running if it is a sidecar (restartPolicy Always)."""
    sidecar = container.get("restartPolicy") == "Always"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "started": sidecar,
        "restartCount": 0,
        "state": {"running": {"startedAt": at}} if sidecar else {"terminated": ended},
    }
