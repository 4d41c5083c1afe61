"""What an update takes of Google's quotas, beyond what is in use already."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.gke.facts.machines import machine
from inferfleet.cloud.gke.pool import GkeCluster, GkePool, gke_clusters
from inferfleet.cloud.gke.quota.metrics import (
    ALL_CPUS,
    ALL_GPUS,
    BALANCED,
    cpu_metrics,
    disk_metric,
    gpu_metric,
)
from inferfleet.cloud.gke.quota.networks import METRIC as NETWORKS
from inferfleet.cloud.gke.quota.networks import networks
from inferfleet.cloud.gke.settings.system import system_machine_type
from inferfleet.cloud.values import SYSTEM_POOL, CloudCluster, QuotaUse
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Gke
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.shapes import PoolKey

# A regional cluster without zones of its own has nodes in three.
_ZONES = 3


def needs(
    documents: Documents,
    clusters: Collection[CloudCluster],
    lock: Lock,
    planned: Plan,
    existing: Mapping[str, Collection[str]],
) -> tuple[QuotaUse, ...]:
    """Return the quotas of which more is taken than before, sorted.

    An autoscaled pool takes what its replicas need now. `existing` has by cluster the names of the pools
    that Google Cloud has.

    The lock does not have the size of a fixed pool: one that only grows counts as if it had its nodes.
    """
    used = _Used(
        before=nodes_used(documents, lock.placements, planned.demands),
        after=nodes_used(
            documents,
            {placed.spot: placed.replicas for placed in planned.placements},
            planned.demands,
        ),
    )
    described = gke_clusters(documents)
    amounts: Counter[_Quota] = Counter()
    in_use: Counter[_Quota] = Counter()
    takers: dict[_Quota, dict[str, str]] = {}
    for cluster in clusters:
        for taken in _taken(
            described[cluster.cluster], cluster, lock, used, existing.get(cluster.cluster, ())
        ):
            for quota, number in _metrics(cluster, taken.node):
                amounts[quota] += number * taken.nodes
                in_use[quota] += number * taken.in_use
                if taken.nodes > taken.in_use:
                    takers.setdefault(quota, {})[taken.pool] = taken.path
        number, there = networks(cluster, lock, existing.get(cluster.cluster, ()))
        quota = cluster.project, "", NETWORKS
        amounts[quota] += number
        in_use[quota] += there
        if number > there:
            takers.setdefault(quota, {})[cluster.cluster] = "spec.cluster.gke"
    return tuple(
        sorted(
            QuotaUse(*quota, amount, in_use[quota], *_named(takers[quota]))
            for quota, amount in amounts.items()
            if amount > in_use[quota]
        )
    )


def _named(takers: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    pools = tuple(sorted(takers))
    return pools, takers[pools[0]]


_Quota = tuple[str, str, str]  # project, region, metric


@dataclass(frozen=True)
class _Used:
    """The nodes that replicas need before and after the update, by (cluster, pool)."""

    before: Mapping[PoolKey, int]
    after: Mapping[PoolKey, int]


@dataclass(frozen=True)
class _Node:
    """What quotas count of one node."""

    machine_type: str
    capacity: CapacityModel
    disk_gb: int
    disk_type: str
    gpus: int = 0
    accelerator: str = ""


@dataclass(frozen=True)
class _Taken:
    """Nodes with the same settings, at the peak of the update; `in_use` of them exist before it."""

    pool: str
    path: str
    node: _Node
    nodes: int
    in_use: int


def _taken(
    described: GkeCluster, cluster: CloudCluster, lock: Lock, used: _Used, existing: Collection[str]
) -> Iterator[_Taken]:
    if not existing:
        yield _system_pool(cluster.cluster, described.gke)
    for planned in cluster.pools.values():
        pool, locked = described.pool(planned.pool), lock.pools.get(planned.key)
        after = _nodes(pool, used.after)
        before = _nodes(pool, used.before)
        if planned.name in existing:
            # The minimum that the autoscaler keeps may exist, with no replica on it.
            in_use = min(after, max(before, pool.document.min_node_count or 0))
            yield _Taken(pool.key, pool.path(), _node(pool), after, in_use)
            continue
        yield _Taken(pool.key, pool.path(), _node(pool), after, 0)
        if locked and locked.name in existing:
            # The replaced pool: with CreateFirst it exists until its successor does.
            kept = before if pool.gke.replace.order == "CreateFirst" else 0
            yield _Taken(pool.key, pool.path(), _locked_node(locked.settings), kept, before)


def _system_pool(cluster: str, gke: Gke) -> _Taken:
    """Return what the system pool takes: one node in each zone, as a new cluster begins."""
    machine_type = system_machine_type(gke)
    node = _Node(machine_type, "OnDemand", gke.system_pool.disk_size_gb, _disk_type(None, machine_type))
    path = "spec.cluster.gke.systemPool"
    return _Taken(f"{cluster}/{SYSTEM_POOL}", path, node, len(gke.zones) or _ZONES, 0)


def _nodes(pool: GkePool, used: Mapping[PoolKey, int]) -> int:
    return used.get((pool.cluster, pool.name), 0) if pool.fixed_size is None else pool.fixed_size


def _node(pool: GkePool) -> _Node:
    recipe = pool.recipe
    gpus, disk = recipe.accelerator, _disk_type(recipe.disk_type, recipe.machine_type)
    node = _Node(recipe.machine_type, pool.capacity_model, recipe.disk_size_gb, disk)
    return replace(node, gpus=gpus.count, accelerator=gpus.type) if gpus else node


def _disk_type(written: str | None, machine_type: str) -> str:
    """Return the type of a node's boot disk; "" for a machine of which it is not known."""
    if written:
        return written
    known = machine(machine_type)
    return (known.boot_disk or BALANCED) if known else ""


_GPU, _DISK = "nodeConfig.guestAccelerators[0]", "nodeConfig.bootDisk"
_RESERVATION = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVED = ("SPECIFIC_RESERVATION", "ANY_RESERVATION_THEN_FAIL")


def _locked_node(settings: Mapping[str, Any]) -> _Node:
    """Return a node of a pool that no document describes any more, from its settings in the lock."""
    capacity: CapacityModel = "OnDemand"
    if settings.get("nodeConfig.spot"):
        capacity = "Spot"
    elif settings.get("queuedProvisioning.enabled"):
        capacity = "Queued"
    elif settings.get("nodeConfig.flexStart"):
        capacity = "FlexStart"
    elif settings.get(_RESERVATION) in _RESERVED:
        capacity = "Reservation"
    machine_type = settings.get("nodeConfig.machineType", "")
    return _Node(
        machine_type,
        capacity,
        settings.get(f"{_DISK}.sizeGb", 0),
        _disk_type(settings.get(f"{_DISK}.diskType"), machine_type),
        settings.get(f"{_GPU}.count", 0),
        settings.get(f"{_GPU}.type", ""),
    )


def _metrics(cluster: CloudCluster, node: _Node) -> Iterator[tuple[_Quota, int]]:
    """Yield the quotas that one node counts against, and how much."""
    # Reservations hold no disks, and there is no preemptible part of this quota.
    if metric := disk_metric(node.disk_type):
        yield (cluster.project, cluster.region, metric), node.disk_gb
    if node.capacity == "Reservation":
        return
    if node.gpus and node.accelerator:
        yield (cluster.project, "", ALL_GPUS), node.gpus
        if metric := gpu_metric(node.accelerator, node.capacity):
            yield (cluster.project, cluster.region, metric), node.gpus
    known, regional = machine(node.machine_type), cpu_metrics(node.machine_type)
    if node.capacity == "OnDemand" and known and regional:
        yield (cluster.project, "", ALL_CPUS), known.vcpus
        for metric in regional:
            yield (cluster.project, cluster.region, metric), known.vcpus
