"""accelerator and what the class says: labels on GKE and elsewhere, and what contradicts the class."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from gke_pods import on_gke
from one_request import GPU, REQUEST

from inferfleet.plugins.builtin.accelerator import Config, edit
from inferfleet.plugins.contract import PluginError, Request

H100 = on_gke("nvidia-h100-80gb", product="NVIDIA H100 80GB HBM3")
UNNAMED = on_gke("nvidia-h100-80gb")


def elsewhere(driver: str, **attributes: str) -> Request:
    device = replace(GPU, driver=driver, attributes=attributes)
    return replace(REQUEST, accelerator=device)


def requiring(generated: dict[str, Any], **labels: str) -> dict[str, Any]:
    expected = copy.deepcopy(generated)
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    expected["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return expected


@pytest.mark.parametrize(
    "config",
    [
        {"productOfClass": True},
        {"product": "nvidia-h100-80gb"},
        {"product": "NVIDIA-H100-80GB-HBM3"},
        {"product": ["NVIDIA-H200", "NVIDIA-H100-80GB-HBM3"]},
        {"product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"},
        {"product": "NVIDIA-H100-80GB-HBM3-SHARED"},
    ],
)
def test_on_gke_the_label_is_googles_whichever_name_the_config_has(
    generated: dict[str, Any], config: dict[str, Any]
) -> None:
    expected = requiring(generated, **{"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"})
    assert edit(generated, H100, Config.model_validate(config)) == expected


def test_on_gke_a_class_without_product_name_takes_names_of_the_vendors(generated: dict[str, Any]) -> None:
    expected = requiring(generated, **{"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"})
    assert edit(generated, UNNAMED, Config(product=("NVIDIA-H100-80GB-HBM3",))) == expected


@pytest.mark.parametrize(
    ("driver", "attributes", "labels"),
    [
        (
            "gpu.nvidia.com",
            {"productName": "NVIDIA H100 80GB HBM3"},
            {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        ),
        (
            "gpu.amd.com",
            {"productName": "AMD Instinct MI300X OAM"},
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
        ),
        (
            "tpu.google.com",
            {"productName": "tpu-v6e-slice", "topology": "2x4"},
            {
                "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
                "cloud.google.com/gke-tpu-topology": "2x4",
            },
        ),
        ("npu.huawei.com", {"productName": "910B3"}, {"node.kubernetes.io/npu.chip.name": "910B3"}),
    ],
)
def test_elsewhere_the_label_is_the_vendors_and_the_class_says_the_value(
    generated: dict[str, Any], driver: str, attributes: dict[str, str], labels: dict[str, str]
) -> None:
    request = elsewhere(driver, **attributes)
    assert edit(generated, request, Config(product_of_class=True)) == requiring(generated, **labels)


def test_the_topology_of_a_tpu_may_be_said_by_the_config_alone(generated: dict[str, Any]) -> None:
    expected = requiring(generated, **{"cloud.google.com/gke-tpu-topology": "4x4"})
    assert edit(generated, elsewhere("tpu.google.com"), Config(topology="4x4")) == expected


@pytest.mark.parametrize(
    ("request_", "config", "said"),
    [
        (
            H100,
            {"product": "NVIDIA-A100-SXM4-80GB"},
            "product NVIDIA-A100-SXM4-80GB contradicts class h100-8x, whose nodes have nvidia-h100-80gb "
            r"\(cloud.google.com/gke-accelerator\); write what the class has",
        ),
        (
            elsewhere("gpu.nvidia.com", productName="NVIDIA H100 80GB HBM3"),
            {"product": ["NVIDIA-A100-SXM4-80GB", "NVIDIA-L4"]},
            "product NVIDIA-A100-SXM4-80GB, NVIDIA-L4 contradicts class h100-8x, whose nodes have "
            "NVIDIA-H100-80GB-HBM3",
        ),
        (
            UNNAMED,
            {"product": ["nvidia-l4", "nvidia-b200"]},
            "product nvidia-l4, nvidia-b200 contradicts class h100-8x, whose nodes have nvidia-h100-80gb",
        ),
        (
            H100,
            {"product": "nvidia-l4", "productLabel": "cloud.google.com/gke-accelerator"},
            "cloud.google.com/gke-accelerator nvidia-l4 contradicts pool h100, whose nodes have nvidia-h100",
        ),
        (
            elsewhere("tpu.google.com", topology="2x4"),
            {"topology": "4x4"},
            "topology 4x4 contradicts class h100-8x, whose nodes have 2x4",
        ),
        (H100, {"topology": "2x4"}, "topology 2x4 is of TPUs, but class h100-8x has devices of gpu.nvidia"),
        (
            elsewhere("gpu.nvidia.com"),
            {"productOfClass": True},
            "does not say what its device gpu is; add the attribute productName to it, or set product",
        ),
        (elsewhere("gaudi.intel.com"), {"productOfClass": True}, "set productLabel and product"),
    ],
)
def test_what_the_class_contradicts_or_does_not_say_is_refused(
    generated: dict[str, Any], request_: Request, config: dict[str, Any], said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        edit(generated, request_, Config.model_validate(config))


def test_a_product_and_that_of_the_class_are_not_both_asked_for() -> None:
    with pytest.raises(ValueError, match="product and productOfClass are both set"):
        Config(product=("X",), product_of_class=True)
