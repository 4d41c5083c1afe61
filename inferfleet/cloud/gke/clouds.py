"""From the GKE clusters of the documents to everything that should exist in Google Cloud, one value each."""

from collections.abc import Mapping

from inferfleet.cloud.gke.fabrics import shared
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.gke.settings.accounts import accounts
from inferfleet.cloud.gke.settings.cluster import control_plane
from inferfleet.cloud.gke.settings.network import network
from inferfleet.cloud.gke.settings.pools import gpu_pool
from inferfleet.cloud.gke.settings.ranges import Ranges, blocks
from inferfleet.cloud.gke.settings.system import Need, pickers, system_pool
from inferfleet.cloud.gke.values import CloudCluster, CloudComponent, CloudPool, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

# Google takes a handful of operations on one cluster at a time and refuses more
# (https://github.com/hashicorp/terraform-provider-google/issues/15205), so of many pools each waits for the
# fourth before it.
LANES = 4


def cloud_clusters(
    documents: Documents, clusters: Mapping[str, GkeCluster], lock: Lock, planned: Plan
) -> tuple[CloudCluster, ...]:
    """Return every GKE cluster of the stack, sorted by name, with components and resources in a fixed order.

    What cannot be created is left out: pools of classes that GKE does not provision, and clusters for which
    no addresses are free. Those are problems of `recipe_problems` and `range_problems`.
    """
    block_of = blocks(clusters, lock)
    return tuple(
        _cloud_cluster(
            cluster,
            block_of.get(name),
            _is_made(lock, cluster),
            tuple(need for needs in pickers(documents, name, planned).values() for need in needs),
        )
        for name, cluster in clusters.items()
        if name in block_of or cluster.gke.network.existing
    )


def _is_made(lock: Lock, cluster: GkeCluster) -> bool:
    """Return whether the lock has the cluster, in the region that it is to have."""
    locked = lock.clusters.get(cluster.name)
    return locked is not None and locked.settings.get("location") == cluster.gke.region


def _cloud_cluster(
    cluster: GkeCluster, block: str | None, made: bool, needs: tuple[Need, ...]
) -> CloudCluster:
    extras = shared(extra for pool in cluster.pools for extra in pool.networks)
    networks = network(cluster, ranges=Ranges(block) if block else None, extras=extras)
    identity = accounts(cluster)
    first = (*(networks.resources if networks else ()), *identity)
    control = control_plane(cluster, made=made, multi_networking=bool(extras), after=_final_keys(first))
    system = system_pool(cluster, needs=needs, after=(control.key,))
    pools = _gpu_pools(cluster, system)
    return CloudCluster(
        cluster=cluster.name,
        project=cluster.gke.project,
        region=cluster.gke.region,
        cloud_name=cluster.cloud_name,
        endpoint=cluster.gke.control_plane_endpoint,
        components=(
            *((networks,) if networks else ()),
            CloudComponent("GkeCluster", names.cluster_component(cluster.name), (*identity, control, system)),
            *(pool.component for pool in pools),
        ),
        gpu_pools={pool.pool.name: pool for pool in pools},
        block=block,
    )


def _gpu_pools(cluster: GkeCluster, system: CloudResource) -> list[CloudPool]:
    """Return the pools by name, all after the system pool: GPU nodes need pods that only it can run."""
    pools: list[CloudPool] = []
    for pool in sorted(cluster.pools, key=lambda pool: pool.name):
        before = (pools[-LANES].resource.key,) if len(pools) >= LANES else ()
        pools.append(gpu_pool(cluster, pool, after=(system.key, *before)))
    return pools


def _final_keys(resources: tuple[CloudResource, ...]) -> tuple[str, ...]:
    """Return the keys of the resources that no other waits for: to wait for these is to wait for all."""
    awaited = {key for resource in resources for key in resource.after}
    return tuple(resource.key for resource in resources if resource.key not in awaited)
