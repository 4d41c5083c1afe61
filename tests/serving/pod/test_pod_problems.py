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
from inferfleet.serving.pod.check import document_problems, template_check
from inferfleet.serving.pod.hardware import Hardware, hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template

Make = Callable[..., ModelDeployment]

BASE = "spec.workers.template."


def _found(document: ModelDeployment, spot: Spot, needs: Hardware) -> tuple[Problem, ...]:
    return tuple(document_problems(PlacedPod(document, spot, "decode", "Entry", Shape(1, needs.gpus), needs)))


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


@pytest.mark.parametrize(
    ("sidecar", "what"),
    [
        (
            {"nvidia.com/gpu": 1},
            "container 'side' asks for 1 nvidia.com/gpu, but pods on pool h100 of cluster east have 2 "
            "nvidia.com/gpu in the engine alone",
        ),
        (
            {"nvidia.com/mig-1g.5gb": 1},
            "container 'side' asks for 1 nvidia.com/mig-1g.5gb, but pods on pool h100 of cluster east have 2 "
            "nvidia.com/gpu in the engine alone",
        ),
        (
            {"nvidia.com/hostdev": 1},
            "container 'side' asks for 1 nvidia.com/hostdev, but pods on pool h100 of cluster east have 2 "
            "nvidia.com/gpu in the engine alone",
        ),
    ],
)
def test_a_plugin_gives_no_devices_beside_those_of_the_engine(
    deployment: Make, spot: Spot, quarter: Hardware, sidecar: dict[str, int], what: str
) -> None:
    placed = PlacedPod(deployment({}), spot, "decode", "Entry", Shape(1, 2), quarter)
    template = pod_template(placed)
    template["spec"]["containers"].append(
        {"name": "side", "image": "side:1", "resources": {"limits": sidecar}}
    )
    assert [mistake.what for mistake in template_check(placed)(template)] == [what]


def test_a_plugin_asks_for_no_part_of_a_gpu(deployment: Make, spot: Spot, quarter: Hardware) -> None:
    placed = PlacedPod(deployment({}), spot, "decode", "Entry", Shape(1, 2), quarter)
    template = pod_template(placed)
    template["metadata"]["annotations"] = {"gpu-fraction": "0.25"}
    (mistake,) = template_check(placed)(template)
    assert mistake.field_path == ("metadata.annotations.gpu-fraction",)
    assert mistake.what == (
        "the annotation gpu-fraction asks KAI for a part of a GPU, which KAI refuses beside whole GPUs, and "
        "which no plan counts"
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
