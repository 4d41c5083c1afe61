"""accelerator shown on whole pods, and where it refuses to guess."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from inferfleet.plugins.builtin.accelerator import Config, edit
from inferfleet.plugins.contract import DeviceFacts, PluginError, Request


def _device(driver: str) -> DeviceFacts:
    return DeviceFacts(name="a", driver=driver, count=8, attributes={}, capacity={})


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    }


def is_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [*values]}


def test_runtime_class_product_and_engine_env_are_added_and_nothing_else(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    expected["spec"]["runtimeClassName"] = "nvidia"
    expected["spec"]["affinity"] = affinity(
        {"matchExpressions": [is_in("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200")]}
    )
    expected["spec"]["containers"][1]["env"] = [
        {"name": "HF_HOME", "value": "/fast"},
        {"name": "LAST", "value": "$(HF_HOME)"},
        {"name": "NCCL_IB_DISABLE", "value": "0"},
    ]
    config = Config.model_validate(
        {
            "runtimeClassName": "nvidia",
            "product": ["NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"],
            "engineEnv": [
                {"name": "NCCL_IB_DISABLE", "value": "0"},
                {"name": "HF_HOME", "value": "/fast"},
            ],
        }
    )
    assert edit(generated, pod_request, config) == expected


@pytest.mark.parametrize(
    ("driver", "config", "label"),
    [
        ("gpu.nvidia.com", {"product": "X"}, "nvidia.com/gpu.product"),
        ("gpu.amd.com", {"product": "X"}, "amd.com/gpu.product-name"),
        ("tpu.google.com", {"product": "X"}, "cloud.google.com/gke-tpu-accelerator"),
        ("npu.example.com", {"product": "X", "productLabel": "example.com/npu"}, "example.com/npu"),
        ("gpu.nvidia.com", {"product": "X", "productLabel": "my/label"}, "my/label"),
    ],
)
def test_each_vendor_has_its_product_label_and_the_config_may_name_another(
    generated: dict[str, Any], pod_request: Request, driver: str, config: dict[str, Any], label: str
) -> None:
    request = replace(pod_request, accelerator=_device(driver))
    edited = edit(generated, request, Config.model_validate(config))
    assert edited["spec"]["affinity"] == affinity({"matchExpressions": [is_in(label, "X")]})


def test_every_alternative_of_an_affinity_asks_for_the_product(
    generated: dict[str, Any], pod_request: Request
) -> None:
    field = {"matchFields": [is_in("metadata.name", "n1")]}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [is_in("disk", "ssd")]}}]
    generated["spec"]["affinity"] = affinity({"matchExpressions": [is_in("zone", "a")]}, field, {})
    generated["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = (
        preferred
    )
    expected = affinity(
        {"matchExpressions": [is_in("zone", "a"), is_in("nvidia.com/gpu.product", "X")]},
        {**field, "matchExpressions": [is_in("nvidia.com/gpu.product", "X")]},
        {},  # matches no node, and with an expression in it would
    )
    expected["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    assert edit(generated, pod_request, Config(product=("X",)))["spec"]["affinity"] == expected


PRODUCT = "nvidia.com/gpu.product"


@pytest.mark.parametrize(
    ("spec", "config", "said"),
    [
        (
            {"runtimeClassName": "kata"},
            {"runtimeClassName": "nvidia"},
            "runtimeClassName nvidia contradicts the template, which has kata; remove one of the two",
        ),
        (
            {"nodeSelector": {PRODUCT: "L4"}},
            {"product": "H100"},
            f"nodes with {PRODUCT} H100 contradict the template, which requires L4; remove one of the two",
        ),
        (
            {"affinity": affinity({"matchExpressions": [is_in(PRODUCT, "L4", "T4")]})},
            {"product": "H100"},
            f"nodes with {PRODUCT} H100 contradict the template, which requires L4, T4; remove one",
        ),
    ],
)
def test_what_disagrees_is_refused_and_both_sides_are_named(
    pod_request: Request, spec: dict[str, Any], config: dict[str, Any], said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        edit({"spec": spec}, pod_request, Config.model_validate(config))


def test_a_device_without_a_known_product_label_needs_one(
    generated: dict[str, Any], pod_request: Request
) -> None:
    device = _device("npu.example.com")
    with pytest.raises(PluginError, match=r"known for devices of npu\.example\.com; set productLabel"):
        edit(generated, replace(pod_request, accelerator=device), Config(product=("X",)))


def test_a_runtime_class_that_agrees_is_no_conflict(generated: dict[str, Any], pod_request: Request) -> None:
    generated["spec"]["runtimeClassName"] = "nvidia"
    before = copy.deepcopy(generated)
    assert edit(generated, pod_request, Config(runtime_class_name="nvidia")) == before
