"""What placement.lock records of GKE clusters and their pools, so that a later plan sees what changed."""

from dataclasses import replace
from typing import Any

from inferfleet.cloud.gke.facts.create_only import create_only
from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.cloud.gke.settings.ranges import BLOCK
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.fleet.lock.lock import Lock, LockedCluster


def with_clouds(documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]) -> Lock:
    """Return the lock with the settings that `clusters` and their pools have now, and no others.

    Entries of lost clusters stay as they are. A cluster that is replaced loses its UID.
    """
    lost = {name for name, document in documents.clusters.items() if document.spec.state == "lost"}
    now = {cluster.cluster: cluster for cluster in clusters if cluster.cluster in lock.clusters.keys() - lost}
    pools = {key: pool for key, pool in lock.pools.items() if key.partition("/")[0] in lost}
    for cluster in now.values():
        pools |= {pool.pool.key: pool.locked for pool in cluster.gpu_pools.values()}
    return replace(
        lock,
        clusters={
            name: _cluster(before, now[name], documents) if name in now else before
            for name, before in lock.clusters.items()
        },
        pools=dict(sorted(pools.items())),
    )


def cluster_settings(cluster: CloudCluster) -> dict[str, Any]:
    """Return the immutable settings of a GKE cluster by path on the wire, and its block of addresses."""
    (inputs,) = (
        resource.inputs
        for component in cluster.components
        for resource in component.resources
        if resource.token == CLUSTER
    )
    return create_only(CLUSTER, inputs) | ({BLOCK: cluster.block} if cluster.block else {})


def _cluster(before: LockedCluster, cluster: CloudCluster, documents: Documents) -> LockedCluster:
    settings = cluster_settings(cluster)
    another = bool(before.settings) and before.settings != settings
    gke = documents.clusters[cluster.cluster].spec.cluster.gke
    return replace(
        before,
        settings=settings,
        uid=None if another else before.uid,
        protected=gke is not None and gke.deletion_protection,
    )
