"""Networks between GPUs that somebody else keeps: one for each interface, where Google takes them."""

from typing import Any

import pytest
from recipe_text import pool, recipe, stack, told

from inferfleet.cloud.gke.facts import sources

TCPXO = recipe("a3-megagpu-8g", networking={"gpuDirect": "TCPXO"})
RDMA = recipe("a3-ultragpu-8g", networking={"gpuDirect": "RDMA"})
AUTO = recipe("a4-highgpu-8g", networking={"gpuDirect": "RDMA", "acceleratorNetworkProfile": "Auto"})
EXISTING = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
HOSTED = EXISTING | {"project": "acme-net"}
CONFIGS = "additionalNodeNetworkConfigs"
AT = f"spec.nodePools[0].{CONFIGS}"
MULTI_NETWORK = (
    "(GKE, multi-network support for Pods, 2026-11-28: "
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods)"
)
INTERFACES = (
    "(Google, multiple network interfaces, 2026-11-28: "
    "https://docs.cloud.google.com/vpc/docs/multiple-interfaces-concepts)"
)
PROFILES = f"({sources.RDMA_ZONE})"
Configs = list[dict[str, str]]


def of_tcpxo(*, network: str = "gpu-7") -> Configs:
    names = [f"gpu-{number}" for number in range(7)]
    return [{"network": name, "subnetwork": f"{name}-us-east5"} for name in (*names, network)]


def of_rdma(*, nic: str = "nic", rail: tuple[str, str] = ("rdma", "rdma-7")) -> Configs:
    rails = [("rdma", f"rdma-{number}") for number in range(7)]
    return [{"network": name, "subnetwork": of} for name, of in ((nic, "nic"), *rails, rail)]


def errors(spec: dict[str, Any], configs: Configs | None, **network: Any) -> list[str]:
    """What is wrong with the only pool, which names these networks."""
    named = {} if configs is None else {CONFIGS: configs}
    found = told(stack({"p": pool(spec, "Spot", **named)}, network=network, minVersion="1.35"))[0]
    return [
        each.replace("pool p of cluster east ", "") for each in found if each.startswith("spec.nodePools")
    ]


@pytest.mark.parametrize(("spec", "configs"), [(TCPXO, of_tcpxo()), (RDMA, of_rdma())])
@pytest.mark.parametrize("network", [{}, {"existing": EXISTING}, {"existing": HOSTED}])
def test_one_network_for_each_interface_is_right(
    spec: dict[str, Any], configs: Configs, network: dict[str, Any]
) -> None:
    assert errors(spec, configs, gpuDirect="Stack", **network) == []


def test_in_a_shared_vpc_the_stack_makes_no_networks_between_gpus() -> None:
    assert errors(TCPXO, None, existing=HOSTED) == [
        f"{AT}: needs networks between GPUs, which the stack makes in project acme-prod, but all interfaces "
        f"of nodes in a Shared VPC are in networks of its host project, acme-net {MULTI_NETWORK}"
    ]
    assert errors(TCPXO, None, existing=EXISTING) == []
    assert errors(AUTO, None, existing=HOSTED) == []


def test_a_class_without_interfaces_for_them_names_none() -> None:
    assert errors(recipe("a3-megagpu-8g"), of_tcpxo()) == [
        f"{AT}: names networks between GPUs and is of class p, which has no gpuDirect"
    ]
    assert errors(AUTO, of_rdma()) == [
        f"{AT}: names networks between GPUs and is of class p, whose networks GKE makes (Auto)"
    ]


def test_their_number_is_that_of_the_interfaces_of_the_machine() -> None:
    assert errors(TCPXO, of_tcpxo()[:4]) == [
        f"{AT}: names 4 networks between GPUs, and a3-megagpu-8g has 8 interfaces for TCPXO "
        f"({sources.TOOLKIT})"
    ]
    assert errors(RDMA, of_rdma()[1:]) == [
        f"{AT}: names 8 networks between GPUs, and a3-ultragpu-8g has 9 interfaces for RDMA "
        f"({sources.TOOLKIT})"
    ]


@pytest.mark.parametrize(
    ("spec", "configs", "what"),
    [
        (TCPXO, of_tcpxo(network="shared"), "[7].network: names network shared, which another interface of"),
        (TCPXO, of_tcpxo(network="gpu-0"), "[7].network: names network gpu-0, which another interface of"),
        (RDMA, of_rdma(nic="shared"), "[0].network: names network shared, which another interface of"),
        (RDMA, of_rdma(rail=("shared", "rdma-7")), "[8].network: names network shared, which another"),
        (RDMA, of_rdma(rail=("rdma", "rdma-0")), "[8].subnetwork: names subnetwork rdma-0 for two"),
        (RDMA, of_rdma(rail=("rdma-b", "rdma-7")), ": names networks rdma, rdma-b for interfaces of RDMA"),
    ],
)
def test_only_interfaces_of_rdma_share_a_network(spec: dict[str, Any], configs: Configs, what: str) -> None:
    first, *_ = errors(spec, configs, existing=EXISTING)
    assert first.startswith(f"{AT}{what}")


def test_a_long_subnetwork_names_no_network_object() -> None:
    long = "r" * 42
    configs = of_rdma(rail=("rdma", long))
    assert errors(RDMA, configs, gpuDirect="Stack") == [
        f"{AT}[8].subnetwork: names subnetwork {long}, and so a Network object, whose name has at most 41 "
        f"characters {MULTI_NETWORK}"
    ]
    assert errors(RDMA, configs, gpuDirect="Existing") == []
