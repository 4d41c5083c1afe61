"""The replicas a plan has placed so far, and the room they leave in every pool."""

from collections import Counter
from collections.abc import Mapping

from inferfleet.api.documents import Documents
from inferfleet.fleet.placement.packing import Packing, pack
from inferfleet.fleet.shapes import Demand, Node, Pod, demand, node
from inferfleet.fleet.spot import Spot

PoolKey = tuple[str, str]  # (cluster, pool)


class Ledger:
    """Counts replicas by spot. Only pools in `pools` (node and number of nodes) have limits and room."""

    def __init__(self, pools: Mapping[PoolKey, tuple[Node, int]], demands: Mapping[str, Demand]) -> None:
        self._pools = pools
        self._demands = demands
        self._replicas: dict[str, dict[Spot, int]] = {}
        self._standing: dict[PoolKey, dict[Spot, int]] = {}
        self._packings: dict[PoolKey, dict[tuple[Pod, int] | None, Packing]] = {}

    def add(self, spot: Spot, replicas: int) -> None:
        """Adds (or with a negative number takes away) replicas, whether they fit or not."""
        tables = [self._replicas.setdefault(spot.deployment, {})]
        for key in _keys(spot):
            tables.append(self._standing.setdefault(key, {}))
            self._packings.pop(key, None)
        for table in tables:
            table[spot] = table.get(spot, 0) + replicas
            if not table[spot]:
                del table[spot]

    def replicas(self, deployment: str) -> dict[Spot, int]:
        return dict(sorted(self._replicas.get(deployment, {}).items()))

    def total(self, deployment: str, *, cluster: str | None = None) -> int:
        spots = self._replicas.get(deployment, {}).items()
        return sum(replicas for spot, replicas in spots if cluster in (None, spot.cluster))

    def standing(self, pool: PoolKey) -> dict[Spot, int]:
        """The spots with replicas in a pool."""
        return dict(sorted(self._standing.get(pool, {}).items()))

    def overfull(self) -> list[PoolKey]:
        """The pools that cannot hold what stands in them."""
        return sorted(key for key in self._standing if key in self._pools and not self.packing(key).holds)

    def fits(self, spot: Spot) -> bool:
        """True when one more replica on the spot leaves a place for every pod."""
        return all(key in self._pools and self.packing(key, one_more=spot).holds for key in _keys(spot))

    def waste(self, spot: Spot) -> tuple[int, int]:
        """GPUs on a node of the spot's pools, and how many whole nodes one more replica would break into."""
        gpus = broken = 0
        for key in _keys(spot):
            node, _ = self._pools[key]
            gpus = max(gpus, node.gpus)
            whole = [dict(self.packing(key, one_more=more).free).get(node, 0) for more in (None, spot)]
            broken += whole[0] - whole[1]
        return gpus, broken

    def packing(self, pool: PoolKey, *, one_more: Spot | None = None) -> Packing:
        """How the pool's pods pack, with one more replica of a spot on request."""
        known = self._packings.setdefault(pool, {})
        asked = self._more(pool, one_more) if one_more else None
        if asked not in known:
            pods = self._pods(pool, self._standing.get(pool, {}))
            if asked:
                pods[asked[0]] += asked[1]
            known[asked] = pack(*self._pools[pool], pods)
        return known[asked]

    def holds_without(self, pool: PoolKey, spot: Spot) -> bool:
        """True when the pool would hold the rest if one replica left."""
        standing = Counter(self._standing.get(pool, {}))
        standing[spot] -= 1
        return pack(*self._pools[pool], self._pods(pool, standing)).holds

    def _more(self, pool: PoolKey, spot: Spot) -> tuple[Pod, int]:
        """The pods of one more replica, of which deployments of one shape have the same."""
        demand = self._demands[spot.deployment]
        spare = 0 if spot in self._standing.get(pool, {}) else demand.spare
        return demand.pod, demand.pods + spare

    def _pods(self, pool: PoolKey, standing: Mapping[Spot, int]) -> Counter[Pod]:
        """A pod that outgrew the nodes counts as a whole node, or it would push its neighbours out."""
        node, _ = self._pools[pool]
        pods: Counter[Pod] = Counter()
        for spot, replicas in standing.items():
            demand = self._demands.get(spot.deployment)
            if demand and replicas > 0:
                pod = Pod(*map(min, demand.pod, node))
                pods[pod] += replicas * demand.pods + demand.spare
        return pods


def _keys(spot: Spot) -> list[PoolKey]:
    return sorted({(spot.cluster, pool) for _, pool in spot.pools})


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
