"""How many nodes of each pool the replicas on it need."""

from collections.abc import Mapping

from inferfleet.api.documents import Documents
from inferfleet.fleet.ledger import Ledger, PoolKey
from inferfleet.fleet.shapes import demand, node
from inferfleet.fleet.spot import Spot


def nodes_used(documents: Documents, placements: Mapping[Spot, int]) -> dict[PoolKey, int]:
    """By (cluster, pool), at most as many as the pool may have. Replicas of deployments without a document
    count nothing.
    """
    pools = {
        (name, pool.name): (offer, pool.size)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (offer := node(documents.classes[pool.class_name]))
    }
    ledger = Ledger(pools, {key: demand(one) for key, one in documents.deployments.items()})
    for spot, replicas in placements.items():
        ledger.add(spot, replicas)
    return {key: size - dict(ledger.packing(key).free).get(offer, 0) for key, (offer, size) in pools.items()}
