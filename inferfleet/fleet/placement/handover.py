"""Which new workloads fit only once leaving ones are gone.

Pulumi deletes last and waits for what it creates, so such a workload would wait for ever.
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
    """New or grown spots whose pods do not fit beside the leaving ones, taken in the order of names.

    None for a plan with errors, which is not carried out.
    """
    standing: dict[PoolKey, Counter[Pod]] = {}
    for one in leaving:
        pods = standing.setdefault((one.cluster, one.pool), Counter())
        pods[Pod(one.gpus_per_pod, 0, 0)] += one.pods
    if not standing or of_severity(plan.problems, "error"):
        return frozenset()
    growing = []
    for placement in plan.placements:
        already = min(before.placements.get(placement.spot, 0), placement.replicas)
        _add(documents, standing, placement.spot, already)
        if placement.replicas > already:
            growing.append((placement.spot, placement.replicas - already))
    found = set()
    for spot, more in growing:
        _add(documents, standing, spot, more)
        if not all(_holds(documents, key, standing[key]) for key in _keys(spot) if key in standing):
            _add(documents, standing, spot, -more)
            found.add(spot)
    return frozenset(found)


def _add(documents: Documents, standing: dict[PoolKey, Counter[Pod]], spot: Spot, replicas: int) -> None:
    asked = demand(documents.deployments[spot.deployment])
    for key in _keys(spot):
        if key in standing:
            standing[key][asked.pod] += replicas * asked.pods


def _holds(documents: Documents, key: PoolKey, pods: Counter[Pod]) -> bool:
    cluster, name = key
    pool = next((one for one in documents.clusters[cluster].spec.node_pools if one.name == name), None)
    offer = node(documents.classes[pool.class_name]) if pool else None
    return pool is None or offer is None or pack(offer, pool.size, pods).holds


def _keys(spot: Spot) -> set[PoolKey]:
    return {(spot.cluster, pool) for _, pool in spot.pools}
