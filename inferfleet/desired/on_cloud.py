"""What Kubernetes objects on a cluster of the stack's own making wait for, and what ends them."""

from dataclasses import replace

from inferfleet.desired.values import Component, KubeObject
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
