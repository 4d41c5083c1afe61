"""The nodes of a pool as Kubernetes objects: names, labels, taints and capacity as GKE sets them."""

import hashlib
import secrets
from typing import Any

from sandbox.cluster.nodes import node_object
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.machines import allocatable, known_machine
from sandbox.gcp.rules.names import cluster_path
from sandbox.gcp.store import Record

POOL_LABEL = "cloud.google.com/gke-nodepool"
ZONE = "topology.kubernetes.io/zone"
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
# A GPU has seven slices; the first number in a partition's name ("2g.10gb") is how many of them it takes.
# docs.cloud.google.com/kubernetes-engine, "multi-instance GPUs".
_SLICES = 7


def pool_node(pool: Record, zone: str) -> dict[str, Any]:
    """Return a new node of the pool in a zone, under a name that no other node has."""
    name = node_name(pool, zone)
    labels = labels_of(pool, zone)
    return node_object(name, labels, capacity_of(pool), taints_of(pool))


def node_name(pool: Record, zone: str) -> str:
    """Return a new name `gke-<cluster>-<pool>-<group>-<instance>`, cut as GKE cuts it."""
    group = hashlib.sha256(f"{pool.id}/{zone}".encode()).hexdigest()[:8]
    cluster = cluster_path(pool.id).cluster
    return f"gke-{cluster[:20].rstrip('-')}-{pool.name[:20].rstrip('-')}-{group}-{secrets.token_hex(2)}"


def labels_of(pool: Record, zone: str) -> dict[str, str]:
    """Return GKE's labels, and over them the pool's own."""
    config = pool.state["nodeConfig"]
    machine = known_machine(config["machineType"])
    region = regions.region_of(zone)
    labels = {
        POOL_LABEL: pool.name,
        ZONE: zone,
        "topology.kubernetes.io/region": region,
        "kubernetes.io/arch": machine.arch,
        "node.kubernetes.io/instance-type": config["machineType"],
        "cloud.google.com/machine-family": config["machineType"].partition("-")[0],
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-boot-disk": config["diskType"],
        "cloud.google.com/gke-max-pods-per-node": str(pool.state["maxPodsPerNode"]),
        "cloud.google.com/gke-provisioning": "spot" if config.get("spot") else "standard",
    }
    if config.get("spot"):
        labels["cloud.google.com/gke-spot"] = "true"
    if config.get("flexStart"):
        labels["cloud.google.com/gke-flex-start"] = "true"
    if (pool.state.get("queuedProvisioning") or {}).get("enabled"):
        labels["cloud.google.com/gke-queued"] = "true"
    if profile := (pool.state.get("networkConfig") or {}).get("acceleratorNetworkProfile"):
        labels["gke.networks.io/accelerator-network-profile"] = profile
    for gpu in config["guestAccelerators"]:
        if gpu["count"]:
            version = gpu["gpuDriverInstallationConfig"]["gpuDriverVersion"].lower()
            labels["cloud.google.com/gke-accelerator"] = gpu["type"]
            labels["cloud.google.com/gke-accelerator-count"] = str(gpu["count"])
            labels["cloud.google.com/gke-gpu-driver-version"] = version
    return {**labels, **(config.get("labels") or {})}


def taints_of(pool: Record) -> list[dict[str, str]]:
    """Return the pool's effective taints, with Kubernetes' names of the effects."""
    return [
        {**taint, "effect": _EFFECTS[taint["effect"]]}
        for taint in pool.state["nodeConfig"]["effectiveTaints"]
    ]


def capacity_of(pool: Record) -> dict[str, str]:
    """Return what pods may use of one node, as Kubernetes writes quantities."""
    config = pool.state["nodeConfig"]
    machine = known_machine(config["machineType"])
    cpu, memory = allocatable(machine)
    capacity = {
        "cpu": f"{cpu}m",
        "memory": f"{memory}Mi",
        "pods": str(pool.state["maxPodsPerNode"]),
        "ephemeral-storage": f"{config['diskSizeGb']}Gi",
    }
    devices = sum(_devices(accelerator) for accelerator in config["guestAccelerators"])
    return {**capacity, "nvidia.com/gpu": str(devices)} if devices else capacity


def _devices(accelerator: dict[str, Any]) -> int:
    """Return how many devices are registered: none without a driver, more for shared or split GPUs."""
    if accelerator["gpuDriverInstallationConfig"]["gpuDriverVersion"] == "INSTALLATION_DISABLED":
        return 0
    count: int = accelerator["count"]
    partition = accelerator.get("gpuPartitionSize") or ""
    partitions = _SLICES // int(partition.partition("g.")[0]) if partition else 1
    clients = (accelerator.get("gpuSharingConfig") or {}).get("maxSharedClientsPerGpu", 1)
    return count * partitions * int(clients)
