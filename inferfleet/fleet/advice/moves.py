"""Moves of replicas that run which make room for others without a place. Nothing makes them by itself.

The planner never moves what runs, so a small replica on the only large node keeps a large one from having a
place, though no node is missing. Here chains of moves are searched for as among new replicas
(`placement/exchange.py`), for one deployment after the other as the planner serves them. Each is made sure by
the planner's steps on what the moves leave: they count only if more replicas of the deployment have a place
then. Replicas with prefill apart share their pools, and are left alone. Both searches take time, so of a
large fleet the first deployments alone are looked at.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from inferfleet.fleet.decisions import Change, Move, moves
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.exchange.exchange import Exchange
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.task import Task
from inferfleet.fleet.spot import Spot

# Deployments that moves are searched for, and what that may cost in a plan: clusters and spots of ledgers,
# and so much for each replica to be placed. One is about 20 microseconds.
_DEPLOYMENTS, _COST, _PER_REPLICA = 8, 10_000, 30


class RoomMade(NamedTuple):
    """Moves after which so many more replicas have a place."""

    moves: tuple[Move, ...]
    placed: int


class MakingRoom:
    """Moves for deployments that lack replicas, where the plan places `replicas`."""

    def __init__(self, task: Task, replicas: Mapping[Spot, int]) -> None:
        self._task = task
        # What is placed after the moves that were found.
        self.replicas = {spot: number for spot, number in replicas.items() if number}

    def found(self, missing: Mapping[str, int], most: int | None = None) -> dict[str, RoomMade]:
        """Return moves by deployment, each set after the ones before it, together at most so many."""
        ledger = self._task.ledger(self.replicas)
        wanted = self._task.candidates(ledger).wanted
        order = {
            name: (-wanted(name).priority, wanted(name).total, wanted(name).scarcity) for name in missing
        }
        made: dict[str, RoomMade] = {}
        left, cost = most, _COST
        for name in sorted(missing, key=order.__getitem__)[:_DEPLOYMENTS]:
            lacks = self._task.targets[name] - ledger.total(name)
            cost -= 2 * (len(self.replicas) + len(ledger.rooms.on_cluster)) + max(0, lacks) * _PER_REPLICA
            if cost < 0:
                break
            after = self._moved(name, lacks)
            steps = moves(
                Change(spot, self.replicas.get(spot, 0), after.get(spot, 0))
                for spot in {*self.replicas, *after}
                if self.replicas.get(spot) != after.get(spot)
            )
            number = sum(step.replicas for step in steps)
            if not number or (left is not None and number > left):
                continue
            then = self._placed(after)
            placed = then.total(name) - ledger.total(name)
            if placed > 0:
                made[name] = RoomMade(steps, placed)
                left = None if left is None else left - number
                ledger = then
                self.replicas = self._task.placed(ledger)
        return made

    def _moved(self, deployment: str, lacks: int) -> dict[Spot, int]:
        """Return where all replicas are after moves that make room for those that are missing."""
        ledger = self._task.ledger(self.replicas)
        candidates = self._task.candidates(ledger)
        exchange = Exchange(ledger, candidates)
        for spot, number in self.replicas.items():
            if spot.deployment != deployment and self._may_move(spot, candidates, ledger):
                exchange.note([spot] * number)
        for _ in range(lacks):
            if not exchange.place(deployment):
                break
        others = {
            spot: number
            for spot, number in self._task.placed(ledger).items()
            if spot.deployment != deployment
        }
        own = {spot: number for spot, number in self.replicas.items() if spot.deployment == deployment}
        return others | own

    def _may_move(self, spot: Spot, candidates: Candidates, ledger: Ledger) -> bool:
        if spot.deployment not in self._task.valid or self._task.suitability.objection(spot):
            return False
        wanted, rooms = candidates.wanted(spot.deployment), ledger.rooms.by_key
        return (
            not wanted.together
            and len(spot.pools) == len(wanted.roles)
            and all((spot.cluster, pool) in rooms for _, pool in spot.pools)
        )

    def _placed(self, start: Mapping[Spot, int]) -> Ledger:
        """Return what the planner makes of replicas that are placed so."""
        ledger = self._task.ledger(start)
        ran: Counter[str] = Counter()
        for spot, number in start.items():
            ran[spot.deployment] += number
        self._task.placing(ledger, self._task.candidates(ledger), ran=ran).place()
        return ledger
