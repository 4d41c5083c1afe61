"""Pods with NVIDIA's GPUs that name no RuntimeClass are told where that may be their fault."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from own_cluster import east_problem
from test_observe import OURS, east, look

Start = Callable[..., FakeCluster]
CLASSES = KINDS | {"node.k8s.io/v1": {"RuntimeClass": ("runtimeclasses", False)}}
NVIDIA = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}


def _engine(resource: str = "nvidia.com/gpu", *, ready: int = 0, **pod: Any) -> dict[str, Any]:
    containers = [{"name": "engine", "resources": {"limits": {resource: "1"}}}]
    return thing(
        "Deployment",
        "a-decode-l4",
        "ml",
        labels=OURS | {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode"},
        spec={"replicas": 1, "template": {"spec": {"containers": containers, **pod}}},
        status={"readyReplicas": ready},
    )


def _told(start: Start, wanted: dict[str, Any], *objects: Any, version: str = "v1.34.1+rke2r1") -> Any:
    fake = start(kinds=CLASSES, objects=list(objects), behind={"/version": (200, {"gitVersion": version})})
    return look(fake, east(wanted)).problems


@pytest.mark.parametrize(("version", "distribution"), [("v1.34.1+rke2r1", "RKE2"), ("v1.33.4+k3s1", "k3s")])
def test_on_k3s_and_rke2_a_notice_names_the_plugin(cluster: Start, version: str, distribution: str) -> None:
    assert _told(cluster, _engine(), NVIDIA, version=version) == (
        east_problem(
            f"cluster 'east' is of {distribution}, where pods get GPUs of NVIDIA's by RuntimeClass nvidia "
            "unless that is the default runtime of nodes, or GPU Operator 25.10 or later serves them, and "
            "pods of ml/a name no RuntimeClass",
            "If engines find no GPU, write {name: accelerator, config: {runtimeClassName: nvidia}} into "
            "plugins of the cluster",
            "spec.plugins",
            severity="notice",
        ),
    )


def test_nothing_is_said_elsewhere(cluster: Start) -> None:
    assert _told(cluster, _engine(), NVIDIA, version="v1.34.1-eks-123") == ()
    assert _told(cluster, _engine()) == ()
    assert _told(cluster, _engine(runtimeClassName="nvidia"), NVIDIA) == ()
    assert _told(cluster, _engine("amd.com/gpu"), NVIDIA) == ()


def test_nothing_is_said_once_pods_are_ready(cluster: Start) -> None:
    assert _told(cluster, _engine(), NVIDIA, _engine(ready=1)) == ()
