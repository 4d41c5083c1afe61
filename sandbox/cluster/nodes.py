"""The simulated nodes of a cluster as Kubernetes objects, made from its node pools and their classes."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from inferfleet.fleet.names import POOL
from inferfleet.tables.devices import CHANNEL_DRIVER, CLIQUE, PRODUCT_LABELS, product_in_label

# Every process of the sandbox imports this module and few need the models of documents, which load slowly.
if TYPE_CHECKING:
    from inferfleet.documents.kinds.inference_class import InferenceClass
    from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool

Node = dict[str, Any]

# The annotation holds a digest of the whole node as it was created, so that a changed document is noticed.
MADE_FROM = "sandbox.inferfleet.dev/made-from"
REGION = "sandbox"
NVIDIA = "gpu.nvidia.com"

# What GKE writes into cloud.google.com/gke-accelerator, by the product name NVIDIA's driver reports.
# https://cloud.google.com/compute/docs/gpus
GKE_ACCELERATOR = {
    "NVIDIA L4": "nvidia-l4",
    "Tesla T4": "nvidia-tesla-t4",
    "NVIDIA A100-SXM4-40GB": "nvidia-tesla-a100",
    "NVIDIA A100-SXM4-80GB": "nvidia-a100-80gb",
    "NVIDIA H100 80GB HBM3": "nvidia-h100-80gb",
    "NVIDIA H200": "nvidia-h200-141gb",
    "NVIDIA B200": "nvidia-b200",
}


def nodes(cluster: "InferenceCluster", classes: "Mapping[str, InferenceClass]") -> tuple[Node, ...]:
    """Return the nodes of every pool at its full size, and one without devices for endpoint pickers."""
    made = [_cpu_node(cluster.metadata.name)]
    for pool in cluster.spec.node_pools:
        made += [_pool_node(cluster, pool, classes[pool.class_name], number) for number in range(pool.size)]
    return tuple(made)


def _cpu_node(cluster: str) -> Node:
    # The dot keeps it apart from the nodes of pools, whose names have none.
    return node_object(f"cpu.{cluster}", {}, {"cpu": "32", "memory": "128Gi", "pods": "110"}, [])


def _pool_node(
    cluster: "InferenceCluster", pool: "NodePool", inference_class: "InferenceClass", number: int
) -> Node:
    devices = _devices(inference_class)
    labels = {
        POOL: pool.name,
        "cloud.google.com/gke-nodepool": pool.name,
        **_product_labels(inference_class),
        **_domain_label(inference_class, pool.name),
        **(pool.node_selector or {}),
    }
    taints = [taint.model_dump() for taint in (*cluster.spec.taints, *pool.taints)]
    if any(device.driver == NVIDIA and device.asked_as for device in inference_class.spec.all_devices):
        taints.append({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})
    size = inference_class.spec.node
    written = size.hugepages.model_dump(by_alias=True, exclude_defaults=True)
    pages = {f"hugepages-{page}": amount for page, amount in written.items()}
    capacity = {"cpu": size.cpu, "memory": size.memory, "pods": str(size.pods), **pages, **devices}
    return node_object(
        f"{cluster.metadata.name}-{pool.name}-{number}", labels, capacity, _without_repeats(taints)
    )


def _devices(inference_class: "InferenceClass") -> dict[str, str]:
    """Return the devices per node, by the extended resource that a device plugin would register.

    Of a device that only selectors see, such as a network card, the driver may be that name. With DRA no
    device plugin runs.
    """
    counts: dict[str, int] = {}
    plugin = inference_class.spec.allocation == "DevicePlugin"
    for device in inference_class.spec.all_devices:
        synthetic = device.claim == "Synthetic"
        resource = device.driver if synthetic else device.asked_as if plugin else None
        if resource and (not synthetic or "/" in resource):
            counts[resource] = counts.get(resource, 0) + device.count
    return {resource: str(count) for resource, count in counts.items()}


def _product_labels(inference_class: "InferenceClass") -> dict[str, str]:
    """Return the labels for the first GPU whose class names its product."""
    for device in inference_class.spec.all_devices:
        product = device.attributes.get("productName")
        if product is None or product.string is None or device.driver not in PRODUCT_LABELS:
            continue
        label, space = PRODUCT_LABELS[device.driver]
        labels = {label: product_in_label(product.string, space)}
        if product.string in GKE_ACCELERATOR:
            labels["cloud.google.com/gke-accelerator"] = GKE_ACCELERATOR[product.string]
        return labels
    return {}


def _domain_label(inference_class: "InferenceClass", pool: str) -> dict[str, str]:
    """Return the label of the NVLink domain where nodes have IMEX channels: each pool is one."""
    devices = inference_class.spec.all_devices
    return {CLIQUE: f"{pool}.0"} if any(device.driver == CHANNEL_DRIVER for device in devices) else {}


def _without_repeats(taints: list[dict[str, str]]) -> list[dict[str, str]]:
    """Keep the first taint of each key and effect, the team's own: the API server refuses a second."""
    kept: dict[tuple[str, str], dict[str, str]] = {}
    for taint in taints:
        kept.setdefault((taint["key"], taint["effect"]), taint)
    return list(kept.values())


def node_object(
    name: str, labels: dict[str, str], capacity: dict[str, str], taints: list[dict[str, str]]
) -> Node:
    """Return a simulated node. `labels` take precedence over those that every node has."""
    node: Node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/region": REGION,
                "topology.kubernetes.io/zone": f"{REGION}-a",
                **labels,
            },
        },
        "spec": {"taints": taints},
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }
    digest = hashlib.sha256(json.dumps(node, sort_keys=True).encode()).hexdigest()[:12]
    node["metadata"]["annotations"][MADE_FROM] = digest
    return node
