"""Phases two and three of the plan: replicas of the lock are retained, then removed, moved and added."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.ledger import Ledger, PoolKey
from inferfleet.fleet.placement.suitability import Consequence, Suitability
from inferfleet.fleet.shapes import DECODE
from inferfleet.fleet.spot import Spot


@dataclass(frozen=True)
class Retained:
    """The replicas of the lock, by what may happen to them.

    `movable` ones are planned with. `fixed` ones are on lost clusters and stay exactly as locked. `orphaned`
    ones stay in the lock and cannot be planned: each is an error.
    """

    movable: dict[Spot, int]
    fixed: dict[Spot, int]
    orphaned: dict[Spot, int]
    problems: tuple[Problem, ...]


def retain(documents: Documents, lock: Lock) -> Retained:
    """Sort the replicas of the lock; those of removed deployments and abandoned clusters are in no group."""
    movable: dict[Spot, int] = {}
    fixed: dict[Spot, int] = {}
    orphaned: dict[Spot, int] = {}
    problems = []
    for spot, replicas in sorted(lock.placements.items()):
        cluster = documents.clusters.get(spot.cluster)
        state = cluster.spec.state if cluster else ""
        if state == "abandoned":
            continue
        if orphan := _orphan(documents, spot, replicas):
            problems.append(replace(orphan, where=lock.lines.get(f"placements/{spot}")))
            orphaned[spot] = replicas
        elif state == "lost":
            fixed[spot] = replicas
        elif spot.deployment in documents.deployments:
            movable[spot] = replicas
    return Retained(movable, fixed, orphaned, (*problems, *_orphaned_services(documents, lock)))


def _orphan(documents: Documents, spot: Spot, replicas: int) -> Problem | None:
    """Return the problem of replicas of the lock that cannot be planned, or None. It has no line yet."""
    has = f"the lock has {replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    cluster = documents.clusters.get(spot.cluster)
    if cluster is None:
        return Problem(
            f"{has} on cluster {spot.cluster}, but that cluster has no document",
            "Restore the document with state: drained (or abandoned), run pulumi up, then remove it",
        )
    removed = [name for _, name in spot.pools if name not in {pool.name for pool in cluster.spec.node_pools}]
    if removed:
        return Problem(
            f"{has} on pool {removed[0]} of cluster {spot.cluster}, but the cluster has no such pool",
            "Restore the pool with nodeCount: 0, run pulumi up so that the replicas move, then remove it",
        )
    if spot.deployment not in documents.deployments:
        if cluster.spec.state != "lost":
            return None
        return Problem(
            f"cluster {spot.cluster} is lost and {has} there, but that deployment has no document",
            "Restore the document until the cluster is reachable again, "
            "or set the cluster to state: abandoned",
        )
    roles = [role for role, _ in spot.pools]
    if roles != [DECODE]:
        what = f"{has} with roles {', '.join(roles)}, but the deployment has the role {DECODE} only"
        return Problem(what, "Restore the line from version control")
    return None


def _orphaned_services(documents: Documents, lock: Lock) -> Iterator[Problem]:
    lost = {name for name, cluster in documents.clusters.items() if cluster.spec.state == "lost"}
    for service, clusters in sorted(lock.services.items()):
        for cluster in clusters:
            if cluster in lost and service not in documents.services:
                yield Problem(
                    f"cluster {cluster} is lost and the lock has service {service} there, "
                    "but that service has no document",
                    "Restore the document until the cluster is reachable again, "
                    "or set the cluster to state: abandoned",
                    where=lock.lines.get(f"services/{service}"),
                )


def place(ledger: Ledger, suitability: Suitability, *, targets: dict[str, int], valid: list[str]) -> None:
    """Bring the ledger to `targets` (replicas by deployment) as far as there is room.

    `valid` deployments, the most GPUs per pod first, may move and grow; all others may only shrink. Steps
    repeat until nothing finds room any more, so that a second plan has nothing left to do.
    """
    for deployment in sorted(targets):
        _shrink(ledger, suitability, deployment, targets[deployment])
    changed = True
    while changed:
        moved = [_evict(ledger, suitability, deployment) for deployment in valid]
        relieved = [_relieve(ledger, suitability, pool, valid) for pool in ledger.overfull()]
        grown = [_grow(ledger, suitability, deployment, targets[deployment]) for deployment in valid]
        changed = any(moved) or any(relieved) or any(grown)


def _shrink(ledger: Ledger, suitability: Suitability, deployment: str, target: int) -> None:
    while ledger.total(deployment) > target:
        spots = ledger.replicas(deployment)
        ledger.add(max(spots, key=lambda spot: _surplus_order(ledger, suitability, spot)), -1)


def _surplus_order(ledger: Ledger, suitability: Suitability, spot: Spot) -> tuple[int, int, int, Spot]:
    """Return the sort key of a spot; a replica on the spot with the largest key is removed first.

    Spots that a cluster or pool objects to come first, then the cluster and the spot with the most replicas
    of the deployment, then the last name.
    """
    objection = suitability.objection(spot)
    consequence = int(objection.consequence) if objection else 0
    if {(spot.cluster, pool) for _, pool in spot.pools} & set(ledger.overfull()):
        consequence = max(consequence, int(Consequence.EVICT))
    on_cluster = ledger.total(spot.deployment, cluster=spot.cluster)
    return consequence, on_cluster, ledger.replicas(spot.deployment)[spot], spot


def _evict(ledger: Ledger, suitability: Suitability, deployment: str) -> bool:
    """Move replicas away from spots that evict them. Return True when any moved."""
    moved = False
    for spot, replicas in ledger.replicas(deployment).items():
        objection = suitability.objection(spot)
        if objection and objection.consequence > Consequence.CORDON:
            for _ in range(replicas):
                if not _move(ledger, suitability, spot):
                    break
                moved = True
    return moved


def _relieve(ledger: Ledger, suitability: Suitability, pool: PoolKey, valid: list[str]) -> bool:
    """Move replicas out of an overfull pool: a single one that suffices if there is one, else the largest."""
    moved = False
    while not ledger.packing(pool).holds:
        # `valid` has the largest pods first.
        spots = [spot for name in valid for spot in ledger.on_pool(pool) if spot.deployment == name]
        sufficient = [spot for spot in reversed(spots) if ledger.holds_without(pool, spot)]
        if not any(_move(ledger, suitability, spot) for spot in [*sufficient, *spots]):
            break
        moved = True
    return moved


def _grow(ledger: Ledger, suitability: Suitability, deployment: str, target: int) -> bool:
    grown = False
    while ledger.total(deployment) < target:
        spot = _best(ledger, suitability, deployment)
        if spot is None:
            break
        ledger.add(spot, 1)
        grown = True
    return grown


def _move(ledger: Ledger, suitability: Suitability, spot: Spot) -> bool:
    """Move one replica to the best other spot. Return False when there is none."""
    ledger.add(spot, -1)
    target = _best(ledger, suitability, spot.deployment, leaving=spot)
    ledger.add(target or spot, 1)
    return target is not None


def _best(
    ledger: Ledger, suitability: Suitability, deployment: str, *, leaving: Spot | None = None
) -> Spot | None:
    """Return the spot for one more replica: spread over clusters, then the smallest nodes, then names."""
    return min(
        (spot for spot in _open(ledger, suitability, deployment) if spot != leaving),
        key=lambda spot: (ledger.total(deployment, cluster=spot.cluster), ledger.waste(spot), spot),
        default=None,
    )


def _open(ledger: Ledger, suitability: Suitability, deployment: str) -> Iterator[Spot]:
    for spot in suitability.spots(deployment):
        if suitability.objection(spot) is None and ledger.fits(spot):
            yield spot
