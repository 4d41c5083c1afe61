"""Which new workloads fit only once leaving ones are deleted.

Pulumi creates before it deletes, and waits for what it creates: it would wait for such a workload for ever.
"""

from collections import Counter
from collections.abc import Iterable

from inferfleet.api.documents import Documents
from inferfleet.api.problems import of_severity
from inferfleet.fleet.decisions import Leaving, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import PoolKey
from inferfleet.fleet.placement.packing import pack
from inferfleet.fleet.shapes import Pod, demand, node
from inferfleet.fleet.spot import Spot


def waiting(documents: Documents, plan: Plan, leaving: Iterable[Leaving], before: Lock) -> frozenset[Spot]:
    """Return the new or grown spots whose pods do not fit beside the leaving ones, in the order of names.

    There are none for a plan with errors, which is not carried out.
    """
    pods: dict[PoolKey, Counter[Pod]] = {}
    for workload in leaving:
        on_pool = pods.setdefault((workload.cluster, workload.pool), Counter())
        on_pool[Pod(workload.gpus_per_pod, 0, 0)] += workload.pods
    if not pods or of_severity(plan.problems, "error"):
        return frozenset()
    growing = []
    for placement in plan.placements:
        already = min(before.placements.get(placement.spot, 0), placement.replicas)
        _add(documents, pods, placement.spot, already)
        if placement.replicas > already:
            growing.append((placement.spot, placement.replicas - already))
    without_room = set()
    for spot, more in growing:
        _add(documents, pods, spot, more)
        if not all(_holds(documents, pool, pods[pool]) for pool in _pools(spot) if pool in pods):
            _add(documents, pods, spot, -more)
            without_room.add(spot)
    return frozenset(without_room)


def _add(documents: Documents, pods: dict[PoolKey, Counter[Pod]], spot: Spot, replicas: int) -> None:
    needs = demand(documents.deployments[spot.deployment])
    for pool in _pools(spot):
        if pool in pods:
            pods[pool][needs.pod] += replicas * needs.pods


def _holds(documents: Documents, key: PoolKey, pods: Counter[Pod]) -> bool:
    cluster, name = key
    pool = next((pool for pool in documents.clusters[cluster].spec.node_pools if pool.name == name), None)
    empty_node = node(documents.classes[pool.class_name]) if pool else None
    return pool is None or empty_node is None or pack(empty_node, pool.size, pods).holds


def _pools(spot: Spot) -> set[PoolKey]:
    return {(spot.cluster, pool) for _, pool in spot.pools}
