"""The overview adds up what pods hold on each node, and shows names as they are."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sandbox.toolchain.parts import EPP, KUBE
from sandbox.toolchain.resolve import Resolved
from sandbox.verbs import tables
from sandbox.verbs.overview import CloudRow, ClusterRow, NodeRow, Overview, PodRow, node_and_pod_rows
from sandbox.verbs.tables import print_clusters, print_overview

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
    objects = [
        _pod("waits", "", 2, "Pending"),
        _pod("ended", "n0", 1, "Succeeded"),
        _pod("b", "n0", 1),
        _pod("a", "n0", 2),
        _node("n1", 4),
        _node("n0", 4),
    ]
    assert node_and_pod_rows(objects) == (
        (NodeRow("n0", "l4", 4, 3, True), NodeRow("n1", "l4", 4, 0, True)),
        (
            PodRow("ml", "a", "n0", "l4", 2, "Running", True),
            PodRow("ml", "b", "n0", "l4", 1, "Running", True),
            PodRow("ml", "ended", "n0", "l4", 1, "Succeeded", False),
            PodRow("ml", "waits", "", "", 2, "Pending", False),
        ),
    )


def test_devices_of_claims_are_those_that_drivers_published_and_the_scheduler_gave_away() -> None:
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n0", "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}
    results = [{"driver": "gpu.nvidia.com"}, {"driver": "dra.net"}]
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "a-devices", "namespace": "ml"},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": "a", "uid": "u"}],
        },
    }
    waiting = {"kind": "ResourceClaim", "metadata": {"name": "b-devices", "namespace": "ml"}}
    objects = [
        {"kind": "ResourceSlice", "metadata": {"name": "n0-gpu"}, "spec": spec},
        {"kind": "ResourceSlice", "metadata": {"name": "n0-nic"}, "spec": {**spec, "driver": "dra.net"}},
        claim,
        waiting,
        _pod("a", "n0", 0),
        _node("n0", 0),
    ]
    assert node_and_pod_rows(objects) == (
        (NodeRow("n0", "l4", 2, 1, True),),
        (PodRow("ml", "a", "n0", "l4", 1, "Running", True),),
    )


def test_long_names_stay_whole_on_a_narrow_terminal() -> None:
    pod = PodRow("machine-learning", f"{'qwen3-' * 8}decode-7d9f8b6c5-x2x4z", "n0", "l4", 1, "Running", True)
    node = NodeRow("n0", "l4", 4, 1, True)
    kubeconfig = f"/home/somebody/{'checkouts/' * 6}.sandbox/local/east.kubeconfig"
    cluster = ClusterRow("east", "running", kubeconfig, 8, 512, (node,), (pod,))
    printed = StringIO()
    print_clusters(Overview("local", (), (cluster,)), Console(file=printed, width=80))
    lines = printed.getvalue().splitlines()
    assert any(kubeconfig in line for line in lines)
    assert any(pod.name in line and "machine-learning" in line and "Running" in line for line in lines)


def test_titles_and_messages_stay_on_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Path(f"/home/somebody/{'caches/' * 12}toolchain")
    monkeypatch.setattr(tables, "store", lambda: cache)
    stack = f"a-stack-with-a-name-of-{'many-' * 5}words"
    cloud = CloudRow(runs=True, mebibytes=90, resources=7)
    printed = StringIO()
    parts = (Resolved(KUBE, "cache", cache, "1.36.0"), Resolved(EPP, "cache", cache))
    print_overview(Overview(stack, parts, (), cloud), Console(file=printed, width=40))
    assert printed.getvalue().splitlines() == [
        f"toolchain (fetched and built parts are in {cache})",
        "part  version  from ",
        "kube  1.36.0   cache",
        f"epp   {EPP.version}    cache",
        f"simulated Google Cloud: 7 resources, 90 MiB; `inferfleet sandbox cloud show --stack {stack}`",
        f"clusters of stack {stack}",
        "cluster  is  MiB  nodes  GPUs  kubeconfig",
    ]


def test_short_names_keep_to_the_width_of_the_terminal() -> None:
    pod = PodRow("ml", "qwen-0", "n0", "l4", 1, "Running", True)
    cluster = ClusterRow("east", "running", "/east", 8, 512, (NodeRow("n0", "l4", 4, 1, True),), (pod,))
    printed = StringIO()
    print_clusters(Overview("local", (), (cluster,)), Console(file=printed, width=80))
    assert max(len(line) for line in printed.getvalue().splitlines()) <= 80
