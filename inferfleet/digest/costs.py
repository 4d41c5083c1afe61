"""GPUs by class, what nodes cost in an hour, and what an update needs of quotas and reservations.

Nodes are paid for: all of a pool of fixed size, of an autoscaled one its minimum and those that replicas
need. What Google takes for a cluster itself, its system pool, disks and traffic is in no class, and is not
counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from inferfleet.digest.update import Side, Update, clouds
from inferfleet.digest.values.nodes import Cost, Quota, Reservation, Use
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.placement.prices import foreign_region, of_node
from inferfleet.gke.quota.needs import Need, needs
from inferfleet.gke.quota.reservations import reserved
from inferfleet.gke.values import SYSTEM_POOL

_CENTS = Decimal("0.01")


@dataclass
class _Paid:
    """What one class has on one side. `cost` is that of its nodes with a price."""

    gpus: int = 0
    nodes: int = 0
    unpriced: int = 0
    cost: Decimal = Decimal(0)
    currency: str = ""
    region: str = ""


@dataclass
class Bill:
    """Nodes that are paid for on one side, by class."""

    classes: dict[str, _Paid] = field(default_factory=dict)

    def of(self, name: str) -> _Paid:
        return self.classes.setdefault(name, _Paid())

    @property
    def totals(self) -> dict[str, Decimal]:
        """Return the cost of an hour by currency."""
        sums: dict[str, Decimal] = {}
        for paid in self.classes.values():
            if paid.currency:
                sums[paid.currency] = sums.get(paid.currency, Decimal(0)) + paid.cost
        return sums

    @property
    def unpriced(self) -> int:
        """Return the nodes without a known price."""
        return sum(paid.unpriced for paid in self.classes.values())


def bill(side: Side, placements: Lock) -> Bill:
    """Return what the nodes of a side cost with these placements; those of abandoned clusters nothing."""
    documents, demands = side.documents, side.desired.plan.demands
    known = {
        spot: replicas
        for spot, replicas in placements.placements.items()
        if spot.cluster in documents.clusters
        and {pool for _, pool in spot.pools}
        <= {pool.name for pool in documents.clusters[spot.cluster].spec.node_pools}
        and all(demands.has(spot.deployment, role) for role, _ in spot.pools)
    }
    used = nodes_used(documents, known, demands)
    made = Bill()
    pools = {}
    for name, cluster in documents.clusters.items():
        for pool in cluster.spec.node_pools:
            pools[name, pool.name] = pool.class_name
            if cluster.spec.state == "abandoned":
                continue
            needed = max(pool.min_node_count or 0, used.get((name, pool.name), 0))
            nodes = pool.node_count if pool.node_count is not None else needed
            inference_class = documents.classes[pool.class_name]
            paid, price = made.of(pool.class_name), of_node(pool, inference_class)
            paid.nodes += nodes
            if price is None:
                paid.unpriced += nodes
                continue
            paid.cost += nodes * price[0]
            paid.currency = price[1]
            paid.region = paid.region or foreign_region(cluster, inference_class)
    for spot, replicas in known.items():
        for role, pool_name in spot.pools:
            key = (spot.cluster, pool_name)
            made.of(pools[key]).gpus += replicas * demands.of(spot.deployment, role, key).gpus
    return made


def uses(before: Bill, after: Bill) -> tuple[Use, ...]:
    """Return the classes whose GPUs, nodes or cost differ, by name."""
    return tuple(
        Use(
            name,
            (old.gpus, new.gpus),
            (old.nodes, new.nodes),
            (_cost(old), _cost(new)),
            new.currency or old.currency,
            new.region or old.region,
        )
        for name in sorted({*before.classes, *after.classes})
        if (old := before.classes.get(name, _Paid())) != (new := after.classes.get(name, _Paid()))
    )


def costs(before: Bill, after: Bill) -> tuple[Cost, ...]:
    """Return the cost of all nodes with a price by currency, where anything of it differs."""
    old, new = before.totals, after.totals
    return tuple(
        Cost(currency, _money(old.get(currency, Decimal(0))), _money(new.get(currency, Decimal(0))))
        for currency in sorted({*old, *new})
        if old.get(currency, Decimal(0)) != new.get(currency, Decimal(0))
    )


def _cost(paid: _Paid) -> str:
    return "" if not paid.currency else _money(paid.cost)


def _money(amount: Decimal) -> str:
    return str(amount.quantize(_CENTS))


def quotas(update: Update) -> tuple[Quota, ...]:
    """Return the quotas of which more is needed than the base takes, while the update runs or afterwards."""
    if not clouds(update.head.desired):
        return ()
    before, after = _in_all(update.base), _in_all(update.head)
    standing = _standing(update)
    peaks = {
        (need.project, need.region, need.metric): need.added
        for need in _needs(update.head, update.lock, standing)
    }
    made = []
    for key in sorted({*before, *after}):
        old, new = before[key], after[key]
        peak = max(new, old + peaks.get(key, 0))
        if peak > old:
            made.append(Quota(*key, old, new, peak))
    return tuple(made)


def _in_all(side: Side) -> Counter[tuple[str, str, str]]:
    """Return what all nodes of a side take of each quota."""
    return Counter(
        {(need.project, need.region, need.metric): need.amount for need in _needs(side, Lock(), {})}
    )


def _needs(side: Side, lock: Lock, existing: dict[str, set[str]]) -> Iterator[Need]:
    yield from needs(side.documents, clouds(side.desired), lock, side.desired.plan, existing)


def _standing(update: Update) -> dict[str, set[str]]:
    """Return the names of node pools in Google Cloud by cluster, as the lock of the base knows them."""
    pools: dict[str, set[str]] = {
        name: {SYSTEM_POOL} for name, known in update.lock.clusters.items() if known.source == "GKE"
    }
    for key, pool in update.lock.pools.items():
        pools.setdefault(key.partition("/")[0], {SYSTEM_POOL}).add(pool.name)
    return pools


def reservations(update: Update) -> tuple[Reservation, ...]:
    """Return the reservations that pools need which do not stand yet."""
    return tuple(
        Reservation(need.project, need.name, need.pool.key, need.pool.document.size)
        for need in reserved(clouds(update.head.desired), _standing(update))
    )
