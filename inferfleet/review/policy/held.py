"""What replicas hold: GPUs, their part of what nodes cost, by deployment and by pool."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from inferfleet.documents.documents import Documents
from inferfleet.fleet.placement.prices import class_of, hourly, offer
from inferfleet.fleet.shapes import Demands, PoolKey
from inferfleet.fleet.spot import Spot


@dataclass(frozen=True)
class Before:
    """What an update finds: documents, replicas by place, and what these replicas need."""

    documents: Documents
    placements: Mapping[Spot, int]
    demands: Demands


@dataclass(frozen=True)
class Held:
    """Replicas, GPUs and cost of an hour by deployment; GPUs by pool, and replicas by cluster."""

    replicas: Mapping[str, int]
    gpus: Mapping[str, int]
    cost: Mapping[str, Fraction]
    on_pool: Mapping[PoolKey, int]
    on_cluster: Mapping[str, int]


def held(fleet: Before, currency: str, *, unknown: Collection[str] = ()) -> Held:
    """Return what replicas hold; those of which documents say nothing any more hold nothing.

    What nodes of classes cost that are `unknown` is not counted.
    """
    documents, demands = fleet.documents, fleet.demands
    prices = {
        name: price for name, price in hourly(documents, currency).items() if class_of(name) not in unknown
    }
    offers = {
        (name, pool.name): offer(pool, documents.classes[pool.class_name])
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }
    replicas: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    cost: dict[str, Fraction] = {}
    on_pool: Counter[PoolKey] = Counter()
    on_cluster: Counter[str] = Counter()
    for spot, number in fleet.placements.items():
        replicas[spot.deployment] += number
        on_cluster[spot.cluster] += number
        for role, pool in spot.pools:
            key = (spot.cluster, pool)
            if key not in offers or not demands.has(spot.deployment, role):
                continue
            demand = demands.of(spot.deployment, role, key)
            gpus[spot.deployment] += number * demand.gpus
            on_pool[key] += number * demand.gpus
            units = Fraction(demand.gpus) if demand.gpus else Fraction(demand.cpu, 1000)
            cost[spot.deployment] = cost.get(spot.deployment, Fraction(0)) + number * units * prices.get(
                offers[key], 0
            )
    return Held(replicas, gpus, cost, on_pool, on_cluster)
