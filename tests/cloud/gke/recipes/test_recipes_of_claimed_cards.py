"""Recipes whose networks GKE makes itself: where that is offered, and what the class says of the cards."""

from typing import Any

import pytest
from recipe_text import pool, recipe, stack, told

from inferfleet.cloud.gke.facts import sources

AUTO = {"networking": {"gpuDirect": "RDMA", "acceleratorNetworkProfile": "Auto"}}
CARD = {"name": "nic", "driver": "dra.net", "deviceClassName": "mrdma.google.com", "count": 8}
PAGE = (
    "(GKE, allocate network resources by GKE managed DRANET, 2026-11-24: "
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra)"
)
AT = "spec.provisioning.gke.networking.acceleratorNetworkProfile"


def claiming(machine: str = "a4-highgpu-8g", *cards: dict[str, Any], **gke: Any) -> dict[str, Any]:
    """The spec of a class whose pods claim these cards."""
    spec = recipe(machine, **{**AUTO, **gke})
    count = spec["provisioning"]["gke"]["accelerator"]["count"]
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": count}
    del spec["resources"]
    return {**spec, "devices": [gpu, *cards]}


def of_one(spec: dict[str, Any], version: str = "1.34.1-gke.1829001", **fields: Any) -> tuple[Any, Any]:
    """Problems, and warnings that are about claims, of a pool that starts from one node."""
    model = "Reservation" if "a4x" in str(spec) else "Spot"
    fields = {"nodeCount": 1, "reservation": {"name": "r"} if model == "Reservation" else None, **fields}
    problems, warnings = told(stack({"p": pool(spec, model, **fields)}, minVersion=version))
    return problems, [line for line in warnings if "claim" in line]


@pytest.mark.parametrize(
    ("machine", "count"), [("a3-ultragpu-8g", 8), ("a4-highgpu-8g", 8), ("a4x-highgpu-4g", 4)]
)
def test_it_is_offered_for_machines_with_rdma(machine: str, count: int) -> None:
    assert of_one(claiming(machine, {**CARD, "count": count})) == ([], [])


@pytest.mark.parametrize(
    ("spec", "told_of_it"),
    [
        (
            claiming("a3-megagpu-8g", CARD, networking={**AUTO["networking"], "gpuDirect": "TCPXO"}),
            f"{AT}: class p has acceleratorNetworkProfile Auto with gpuDirect TCPXO; it is offered for RDMA "
            f"alone {PAGE}",
        ),
        (
            claiming("a4-highgpu-8g", CARD, networking={"acceleratorNetworkProfile": "Auto"}),
            f"{AT}: class p has acceleratorNetworkProfile Auto with gpuDirect None; it is offered for RDMA "
            f"alone {PAGE}",
        ),
        (
            claiming(),
            "spec.devices: class p has acceleratorNetworkProfile Auto and 0 devices of DeviceClass "
            "mrdma.google.com",
        ),
        (
            claiming("a4-highgpu-8g", {**CARD, "driver": "nic.example"}),
            f"spec.devices: class p says that device nic of DeviceClass mrdma.google.com has driver "
            f"nic.example {PAGE}",
        ),
        (
            claiming("a4-highgpu-8g", {**CARD, "count": 4}),
            f"spec.devices: class p says 4 network cards per node, but a4-highgpu-8g has 8 {PAGE}",
        ),
    ],
)
def test_a_class_that_no_pod_could_claim_cards_of_is_refused(spec: dict[str, Any], told_of_it: str) -> None:
    assert of_one(spec)[0] == [told_of_it]


def test_it_needs_one_zone_and_a_version_that_has_the_driver() -> None:
    problems, _ = of_one(
        claiming("a4-highgpu-8g", CARD), "1.34.1-gke.1829000", zones=["us-east5-a", "us-east5-b"], nodeCount=2
    )
    assert problems == [
        "spec.nodePools[0].zones: pool p of cluster east has zones us-east5-a, us-east5-b; networks that GKE "
        f"makes for RDMA (acceleratorNetworkProfile: Auto) are of one zone ({sources.RDMA_ZONE})",
        "spec.cluster.gke.minVersion: pool p of cluster east needs GKE 1.34.1-gke.1829001 for "
        f"acceleratorNetworkProfile; minVersion is 1.34.1-gke.1829000 {PAGE}",
    ]


def test_a_pool_that_starts_from_no_node_is_warned_of() -> None:
    spec = {"nodeCount": None, "maxNodeCount": 2}
    assert of_one(claiming("a4-highgpu-8g", CARD), **spec)[1] == [
        "spec.nodePools[0].minNodeCount: pool p of cluster east starts from 0 nodes, and its pods claim "
        "network cards; no page of Google's says that the autoscaler starts a node for such a claim"
    ]
    assert of_one(claiming("a4-highgpu-8g", CARD), **spec, minNodeCount=1)[1] == []


def test_one_cluster_takes_one_of_the_two_ways() -> None:
    named = recipe("a4-highgpu-8g", networking={"gpuDirect": "RDMA"})
    pools = {"claims": pool(claiming("a4-highgpu-8g", CARD), "Spot"), "names": pool(named, "Spot")}
    assert told(stack(pools, minVersion="1.35"))[0] == [
        "spec.nodePools[0].className: pool claims of cluster east has acceleratorNetworkProfile Auto (class "
        "claims), and pool names networks that GKE does not make; one cluster takes one of the two ways "
        f"{PAGE}"
    ]
