"""How many nodes the pools of a cluster should have, from the pods that wait and the nodes that are empty."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.gcp.nodes.fitting import fits, free_of, requests, take
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL, ZONE, pool_node
from sandbox.gcp.store import Record

Object = dict[str, Any]


@dataclass(frozen=True)
class Pool:
    """An autoscaled pool with its limits; `each` limits every zone for itself, not the whole pool."""

    record: Record
    least: int
    most: int
    each: bool

    @property
    def zones(self) -> Mapping[str, int]:
        return self.record.zones

    def may_grow(self, counts: Mapping[str, int]) -> list[str]:
        """Zones that may have a node more, the emptiest first."""
        order = sorted(counts, key=lambda zone: (counts[zone], zone))
        if self.each:
            return [zone for zone in order if counts[zone] < self.most]
        return order if sum(counts.values()) < self.most else []

    def may_shrink(self, counts: Mapping[str, int], zone: str) -> bool:
        here = counts[zone] if self.each else sum(counts.values())
        return here > self.least


def autoscaled(records: Iterable[Record]) -> list[Pool]:
    """The pools that grow and shrink, those with the smallest nodes first."""
    found = [_pool(one, one.state["autoscaling"]) for one in records if one.state.get("autoscaling")]
    return sorted(found, key=lambda pool: _size(pool.record))


def _pool(record: Record, scaling: Mapping[str, Any]) -> Pool:
    if "totalMaxNodeCount" in scaling:
        return Pool(record, scaling.get("totalMinNodeCount", 0), scaling["totalMaxNodeCount"], each=False)
    return Pool(record, scaling.get("minNodeCount", 0), scaling["maxNodeCount"], each=True)


def _size(record: Record) -> tuple[int, str]:
    config = record.state["nodeConfig"]
    gpus = sum(one["count"] for one in config["guestAccelerators"])
    return gpus, record.id


def waits(pod: Object) -> bool:
    """True for a pod that the scheduler found no node for, and a new node could help."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    # Without a node, a driver for Dynamic Resource Allocation announces no devices.
    if pod["spec"].get("resourceClaims"):
        return False
    return any(
        one["type"] == "PodScheduled" and one["status"] == "False" and one.get("reason") == "Unschedulable"
        for one in pod.get("status", {}).get("conditions") or []
    )


def growth(pools: list[Pool], nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, int]:
    """How many nodes more each pool needs for the pods that wait, by its ID; limits are not looked at twice.

    A pod that fits on a node that stands, or on one that is to come for another pod, needs no new one.
    """
    found = list(pods)
    bins = [
        (node, free_of(node, _on(node, found))) for node in nodes if not node["spec"].get("unschedulable")
    ]
    more: dict[str, int] = {}
    for pod in sorted((one for one in found if waits(one)), key=_oldest):
        home = next((free for node, free in bins if fits(pod, node, free)), None)
        if home is None:
            new = _new_node(pod, pools, more)
            if new is None:
                continue
            pool, node = new
            more[pool.record.id] = more.get(pool.record.id, 0) + 1
            home = free_of(node, [])
            bins.append((node, home))
        take(home, requests(pod))
    return more


def empty(pools: Iterable[Pool], nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, Pool]:
    """Nodes of the pools without a pod that counts, by name. Pods of a DaemonSet stand everywhere."""
    by_name = {pool.record.name: pool for pool in pools}
    used = {one["spec"].get("nodeName") for one in pods if _counts(one)}
    return {
        node["metadata"]["name"]: by_name[node["metadata"]["labels"][POOL_LABEL]]
        for node in nodes
        if node["metadata"]["labels"].get(POOL_LABEL) in by_name and node["metadata"]["name"] not in used
    }


def shrunk(pool: Pool, leaving: Iterable[Object]) -> tuple[dict[str, int], tuple[str, ...]]:
    """The counts without as many of the leaving nodes as the pool's least allows, and those nodes' names."""
    counts, gone = dict(pool.zones), []
    for node in leaving:
        zone = node["metadata"]["labels"][ZONE]
        if counts.get(zone, 0) and pool.may_shrink(counts, zone):
            counts[zone] -= 1
            gone.append(node["metadata"]["name"])
    return counts, tuple(gone)


def _new_node(pod: Object, pools: list[Pool], more: Mapping[str, int]) -> tuple[Pool, Object] | None:
    for pool in pools:
        limit = pool.most * (len(pool.zones) if pool.each else 1)
        if sum(pool.zones.values()) + more.get(pool.record.id, 0) >= limit:
            continue
        for zone in pool.zones:
            node = pool_node(pool.record, zone)
            if fits(pod, node, free_of(node, [])):
                return pool, node
    return None


def _on(node: Object, pods: Iterable[Object]) -> list[Object]:
    name = node["metadata"]["name"]
    return [one for one in pods if one["spec"].get("nodeName") == name and not _ended(one)]


def _counts(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    return not _ended(pod) and not any(one["kind"] == "DaemonSet" for one in owners)


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _oldest(pod: Object) -> tuple[str, str]:
    return pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]
