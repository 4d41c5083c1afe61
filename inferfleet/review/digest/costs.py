"""What nodes cost in an hour before and after, and what an update needs of quotas and reservations."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from inferfleet.cloud.gke.quota.needs import Need, needs
from inferfleet.cloud.gke.quota.reservations import reserved
from inferfleet.cloud.gke.values import SYSTEM_POOL
from inferfleet.documents.problems import Problem
from inferfleet.fleet.bill import Bill, Paid, prices_gone
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import counted
from inferfleet.review.digest.update import Side, Update, clouds
from inferfleet.review.digest.values.nodes import Cost, Quota, Reservation, Use

_CENTS = Decimal("0.01")


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
        if (old := before.classes.get(name, Paid())) != (new := after.classes.get(name, Paid()))
    )


def costs(before: Bill, after: Bill) -> tuple[Cost, ...]:
    """Return the cost of all nodes with a price by currency, where anything of it differs.

    A class whose price went is in neither sum: what is unknown saves nothing.
    """
    gone = prices_gone(before, after)
    old, new = before.without(gone), after.without(gone)
    return tuple(
        Cost(currency, money(old.get(currency, Decimal(0))), money(new.get(currency, Decimal(0))))
        for currency in sorted({*old, *new})
        if old.get(currency, Decimal(0)) != new.get(currency, Decimal(0))
    )


def unknown_now(before: Bill, after: Bill) -> tuple[Problem, ...]:
    """Return a warning for each class whose price went."""
    return tuple(
        Problem(
            f"the price of class {name} went: an hour of its {counted(old.nodes, 'node')} cost "
            f"{money(old.cost)} {old.currency}, and what {counted(new.nodes, 'node')} cost now is unknown, "
            "so no sum and no policy counts it",
            "Put the price back, or write the one of today",
            path="spec.price",
            kind="InferenceClass",
            key=name,
            severity="warning",
        )
        for name, (old, new) in prices_gone(before, after).items()
    )


def _cost(paid: Paid) -> str:
    return "" if not paid.currency else money(paid.cost)


def money(amount: Decimal) -> str:
    """Return an amount of money with its cents."""
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
