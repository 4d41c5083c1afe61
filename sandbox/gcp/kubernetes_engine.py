"""Clusters and node pools as operations of GKE: quota, stock, conflicts, and the nodes that result."""

from dataclasses import dataclass
from typing import Any, Protocol

from sandbox.gcp import faults
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.cluster import with_server
from sandbox.gcp.rules.errors import ApiError, OperationError, missing
from sandbox.gcp.rules.machines import DEFAULT
from sandbox.gcp.rules.node_pool import counted, fill_pool, first_counts, within_limits, zones_of
from sandbox.gcp.rules.pool_rules import check_pool
from sandbox.gcp.store import POOL, Record, Records, Store, pools_of

Values = dict[str, Any]
_SERVER = ("endpoint", "masterAuth", "controlPlaneEndpointsConfig", "privateClusterConfig")


class Kubernetes(Protocol):
    """What `kwok_kubernetes.KwokKubernetes` does with real API servers."""

    def serve(self, cluster: Record) -> tuple[str, str]:
        """Its API server answers, under (host:port, CA certificate in base64)."""

    def remove(self, cluster: Record) -> None:
        """Its API server and everything on it is gone."""

    def standing(self, pool: Record) -> dict[str, int]:
        """How many of the pool's nodes are there, by zone."""

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        """The pool's nodes are as its record says; of too many, those named go first."""


@dataclass(frozen=True)
class KubernetesEngine:
    """The part of the cloud that makes clusters and pools. `new_pool` and `changed_pool` only decide."""

    store: Store
    kube: Kubernetes

    def new_pool(self, own: str, state: Values, records: Records) -> Record:
        """The pool as it will be. Raises ApiError for rules, quota and conflicts."""
        cluster = _cluster(own, records)
        self.refuse_conflict(cluster.id)
        zones = zones_of(state, cluster)
        check_pool(state, cluster, records, zones)
        filled = fill_pool(state, cluster, taint_gpus=_has_plain_pool(records, cluster.id))
        counts = first_counts(filled, zones)
        self._refuse_quota(filled, {}, counts, records, own)
        return Record(POOL, own, counted(filled, own, counts), zones=counts)

    def changed_pool(self, old: Record, state: Values, records: Records) -> Record:
        """The pool as it will be after the change."""
        cluster = _cluster(old.id, records)
        self.refuse_conflict(cluster.id)
        zones = zones_of(state, cluster)
        check_pool(state, cluster, records, zones)
        tainted = any(one["key"] == "nvidia.com/gpu" for one in _config(old.state).get("effectiveTaints", []))
        filled = fill_pool(state, cluster, taint_gpus=tainted)
        if state.get("nodeCount") != old.state.get("nodeCount"):
            counts = first_counts(filled, zones)
        else:
            # Of an autoscaled pool a new zone starts empty.
            each = 0 if filled.get("autoscaling") else filled.get("nodeCount", 0)
            counts = within_limits(filled, {zone: old.zones.get(zone, each) for zone in zones})
        self._refuse_quota(filled, old.zones, counts, records, old.id)
        return old.but(state=counted(filled, old.id, counts), zones=counts)

    def resize(self, pool_id: str, zones: dict[str, int], *, leaving: tuple[str, ...] = ()) -> None:
        """The pool has that many nodes per zone, unless an operation is at it; `leaving` go first."""
        with self.store.changing() as records:
            if pool_id not in records or records[pool_id].status not in ("RUNNING", "ERROR"):
                return
            pool = records[pool_id]
            records[pool_id] = pool.but(state=counted(pool.state, pool_id, zones), zones=zones)
        self.settle(pool_id, leaving=leaving)

    def lacking(self, pool: Record, zone: str, *, more: int) -> str:
        """Why there cannot be so many more nodes in the zone; "" when there can."""
        now = faults.read(self.store.folder)
        records = self.store.read()
        try:
            grown = {**pool.zones, zone: pool.zones.get(zone, 0) + more}
            self._refuse_quota(pool.state, pool.zones, grown, records, pool.id)
            faults.refuse_stockout(now, zone, _hardware(pool.state), project=pool.id.split("/")[1])
        except (ApiError, OperationError) as why:
            return str(why)
        return ""

    def settle(self, pool_id: str, *, leaving: tuple[str, ...] = ()) -> None:
        """The pool's nodes stand as its record says. Raises OperationError for nodes not to be had."""
        records = self.store.read()
        if pool_id not in records:
            raise missing(pool_id)
        pool = records[pool_id]
        now, standing = faults.read(self.store.folder), self.kube.standing(pool)
        for zone, count in pool.zones.items():
            if count > standing.get(zone, 0):
                faults.refuse_stockout(now, zone, _hardware(pool.state), project=pool_id.split("/")[1])
        self.kube.set_nodes(pool, leaving=leaving)

    def serve(self, cluster: Record) -> None:
        """The cluster's API server answers and has what the cluster's settings bring along."""
        endpoint, certificate = self.kube.serve(cluster)
        self.store.change(
            cluster.id, state=with_server(cluster.state, endpoint=endpoint, certificate=certificate)
        )
        if cluster.state.get("removeDefaultNodePool"):
            return
        with self.store.changing() as records:
            own = f"{cluster.id}/nodePools/default-pool"
            if own in records:
                return
            state = {
                "name": "default-pool",
                "cluster": cluster.name,
                "project": cluster.state["project"],
                "nodeConfig": cluster.state.get("nodeConfig") or {},
                "initialNodeCount": cluster.state["initialNodeCount"],
            }
            records[own] = self.new_pool(own, state, records)
        self.settle(own)

    def kept_server(self, record: Record, old: Record) -> Record:
        """A changed cluster has the API server it had."""
        kept = {name: old.state[name] for name in _SERVER if name in old.state}
        if "endpoint" not in kept:
            return record
        made = with_server(
            record.state,
            endpoint=kept["endpoint"],
            certificate=kept["masterAuth"]["clusterCaCertificate"],
        )
        return record.but(state=made)

    def remove(self, record: Record) -> None:
        """The Kubernetes side of a cluster or pool is gone."""
        if record.token == POOL:
            self.kube.set_nodes(record.but(zones={}))
        elif record.token == "gcp:container/cluster:Cluster":
            self.kube.remove(record)

    def refuse_conflict(self, record_id: str) -> None:
        """Raises ApiError while the cluster of the record is busy."""
        faults.refuse_conflict(faults.read(self.store.folder), record_id.split("/")[5])

    def _refuse_quota(
        self, state: Values, old: dict[str, int], new: dict[str, int], records: Records, own: str
    ) -> None:
        region = regions.region_of(own.split("/")[3])
        more = sum(new.values()) - sum(old.values())
        now = faults.read(self.store.folder)
        for one in _config(state).get("guestAccelerators") or []:
            used = sum(gpus(other, one["type"], region) for other in records.values())
            if more > 0:
                faults.refuse_quota(
                    now,
                    region,
                    one["type"],
                    used=used,
                    wanted=more * one["count"],
                    project=own.split("/")[1],
                )


def gpus(record: Record, kind: str, region: str) -> int:
    """How many accelerators of the kind a pool's nodes in the region have; 0 of anything else."""
    if record.token != POOL or regions.region_of(record.id.split("/")[3]) != region:
        return 0
    wanted = _config(record.state).get("guestAccelerators") or []
    each: int = sum(one["count"] for one in wanted if one["type"] == kind)
    return each * sum(record.zones.values())


def _cluster(pool_id: str, records: Records) -> Record:
    found = pool_id.partition("/nodePools/")[0]
    if found not in records:
        raise missing(found)
    return records[found]


def _has_plain_pool(records: Records, cluster_id: str) -> bool:
    """True when other nodes than those with GPUs are there: only then does GKE taint these."""
    return any(
        not any(one["count"] for one in _config(pool.state).get("guestAccelerators") or [])
        for pool in pools_of(records, cluster_id)
    )


def _hardware(state: Values) -> tuple[str, ...]:
    """What a stock-out may name: the machine type and the accelerators."""
    config = _config(state)
    kinds = [one["type"] for one in config.get("guestAccelerators") or []]
    return (config.get("machineType", DEFAULT), *kinds)


def _config(state: Values) -> Values:
    return state.get("nodeConfig") or {}
