"""How many nodes the pools of a cluster should have: decided from pods that wait and nodes that are empty."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.gcp.nodes.fitting import fits, free_of, requests, take
from sandbox.gcp.nodes.node_changes import name_of, zone_of
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL, pool_node
from sandbox.gcp.rules.node_pool import accelerators
from sandbox.gcp.store import Record

Object = dict[str, Any]


@dataclass(frozen=True)
class AutoscaledPool:
    """A pool with the limits of its autoscaling. They hold for each zone if `per_zone`, else in total."""

    record: Record
    min_nodes: int
    max_nodes: int
    per_zone: bool

    @property
    def zones(self) -> Mapping[str, int]:
        """How many nodes the pool has in each zone."""
        return self.record.zones

    @property
    def max_total(self) -> int:
        """How many nodes the pool may have in all its zones together."""
        return self.max_nodes * (len(self.zones) if self.per_zone else 1)

    def zones_with_room(self, counts: Mapping[str, int]) -> list[str]:
        """Return the zones that may have one more node, the one with the fewest first."""
        zones = sorted(counts, key=lambda zone: (counts[zone], zone))
        if self.per_zone:
            return [zone for zone in zones if counts[zone] < self.max_nodes]
        return zones if sum(counts.values()) < self.max_nodes else []

    def may_shrink(self, counts: Mapping[str, int], zone: str) -> bool:
        """Return True when the zone may have one node less."""
        nodes = counts[zone] if self.per_zone else sum(counts.values())
        return nodes > self.min_nodes


def autoscaled(records: Iterable[Record]) -> list[AutoscaledPool]:
    """Return the pools that are autoscaled, those whose nodes have the fewest GPUs first."""
    pools = [
        _autoscaled_pool(record, record.state["autoscaling"])
        for record in records
        if record.state.get("autoscaling")
    ]
    return sorted(pools, key=lambda pool: (_gpus_per_node(pool.record), pool.record.id))


def is_waiting(pod: Object) -> bool:
    """Return True when the scheduler found no node for the pod and a new node could help."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    # With Dynamic Resource Allocation devices are announced by nodes that exist, so none are known before.
    if pod["spec"].get("resourceClaims"):
        return False
    return any(
        condition["type"] == "PodScheduled"
        and condition["status"] == "False"
        and condition.get("reason") == "Unschedulable"
        for condition in pod.get("status", {}).get("conditions") or []
    )


def growth(pools: list[AutoscaledPool], nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, int]:
    """Return how many more nodes each pool needs for the pods that wait, by the pool's ID.

    A pod that fits on an existing node, or on one that is to come for another pod, needs no new one. The
    limit of a pool is counted over all its zones; whoever adds the nodes must look at each zone's.
    """
    all_pods = list(pods)
    free_by_node = [
        (node, free_of(node, _pods_on(node, all_pods)))
        for node in nodes
        if not node["spec"].get("unschedulable")
    ]
    more: dict[str, int] = {}
    for pod in sorted((pod for pod in all_pods if is_waiting(pod)), key=_age_and_name):
        free = next((free for node, free in free_by_node if fits(pod, node, free)), None)
        if free is None:
            pool_and_node = _new_node(pod, pools, more)
            if pool_and_node is None:
                continue
            pool, node = pool_and_node
            more[pool.record.id] = more.get(pool.record.id, 0) + 1
            free = free_of(node, [])
            free_by_node.append((node, free))
        take(free, requests(pod))
    return more


def empty_nodes(
    pools: Iterable[AutoscaledPool], nodes: Iterable[Object], pods: Iterable[Object]
) -> list[str]:
    """Return the names of the pools' nodes on which no pod runs but those of DaemonSets."""
    pool_names = {pool.record.name for pool in pools}
    used = {pod["spec"].get("nodeName") for pod in pods if _needs_its_node(pod)}
    return [
        name_of(node)
        for node in nodes
        if node["metadata"]["labels"].get(POOL_LABEL) in pool_names and name_of(node) not in used
    ]


def without_nodes(pool: AutoscaledPool, nodes: Iterable[Object]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the pool's counts without as many of the nodes as its minimum allows, and those nodes' names."""
    counts, removed = dict(pool.zones), []
    for node in nodes:
        zone = zone_of(node)
        if counts.get(zone, 0) and pool.may_shrink(counts, zone):
            counts[zone] -= 1
            removed.append(name_of(node))
    return counts, tuple(removed)


def _autoscaled_pool(record: Record, scaling: Mapping[str, Any]) -> AutoscaledPool:
    if "totalMaxNodeCount" in scaling:
        lower, upper = scaling.get("totalMinNodeCount", 0), scaling["totalMaxNodeCount"]
        return AutoscaledPool(record, lower, upper, per_zone=False)
    return AutoscaledPool(record, scaling.get("minNodeCount", 0), scaling["maxNodeCount"], per_zone=True)


def _gpus_per_node(record: Record) -> int:
    return sum(accelerator["count"] for accelerator in accelerators(record.state))


def _new_node(
    pod: Object, pools: list[AutoscaledPool], more: Mapping[str, int]
) -> tuple[AutoscaledPool, Object] | None:
    """Return the first pool that may have one more node on which the pod fits, and that node."""
    for pool in pools:
        if sum(pool.zones.values()) + more.get(pool.record.id, 0) >= pool.max_total:
            continue
        for zone in pool.zones:
            node = pool_node(pool.record, zone)
            if fits(pod, node, free_of(node, [])):
                return pool, node
    return None


def _pods_on(node: Object, pods: Iterable[Object]) -> list[Object]:
    return [pod for pod in pods if pod["spec"].get("nodeName") == name_of(node) and not _has_ended(pod)]


def _needs_its_node(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    return not _has_ended(pod) and not any(owner["kind"] == "DaemonSet" for owner in owners)


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _age_and_name(pod: Object) -> tuple[str, str]:
    return pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]
