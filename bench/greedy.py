"""A planner of thirty lines, to compare with: scarcest shape first, spread first, then cheapest per GPU,
then the fullest node. It keeps nothing, improves nothing, and looks at every pool for every replica.
"""

from collections import Counter

from bench.fleets import CLASSES
from inferfleet.documents.documents import Documents
from inferfleet.fleet.demands import Demand, declared_demands
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.roles import roles_of
from inferfleet.fleet.selectors.devices import Selectors

# The class of each pool of a cluster and the GPUs that its nodes have free, those of the fullest node first.
_Pools = list[tuple[str, list[int]]]


def greedy(documents: Documents) -> tuple[dict[str, Counter[str]], float]:
    """Return the replicas of each deployment by cluster, and the price of the GPUs that they hold."""
    demands = declared_demands(documents)
    suitability = Suitability(documents, Selectors(), demands)
    free: dict[str, _Pools] = {
        name: [
            (pool.class_name, [CLASSES[pool.class_name][0]] * pool.size) for pool in cluster.spec.node_pools
        ]
        for name, cluster in documents.clusters.items()
    }
    needs = {
        key: [
            (demands.declared[key, role], {name for name in CLASSES if suitability.takes(key, role, name)})
            for role in roles_of(document)
        ]
        for key, document in documents.deployments.items()
    }
    placed: dict[str, Counter[str]] = {}
    spent = 0.0
    for key in sorted(needs, key=lambda key: (-needs[key][0][0].gpus, len(needs[key][0][1]), key)):
        there = dict.fromkeys(sorted(suitability.clusters(key)), 0)
        for _ in range(documents.deployments[key].spec.wanted):
            ways = [
                (number, *way, cluster)
                for cluster, number in there.items()
                if (way := _filled(free[cluster], needs[key]))
            ]
            if not ways:
                break
            _, price, _, pools, cluster = min(ways)
            free[cluster] = pools
            there[cluster] += 1
            spent += price
        placed[key] = Counter({cluster: number for cluster, number in there.items() if number})
    return placed, spent


def _filled(pools: _Pools, needs: list[tuple[Demand, set[str]]]) -> tuple[float, int, _Pools] | None:
    """Return the price of a replica on a cluster, the GPUs free on its nodes, and the pools with it."""
    price, fullness = 0.0, 0
    for demand, classes in sorted(needs, key=lambda need: -need[0].gpus):
        ways = []
        for index, (name, nodes) in enumerate(pools):
            gpus, _, cost = CLASSES[name]
            chosen = [place for place, has in enumerate(nodes) if has >= demand.pod.gpus][: demand.gang]
            if name in classes and len(chosen) == demand.gang:
                ways.append((cost / gpus, sum(nodes[place] for place in chosen), index, chosen))
        if not ways:
            return None
        per_gpu, has, index, chosen = min(ways)
        name, nodes = pools[index]
        left = sorted(free - demand.pod.gpus * (place in chosen) for place, free in enumerate(nodes))
        pools = [*pools[:index], (name, left), *pools[index + 1 :]]
        price, fullness = price + per_gpu * demand.gpus, fullness + has
    return price, fullness, pools
