"""Where a team's template contradicts the hardware that it was placed on: both sides are named."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.inference_class import Device
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.check import document_problems
from inferfleet.serving.pod.hardware import Hardware, hardware
from inferfleet.serving.pod.template import PlacedPod

Make = Callable[..., ModelDeployment]

BASE = "spec.workers.template."
ENGINE = "spec.containers[0]"
SIDECAR = "spec.containers[1]"


def _found(document: ModelDeployment, spot: Spot, needs: Hardware) -> tuple[Problem, ...]:
    return tuple(document_problems(PlacedPod(document, spot, "decode", "Entry", Shape(1, needs.gpus), needs)))


def _sidecar(**fields: Any) -> dict[str, Any]:
    return {"sidecars": [{"name": "side", "image": "side:1", **fields}]}


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"engine": {"resources": {"limits": {"nvidia.com/gpu": 2, "memory": "1Gi"}}}},
        {"nodeSelector": {"inferfleet.dev/pool": "h100", "disk": "fast"}},
        {"affinity": None, "tolerations": None, "volumes": None, "engine": {"ports": None}},
    ],
)
def test_an_equal_value_is_no_clash(
    deployment: Make, spot: Spot, quarter: Hardware, pod: dict[str, Any]
) -> None:
    assert _found(deployment(pod), spot, quarter) == ()


@pytest.mark.parametrize(
    ("pod", "path", "what"),
    [
        (
            {"engine": {"resources": {"requests": {"nvidia.com/gpu": 4}}}},
            f'{ENGINE}.resources.requests["nvidia.com/gpu"]',
            "the engine asks for 4 nvidia.com/gpu, but tensor x dataLocal of its topology is 2 per pod",
        ),
        (
            _sidecar(resources={"limits": {"nvidia.com/gpu": 1}}),
            f'{SIDECAR}.resources.limits["nvidia.com/gpu"]',
            "container 'side' asks for 1 nvidia.com/gpu, but the pod was placed on cluster east "
            "for the 2 nvidia.com/gpu of its engine alone",
        ),
        (
            {"engine": {"resources": {"limits": {"amd.com/gpu": 2}}}},
            f'{ENGINE}.resources.limits["amd.com/gpu"]',
            "container 'engine' asks for 2 amd.com/gpu, but the pod was placed on cluster east "
            "for the 2 nvidia.com/gpu of its engine alone",
        ),
        (
            {"nodeName": "node-1"},
            "spec.nodeName",
            "it pins every replica to node 'node-1', but inferfleet places replicas by pool",
        ),
    ],
)
def test_a_contradiction_names_both_sides(
    deployment: Make, spot: Spot, quarter: Hardware, pod: dict[str, Any], path: str, what: str
) -> None:
    found = _found(deployment(pod), spot, quarter)
    assert [(one.kind, one.key, one.path, one.what) for one in found] == [
        ("ModelDeployment", "ml/qwen", BASE + path, what)
    ]


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"])
def test_slices_of_accelerators_are_said_not_to_be_offered(
    deployment: Make, spot: Spot, quarter: Hardware, resource: str
) -> None:
    (problem,) = _found(deployment(_sidecar(resources={"limits": {resource: 1}})), spot, quarter)
    assert problem.next_step == "Remove it: slices and shares of accelerators are not offered"


@pytest.mark.parametrize("others", [(), ("google.com/tpu",)])
def test_pods_without_accelerators_ask_for_none_however_their_class_describes_them(
    deployment: Make, spot: Spot, others: tuple[str, ...]
) -> None:
    needs = Hardware(None, 0, 0, {"inferfleet.dev/pool": "h100"}, others=others)
    document = deployment({"engine": {"resources": {"limits": {"google.com/tpu": 4}}}})
    (problem,) = _found(document, spot, needs)
    assert (problem.what, problem.next_step) == (
        "container 'engine' asks for 4 google.com/tpu, but accelerator: None of the deployment places it on "
        "nodes without any",
        "Remove it, or remove accelerator: None of the deployment",
    )


def test_nodes_have_what_their_class_says_of_devices_that_only_selectors_see(
    deployment: Make, spot: Spot, quarter: Hardware
) -> None:
    card = Device(name="nic", driver="nvidia.com/hostdev", claim="Synthetic")
    pool = NodePool(name="h100", class_name="h100", node_count=1)
    gpu = Device(name="gpu", driver="gpu.nvidia.com", device_class_name="gpu", count=8)
    needs = hardware(device=gpu, gpus=2, pool=pool, devices=(gpu, card))
    asks = {"resources": {"limits": {"nvidia.com/hostdev": 1}}}
    assert _found(deployment({"engine": asks}), spot, needs) == ()
    (problem,) = _found(deployment({"engine": asks}), spot, quarter)
    assert problem.what == (
        "container 'engine' asks for 1 nvidia.com/hostdev, but pool h100 of cluster east has "
        "nvidia.com/gpu alone"
    )
