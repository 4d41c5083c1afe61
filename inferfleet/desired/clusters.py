"""A cluster of the stack: how it is reached, what objects on it are created after, and which nodes it has."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.values import CloudCluster
from inferfleet.desired.pods import Pods
from inferfleet.desired.values import Connection, ExpectedNodes, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.node_conditions import (
    Labels,
    MatchingNodes,
    NodeConditions,
    conditions_of,
    label_match,
    products_of,
)
from inferfleet.fleet.shapes import PoolKey, accelerator
from inferfleet.fleet.spot import Spot

# Their controllers hold load balancers and disks: they must see the deletion before the cluster is deleted.
CLOUD_BODIED = frozenset({"Gateway", "Ingress", "PersistentVolumeClaim", "Service"})


@dataclass(frozen=True)
class Site:
    """A cluster by name; `cloud` are its resources in its cloud, where the stack creates it."""

    cluster: str
    cloud: CloudCluster | None = None

    def place(
        self,
        manifest: dict[str, Any],
        *,
        name: str | None = None,
        after: Iterable[str] = (),
        timeout: int | None = None,
        retain: bool = False,
        pools: tuple[str, ...] = (),
    ) -> KubeObject:
        """Return the object as it is registered there. Keys in `after` may repeat; each counts once.

        Its name in Pulumi's state is `name`, or its own.

        On a cluster that the stack creates it comes after the system pool and the `pools` of its pods: a pool
        that is replaced is then created before pods move to it, and deleted after they have left.
        """
        metadata = manifest["metadata"]
        nodes: list[str] = []
        if self.cloud:
            nodes = [self.cloud.system_key, *(self.cloud.pools[pool].resource.key for pool in pools)]
        stays = retain or manifest["kind"] in CLOUD_BODIED
        return KubeObject(
            names.pulumi_object(self.cluster, name or metadata["name"], namespace=metadata.get("namespace")),
            manifest,
            after=tuple(dict.fromkeys([*nodes, *after])),
            timeout=timeout,
            retain=retain,
            deleted_with=None if stays or self.cloud is None else self.cloud.key,
        )


def connection(documents: Documents, cluster: str, lock: Lock, cloud: CloudCluster | None) -> Connection:
    """Return how a cluster is reached: by the kubeconfig of its document, or by what the stack creates."""
    existing = documents.clusters[cluster].spec.cluster.existing
    locked = lock.clusters.get(cluster)
    return Connection(
        cluster=cluster,
        identifier=cloud.identifier if cloud else names.existing_identity(cluster),
        state=documents.clusters[cluster].spec.state,
        kubeconfig=documents.kubeconfig_path(cluster),
        config_key=existing.kubeconfig.config_key if existing else None,
        context=existing.context if existing else None,
        uid=locked.uid if locked else None,
        cloud=cloud,
    )


def expected_nodes(
    documents: Documents,
    site: Site,
    placements: Collection[Placement],
    pods: Mapping[Spot, tuple[Pods, ...]],
    known: Mapping[PoolKey, Labels],
) -> tuple[ExpectedNodes, ...]:
    """Return the nodes of a cluster's pools with what is placed on them. Of a cluster that the stack creates,
    whose nodes are its cloud's to make, these are the pools where pods ask for labels of which `known`, which
    is what is known of labels, does not have all.
    """
    spec = documents.clusters[site.cluster].spec
    created = spec.cluster.existing is None
    if created and site.cloud is None:
        return ()
    conditions = _conditions(placements, pods, known if created else {})
    replicas = Counter[str]()
    for placement in placements:
        for pool_name in {name for _, name in placement.spot.pools}:
            replicas[pool_name] += placement.replicas
    pools = []
    for index, pool in enumerate(spec.node_pools):
        if created and pool.name not in conditions:
            continue
        inference_class = documents.classes[pool.class_name]
        device = accelerator(inference_class)
        label = site.cloud.pools[pool.name].name if site.cloud else pool.name
        pools.append(
            ExpectedNodes(
                pool.name,
                place=index,
                class_name=pool.class_name,
                selector=dict(pool.node_selector or {names.POOL: label}),
                least=(pool.min_node_count or 0) if pool.autoscaled else pool.size,
                replicas=replicas[pool.name],
                driver=device.driver if device else "",
                resource=(device.asked_as or "") if device else "",
                devices=device.count if device else 0,
                claimed=inference_class.spec.allocation == "DRA",
                cpu=int(parse_quantity(inference_class.spec.node.cpu) * 1000),
                memory=int(parse_quantity(inference_class.spec.node.memory)),
                conditions=conditions.get(pool.name, {}),
                labels=known[site.cluster, pool.name] if created else {},
                products=products_of(inference_class),
                autoscaled=pool.autoscaled,
            )
        )
    return tuple(pools)


def _conditions(
    placements: Iterable[Placement], pods: Mapping[Spot, tuple[Pods, ...]], known: Mapping[PoolKey, Labels]
) -> dict[str, dict[NodeConditions, tuple[str, ...]]]:
    """Return by pool what pods ask of labels that nodes are not `known` to have, with their deployments."""
    found: dict[str, dict[NodeConditions, set[str]]] = {}
    for spot in (placement.spot for placement in placements):
        for each in pods[spot]:
            pool = spot.pool(each.role)
            asked = conditions_of(each.outcome.template["spec"], without=each.placed.hardware.node_selector)
            if asked and not _has_all(known.get((spot.cluster, pool), {}), asked):
                found.setdefault(pool, {}).setdefault(asked, set()).add(spot.deployment)
    return {
        pool: {asked: tuple(sorted(whose)) for asked, whose in of_pool.items()}
        for pool, of_pool in found.items()
    }


def _has_all(labels: Labels, conditions: NodeConditions) -> bool:
    return label_match(conditions, labels).nodes == MatchingNodes.ALL
