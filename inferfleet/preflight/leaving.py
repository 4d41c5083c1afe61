"""Engine workloads that still run on a cluster and are no longer desired."""

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
    """Yield this stack's Deployments that hold accelerators until the update deletes them, at its end."""
    desired = {
        (wanted.namespace, wanted.kubernetes_name)
        for wanted in cluster.objects
        if wanted.kind == "Deployment"
    }
    query = {"labelSelector": f"{MANAGED_BY}={MANAGER},{STACK}={stack}"}
    for item in api.items("/apis/apps/v1/deployments", query=query):
        metadata, spec = item["metadata"], item["spec"]
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        # The pods of an endpoint picker have the label of their deployment too, but none of a role.
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
    """Return the pool of a workload from its node selector; for a pool with a selector of its own, from the
    workload's name.
    """
    label = (pod.get("nodeSelector") or {}).get(POOL)
    if label:
        return _pool_in_document(str(label), cloud) if cloud else str(label)
    prefix = f"{labels[DEPLOYMENT]}-{labels[ROLE]}-"
    return name.removeprefix(prefix) if name.startswith(prefix) else labels.get(PLACEMENT, "")


def _pool_in_document(label: str, cloud: CloudCluster) -> str:
    """Return the pool's name in its document: nodes carry `<pool>-<hash>`, and another hash once the pool is
    replaced.
    """
    current = {in_cloud: pool for pool, in_cloud in cloud.pools.items()}
    return current.get(label) or _HASH.sub("", label)


def _gpus(pod: dict[str, Any]) -> int:
    containers = pod.get("containers") or []
    limits = [(container.get("resources") or {}).get("limits") or {} for container in containers]
    return sum(int(count) for limit in limits for name, count in limit.items() if name in _ACCELERATORS)
