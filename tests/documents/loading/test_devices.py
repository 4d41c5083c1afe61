"""Devices of a class: by which resource pods ask for them, and what claims need."""

from typing import Any

import pytest

from inferfleet.documents.kinds.base import API_VERSION
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.loading.validation import validated

GPU = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 8}


def told(devices: list[dict[str, Any]], **spec: Any) -> list[tuple[str, str, str]]:
    document = {
        "apiVersion": API_VERSION,
        "kind": "InferenceClass",
        "metadata": {"name": "node"},
        "spec": {"node": {"cpu": "8", "memory": "8Gi"}, "devices": devices, **spec},
    }
    _, problems = validated(InferenceClass, document)
    return [(problem.path, problem.what, problem.next_step) for problem in problems]


@pytest.mark.parametrize(
    "device",
    [
        GPU,
        {**GPU, "resource": "nvidia.com/mig-1g.10gb", "count": 56},
        {"name": "vgpu", "driver": "gpu.acme.com", "resource": "acme.com/vgpu", "count": 160},
        {"name": "nic", "driver": "nvidia.com/hostdev", "claim": "Synthetic"},
        {"name": "nic", "driver": "rdma/ib", "claim": "Synthetic"},
    ],
)
def test_devices_that_a_plugin_hands_out_need_no_device_class(device: dict[str, Any]) -> None:
    assert told([device]) == []


@pytest.mark.parametrize(
    ("device", "spec", "problem"),
    [
        (
            GPU,
            {"allocation": "DRA"},
            (
                "spec.devices[0]",
                "pods claim the device, and claims ask for a DeviceClass",
                "Add deviceClassName",
            ),
        ),
        (
            {**GPU, "deviceClassName": "gpu.nvidia.com", "resource": "nvidia.com/gpu.shared"},
            {"allocation": "DRA"},
            (
                "spec.devices[0].resource",
                "with allocation DRA pods claim devices, and none is handed out as nvidia.com/gpu.shared",
                "Remove resource, or write allocation: DevicePlugin",
            ),
        ),
        (
            {"name": "slice", "driver": "nvidia.com/mig-1g.10gb", "claim": "Synthetic"},
            {},
            (
                "spec.devices[0].driver",
                "nvidia.com/mig-1g.10gb are accelerators or parts of them, and a Synthetic device is none",
                "Write driver: gpu.nvidia.com and resource: nvidia.com/mig-1g.10gb, without claim",
            ),
        ),
        (
            {**GPU, "claim": "Synthetic", "resource": "nvidia.com/gpu"},
            {},
            (
                "spec.devices[0].resource",
                "a device with claim Synthetic is one that only selectors see, and no pod asks for "
                "nvidia.com/gpu",
                "Remove claim, or resource",
            ),
        ),
        (
            {**GPU, "resource": "mig"},
            {},
            (
                "spec.devices[0].resource",
                "resource 'mig' must be the name of an extended resource, such as nvidia.com/mig-1g.10gb",
                "Change it",
            ),
        ),
    ],
)
def test_a_device_that_contradicts_itself_is_refused(
    device: dict[str, Any], spec: dict[str, Any], problem: tuple[str, str, str]
) -> None:
    assert told([device], **spec) == [problem]


@pytest.mark.parametrize("key", ["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"])
@pytest.mark.parametrize("accelerator", [{}, {"accelerator": "None"}])
def test_parts_of_gpus_by_annotation_are_refused(key: str, accelerator: dict[str, str]) -> None:
    template = {
        "metadata": {"annotations": {key: "0.25"}},
        "spec": {"containers": [{"name": "engine", "image": "engine:1"}]},
    }
    _, problems = validated(
        ModelDeployment,
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "workers": {"topology": {"tensor": 1}, "template": template},
                **accelerator,
            },
        },
    )
    assert [(problem.path, problem.what, problem.next_step) for problem in problems] == [
        (
            f"spec.workers.template.metadata.annotations.{key}",
            f"the annotation {key} asks KAI for a part of a GPU, which KAI refuses beside whole GPUs, and "
            "which no plan counts",
            "Remove it; shared GPUs are devices of a class by their resource, such as nvidia.com/gpu.shared "
            "or nvidia.com/mig-1g.10gb, which the engine's resources name",
        )
    ]
