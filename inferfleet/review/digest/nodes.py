"""What becomes of clusters and pools, and the field that forces it; which clusters replicas should leave;
what nodes cost in an hour before and after, and what an update needs of quotas and reservations.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal

from inferfleet.cloud.provider import PROVIDERS, quota_uses
from inferfleet.cloud.values import SYSTEM_POOL, CloudChange, Comparison, QuotaUse
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.problems import Problem
from inferfleet.fleet.bill import Bill, ClassCost, prices_gone
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import counted
from inferfleet.review.digest.update import Side, Update, clouds
from inferfleet.review.digest.values import (
    ClassUse,
    ClusterChange,
    ClusterOperation,
    CostChange,
    Drain,
    PoolChange,
    PoolOperation,
    QuotaNeed,
    ReservationNeed,
)

_LEFT = ("drained", "lost", "abandoned")
_CENTS = Decimal("0.01")
# What changes in place, by cluster and pool ("" for the cluster itself).
InPlace = Mapping[tuple[str, str], Comparison]


def cluster_changes(update: Update, updated: InPlace) -> tuple[ClusterChange, ...]:
    """Return the clusters that come, go, are replaced, or have another state or other settings in place."""
    old, new = update.base.documents.clusters, update.head.documents.clusters
    clouds = {change.cluster: change for change in update.desired.cloud_changes if not change.pool}
    return tuple(
        change
        for name in sorted({*old, *new})
        for change in _cluster(name, old.get(name), new.get(name), clouds.get(name), updated)
    )


def _cluster(
    name: str,
    old: InferenceCluster | None,
    new: InferenceCluster | None,
    cloud: CloudChange | None,
    updated: InPlace,
) -> Iterator[ClusterChange]:
    if cloud and cloud.kind != "nodes replaced":
        yield ClusterChange(name, cloud.kind, cloud.fields, str(cloud))
    elif old is None or new is None:
        change: ClusterOperation = "added" if old is None else "removed"
        yield ClusterChange(name, change, (), f"cluster {name} is {change}")
    else:
        if old.spec.state != new.spec.state:
            text = f"cluster {name} is {new.spec.state}, and was {old.spec.state}"
            yield ClusterChange(name, "changed", ("spec.state",), text)
        for pool, subject in (("", f"cluster {name}"), (SYSTEM_POOL, f"the system pool of cluster {name}")):
            if comparison := updated.get((name, pool)):
                text = f"{subject} {comparison.happens}: {comparison.words}"
                yield ClusterChange(name, "changed", comparison.fields, text)


def pool_changes(update: Update, updated: InPlace) -> tuple[PoolChange, ...]:
    """Return the pools that come, go, are replaced, or have other sizes or settings in place.

    Those of a cluster that comes or goes as a whole are not listed; those of one that is replaced are.
    """
    old, new = _pools(update.base.documents), _pools(update.documents)
    clouds = {(change.cluster, change.pool): change for change in update.desired.cloud_changes if change.pool}
    whole = {change.cluster for change in update.desired.cloud_changes if not change.pool}
    stay = update.base.documents.clusters.keys() & update.head.documents.clusters.keys() - whole
    pools: list[PoolChange] = []
    for key in sorted({*old, *new}):
        if key[0] in stay or key in clouds:
            pools += _pool(key, old.get(key), new.get(key), clouds.get(key), updated)
    return tuple(pools)


def _pool(
    key: tuple[str, str],
    old: NodePool | None,
    new: NodePool | None,
    cloud: CloudChange | None,
    updated: InPlace,
) -> Iterator[PoolChange]:
    """Yield what becomes of a pool: by its cloud, else by its document."""
    place = "/".join(key)
    before, after = old.size if old else 0, new.size if new else 0
    comparison = updated.get(key)
    if cloud:
        yield PoolChange(*key, cloud.kind, before, after, cloud.fields, str(cloud))
    elif old is None or new is None:
        change: PoolOperation = "added" if old is None else "removed"
        yield PoolChange(*key, change, before, after, (), f"pool {place} is {change}")
    elif comparison:
        nodes = f"; {before} -> {after} nodes in all" if before != after else ""
        text = f"pool {place} {comparison.happens}: {comparison.words}{nodes}"
        yield PoolChange(*key, "changed", before, after, comparison.fields, text)
    elif fields := tuple(_fields(old, new)):
        text = f"pool {place} has another {', another '.join(fields)} in its document"
        if before != after:
            text = f"pool {place} has {after} nodes in its document, and had {before}"
        yield PoolChange(*key, "changed", before, after, fields, text)


def _fields(old: NodePool, new: NodePool) -> Iterator[str]:
    """Yield the fields of a pool that differ, as documents have them, but for their order."""
    old_fields, new_fields = (pool.model_dump(by_alias=True, mode="json") for pool in (old, new))
    for name in old_fields:
        before, after = old_fields[name], new_fields[name]
        if isinstance(before, list) and isinstance(after, list):
            before, after = sorted(before, key=repr), sorted(after, key=repr)
        if before != after:
            yield name


def _pools(documents: Documents) -> dict[tuple[str, str], NodePool]:
    return {
        (name, pool.name): pool
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }


def drains(update: Update) -> tuple[Drain, ...]:
    """Return the clusters that replicas should leave or that are given up, where the base says otherwise or
    replicas are still there.
    """
    old = update.base.documents.clusters
    every = []
    for name, cluster in sorted(update.head.documents.clusters.items()):
        state = cluster.spec.state
        if state not in _LEFT:
            continue
        before, after = (
            sum(replicas for spot, replicas in lock.placements.items() if spot.cluster == name)
            for lock in (update.lock, update.desired.plan.lock)
        )
        if name not in old or old[name].spec.state != state or before != after:
            every.append(Drain(name, state, before, after, _staying(update, name)))
    return tuple(every)


def _staying(update: Update, cluster: str) -> tuple[str, ...]:
    return tuple(
        f"{counted(placement.replicas, 'replica')} of {placement.spot.deployment} on {placement.spot.place}"
        for placement in update.desired.plan.placements
        if placement.spot.cluster == cluster
    )


def uses(before: Bill, after: Bill) -> tuple[ClassUse, ...]:
    """Return the classes whose GPUs, nodes or cost differ, by name."""
    return tuple(
        ClassUse(
            name,
            (old.gpus, new.gpus),
            (old.nodes, new.nodes),
            (_cost(old), _cost(new)),
            new.currency or old.currency,
            new.region or old.region,
        )
        for name in sorted({*before.classes, *after.classes})
        if (old := before.classes.get(name, ClassCost())) != (new := after.classes.get(name, ClassCost()))
    )


def costs(before: Bill, after: Bill) -> tuple[CostChange, ...]:
    """Return the cost of all nodes with a price by currency, where anything of it differs.

    A class whose price went is in neither sum: what is unknown saves nothing.
    """
    gone = prices_gone(before, after)
    old, new = before.without(gone), after.without(gone)
    return tuple(
        CostChange(currency, money(old.get(currency, Decimal(0))), money(new.get(currency, Decimal(0))))
        for currency in sorted({*old, *new})
        if old.get(currency, Decimal(0)) != new.get(currency, Decimal(0))
    )


def unknown_price_problems(before: Bill, after: Bill) -> tuple[Problem, ...]:
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


def _cost(paid: ClassCost) -> str:
    return "" if not paid.currency else money(paid.cost)


def money(amount: Decimal) -> str:
    """Return an amount of money with its cents."""
    return str(amount.quantize(_CENTS))


def quotas(update: Update) -> tuple[QuotaNeed, ...]:
    """Return the quotas of which more is needed than the base takes, while the update runs or afterwards."""
    if not clouds(update.head.desired):
        return ()
    paused = {
        name for name, cluster in update.head.documents.clusters.items() if cluster.spec.state == "paused"
    }
    before, after = _quota_amounts(update.base, paused), _quota_amounts(update.head, paused)
    existing = _existing_pools(update)
    peaks = {
        (need.project, need.region, need.metric): need.added
        for need in _needs(update.head, update.lock, existing, paused)
    }
    every = []
    for key in sorted({*before, *after}):
        peak = max(after[key], before[key] + peaks.get(key, 0))
        if peak > before[key]:
            every.append(QuotaNeed(*key, before[key], after[key], peak))
    return tuple(every)


def _quota_amounts(side: Side, paused: set[str]) -> Counter[tuple[str, str, str]]:
    """Return what all nodes of a side take of each quota, but for those of clusters where nothing changes."""
    return Counter(
        {(need.project, need.region, need.metric): need.amount for need in _needs(side, Lock(), {}, paused)}
    )


def _needs(side: Side, lock: Lock, existing: dict[str, set[str]], paused: set[str]) -> Iterator[QuotaUse]:
    changing = tuple(cluster for cluster in clouds(side.desired) if cluster.cluster not in paused)
    yield from quota_uses(side.documents, changing, lock, side.desired.plan, existing)


def _existing_pools(update: Update) -> dict[str, set[str]]:
    """Return the names of node pools in Google Cloud by cluster, as the lock of the base knows them."""
    pools: dict[str, set[str]] = {
        name: {SYSTEM_POOL} for name, cluster in update.lock.clusters.items() if cluster.source in PROVIDERS
    }
    for key, pool in update.lock.pools.items():
        pools.setdefault(key.partition("/")[0], {SYSTEM_POOL}).add(pool.name)
    return pools


def reservations(update: Update) -> tuple[ReservationNeed, ...]:
    """Return the reservations that pools need which do not exist yet."""
    existing = _existing_pools(update)
    return tuple(
        ReservationNeed(*pool.reservation, pool.key, document.size)
        for cluster in clouds(update.head.desired)
        for document in update.head.documents.clusters[cluster.cluster].spec.node_pools
        if (pool := cluster.pools[document.name]).reservation
        and pool.name not in existing.get(cluster.cluster, ())
        and document.size
    )
