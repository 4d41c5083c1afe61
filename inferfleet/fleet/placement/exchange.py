"""Room for one more replica by moves of others that are new in this plan, and so run nowhere yet.

A new replica gives its pool to one that finds no other, and goes elsewhere itself, where again a new one may
have to make room. The chains are short and the number of tries is bounded: this finds what the order of
deployments missed, and need not find everything.
"""

from collections import Counter

from inferfleet.fleet.placement.candidates import Candidates, Wanted
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.spot import Spot

# Replicas that may have to move one after another, and that may leave one pool together.
_LONGEST, _MOST_LEAVING = 3, 4
# Tries in a plan, and for one replica.
_TRIES, _TRIES_OF_ONE = 4_000, 400


class Exchange:
    """Moves among `new` replicas, counted by their spots."""

    def __init__(self, ledger: Ledger, candidates: Candidates, new: Counter[Spot]) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._new = new
        self._tries = _TRIES
        self._left = 0
        self._movable: dict[str, bool] = {}

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment, by moves of others if it must. Return False if none do."""
        self._left = min(self._tries, _TRIES_OF_ONE)
        before = self._left
        if not any(map(self._can_move, sorted({spot.deployment for spot in self._new}))):
            return False
        placed = self._placed(deployment, _LONGEST, frozenset())
        self._tries -= before - self._left
        if placed:
            self._movable.clear()
        return placed

    def _can_move(self, deployment: str) -> bool:
        """Return whether one more replica of the deployment has room somewhere as it is."""
        if deployment not in self._movable:
            self._movable[deployment] = self._candidates.best(deployment) is not None
        return self._movable[deployment]

    def _placed(self, deployment: str, depth: int, taken: frozenset[int]) -> bool:
        spot = self._candidates.best(deployment)
        if spot is not None:
            self._add(spot, 1)
            return True
        if not depth:
            return False
        wanted = self._candidates.wanted(deployment)
        return any(self._by_leaving(wanted, room, depth, taken) for room in self._pools(wanted, depth, taken))

    def _pools(self, wanted: Wanted, depth: int, taken: frozenset[int]) -> list[Room]:
        """Return the pools for the first role that new replicas might leave, the best first."""
        rooms = self._ledger.rooms.by_key
        classes = wanted.classes[wanted.roles[0]]
        numbers = {
            room.number: (not self._can_move(spot.deployment), classes[room.class_name], room.number)
            for spot in sorted(self._new, reverse=True)
            for _, pool in spot.pools
            if (room := rooms[spot.cluster, pool]).class_name in classes
            and spot.cluster in wanted.clusters
            and room.number not in taken
            and spot.deployment != wanted.deployment
            and (depth > 1 or self._can_move(spot.deployment))
        }
        return [
            self._ledger.rooms.all[number] for number in sorted(numbers, key=lambda number: numbers[number])
        ]

    def _by_leaving(self, wanted: Wanted, room: Room, depth: int, taken: frozenset[int]) -> bool:
        """Try to place a replica on a pool that some new replicas leave for good."""
        if self._left <= 0:
            return False
        there = [
            spot
            for spot in self._ledger.on_pool(room.key)
            if self._new[spot] > 0 and spot.deployment != wanted.deployment
        ]
        smallest = sorted(there, key=lambda spot: (self._size(spot), spot))
        alone = [[spot] for spot in smallest]
        together = [spot for spot in smallest for _ in range(self._new[spot])][:_MOST_LEAVING]
        several = [together[:number] for number in range(2, len(together) + 1)]
        for leaving in [*alone, *several]:
            self._left -= 1
            if self._left <= 0:
                return False
            for spot in leaving:
                self._add(spot, -1)
            own = self._candidates.on_pool(wanted, room)
            if own is not None:
                self._add(own, 1)
                before = Counter(self._new)
                if all(self._placed(spot.deployment, depth - 1, taken | {room.number}) for spot in leaving):
                    return True
                self._back_to(before)
                self._add(own, -1)
            for spot in leaving:
                self._add(spot, 1)
        return False

    def _size(self, spot: Spot) -> int:
        demands = self._ledger.demands
        return sum(demands.of(spot.deployment, role, (spot.cluster, pool)).gpus for role, pool in spot.pools)

    def _back_to(self, before: Counter[Spot]) -> None:
        for spot in sorted({*before, *self._new}):
            if self._new[spot] != before[spot]:
                self._add(spot, before[spot] - self._new[spot])

    def _add(self, spot: Spot, replicas: int) -> None:
        self._ledger.add(spot, replicas)
        self._new[spot] += replicas
        if not self._new[spot]:
            del self._new[spot]
