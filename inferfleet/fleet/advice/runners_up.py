"""The next best spot for a replica, and which of the planner's rules put it on another one."""

from collections.abc import Iterator, Mapping

from inferfleet.fleet.decisions import RunnerUp
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.spreading import first_pool
from inferfleet.fleet.spot import Spot


class RunnersUp(Mapping[Spot, RunnerUp | None]):
    """By spot, where one replica of it would go if not there; None where no other place has room.

    They are worked out when somebody asks, in the finished ledger, which is the same afterwards. `before` are
    the spots that had replicas before this plan.
    """

    def __init__(
        self, ledger: Ledger, candidates: Candidates, spots: frozenset[Spot], before: set[Spot]
    ) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._spots = spots
        self._before = before

    def __getitem__(self, spot: Spot) -> RunnerUp | None:
        if spot not in self._spots:
            raise KeyError(spot)
        self._ledger.add(spot, -1)
        other = self._candidates.best(spot.deployment, leaving=spot, thorough=True)
        why = self._why(spot, other) if other else ""
        self._ledger.add(spot, 1)
        for _, pool in spot.pools:
            if room := self._ledger.rooms.by_key.get((spot.cluster, pool)):
                room.forget()  # packed from the beginning, as after the last step of the plan
        return RunnerUp(other, why) if other else None

    def __iter__(self) -> Iterator[Spot]:
        return iter(sorted(self._spots))

    def __len__(self) -> int:
        return len(self._spots)

    def _why(self, spot: Spot, other: Spot) -> str:
        """Return why a replica is on its spot instead of another, while it is taken away from there."""
        if spot in self._before:
            return "replicas run there already, and none moves without need"
        wanted, worth = self._candidates.wanted(spot.deployment), self._candidates.spreading.worth
        own_worth, its_worth = (worth(wanted, first_pool(wanted, place)) for place in (spot, other))
        if wanted.ordered and own_worth < its_worth:
            return "it comes later by spread and prefer of the deployment"
        if wanted.objective == "pack":
            return "nodes there are empty, cost more or are filled worse, or its name comes later"
        there = self._ledger.by_cluster(spot.deployment)
        own, others = there.get(spot.cluster, 0), there.get(other.cluster, 0)
        cheaper = self._offers(spot) < self._offers(other)
        if own < others and not (wanted.objective == "cost" and cheaper):
            return f"{other.cluster} has {others} of its replicas, {spot.cluster} has {own} beside this one"
        if cheaper and (own == others or wanted.objective == "cost"):
            return "its nodes cost more for each GPU, or are larger where prices are not known"
        if own == others and self._offers(spot) == self._offers(other):
            return "nodes there are filled worse, or its name comes later"
        return "another new replica has its place there, so that more of them fit or all cost less"

    def _offers(self, spot: Spot) -> list[int]:
        """Return the places of a spot's nodes in the order of prices, by role."""
        wanted, pools, rooms = self._candidates.wanted(spot.deployment), dict(spot.pools), self._ledger.rooms
        names = {
            role: rooms.by_key[spot.cluster, pools[role]].offer for role in wanted.roles if role in pools
        }
        return [wanted.offers[role].get(name, len(rooms.of_offer)) for role, name in names.items()]
