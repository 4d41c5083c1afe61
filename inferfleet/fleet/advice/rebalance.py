"""Moves of replicas that run which would save money or whole nodes. Nothing makes them by itself.

A move costs requests and loads a model again, so the planner never makes one to save. Here the moves are
found that would: one replica after the other, each to a spot that costs less, or costs the same and leaves
more nodes empty; never to a cluster with more replicas of its deployment than it leaves behind. The move that
saves most comes first, names break ties. Replicas with prefill apart share their pools, and are left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.rooms import Rooms
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.selectors.cel import Selectors
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


@dataclass(frozen=True)
class Saving:
    """One replica that would move, and what that saves.

    `per_hour` is None where a class has no price, or the prices are of two currencies. `gpus` are those of
    nodes that become empty, less those of nodes that are used then.
    """

    before: Spot
    after: Spot
    per_hour: Decimal | None
    currency: str
    gpus: int


def savings(documents: Documents, plan: Plan, most: int) -> tuple[Saving, ...]:
    """Return up to `most` moves, one after the other, that would save something in what is planned."""
    changeable = [
        name
        for name, cluster in documents.clusters.items()
        if cluster.spec.state not in ("lost", "abandoned")
    ]
    ledger = Ledger(Rooms(documents, changeable), plan.demands)
    for placement in plan.placements:
        if placement.spot.cluster in changeable:
            ledger.add(placement.spot, placement.replicas)
    work = _Rebalancing(documents, ledger, Suitability(documents, Selectors(), plan.demands))
    return tuple(work.moves(most))


class _Rebalancing:
    def __init__(self, documents: Documents, ledger: Ledger, suitability: Suitability) -> None:
        self._documents = documents
        self._ledger = ledger
        self._suitability = suitability
        self._candidates = Candidates(documents, suitability, ledger)

    def moves(self, most: int) -> Iterator[Saving]:
        for _ in range(most):
            found = [
                (saved, spot, other)
                for name in self._documents.deployments
                for spot in self._ledger.replicas(name)
                for saved, other in self._better(spot)
            ]
            if not found:
                return
            (_, gpus), spot, other = min(found, key=lambda move: (-move[0][0], -move[0][1], *move[1:]))
            self._ledger.add(spot, -1)
            self._ledger.add(other, 1)
            before, after = self._price(spot), self._price(other)
            comparable = before and after and before[1] == after[1]
            saved = before[0] - after[0] if before and after and comparable else None
            yield Saving(spot, other, saved, before[1] if before and comparable else "", gpus)

    def _better(self, spot: Spot) -> list[tuple[tuple[int, int], Spot]]:
        """Return better spots for a replica: what each saves in cost and in GPUs of empty nodes."""
        wanted = self._candidates.wanted(spot.deployment)
        if wanted.together or len(spot.pools) < len(wanted.roles) or self._suitability.objection(spot):
            return []
        rooms = self._ledger.rooms
        self._ledger.add(spot, -1)
        level = self._ledger.by_cluster(spot.deployment).get(spot.cluster, 0)
        near = (
            self._candidates.on_pool(wanted, room, leaving=spot)
            for room in rooms.on_cluster.get(spot.cluster, ())
        )
        others = {self._candidates.best(spot.deployment, leaving=spot, thorough=True), *near} - {None, spot}
        self._ledger.add(spot, 1)
        better = []
        for other in sorted(found for found in others if found):
            if (
                self._ledger.by_cluster(spot.deployment).get(other.cluster, 0)
                - (other.cluster == spot.cluster)
                > level
            ):
                continue
            cost = self._candidates.cost(spot) - self._candidates.cost(other)
            if cost < 0:
                continue
            gpus = self._emptied(spot, other)
            if cost > 0 or gpus > 0:
                better.append(((cost, gpus), other))
        return better

    def _emptied(self, spot: Spot, other: Spot) -> int:
        """Return the GPUs of nodes that a move leaves empty, less those of nodes that it begins to use."""
        pools = {(place.cluster, pool) for place in (spot, other) for _, pool in place.pools}
        before = self._empty(pools)
        self._ledger.add(spot, -1)
        self._ledger.add(other, 1)
        after = self._empty(pools)
        self._ledger.add(other, -1)
        self._ledger.add(spot, 1)
        return after - before

    def _empty(self, pools: set[PoolKey]) -> int:
        rooms = [self._ledger.rooms.by_key[pool] for pool in sorted(pools)]
        for room in rooms:
            room.forget()  # packed from the beginning, so that the order of earlier moves makes no difference
        return sum(room.free.get(room.node, 0) * room.node.gpus for room in rooms)

    def _price(self, spot: Spot) -> tuple[Decimal, str] | None:
        """Return what the GPUs of a replica cost in an hour, and the currency; None without a price."""
        total, currencies = Decimal(0), set()
        for role, pool in spot.pools:
            room = self._ledger.rooms.by_key[spot.cluster, pool]
            price = self._documents.classes[room.class_name].spec.price
            if price is None or not room.node.gpus:
                return None
            gpus = self._candidates.gpus(spot.deployment, role, room.class_name)
            total += parse_quantity(price.on_demand) * gpus / room.node.gpus
            currencies.add(price.currency)
        return (total.quantize(Decimal("0.01")), currencies.pop()) if len(currencies) == 1 else None


def moved(placements: dict[Spot, int], moves: tuple[Saving, ...]) -> dict[Spot, int]:
    """Return placements of a lock after the moves."""
    after = dict(placements)
    for move in moves:
        after[move.before] = after.get(move.before, 0) - 1
        after[move.after] = after.get(move.after, 0) + 1
    return {spot: replicas for spot, replicas in sorted(after.items()) if replicas > 0}
