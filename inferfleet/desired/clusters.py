"""A cluster of the stack: how it is reached, and what an object on it waits for."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.desired.values import Connection, KubeObject
from inferfleet.fleet import names
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.values import SYSTEM_POOL, CloudCluster

# Their controllers hold load balancers and disks: they must see the deletion while the cluster still stands.
CLOUD_BODIED = frozenset({"Gateway", "Service", "PersistentVolumeClaim"})


@dataclass(frozen=True)
class Site:
    """A cluster by its name; `cloud` is what the stack makes of it in Google Cloud."""

    cluster: str
    cloud: CloudCluster | None = None

    def place(
        self,
        manifest: dict[str, Any],
        *,
        after: Iterable[str] = (),
        timeout: int | None = None,
        retain: bool = False,
        pools: tuple[str, ...] = (),
    ) -> KubeObject:
        """The object as it is registered there. Keys in `after` may repeat; each counts once.

        On a cluster that the stack makes it comes after the system pool and the `pools` its pods stand on: a
        pool that is replaced is so made before the pods that move to it, and deleted after those that leave.
        """
        metadata = manifest["metadata"]
        nodes = [self.cloud.pool_key(pool) for pool in (SYSTEM_POOL, *pools)] if self.cloud else []
        stays = retain or manifest["kind"] in CLOUD_BODIED
        return KubeObject(
            names.pulumi_object(self.cluster, metadata["name"], namespace=metadata.get("namespace")),
            manifest,
            after=tuple(dict.fromkeys([*nodes, *after])),
            timeout=timeout,
            retain=retain,
            deleted_with=None if stays or self.cloud is None else self.cloud.key,
        )


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
