"""What placement.lock keeps of GKE clusters and their pools, so that a later plan sees what changed."""

from dataclasses import replace
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.fleet.lock.lock import Lock, LockedCluster, LockedPool
from inferfleet.gke.facts.create_only import create_only, recreating
from inferfleet.gke.settings.ranges import BLOCK
from inferfleet.gke.values import CLUSTER, NODE_POOL, CloudCluster, CloudResource


def remembered(documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]) -> Lock:
    """The lock with what `clusters` and their pools are made with now, and nothing of others.

    Lost clusters stay as they are. The UID of a cluster that becomes another one is forgotten.
    """
    lost = {name for name, one in documents.clusters.items() if one.spec.state == "lost"}
    now = {one.cluster: one for one in clusters if one.cluster in lock.clusters.keys() - lost}
    pools = {key: pool for key, pool in lock.pools.items() if key.partition("/")[0] in lost}
    for cluster in now.values():
        for pool, settings in pool_settings(cluster).items():
            pools[f"{cluster.cluster}/{pool}"] = LockedPool(cluster.pools[pool], settings)
    return replace(
        lock,
        clusters={
            name: _cluster(before, now[name], documents) if name in now else before
            for name, before in lock.clusters.items()
        },
        pools=dict(sorted(pools.items())),
    )


def cluster_settings(cluster: CloudCluster) -> dict[str, Any]:
    """What a GKE cluster keeps for life, by path on the wire, and the block of addresses it has."""
    (made,) = _resources(cluster, CLUSTER)
    return create_only(CLUSTER, made.inputs) | ({BLOCK: cluster.block} if cluster.block else {})


def pool_settings(cluster: CloudCluster) -> dict[str, dict[str, Any]]:
    """By pool: what it keeps for life, and what makes GKE replace its nodes, by path on the wire."""
    names = {cloud_name: pool for pool, cloud_name in cluster.pools.items()}
    return {
        names[one.inputs["name"]]: create_only(NODE_POOL, one.inputs) | recreating(one.inputs)
        for one in _resources(cluster, NODE_POOL)
        if one.inputs["name"] in names
    }


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


def _resources(cluster: CloudCluster, token: str) -> list[CloudResource]:
    return [one for part in cluster.components for one in part.resources if one.token == token]
