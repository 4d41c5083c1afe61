"""What nodes cost in an hour, and how many GPUs of them replicas hold, by class.

Nodes are paid for: all of a pool of fixed size, of an autoscaled one its minimum and those that replicas
need. What Google takes for a cluster itself, its system pool, disks and traffic is in no class, and is not
counted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from inferfleet.documents.documents import Documents
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.placement.prices import foreign_region, of_node
from inferfleet.fleet.spot import Spot


@dataclass
class ClassCost:
    """What the nodes of one class cost in an hour."""

    gpus: int = 0
    """GPUs that replicas hold."""
    nodes: int = 0
    unpriced: int = 0
    """Nodes without a known price. They are in `nodes`, and not in `cost`."""
    cost: Decimal = Decimal(0)
    currency: str = ""
    region: str = ""


@dataclass
class Bill:
    """What the nodes of a fleet cost in an hour, by class."""

    classes: dict[str, ClassCost] = field(default_factory=dict)

    def of(self, name: str) -> ClassCost:
        return self.classes.setdefault(name, ClassCost())

    @property
    def totals(self) -> dict[str, Decimal]:
        """Return the cost of an hour by currency."""
        return self.without(())

    def without(self, names: Collection[str]) -> dict[str, Decimal]:
        """Return the cost of an hour by currency, without these classes."""
        sums: dict[str, Decimal] = {}
        for name, paid in self.classes.items():
            if paid.currency and name not in names:
                sums[paid.currency] = sums.get(paid.currency, Decimal(0)) + paid.cost
        return sums

    @property
    def unpriced(self) -> int:
        """Return the nodes without a known price."""
        return sum(paid.unpriced for paid in self.classes.values())


def prices_gone(before: Bill, after: Bill) -> dict[str, tuple[ClassCost, ClassCost]]:
    """Return the classes whose nodes all had a price before and of which some have none now, with both lines.

    What they cost afterwards is not known, so sums with them on one side say nothing about the other.
    """
    return {
        name: (old, new)
        for name, new in sorted(after.classes.items())
        if (old := before.classes.get(name)) and old.currency and not old.unpriced and new.unpriced
    }


def bill(documents: Documents, placements: Mapping[Spot, int], demands: Demands) -> Bill:
    """Return what nodes cost with these placements. Nodes of abandoned clusters cost nothing."""
    placed = {
        spot: replicas
        for spot, replicas in placements.items()
        if spot.cluster in documents.clusters
        and {pool for _, pool in spot.pools}
        <= {pool.name for pool in documents.clusters[spot.cluster].spec.node_pools}
        and all(demands.has(spot.deployment, role) for role, _ in spot.pools)
    }
    used = nodes_used(documents, placed, demands)
    total = Bill()
    pools = {}
    for name, cluster in documents.clusters.items():
        for pool in cluster.spec.node_pools:
            pools[name, pool.name] = pool.class_name
            if cluster.spec.state == "abandoned":
                continue
            needed = max(pool.min_node_count or 0, used.get((name, pool.name), 0))
            nodes = pool.node_count if pool.node_count is not None else needed
            inference_class = documents.classes[pool.class_name]
            paid, price = total.of(pool.class_name), of_node(pool, inference_class)
            paid.nodes += nodes
            if price is None:
                paid.unpriced += nodes
                continue
            paid.cost += nodes * price[0]
            paid.currency = price[1]
            paid.region = paid.region or foreign_region(cluster, inference_class)
    for spot, replicas in placed.items():
        for role, pool_name in spot.pools:
            key = (spot.cluster, pool_name)
            total.of(pools[key]).gpus += replicas * demands.of(spot.deployment, role, key).gpus
    return total
