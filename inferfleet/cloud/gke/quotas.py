"""What an update takes of Google's quotas, beyond what is in use already, and whether they are large enough.

Metrics are those of regions.get and projects.get: https://cloud.google.com/compute/docs/reference/rest/v1/regions.
Families of newer GPUs: the quota GPUS-PER-GPU-FAMILY-per-project-region of the Cloud Quotas API
(https://cloud.google.com/docs/quotas/implement-common-use-cases), whose preemptible part the Compute API has
under metrics of its own.

A cluster takes a network of its own of its project's, and those between GPUs beside it. Reports name limits
of 5 (https://github.com/fortinet/fortigate-tutorial-gcp/issues/9, 2024-03-04: "Quota 'NETWORKS' exceeded.
Limit: 5.0 globally") and of 30 (https://github.com/DefangLabs/pulumi-defang/issues/183, 2026-08-20). A
project may have the network `default` already, which counts too.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool, described_clusters
from inferfleet.cloud.gke.facts.machines import machine
from inferfleet.cloud.gke.facts.schema import NETWORK
from inferfleet.cloud.gke.settings.system_pool import system_machine_type
from inferfleet.cloud.values import SYSTEM_POOL, CloudCluster, CloudPool, QuotaUse
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Gke
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.shapes import PoolKey

# Metrics of the whole project, which count every region.
ALL_GPUS = "GPUS_ALL_REGIONS"
ALL_CPUS = "CPUS_ALL_REGIONS"
# GB of disks in a region, of these types. Balanced ones are GKE's default since 1.24 and have another quota
# than standard ones: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/custom-boot-disks, read on
# 2026-11-24. That it is this one: https://github.com/kubeflow/pipelines/issues/10907 (2024-06-15). Of
# Hyperdisk nothing was found.
SSD_GB = "SSD_TOTAL_GB"
BALANCED = "pd-balanced"
_SSDS = (BALANCED, "pd-ssd")
# The family follows the colon: no metric of the Compute API has this form.
FAMILY = "GPUS_PER_GPU_FAMILY:"
NETWORKS = "NETWORKS"
# GPUs by the middle part of their metric: PREEMPTIBLE_NVIDIA_L4_GPUS.
_GPUS = {
    "nvidia-tesla-t4": "NVIDIA_T4",
    "nvidia-tesla-v100": "NVIDIA_V100",
    "nvidia-tesla-p100": "NVIDIA_P100",
    "nvidia-tesla-p4": "NVIDIA_P4",
    "nvidia-l4": "NVIDIA_L4",
    "nvidia-tesla-a100": "NVIDIA_A100",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB",
}
_FAMILIES = {
    "nvidia-rtx-pro-6000": "NVIDIA_RTX_PRO_6000",
    "nvidia-h100-80gb": "NVIDIA_H100",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA",
    "nvidia-h200-141gb": "NVIDIA_H200",
    "nvidia-b200": "NVIDIA_B200",
    "nvidia-gb200": "NVIDIA_GB200",
    "nvidia-gb300": "NVIDIA_GB300",
}
# Nodes of the Dynamic Workload Scheduler count against the preemptible quota, as spot ones do:
# https://cloud.google.com/kubernetes-engine/docs/concepts/dws
_PREEMPTIBLE: frozenset[CapacityModel] = frozenset({"Spot", "FlexStart", "Queued"})
# vCPUs by the series of the machine; other series are limited by GPUs alone, or by families.
_CPUS = {"n1": ("CPUS",), "e2": ("CPUS",), "n2": ("N2_CPUS",), "a2": ("A2_CPUS",)}
# The path of the quotas per GPU family, whose usage Google does not say there.
FAMILIES = (
    "locations/global/services/compute.googleapis.com/quotaInfos/GPUS-PER-GPU-FAMILY-per-project-region"
)
# A regional cluster without zones of its own has nodes in three.
_ZONES = 3
_GPU, _DISK = "nodeConfig.guestAccelerators[0]", "nodeConfig.bootDisk"
_RESERVATION = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVED = ("SPECIFIC_RESERVATION", "ANY_RESERVATION_THEN_FAIL")
_INTERFACES = "networkConfig.additionalNodeNetworkConfigs"
_QuotaKey = tuple[str, str, str]  # project, region, metric


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


def quota_uses(
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
    described = described_clusters(documents)
    amounts: Counter[_QuotaKey] = Counter()
    in_use: Counter[_QuotaKey] = Counter()
    takers: dict[_QuotaKey, dict[str, str]] = {}
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


def _taken(
    described: DescribedCluster, cluster: CloudCluster, lock: Lock, used: _Used, existing: Collection[str]
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


def _nodes(pool: DescribedPool, used: Mapping[PoolKey, int]) -> int:
    return used.get((pool.cluster, pool.name), 0) if pool.fixed_size is None else pool.fixed_size


def _node(pool: DescribedPool) -> _Node:
    recipe = pool.gke_class.recipe
    gpus, disk = recipe.accelerator, _disk_type(recipe.disk_type, recipe.machine_type)
    node = _Node(recipe.machine_type, pool.document.capacity.model, recipe.disk_size_gb, disk)
    return replace(node, gpus=gpus.count, accelerator=gpus.type) if gpus else node


def _disk_type(declared_type: str | None, machine_type: str) -> str:
    """Return the type of a node's boot disk; "" for a machine of which it is not known."""
    if declared_type:
        return declared_type
    machine_facts = machine(machine_type)
    return (machine_facts.boot_disk or BALANCED) if machine_facts else ""


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


def _metrics(cluster: CloudCluster, node: _Node) -> Iterator[tuple[_QuotaKey, int]]:
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
    machine_facts, regional = machine(node.machine_type), cpu_metrics(node.machine_type)
    if node.capacity == "OnDemand" and machine_facts and regional:
        yield (cluster.project, "", ALL_CPUS), machine_facts.vcpus
        for metric in regional:
            yield (cluster.project, cluster.region, metric), machine_facts.vcpus


def gpu_metric(accelerator: str, capacity: CapacityModel) -> str | None:
    """Return the regional metric of GPUs; None for unknown ones and for reserved ones, which need none."""
    if capacity == "Reservation":
        return None
    name = _GPUS.get(accelerator) or _FAMILIES.get(accelerator)
    if name is None:
        return None
    if capacity in _PREEMPTIBLE:
        return f"PREEMPTIBLE_{name}_GPUS"
    return f"{FAMILY}{name}" if accelerator in _FAMILIES else f"{name}_GPUS"


def cpu_metrics(machine_type: str) -> tuple[str, ...]:
    """Return the regional metrics of vCPUs bought on demand."""
    return _CPUS.get(machine_type.partition("-")[0], ())


def disk_metric(disk_type: str) -> str | None:
    """Return the regional metric of GB of boot disks; None for types that SSD_TOTAL_GB does not count."""
    return SSD_GB if disk_type in _SSDS else None


def networks(cluster: CloudCluster, lock: Lock, existing: Collection[str]) -> tuple[int, int]:
    """Return how many networks the stack keeps for the cluster, and how many of them exist.

    Those exist that a pool of `existing` (names in Google Cloud) uses, and the cluster's own where it has
    any pool.
    """
    wanted = {resource.inputs["name"] for resource in cluster.resources if resource.token == NETWORK}
    if not existing:
        return len(wanted), 0
    there = wanted.difference(*(_between_gpus(pool) for pool in cluster.pools.values()))
    for pool in cluster.pools.values():
        if pool.name in existing:
            there |= wanted.intersection(_between_gpus(pool))
        elif (locked := lock.pools.get(pool.key)) and locked.name in existing:
            there |= wanted & {
                value
                for path, value in locked.settings.items()
                if path.startswith(_INTERFACES) and path.endswith(".network")
            }
    return len(wanted), len(there)


def _between_gpus(pool: CloudPool) -> Iterator[str]:
    config = pool.resource.inputs.get("networkConfig") or {}
    return (interface["network"] for interface in config.get("additionalNodeNetworkConfigs") or ())


@dataclass(frozen=True)
class Quota:
    """The limit of a quota and how much of it is in use; None where Google does not say how much."""

    limit: int
    used: int | None


def quotas(answer: Mapping[str, Any]) -> dict[str, Quota]:
    """Return the quotas of an answer of regions.get or projects.get, by metric."""
    return {
        str(quota["metric"]): Quota(int(quota["limit"]), int(quota.get("usage", 0)))
        for quota in answer.get("quotas") or ()
        if "metric" in quota and "limit" in quota
    }


def family_quotas(answer: Mapping[str, Any], region: str) -> dict[str, Quota]:
    """Return the quotas of the Cloud Quotas API's answer for FAMILIES, by metric as `QuotaUse` has it.

    Of several values that apply, the one with more dimensions counts. Unlimited ones are left out.
    """
    exact: dict[str, tuple[int, Quota]] = {}
    for info in answer.get("dimensionsInfos") or ():
        dimensions = info.get("dimensions") or {}
        family, value = dimensions.get("gpu_family"), (info.get("details") or {}).get("value")
        applies = dimensions.get("region", region) == region and region in info.get("applicableLocations", ())
        if not family or value is None or not applies or int(value) < 0:
            continue
        metric = f"{FAMILY}{family}"
        if metric not in exact or exact[metric][0] < len(dimensions):
            exact[metric] = len(dimensions), Quota(int(value), None)
    return {metric: quota for metric, (_, quota) in exact.items()}


def quota_problems(needs: Mapping[QuotaUse, Quota | None]) -> Iterator[Problem]:
    """Yield a warning for each quota that is too small for its need; none for quotas that are not known."""
    for need, quota in sorted(needs.items()):
        if quota and (problem := quota_problem(need, quota)):
            yield problem


def quota_problem(need: QuotaUse, quota: Quota) -> Problem | None:
    """Return a warning at the first pool, when the quota is too small for the need; None when it is not."""
    used_by_others = max((quota.used or 0) - need.in_use, 0)
    if used_by_others + need.amount <= quota.limit:
        return None
    name, _, family = need.metric.partition(":")
    quota_text = f"quota {name}{f' of {family}' if family else ''}"
    region_text = f" in {need.region}" if need.region else ""
    used = "" if quota.used is None else f", with {quota.used} in use"
    kind, missing = ("cluster", "networks") if need.metric == NETWORKS else ("pool", "nodes")
    takers, takes = (kind, "takes") if len(need.pools) == 1 else (f"{kind}s", "take")
    what = (
        f"{quota_text} of project {need.project}{region_text} is {quota.limit}{used}; {takers} "
        f"{', '.join(need.pools)} {takes} {need.added} more"
    )
    step = f"Ask for more at https://console.cloud.google.com/iam-admin/quotas?project={need.project}"
    return cluster_problem(
        need.pools[0].partition("/")[0],
        what,
        f"{step}, or {missing} will be missing",
        need.path,
        severity="warning",
    )
