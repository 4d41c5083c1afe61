"""Clusters and node pools of the cloud: what an operation on them decides, and the nodes that result.

Decisions are values: `new_pool` and `changed_pool` return the record that is to be written, under the rules
of GKE and the faults in force. What happens on real API servers goes through `Kubernetes`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from sandbox.gcp import faults
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.cluster import with_api_server
from sandbox.gcp.rules.errors import ApiError, OperationError, not_found
from sandbox.gcp.rules.names import cluster_path, relative
from sandbox.gcp.rules.networking import PROXIES
from sandbox.gcp.rules.node_pool import (
    accelerators,
    fill_pool,
    gpu_counts,
    hardware_of,
    initial_node_counts,
    node_config,
    with_node_counts,
    within_limits,
    zones_of,
)
from sandbox.gcp.rules.pool_rules import check_pool
from sandbox.gcp.store import CLUSTER, POOL, Record, Records, Store, clusters, pools_of

Values = dict[str, Any]
_API_SERVER_FIELDS = ("endpoint", "masterAuth", "controlPlaneEndpointsConfig", "privateClusterConfig")


class Kubernetes(Protocol):
    """The Kubernetes side of the cloud: an API server for each cluster, Node objects for each pool.

    `nodes/kwok_kubernetes.py` implements it with real API servers.
    """

    def ensure_cluster(self, cluster: Record) -> tuple[str, str]:
        """Make the cluster's API server answer; return its host:port and CA certificate in base64."""

    def tell_gateways(self, cluster: Record) -> None:
        """Let the cluster's gateways know whether Google makes load balancers for them."""

    def outlasting(self, cluster: Record) -> list[Record]:
        """Return what controllers inside of the cluster have made in the cloud."""

    def remove_cluster(self, cluster: Record) -> None:
        """Remove the cluster's API server and everything on it."""

    def node_counts(self, pool: Record) -> dict[str, int]:
        """Return how many of the pool's nodes exist in each zone."""

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        """Bring the pool's nodes to what its record says; if there are too many, those named go first."""


@dataclass(frozen=True)
class KubernetesEngine:
    """The service that makes clusters and node pools."""

    store: Store
    kubernetes: Kubernetes

    def new_pool(self, pool_id: str, state: Values, records: Records) -> Record:
        """Return the pool as it will be. Raises ApiError for rules, quota and conflicts."""
        cluster = _cluster_of(pool_id, records)
        self.refuse_conflict(cluster.id)
        zones = zones_of(state, cluster)
        check_pool(state, cluster, records, zones)
        filled = fill_pool(state, cluster, taint_gpus=_has_nodes_without_gpus(records, cluster.id))
        counts = initial_node_counts(filled, zones)
        pool = Record(POOL, pool_id, with_node_counts(filled, pool_id, counts), zones=counts)
        self._refuse_quota(pool, records, nodes_before=0)
        return pool

    def changed_pool(self, old: Record, state: Values, records: Records) -> Record:
        """Return the pool as it will be after the change. Raises ApiError for rules, quota and conflicts."""
        cluster = _cluster_of(old.id, records)
        self.refuse_conflict(cluster.id)
        zones = zones_of(state, cluster)
        check_pool(state, cluster, records, zones)
        taints = node_config(old.state).get("effectiveTaints", [])
        filled = fill_pool(
            state, cluster, taint_gpus=any(taint["key"] == "nvidia.com/gpu" for taint in taints)
        )
        if state.get("nodeCount") != old.state.get("nodeCount"):
            counts = initial_node_counts(filled, zones)
        else:
            # A new zone of an autoscaled pool starts empty.
            in_new_zone = 0 if filled.get("autoscaling") else filled.get("nodeCount", 0)
            counts = within_limits(filled, {zone: old.zones.get(zone, in_new_zone) for zone in zones})
        pool = old.but(state=with_node_counts(filled, old.id, counts), zones=counts)
        self._refuse_quota(pool, records, nodes_before=sum(old.zones.values()))
        return pool

    def moved_pools(self, cluster: Record, old: Record, records: Records) -> tuple[Record, ...]:
        """Return the pools of a cluster that gets other zones, in these: GKE gives them to every pool.

        https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/ClusterUpdate (desiredLocations)
        """
        zones = cluster.state.get("nodeLocations")
        if not zones or sorted(zones) == sorted(old.state.get("nodeLocations") or ()):
            return ()
        return tuple(
            self.changed_pool(pool, {**pool.state, "nodeLocations": sorted(zones)}, records)
            for pool in pools_of(records, cluster.id)
        )

    def resize(self, pool_id: str, zones: dict[str, int], *, leaving: tuple[str, ...] = ()) -> None:
        """Give the pool this many nodes per zone, unless another operation works on it.

        Of nodes that are too many, those named in `leaving` go first. Raises OperationError like
        `apply_pool`.
        """
        with self.store.changing() as records:
            if pool_id not in records or records[pool_id].status not in ("RUNNING", "ERROR"):
                return
            pool = records[pool_id]
            records[pool_id] = pool.but(state=with_node_counts(pool.state, pool_id, zones), zones=zones)
        self.apply_pool(pool_id, leaving=leaving)

    def shortage(self, pool: Record, zone: str, *, more: int) -> str:
        """Return why the zone cannot have this many more nodes of the pool; "" when it can."""
        grown = pool.but(zones={**pool.zones, zone: pool.zones.get(zone, 0) + more})
        try:
            self._refuse_quota(grown, self.store.read(), nodes_before=sum(pool.zones.values()))
            self._refuse_stockout(pool, zone)
        except (ApiError, OperationError) as error:
            return str(error)
        return ""

    def apply_pool(self, pool_id: str, *, leaving: tuple[str, ...] = ()) -> None:
        """Bring the pool's nodes to what its record says. Raises OperationError for a zone out of stock."""
        records = self.store.read()
        if pool_id not in records:
            raise not_found(pool_id)
        pool = records[pool_id]
        existing = self.kubernetes.node_counts(pool)
        for zone, count in pool.zones.items():
            if count > existing.get(zone, 0):
                self._refuse_stockout(pool, zone)
        self.kubernetes.set_nodes(pool, leaving=leaving)

    def apply_cluster(self, cluster: Record) -> None:
        """Make the cluster's API server answer, and make its default pool unless the cluster removes it."""
        endpoint, certificate = self.kubernetes.ensure_cluster(cluster)
        self.store.change(
            cluster.id, state=with_api_server(cluster.state, endpoint=endpoint, certificate=certificate)
        )
        if cluster.state.get("removeDefaultNodePool"):
            return
        with self.store.changing() as records:
            pool_id = f"{cluster.id}/nodePools/default-pool"
            if pool_id in records:
                return
            state = {
                "name": "default-pool",
                "cluster": cluster.name,
                "project": cluster.state["project"],
                "nodeConfig": node_config(cluster.state),
                "initialNodeCount": cluster.state["initialNodeCount"],
            }
            records[pool_id] = self.new_pool(pool_id, state, records)
        self.apply_pool(pool_id)

    def tell_proxies(self, subnetwork: Record) -> None:
        """Tell the clusters of a proxy-only subnetwork's network that it came, changed or went."""
        if subnetwork.state.get("purpose") != PROXIES:
            return
        network = relative(subnetwork.state["network"])
        for cluster in clusters(self.store.read()):
            if relative(cluster.state["network"]) == network and cluster.status == "RUNNING":
                self.kubernetes.tell_gateways(cluster)

    def keep_api_server(self, cluster: Record, old: Record) -> Record:
        """Return the changed cluster with the address and certificate that it had before."""
        kept = {name: old.state[name] for name in _API_SERVER_FIELDS if name in old.state}
        if "endpoint" not in kept:
            return cluster
        state = with_api_server(
            cluster.state,
            endpoint=kept["endpoint"],
            certificate=kept["masterAuth"]["clusterCaCertificate"],
        )
        return cluster.but(state=state)

    def remove(self, record: Record) -> tuple[Record, ...]:
        """Remove the Kubernetes side of a cluster or pool; other resources have none. Return what stays."""
        stays: list[Record] = []
        if record.token == POOL:
            self.kubernetes.set_nodes(record.but(zones={}))
        elif record.token == CLUSTER:
            stays = self.kubernetes.outlasting(record)
            self.kubernetes.remove_cluster(record)
        return tuple(stays)

    def refuse_conflict(self, resource_id: str) -> None:
        """Raise ApiError while the cluster of this ID, or of the pool of this ID, is busy."""
        faults.refuse_conflict(faults.read(self.store.folder), cluster_path(resource_id).cluster)

    def _refuse_quota(self, pool: Record, records: Records, *, nodes_before: int) -> None:
        project, location, _ = cluster_path(pool.id)
        region = regions.region_of(location)
        more_nodes = sum(pool.zones.values()) - nodes_before
        if more_nodes <= 0:
            return
        in_force = faults.read(self.store.folder)
        for accelerator in accelerators(pool.state):
            gpu = accelerator["type"]
            faults.refuse_quota(
                in_force,
                region,
                gpu,
                used=sum(gpu_counts(record).get(gpu, 0) for record in _pools_in(region, records)),
                wanted=more_nodes * accelerator["count"],
                project=project,
            )

    def _refuse_stockout(self, pool: Record, zone: str) -> None:
        in_force = faults.read(self.store.folder)
        project = cluster_path(pool.id).project
        faults.refuse_stockout(in_force, zone, hardware_of(pool.state), project=project)


def _cluster_of(pool_id: str, records: Records) -> Record:
    cluster_id = pool_id.partition("/nodePools/")[0]
    if cluster_id not in records:
        raise not_found(cluster_id)
    return records[cluster_id]


def _pools_in(region: str, records: Records) -> list[Record]:
    return [
        record
        for record in records.values()
        if record.token == POOL and regions.region_of(cluster_path(record.id).location) == region
    ]


def _has_nodes_without_gpus(records: Records, cluster_id: str) -> bool:
    """Return True when pods without GPUs have other nodes: only then does GKE taint nodes with GPUs."""
    return any(
        not any(accelerator["count"] for accelerator in accelerators(pool.state))
        for pool in pools_of(records, cluster_id)
    )
