"""The plan: documents and lock in, what runs where out. Pure, deterministic, the same in any order.

Replicas of a deployment on one spot are alike and only counted. Room is what the most nodes of a pool offer
to pods, packed whole; it is deliberately blind to which node a running pod is on.
"""

from inferfleet.api.documents import Documents
from inferfleet.api.problems import in_reading_order
from inferfleet.fleet.decisions import Change, Placement, Plan, Reason, Unplaced
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Retained, place, retain
from inferfleet.fleet.placement.reasons import reasons, remarks
from inferfleet.fleet.placement.soundness import Sound, sound
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.selectors.cel import Selectors
from inferfleet.fleet.shapes import node
from inferfleet.fleet.traffic import endpoints, misrouted, routes


def plan(documents: Documents, lock: Lock) -> Plan:
    """What runs where, and everything that is wrong with it.

    A placement whose cluster or pool has no document any more is a problem; it stays in the lock alone.
    """
    selectors = Selectors()
    checked = sound(documents, selectors)
    kept = retain(documents, lock)
    suitability = Suitability(documents, selectors, checked.demands)
    ledger = _place(documents, checked, kept, suitability)
    standing = dict(kept.fixed)
    for deployment in documents.deployments:
        standing.update(ledger.replicas(deployment))
    placements = tuple(Placement(spot, replicas) for spot, replicas in sorted(standing.items()))
    reached = endpoints(documents, placements)
    services = routes(documents, reached, lock)
    new = Lock(
        stack=documents.settings.stack,
        clusters=_clusters(documents, lock),
        pools=lock.pools,
        placements=dict(sorted({**standing, **kept.orphaned}.items())),
        services={
            key: tuple(one.cluster for one in services if one.service == key)
            for key in sorted({one.service for one in services})
        },
    )
    why = _reasons(documents, checked, ledger=ledger, suitability=suitability)
    return Plan(
        placements=placements,
        endpoints=reached,
        services=services,
        unplaced=_unplaced(documents, checked, kept=kept, ledger=ledger, why=why),
        changes=changes(lock, new),
        reasons={
            deployment: tuple(one for one in found if not _stands(ledger, deployment, one))
            for deployment, found in why.items()
        },
        problems=in_reading_order(
            [
                *checked.problems,
                *kept.problems,
                *remarks(documents, ledger, suitability=suitability, checked=checked),
                *misrouted(documents, reached, services, lock),
            ]
        ),
        lock=new,
    )


def changes(old: Lock, new: Lock) -> tuple[Change, ...]:
    """The spots whose number of replicas differs."""
    return tuple(
        Change(spot, old.placements.get(spot, 0), new.placements.get(spot, 0))
        for spot in sorted({*old.placements, *new.placements})
        if old.placements.get(spot) != new.placements.get(spot)
    )


def _place(documents: Documents, checked: Sound, kept: Retained, suitability: Suitability) -> Ledger:
    pools = {
        (name, pool.name): (offer, pool.size)
        for name, cluster in documents.clusters.items()
        if cluster.spec.state not in ("lost", "abandoned")
        for pool in cluster.spec.node_pools
        if (offer := node(documents.classes[pool.class_name]))
    }
    ledger = Ledger(pools, checked.demands)
    for spot, replicas in kept.movable.items():
        ledger.add(spot, replicas)
    valid = [key for key in documents.deployments if key not in checked.invalid]
    valid.sort(key=lambda key: (-checked.demands[key].pod.gpus, key))
    targets = {key: _wanted(documents, key, kept) for key in documents.deployments}
    place(ledger, suitability, targets=targets, valid=valid)
    return ledger


def _wanted(documents: Documents, deployment: str, kept: Retained) -> int:
    """Replicas to have on clusters that answer: those on lost ones count, and are never touched."""
    elsewhere = sum(
        replicas
        for spots in (kept.fixed, kept.orphaned)
        for spot, replicas in spots.items()
        if spot.deployment == deployment
    )
    return max(0, documents.deployments[deployment].spec.replicas - elsewhere)


def _clusters(documents: Documents, lock: Lock) -> dict[str, LockedCluster]:
    """An abandoned cluster is forgotten, or one of another source: what has its name now is a new one."""
    found = {}
    for name, cluster in sorted(documents.clusters.items()):
        if cluster.spec.state != "abandoned":
            source = cluster.spec.cluster.source
            before = lock.clusters.get(name)
            found[name] = before if before and before.source == source else LockedCluster(source)
    return found


def _reasons(
    documents: Documents, checked: Sound, *, ledger: Ledger, suitability: Suitability
) -> dict[str, tuple[Reason, ...]]:
    return {
        key: reasons(suitability.spots(key), ledger, suitability=suitability, demand=checked.demands[key])
        for key in sorted(documents.deployments)
        if key not in checked.invalid
    }


def _unplaced(
    documents: Documents,
    checked: Sound,
    *,
    kept: Retained,
    ledger: Ledger,
    why: dict[str, tuple[Reason, ...]],
) -> tuple[Unplaced, ...]:
    return tuple(
        Unplaced(key, missing, why[key])
        for key in sorted(documents.deployments)
        if key not in checked.invalid and (missing := _wanted(documents, key, kept) - ledger.total(key)) > 0
    )


def _stands(ledger: Ledger, deployment: str, reason: Reason) -> bool:
    return any(
        spot.cluster == reason.cluster and reason.pool in [pool for _, pool in spot.pools]
        for spot in ledger.replicas(deployment)
    )
