"""Whether many nodes can mount the volumes that caches of weights claim, as far as their classes tell.

A claim that cannot be served waits for ever, and the pods behind it, on nodes that are billed.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.clusters.connections.api import Api, readable
from inferfleet.desired.values import Component, DesiredCluster
from inferfleet.documents.problems import Problem

# Drivers of disks, which one node mounts at a time:
# https://kubernetes-csi.github.io/docs/drivers.html (2026-11).
_DISKS = (
    "pd.csi.storage.gke.io",
    "kubernetes.io/gce-pd",
    "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs",
    "disk.csi.azure.com",
    "kubernetes.io/azure-disk",
)
_FILESTORE = "filestore.csi.storage.gke.io"


def volume_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a problem for each cache whose StorageClass makes disks, or volumes in another network than that
    of a cluster which the stack creates. Whether the class is there is told with all that pods name.
    """
    for component in cluster.components:
        for item in component.objects if component.kind == "ModelCache" else ():
            if item.kind == "PersistentVolumeClaim":
                name = item.manifest["spec"]["storageClassName"]
                if found := readable(api, f"/apis/storage.k8s.io/v1/storageclasses/{name}"):
                    yield from _class_problems(cluster, component, name, found)


def _class_problems(
    cluster: DesiredCluster, component: Component, name: str, found: dict[str, Any]
) -> Iterator[Problem]:
    where = cluster.connection.cluster
    driver, parameters = found.get("provisioner", ""), found.get("parameters") or {}
    key = component.name.removeprefix(f"{where}/")
    path = "spec.to.claim.storageClassName"
    if driver in _DISKS:
        yield Problem(
            f"StorageClass {name} on cluster {where!r} makes disks ({driver}), which one node mounts at a "
            f"time: no claim of ModelCache {key} would ever be served",
            "Name a class whose volumes many nodes mount (ReadWriteMany), such as one of Filestore",
            path,
            kind="ModelCache",
            key=key,
        )
    cloud = cluster.connection.cloud
    if driver != _FILESTORE or cloud is None:
        return
    network = str(cloud.resource(cloud.key).inputs.get("network", "")).rpartition("/")[2]
    given = str(parameters.get("network", "default")).rpartition("/")[2]
    if network and given != network:
        yield Problem(
            f"StorageClass {name} on cluster {where!r} makes volumes in network {given}, and its nodes are "
            f"in {network}: none of them would reach a volume of ModelCache {key}",
            f"Make a class with parameters.network: {network}, and name that",
            path,
            kind="ModelCache",
            key=key,
        )
