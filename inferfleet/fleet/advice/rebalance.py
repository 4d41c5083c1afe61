"""Moves of replicas that run which make room for others, or would save money or whole nodes. Nothing makes
them by itself.

A move costs requests and loads a model again, so the planner never makes one to save. Moves that make room
for replicas without a place come first (`moves.py`). Then those are found that save: one replica after the
other, each to a spot that costs less, or costs the same and leaves more nodes empty; never to a place that
comes later by what the deployment and the stack say, nor to a cluster with more replicas of the deployment
than it leaves behind. The move that saves most comes first, names break ties. Replicas with prefill apart
share their pools, and are left alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from inferfleet.api.documents import Documents
from inferfleet.fleet.advice.moves import MakingRoom
from inferfleet.fleet.decisions import Plan, changes
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.spreading import first_pool
from inferfleet.fleet.placement.prices import of_node
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.placement.task import Task, changeable
from inferfleet.fleet.selectors.cel import Selectors
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


@dataclass(frozen=True)
class Saving:
    """One replica that would move, and what that saves.

    `per_hour` is None where a class has no price, or the prices are of two currencies. `gpus` are those of
    nodes that become empty, less those of nodes that are used then. `room_for` is the deployment whose
    replicas have a place by it, "" where it saves.
    """

    before: Spot
    after: Spot
    per_hour: Decimal | None
    currency: str
    gpus: int
    room_for: str = ""


def savings(
    documents: Documents, plan: Plan, most: int, seen: Mapping[PoolKey, Seen] | None = None
) -> tuple[Saving, ...]:
    """Return up to `most` moves, one after the other, that make room or would save something in what is
    planned.

    None goes to what was not `seen` to be free.
    """
    clusters = changeable(documents)
    placed = {placement.spot: placement.replicas for placement in plan.placements}
    suitability = Suitability(documents, Selectors(), plan.demands)
    fixed = {spot: number for spot, number in placed.items() if spot.cluster not in clusters}
    replicas = {spot: number for spot, number in placed.items() if spot.cluster in clusters}
    missing = {one.deployment: one.replicas for one in plan.unplaced}
    targets: Counter[str] = Counter(missing)
    for spot, number in replicas.items():
        targets[spot.deployment] += number
    task = Task(
        documents,
        plan.demands,
        suitability,
        fixed=fixed,
        seen=seen or {},
        targets={name: targets[name] for name in documents.deployments},
        valid=sorted(plan.reasons),
    )
    room = MakingRoom(task, replicas)
    made = room.found(missing, most) if missing else {}

    def rebalancing(start: dict[Spot, int]) -> _Rebalancing:
        ledger = task.ledger(start)
        totals = {name: ledger.total(name) for name in documents.deployments}
        return _Rebalancing(documents, ledger, suitability, replace(task, targets=totals).candidates(ledger))

    first = rebalancing(replicas)
    moves = [
        first.move(move.before, move.after, name)
        for name, room_made in made.items()
        for move in room_made.moves
        for _ in range(move.replicas)
    ]
    return *moves, *rebalancing(room.replicas).moves(most - len(moves))


class _Rebalancing:
    def __init__(
        self, documents: Documents, ledger: Ledger, suitability: Suitability, candidates: Candidates
    ) -> None:
        self._documents = documents
        self._ledger = ledger
        self._suitability = suitability
        self._candidates = candidates

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
            _, spot, other = min(found, key=lambda move: (-move[0][0], -move[0][1], *move[1:]))
            yield self.move(spot, other)

    def move(self, spot: Spot, other: Spot, room_for: str = "") -> Saving:
        """Move a replica, and return what that saves."""
        gpus = self._emptied(spot, other)
        self._ledger.add(spot, -1)
        self._ledger.add(other, 1)
        before, after = self._price(spot), self._price(other)
        comparable = before and after and before[1] == after[1]
        saved = before[0] - after[0] if before and after and comparable else None
        return Saving(spot, other, saved, before[1] if before and comparable else "", gpus, room_for)

    def _better(self, spot: Spot) -> list[tuple[tuple[int, int], Spot]]:
        """Return better spots for a replica: what each saves in cost and in GPUs of empty nodes."""
        wanted = self._candidates.wanted(spot.deployment)
        if wanted.together or len(spot.pools) < len(wanted.roles) or self._suitability.objection(spot):
            return []
        rooms = self._ledger.rooms
        self._ledger.add(spot, -1)
        worth = self._candidates.spreading.worth
        level = worth(wanted, first_pool(wanted, spot))
        near = (
            self._candidates.on_pool(wanted, room, leaving=spot)
            for room in rooms.on_cluster.get(spot.cluster, ())
        )
        found = {self._candidates.best(spot.deployment, leaving=spot, thorough=True), *near} - {None, spot}
        others = [other for other in found if other and worth(wanted, first_pool(wanted, other)) <= level]
        self._ledger.add(spot, 1)
        better = []
        for other in sorted(others):
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
        """Return what the part of nodes that a replica takes costs in an hour, and the currency; None without
        a price.
        """
        total, currencies = Decimal(0), set()
        for role, pool in spot.pools:
            room = self._ledger.rooms.by_key[spot.cluster, pool]
            document = self._documents.clusters[spot.cluster].spec.pool(pool)
            price = of_node(document, self._documents.classes[document.class_name])
            if price is None or not (has := room.node.level(room.node)):
                return None
            total += price[0] * self._candidates.size_on(spot.deployment, role, room) / has
            currencies.add(price[1])
        return (total.quantize(Decimal("0.01")), currencies.pop()) if len(currencies) == 1 else None


def moved(placements: dict[Spot, int], moves: tuple[Saving, ...]) -> dict[Spot, int]:
    """Return placements of a lock after the moves."""
    after = dict(placements)
    for move in moves:
        after[move.before] = after.get(move.before, 0) - 1
        after[move.after] = after.get(move.after, 0) + 1
    return {spot: replicas for spot, replicas in sorted(after.items()) if replicas > 0}


def since(lock: Lock, before: Plan, after: Plan) -> Plan:
    """Return the plan after the moves as one of `lock`, from which the plan before them was made.

    It was made from placements that lack what an abandoned cluster had.
    """
    running = {missing.deployment: missing.running for missing in before.unplaced}
    return replace(
        after,
        changes=changes(lock, after.lock),
        left={**before.left, **after.left},
        unplaced=tuple(
            replace(missing, running=min(missing.replicas, running.get(missing.deployment, 0)))
            for missing in after.unplaced
        ),
    )
