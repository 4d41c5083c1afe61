"""Puts replicas on spots: fewer first where there are too many, then moves, then new ones.

A replica leaves its spot only when the documents say it must; every other one stays where it is.
"""

from collections.abc import Iterator

from inferfleet.fleet.ledger import Ledger, PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.suitability import Suitability, Weight


def place(ledger: Ledger, suitability: Suitability, *, targets: dict[str, int], valid: list[str]) -> None:
    """Brings the ledger to `targets` (replicas by deployment) as far as there is room.

    `valid` deployments, hardest to place first, may move and grow; all others may only shrink. Runs until
    nothing finds room any more, so that a second plan has nothing left to do.
    """
    for deployment in sorted(targets):
        _shrink(ledger, suitability, deployment, targets[deployment])
    changed = True
    while changed:
        moved = [_leave_unwanted(ledger, suitability, deployment) for deployment in valid]
        relieved = [_relieve(ledger, suitability, pool, valid) for pool in ledger.overfull()]
        grown = [_grow(ledger, suitability, deployment, targets[deployment]) for deployment in valid]
        changed = any(moved) or any(relieved) or any(grown)


def _shrink(ledger: Ledger, suitability: Suitability, deployment: str, target: int) -> None:
    while ledger.total(deployment) > target:
        standing = ledger.replicas(deployment)
        ledger.add(max(standing, key=lambda spot: _expendable(ledger, suitability, spot)), -1)


def _expendable(ledger: Ledger, suitability: Suitability, spot: Spot) -> tuple[int, int, int, Spot]:
    """Unwanted places first, then the cluster and spot with most of the deployment, then the last name."""
    objection = suitability.objection(spot)
    weight = int(objection.weight) if objection else 0
    if {(spot.cluster, pool) for _, pool in spot.pools} & set(ledger.overfull()):
        weight = max(weight, int(Weight.UNWANTED))
    on_cluster = ledger.total(spot.deployment, cluster=spot.cluster)
    return weight, on_cluster, ledger.replicas(spot.deployment)[spot], spot


def _leave_unwanted(ledger: Ledger, suitability: Suitability, deployment: str) -> bool:
    moved = False
    for spot, replicas in ledger.replicas(deployment).items():
        objection = suitability.objection(spot)
        if objection and objection.weight > Weight.CLOSED:
            for _ in range(replicas):
                if not _move(ledger, suitability, spot):
                    break
                moved = True
    return moved


def _relieve(ledger: Ledger, suitability: Suitability, pool: PoolKey, valid: list[str]) -> bool:
    """Moves replicas out of an overfull pool: one that suffices if there is one, else the largest."""
    moved = False
    while not ledger.packing(pool).holds:
        # `valid` has the largest pods first.
        standing = [spot for name in valid for spot in ledger.standing(pool) if spot.deployment == name]
        enough = [spot for spot in reversed(standing) if ledger.holds_without(pool, spot)]
        if not any(_move(ledger, suitability, spot) for spot in [*enough, *standing]):
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
    ledger.add(spot, -1)
    target = _best(ledger, suitability, spot.deployment, leaving=spot)
    ledger.add(target or spot, 1)
    return target is not None


def _best(
    ledger: Ledger, suitability: Suitability, deployment: str, *, leaving: Spot | None = None
) -> Spot | None:
    """The spot for one more replica: spread over clusters, then the smallest nodes that do, then names."""
    return min(
        (spot for spot in _open(ledger, suitability, deployment) if spot != leaving),
        key=lambda spot: (ledger.total(deployment, cluster=spot.cluster), ledger.waste(spot), spot),
        default=None,
    )


def _open(ledger: Ledger, suitability: Suitability, deployment: str) -> Iterator[Spot]:
    for spot in suitability.spots(deployment):
        if suitability.objection(spot) is None and ledger.fits(spot):
            yield spot
