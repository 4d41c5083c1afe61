"""Engine workloads that still stand on a cluster and are no longer desired."""

import re
from collections.abc import Iterator
from typing import Any

from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.names import DEPLOYMENT, MANAGED_BY, MANAGER, PLACEMENT, POOL, ROLE, STACK
from inferfleet.gke.values import CloudCluster
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER
from inferfleet.reach.connect import Api

_ACCELERATORS = frozenset(RESOURCE_BY_DRIVER.values())
_HASH = re.compile("-[0-9a-f]{6}$")


def leaving(api: Api, cluster: DesiredCluster, stack: str) -> Iterator[Leaving]:
    """Deployments of this stack that hold accelerators until the engine deletes them, at its very end."""
    desired = {(one.namespace, one.kubernetes_name) for one in cluster.objects if one.kind == "Deployment"}
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack}"}
    for item in api.items("/apis/apps/v1/deployments", query=query):
        metadata, spec = item["metadata"], item["spec"]
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        # An endpoint picker serves a deployment too, and plays no role in it.
        is_engine = DEPLOYMENT in labels and ROLE in labels
        if is_engine and (metadata["namespace"], metadata["name"]) not in desired:
            yield Leaving(
                cluster=cluster.connection.cluster,
                namespace=metadata["namespace"],
                name=metadata["name"],
                pool=_pool(metadata["name"], labels, spec["template"]["spec"], cluster.connection.cloud),
                pods=spec.get("replicas", 1),
                gpus_per_pod=_gpus(spec["template"]["spec"]),
            )


def _pool(name: str, labels: dict[str, str], pod: dict[str, Any], cloud: CloudCluster | None) -> str:
    """From the pod's node selector; pools with a selector of their own are named by the workload's name."""
    chosen = (pod.get("nodeSelector") or {}).get(POOL)
    if chosen:
        return _written(str(chosen), cloud) if cloud else str(chosen)
    prefix = f"{labels[DEPLOYMENT]}-{labels[ROLE]}-"
    return name.removeprefix(prefix) if name.startswith(prefix) else labels.get(PLACEMENT, "")


def _written(label: str, cloud: CloudCluster) -> str:
    """The pool's name in its document: nodes carry `<pool>-<hash>`, those of a replaced pool another hash."""
    current = {in_cloud: pool for pool, in_cloud in cloud.pools.items()}
    return current.get(label) or _HASH.sub("", label)


def _gpus(pod: dict[str, Any]) -> int:
    limits = [(one.get("resources") or {}).get("limits") or {} for one in pod.get("containers") or []]
    return sum(int(count) for limit in limits for name, count in limit.items() if name in _ACCELERATORS)
