"""The nodes of a pool as Kubernetes objects: GKE's labels, taints and what pods may use of them."""

import hashlib
import secrets
from typing import Any

from sandbox.cluster.nodes import node_object
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.machines import MACHINES, Machine, allocatable
from sandbox.gcp.store import Record

POOL_LABEL = "cloud.google.com/gke-nodepool"
ZONE = "topology.kubernetes.io/zone"
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
# Slices of a GPU whose partitions are called by the first number: docs.cloud.google.com/kubernetes-engine,
# "multi-instance GPUs".
_SLICES = 7


def pool_node(pool: Record, zone: str) -> dict[str, Any]:
    """A new node of the pool in a zone, under a name of its own."""
    name = node_name(pool, zone)
    labels = labels_of(pool, zone)
    return node_object(name, labels, capacity_of(pool), taints_of(pool))


def node_name(pool: Record, zone: str) -> str:
    """`gke-<cluster>-<pool>-<group>-<instance>`, cut as GKE cuts it."""
    group = hashlib.sha256(f"{pool.id}/{zone}".encode()).hexdigest()[:8]
    cluster = pool.id.split("/")[5]
    return f"gke-{cluster[:20].rstrip('-')}-{pool.name[:20].rstrip('-')}-{group}-{secrets.token_hex(2)}"


def labels_of(pool: Record, zone: str) -> dict[str, str]:
    """GKE's labels, and over them the pool's own."""
    config = pool.state["nodeConfig"]
    machine = MACHINES[config["machineType"]]
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
    for one in config["guestAccelerators"]:
        if one["count"]:
            version = one["gpuDriverInstallationConfig"]["gpuDriverVersion"].lower()
            labels["cloud.google.com/gke-accelerator"] = one["type"]
            labels["cloud.google.com/gke-accelerator-count"] = str(one["count"])
            labels["cloud.google.com/gke-gpu-driver-version"] = version
    return {**labels, **(config.get("labels") or {})}


def taints_of(pool: Record) -> list[dict[str, str]]:
    """Its effective taints, in Kubernetes' words."""
    return [{**one, "effect": _EFFECTS[one["effect"]]} for one in pool.state["nodeConfig"]["effectiveTaints"]]


def capacity_of(pool: Record) -> dict[str, str]:
    """What pods may use of one node."""
    config = pool.state["nodeConfig"]
    machine: Machine = MACHINES[config["machineType"]]
    cpu, memory = allocatable(machine)
    size = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": str(pool.state["maxPodsPerNode"])}
    size["ephemeral-storage"] = f"{config['diskSizeGb']}Gi"
    gpus = sum(_devices(one) for one in config["guestAccelerators"])
    return {**size, "nvidia.com/gpu": str(gpus)} if gpus else size


def _devices(accelerator: dict[str, Any]) -> int:
    """As the device plugin registers them: none without a driver, more when they are shared or parted."""
    if accelerator["gpuDriverInstallationConfig"]["gpuDriverVersion"] == "INSTALLATION_DISABLED":
        return 0
    count: int = accelerator["count"]
    partition = accelerator.get("gpuPartitionSize") or ""
    parts = _SLICES // int(partition.partition("g.")[0]) if partition else 1
    clients = (accelerator.get("gpuSharingConfig") or {}).get("maxSharedClientsPerGpu", 1)
    return count * parts * int(clients)
