"""How each cluster is reached, and what stands on one of the stack's own making waits for."""

from collections.abc import Mapping
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.desired.values import Component, Connection, KubeObject
from inferfleet.fleet import names
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot
from inferfleet.gke.values import SYSTEM_POOL, CloudCluster

# Their controllers hold load balancers and disks: they must see the deletion while the cluster still stands.
CLOUD_BODIED = frozenset({"Gateway", "Service", "PersistentVolumeClaim"})


def on_cloud(component: Component, cloud: CloudCluster, pools: tuple[str, ...] = ()) -> Component:
    """The component after the system pool, its workloads after the `pools` they stand on.

    A pool that is replaced is so made before the pods that move to it, and deleted after those that leave.
    """
    return replace(component, objects=tuple(_on_cloud(one, cloud, pools) for one in component.objects))


def _on_cloud(one: KubeObject, cloud: CloudCluster, pools: tuple[str, ...]) -> KubeObject:
    first = tuple(cloud.pool_key(pool) for pool in (SYSTEM_POOL, *pools))
    return replace(
        one,
        after=(*first, *one.after),
        deleted_with=None if one.kind in CLOUD_BODIED or one.retain else cloud.key,
    )


def in_place(
    components: tuple[Component, ...], placed: Mapping[Spot, Component], cloud: CloudCluster | None
) -> tuple[Component, ...]:
    """On a cluster that the stack makes, everything waits for the nodes it stands on."""
    if cloud is None:
        return components
    pools = {component.name: tuple(pool for _, pool in spot.pools) for spot, component in placed.items()}
    return tuple(on_cloud(one, cloud, pools.get(one.name, ())) for one in components)


def connection(documents: Documents, cluster: str, lock: Lock, cloud: CloudCluster | None) -> Connection:
    """How to reach a cluster: one that exists as its document says, one of the stack's own by the cloud."""
    existing = documents.clusters[cluster].spec.cluster.existing
    locked = lock.clusters.get(cluster)
    return Connection(
        cluster=cluster,
        identifier=names.gke_identity(cloud.project, cloud.region, cloud.cloud_name)
        if cloud
        else names.existing_identity(cluster),
        state=documents.clusters[cluster].spec.state,
        kubeconfig=documents.kubeconfig_path(cluster),
        config_key=existing.kubeconfig.config_key if existing else None,
        context=existing.context if existing else None,
        uid=locked.uid if locked else None,
        cloud=cloud,
    )
