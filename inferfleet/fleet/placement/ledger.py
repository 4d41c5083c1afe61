"""The replicas a plan has placed so far, and the room they leave in every pool."""

from collections import Counter
from collections.abc import Mapping

from inferfleet.api.documents import Documents
from inferfleet.fleet.placement.packing import Packing, pack
from inferfleet.fleet.shapes import Demand, Node, Pod, demand, node
from inferfleet.fleet.spot import Spot

PoolKey = tuple[str, str]  # (cluster, pool)


class Ledger:
    """Replicas by spot, and how their pods pack on each pool.

    `pools` have an empty node and the number of nodes. Replicas may be counted on other pools too, but only
    these have room.
    """

    def __init__(self, pools: Mapping[PoolKey, tuple[Node, int]], demands: Mapping[str, Demand]) -> None:
        self._pools = pools
        self._demands = demands
        self._replicas: dict[str, dict[Spot, int]] = {}
        self._on_cluster: Counter[tuple[str, str | None]] = Counter()  # cluster None: all of them
        self._by_pool: dict[PoolKey, dict[Spot, int]] = {}
        self._pods: dict[PoolKey, Counter[Pod]] = {}
        self._packings: dict[PoolKey, dict[tuple[Pod, int] | None, Packing]] = {}

    def add(self, spot: Spot, replicas: int) -> None:
        """Add replicas to a spot, or remove them with a negative number, whether they fit or not."""
        tables = [self._replicas.setdefault(spot.deployment, {})]
        before = tables[0].get(spot, 0)
        for cluster in (spot.cluster, None):
            self._on_cluster[(spot.deployment, cluster)] += replicas
        for key in _keys(spot):
            tables.append(self._by_pool.setdefault(key, {}))
            self._packings.pop(key, None)
            if key in self._pools:
                pods = self._pods.setdefault(key, Counter())
                self._recount(pods, key, spot, before, before + replicas)
        for table in tables:
            table[spot] = table.get(spot, 0) + replicas
            if not table[spot]:
                del table[spot]

    def replicas(self, deployment: str) -> dict[Spot, int]:
        """Return the deployment's spots with replicas, in order."""
        return dict(sorted(self._replicas.get(deployment, {}).items()))

    def total(self, deployment: str, *, cluster: str | None = None) -> int:
        """Return the deployment's replicas, on one cluster or on all."""
        return self._on_cluster[(deployment, cluster)]

    def on_pool(self, pool: PoolKey) -> dict[Spot, int]:
        """Return the spots with replicas on a pool, in order."""
        return dict(sorted(self._by_pool.get(pool, {}).items()))

    def overfull(self) -> list[PoolKey]:
        """Return the pools that cannot hold the pods of the replicas on them."""
        return sorted(key for key in self._by_pool if key in self._pools and not self.packing(key).holds)

    def fits(self, spot: Spot) -> bool:
        """Return True when every pod has a node with one more replica on the spot."""
        return all(key in self._pools and self.packing(key, one_more=spot).holds for key in _keys(spot))

    def waste(self, spot: Spot) -> tuple[int, int]:
        """Return the GPUs per node of the spot's pools, and how many empty nodes one more replica would use.

        Less is better: large nodes and empty ones are kept for replicas that need them.
        """
        gpus = broken = 0
        for key in _keys(spot):
            node, _ = self._pools[key]
            gpus = max(gpus, node.gpus)
            whole = [dict(self.packing(key, one_more=more).free).get(node, 0) for more in (None, spot)]
            broken += whole[0] - whole[1]
        return gpus, broken

    def packing(self, pool: PoolKey, *, one_more: Spot | None = None) -> Packing:
        """Return how the pool's pods pack, with one more replica of a spot if one is given."""
        known = self._packings.setdefault(pool, {})
        asked = self._more(pool, one_more) if one_more else None
        if asked not in known:
            pods = Counter(self._pods.get(pool))
            if asked:
                pods[asked[0]] += asked[1]
            known[asked] = pack(*self._pools[pool], pods)
        return known[asked]

    def holds_without(self, pool: PoolKey, spot: Spot) -> bool:
        """Return True when the pool would hold the rest if one replica of the spot were removed."""
        pods = Counter(self._pods.get(pool))
        there = self._by_pool.get(pool, {}).get(spot, 0)
        self._recount(pods, pool, spot, there, there - 1)
        return pack(*self._pools[pool], pods).holds

    def _more(self, pool: PoolKey, spot: Spot) -> tuple[Pod, int]:
        """Return the shape and number of the pods of one more replica, by which packings are kept."""
        demand = self._demands[spot.deployment]
        spare = 0 if spot in self._by_pool.get(pool, {}) else demand.spare
        return demand.pod, demand.pods + spare

    def _recount(self, pods: Counter[Pod], pool: PoolKey, spot: Spot, before: int, after: int) -> None:
        """Count other pods on a pool for another number of replicas on a spot.

        A pod that outgrew the nodes counts as a whole node. Otherwise the pool would be too small whatever
        else left it, and its neighbours would be moved away.
        """
        demand = self._demands.get(spot.deployment)
        if demand is None:
            return
        node, _ = self._pools[pool]
        pod = Pod(*map(min, demand.pod, node))
        counts = [
            replicas * demand.pods + demand.spare if replicas > 0 else 0 for replicas in (before, after)
        ]
        pods[pod] += counts[1] - counts[0]
        if not pods[pod]:
            del pods[pod]


def _keys(spot: Spot) -> list[PoolKey]:
    return sorted({(spot.cluster, pool) for _, pool in spot.pools})


def nodes_used(documents: Documents, placements: Mapping[Spot, int]) -> dict[PoolKey, int]:
    """Return how many nodes of each pool the placements need, at most as many as the pool can have.

    Replicas of deployments without a document need none.
    """
    pools = {
        (name, pool.name): (empty_node, pool.size)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (empty_node := node(documents.classes[pool.class_name]))
    }
    demands = {key: demand(deployment) for key, deployment in documents.deployments.items()}
    ledger = Ledger(pools, demands)
    for spot, replicas in placements.items():
        ledger.add(spot, replicas)
    return {
        pool: size - dict(ledger.packing(pool).free).get(empty_node, 0)
        for pool, (empty_node, size) in pools.items()
    }
