"""What an update takes of Google's quotas, beyond what stands already."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.node_pool import CapacityModel, NodePool
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import PoolKey, nodes_used
from inferfleet.gke.changes.remembered import pool_settings
from inferfleet.gke.facts.machines import machine
from inferfleet.gke.quota.metrics import ALL_CPUS, ALL_GPUS, cpu_metrics, gpu_metric
from inferfleet.gke.settings.system import machine_type_of
from inferfleet.gke.values import SYSTEM_POOL, CloudCluster

# A regional cluster without zones of its own has nodes in three.
_ZONES = 3
_GPU = "nodeConfig.guestAccelerators[0]"
_RESERVATION = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVED = ("SPECIFIC_RESERVATION", "ANY_RESERVATION_THEN_FAIL")


@dataclass(frozen=True, order=True)
class Need:
    """So much of one quota is taken at the peak of an update, by `pools` (`cluster/pool`). `standing` of it
    is in use already. A quota of the whole project has the region "".
    """

    project: str
    region: str
    metric: str
    amount: int
    standing: int
    pools: tuple[str, ...]

    @property
    def added(self) -> int:
        return self.amount - self.standing


def needs(
    documents: Documents,
    clusters: Collection[CloudCluster],
    lock: Lock,
    planned: Plan,
    there: Mapping[str, Collection[str]],
) -> tuple[Need, ...]:
    """The quotas of which more is taken than before, sorted; of an autoscaled pool as much as its replicas
    need now. `there` has by cluster the names of the pools that stand in Google Cloud.

    The size that a fixed pool had is not remembered: one that only grows counts as standing.
    """
    after = nodes_used(documents, {one.spot: one.replicas for one in planned.placements})
    before = nodes_used(documents, lock.placements)
    amounts: Counter[_Key] = Counter()
    standing: Counter[_Key] = Counter()
    takers: dict[_Key, set[str]] = {}
    for cluster in clusters:
        for taken in _of_cluster(documents, cluster, lock, after, before, there.get(cluster.cluster, ())):
            for key, number in _metrics(cluster, taken.settings):
                amounts[key] += number * taken.nodes
                standing[key] += number * taken.standing
                if taken.nodes > taken.standing:
                    takers.setdefault(key, set()).add(taken.pool)
    found = (
        Need(*key, amount, min(standing[key], amount), tuple(sorted(takers.get(key, ()))))
        for key, amount in amounts.items()
    )
    return tuple(sorted(one for one in found if one.added > 0))


_Key = tuple[str, str, str]  # project, region, metric


@dataclass(frozen=True)
class _Taken:
    """Nodes of one make, at the peak of the update; `standing` of them are there before."""

    pool: str
    settings: Mapping[str, Any]
    nodes: int
    standing: int


def _of_cluster(
    documents: Documents,
    cluster: CloudCluster,
    lock: Lock,
    after: Mapping[PoolKey, int],
    before: Mapping[PoolKey, int],
    there: Collection[str],
) -> Iterator[_Taken]:
    spec = documents.clusters[cluster.cluster].spec
    gke = spec.cluster.gke
    if gke is None:
        return
    if not there:
        zones = len(gke.zones) or _ZONES
        settings = {"nodeConfig.machineType": machine_type_of(gke)}
        yield _Taken(f"{cluster.cluster}/{SYSTEM_POOL}", settings, zones, 0)
    now = pool_settings(cluster)
    for pool in spec.node_pools:
        if pool.name not in now:
            continue
        key = (cluster.cluster, pool.name)
        nodes = _nodes(pool, after.get(key, 0))
        old = _nodes(pool, before.get(key, 0))
        name = "/".join(key)
        if cluster.pools[pool.name] in there:
            # The least that the autoscaler keeps may be there, with nobody on it.
            yield _Taken(name, now[pool.name], nodes, min(nodes, max(old, pool.min_node_count or 0)))
            continue
        yield _Taken(name, now[pool.name], nodes, 0)
        locked = lock.pools.get(name)
        if locked and locked.name in there:
            # The replaced pool: with CreateFirst it stands until its successor does.
            kept = old if gke.replace.order == "CreateFirst" else 0
            yield _Taken(name, locked.settings, kept, old)


def _nodes(pool: NodePool, used: int) -> int:
    return used if pool.node_count is None else pool.node_count


def _metrics(cluster: CloudCluster, settings: Mapping[str, Any]) -> Iterator[tuple[_Key, int]]:
    """The quotas that one node counts against, and how much."""
    capacity = _capacity(settings)
    gpus, accelerator = settings.get(f"{_GPU}.count", 0), settings.get(f"{_GPU}.type")
    if capacity == "Reservation":
        return
    if gpus and accelerator:
        yield (cluster.project, "", ALL_GPUS), gpus
        if metric := gpu_metric(accelerator, capacity):
            yield (cluster.project, cluster.region, metric), gpus
    kind = settings.get("nodeConfig.machineType", "")
    known, regional = machine(kind), cpu_metrics(kind)
    if capacity == "OnDemand" and known and regional:
        yield (cluster.project, "", ALL_CPUS), known.vcpus
        for metric in regional:
            yield (cluster.project, cluster.region, metric), known.vcpus


def _capacity(settings: Mapping[str, Any]) -> CapacityModel:
    if settings.get("nodeConfig.spot"):
        return "Spot"
    if settings.get("nodeConfig.flexStart"):
        return "FlexStart"
    if settings.get("queuedProvisioning.enabled"):
        return "Queued"
    return "Reservation" if settings.get(_RESERVATION) in _RESERVED else "OnDemand"
