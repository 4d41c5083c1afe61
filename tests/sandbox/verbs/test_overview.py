"""The overview adds up what pods hold on each node."""

from typing import Any

from sandbox.verbs.overview import NodeRow, PodRow, node_and_pod_rows

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def _node(name: str, gpus: int) -> dict[str, Any]:
    allocatable = {"cpu": "11", "nvidia.com/gpu": str(gpus)}
    labels = {"inferfleet.dev/pool": "l4"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {**READY, "allocatable": allocatable},
    }


def _pod(name: str, node: str, gpus: int, phase: str = "Running") -> dict[str, Any]:
    container = {"name": "engine", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    spec = {"containers": [container, {"name": "sidecar"}], **({"nodeName": node} if node else {})}
    status = {"phase": phase, **(READY if phase == "Running" else {})}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": spec, "status": status}


def test_devices_in_use_are_those_of_pods_that_have_not_ended() -> None:
    found = [
        _pod("waits", "", 2, "Pending"),
        _pod("ended", "n0", 1, "Succeeded"),
        _pod("b", "n0", 1),
        _pod("a", "n0", 2),
        _node("n1", 4),
        _node("n0", 4),
    ]
    assert node_and_pod_rows(found) == (
        (NodeRow("n0", "l4", 4, 3, True), NodeRow("n1", "l4", 4, 0, True)),
        (
            PodRow("ml", "a", "n0", "l4", 2, "Running", True),
            PodRow("ml", "b", "n0", "l4", 1, "Running", True),
            PodRow("ml", "ended", "n0", "l4", 1, "Succeeded", False),
            PodRow("ml", "waits", "", "", 2, "Pending", False),
        ),
    )
