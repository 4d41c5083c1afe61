"""Long chains of moves, by which one more replica finds a place: each takes the place of one other.

Where each node has one replica, that is an augmenting path of a matching, which is found if there is one
(Berge 1957). Replicas stand for their deployment, which is asked once for a place, so the search is as long
as there are pairs of a deployment and a new replica that would make room for it. Its steps are bounded. The
moves are tried out one by one, from the last one, because some may change what others need.
"""

from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.exchange.moves import Moves, free_on, work
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.spot import Spot

# Of the steps that are left, one search may take one such part.
_PARTS = 4


class _Link(NamedTuple):
    """A replica that would make room on a pool for the deployment that asks before it."""

    room: Room
    spot: Spot
    before: "_Link | None"


def _back(last: _Link | None) -> list[_Link]:
    """Return the links of a chain, the last one first."""
    links = []
    while last:
        links.append(last)
        last = last.before
    return links


class Chains:
    """Chains of moves in a ledger; `left` are the steps that all searches without success may take."""

    def __init__(self, ledger: Ledger, candidates: Candidates, moves: Moves, left: int) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._moves = moves
        self._left = left
        self._steps = 0

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment. Return False, and move nothing, where no chain is found."""
        # Where one found nothing, the next seldom does.
        allowance = self._steps = self._left // _PARTS
        if not allowance:
            return False
        asked = {deployment}
        waiting: deque[tuple[str, _Link | None]] = deque([(deployment, None)])
        while waiting:
            seeking, last = waiting.popleft()
            for link in self._links(seeking, last, asked):
                asked.add(link.spot.deployment)
                if self._made(deployment, _back(link)):
                    return True
                waiting.append((link.spot.deployment, link))
        self._left -= allowance - self._steps
        return False

    def _links(self, seeking: str, last: _Link | None, asked: Collection[str]) -> Iterator[_Link]:
        """Yield who would make room, of deployments that were not `asked` yet and on pools that are not in
        the chain.
        """
        wanted = self._candidates.wanted(seeking)
        passed = {link.room.number for link in _back(last)}
        for _, number in self._moves.by_cost(wanted):
            if number in passed or number not in self._moves.on_pool:
                continue
            room = self._ledger.rooms.all[number]
            size, free = self._candidates.size_on(seeking, wanted.roles[0], room), free_on(room)
            for spot in self._ledger.on_pool(room.key):
                if spot.deployment in asked or len(spot.pools) > 1 or not self._moves.new[spot]:
                    continue
                role = spot.pools[0][0]
                if self._candidates.size_on(spot.deployment, role, room) + free < size:
                    continue
                if self._steps <= 0:
                    return
                self._steps -= work(room)
                before = self._ledger.filled(spot)
                self._ledger.add(spot, -1)
                fits = self._on(seeking, room) is not None
                self._ledger.add(spot, 1, before)
                if fits:
                    yield _Link(room, spot, last)

    def _made(self, deployment: str, links: list[_Link]) -> bool:
        """Move the replicas of a chain and place the new one, or nothing where one of them has no place."""
        if self._best(links[0].spot) is None:
            return False
        mark = self._moves.mark()
        freed: Room | None = None
        for room, spot, _ in links:
            level = self._moves.leave(spot)
            place = self._on(spot.deployment, freed) if freed else self._best(spot)
            required = self._candidates.wanted(spot.deployment).required
            if place is None or not self._moves.allowed(place, None, level if required else None):
                self._moves.back_to(mark)
                return False
            self._moves.add(place)
            freed = room
        place = self._on(deployment, freed) if freed else None
        if place is None:
            self._moves.back_to(mark)
            return False
        self._moves.add(place)
        return True

    def _best(self, leaving: Spot) -> Spot | None:
        return self._candidates.best(leaving.deployment, leaving=leaving)

    def _on(self, deployment: str, room: Room) -> Spot | None:
        return self._candidates.on_pool(self._candidates.wanted(deployment), room)
