"""Moves among replicas that are new in this plan, and so run nowhere yet: for more of them, or at less cost.

A new replica gives its pool to another one and goes elsewhere itself, where again a new one may have to make
room. Such a chain is kept if one more replica has a place by it, or if all of them cost less and none is
spread worse. The chains are short and the number of tries is bounded: this finds what the order of
deployments missed, and need not find everything.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.spreading import Worth, first_pool
from inferfleet.fleet.placement.policy.wanted import Wanted
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.spot import Spot

# Replicas that may have to move one after another, and that may leave one pool together.
_LONGEST, _MOST_LEAVING = 3, 8
# Tries in a plan to place replicas and to lower the cost, and for one replica of each.
_TRIES, _TRIES_OF_ONE, _LEAST_TRIES_OF_ONE = 1_500, 300, 5
_TRIES_FOR_COST, _TRIES_FOR_COST_OF_ONE = 1_200, 40
# Pools that are looked at for one replica.
_MOST_POOLS = 32


class _Loss(NamedTuple):
    """What a replica would cost more on the best other spot; not `sure` where none has room as it is."""

    sure: bool
    loss: int
    gpus: int
    spot: Spot


class Exchange:
    """Moves among `new` replicas, counted by their spots: those that were noted."""

    def __init__(self, ledger: Ledger, candidates: Candidates) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self.new: Counter[Spot] = Counter()
        self._on_pool: Counter[int] = Counter()
        self._trail: list[tuple[Spot, int]] = []
        self._left = 0
        self._tries = _TRIES
        self._allowance = _TRIES_OF_ONE
        self._losses: dict[int, list[_Loss]] = {}

    def note(self, spots: list[Spot]) -> None:
        """Let the replicas that were added to these spots move from now on."""
        for spot in spots:
            self._note(spot, 1)
        self._losses.clear()

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment, by moves of others if it must. Return False if none do."""
        if self._candidates.wanted(deployment).total > sum(map(_free_gpus, self._ledger.rooms.all)):
            return False  # no move changes how many GPUs are free
        if not self._candidates.affordable(deployment):
            return False
        start = self._left = min(self._tries, self._allowance)
        self._trail.clear()
        placed = self._placed(deployment, None, None, _LONGEST, frozenset()) is not None
        self._tries -= start - self._left
        if placed:
            self._forget()
        # Where one found nothing, the next seldom does.
        self._allowance = _TRIES_OF_ONE if placed else max(self._allowance // 2, _LEAST_TRIES_OF_ONE)
        return placed

    def cheapen(self) -> None:
        """Lower the cost of the new replicas by moves, as long as some chain does."""
        tries, improved = _TRIES_FOR_COST, True
        while improved and tries > 0:
            improved = False
            self._losses.clear()
            saving = {spot: saved for spot in self.new if (saved := self._saving(spot))}
            for spot in sorted(saving, key=lambda spot: (-saving[spot], spot)):
                for _ in range(self.new[spot]):
                    start = self._left = min(tries, _TRIES_FOR_COST_OF_ONE)
                    moved = self._cheaper(spot)
                    tries -= start - self._left
                    if not moved:
                        break
                    improved = True

    def _saving(self, spot: Spot) -> int:
        """Return what a replica would save on the cheapest class of each role."""
        return self._candidates.cost(spot) - self._candidates.least(spot.deployment)

    def _cheaper(self, spot: Spot) -> bool:
        if not self.new[spot]:
            return False
        self._trail.clear()
        level = self._leave(spot)
        for depth in (1, 2):
            cost = self._placed(spot.deployment, self._candidates.cost(spot), level, depth, frozenset())
            if cost is not None:
                self._forget()
                return True
        self._back_to(0)
        return False

    def _placed(
        self, deployment: str, limit: int | None, level: Worth | None, depth: int, taken: frozenset[int]
    ) -> int | None:
        """Place a replica, and elsewhere what makes room for it. Return what that adds to the cost, less than
        `limit`, or None where nothing was found.

        The place is no worse than `level` by what the deployment prefers and how it is spread, and neither is
        that of those that move. Where a spread is required, theirs is never worse.
        """
        spot = self._candidates.best(deployment)
        if spot is not None and self._allowed(spot, limit, level):
            self._add(spot, 1)
            return self._candidates.cost(spot)
        if not depth:
            return None
        wanted = self._candidates.wanted(deployment)
        for room, leaving in self._options(wanted, limit, level, depth, taken):
            if self._left <= 0:
                return None
            self._left -= 1
            mark = len(self._trail)
            levels = [self._leave(spot) for spot in leaving]
            own = self._candidates.on_pool(wanted, room)
            if own is not None and self._allowed(own, None, level):
                self._add(own, 1)
                cost = self._candidates.cost(own) - sum(map(self._candidates.cost, leaving))
                for spot, at_most in zip(leaving, levels, strict=True):
                    rest = None if limit is None else limit - cost
                    required = self._candidates.wanted(spot.deployment).required
                    its_level = at_most if required or level is not None else None
                    more = self._placed(spot.deployment, rest, its_level, depth - 1, taken | {room.number})
                    if more is None:
                        break
                    cost += more
                else:
                    if limit is None or cost < limit:
                        return cost
            self._back_to(mark)
        return None

    def _leave(self, spot: Spot) -> Worth:
        self._add(spot, -1)
        return self._worth(spot)

    def _worth(self, spot: Spot) -> Worth:
        wanted = self._candidates.wanted(spot.deployment)
        if wanted.over_clusters and not wanted.ordered:
            return 0, 0, self._ledger.by_cluster(spot.deployment).get(spot.cluster, 0)
        return self._candidates.spreading.worth(wanted, first_pool(wanted, spot))

    def _allowed(self, spot: Spot, limit: int | None, level: Worth | None) -> bool:
        if limit is not None and self._candidates.cost(spot) >= limit:
            return False
        return level is None or self._worth(spot) <= level

    def _options(
        self, wanted: Wanted, limit: int | None, level: Worth | None, depth: int, taken: frozenset[int]
    ) -> Iterator[tuple[Room, list[Spot]]]:
        """Yield pools for the first role with the new replicas that might leave them, the best first."""
        role = wanted.roles[0]
        there, worth = self._ledger.by_cluster(wanted.deployment), self._candidates.spreading.worth
        most = level[2] if level is not None and wanted.over_clusters and not wanted.ordered else None
        ordered = []
        for number in self._on_pool:
            room = self._ledger.rooms.all[number]
            if (
                room.offer in wanted.offers[role]
                and room.key[0] in wanted.clusters
                and number not in taken
                and (most is None or there.get(room.key[0], 0) <= most)
            ):
                own = self._candidates.cost_on(wanted.deployment, role, room.offer)
                if limit is not None and own >= limit:
                    continue
                if level is None or most is not None or worth(wanted, room.key) <= level:
                    ordered.append((own, number))
        for own, number in sorted(ordered)[:_MOST_POOLS]:
            room = self._ledger.rooms.all[number]
            for leaving in self._leaving(wanted, room, None if limit is None else limit - own, depth):
                yield room, leaving

    def _leaving(self, wanted: Wanted, room: Room, limit: int | None, depth: int) -> Iterator[list[Spot]]:
        """Yield sets of new replicas that might leave a pool, those that lose least by it first."""
        gpus = self._candidates.gpus(wanted.deployment, wanted.roles[0], room.offer)
        free = _free_gpus(room)
        losses = [
            known
            for known in self._known_losses(room)
            if self.new[known.spot] > 0
            and known.spot.deployment != wanted.deployment
            and (known.sure or depth > 1)
        ]
        if not losses:
            return
        for known in sorted(losses, key=lambda one: (not one.sure, one.loss, one.gpus, one.spot)):
            if known.gpus + free >= gpus and (limit is None or known.loss < limit):
                yield [known.spot]
        together: list[Spot] = []
        lost = freed = 0
        for _, loss, size, spot in losses:
            for _ in range(self.new[spot]):
                if len(together) == _MOST_LEAVING or (limit is not None and lost + loss >= limit):
                    return
                together.append(spot)
                lost, freed = lost + loss, freed + size
                if freed + free >= gpus and len(together) > 1:
                    yield list(together)

    def _known_losses(self, room: Room) -> list[_Loss]:
        """Return what each new replica on a pool would lose elsewhere, those that lose least by GPU first.

        It is worked out once in a pass, and for pools that changed since.
        """
        if room.number not in self._losses:
            known = [self._loss(spot) for spot in self._ledger.on_pool(room.key) if self.new[spot] > 0]
            self._losses[room.number] = sorted(
                known, key=lambda one: (not one.sure, one.loss / max(one.gpus, 1), one.spot)
            )
        return self._losses[room.number]

    def _loss(self, spot: Spot) -> _Loss:
        demands = self._ledger.demands
        gpus = sum(demands.of(spot.deployment, role, (spot.cluster, pool)).gpus for role, pool in spot.pools)
        self._ledger.add(spot, -1)
        other = self._candidates.best(spot.deployment, leaving=spot)
        self._ledger.add(spot, 1)
        loss = self._candidates.cost(other) - self._candidates.cost(spot) if other else 0
        return _Loss(other is not None, loss, gpus, spot)

    def _forget(self) -> None:
        """Let the losses on pools that changed be worked out anew."""
        for spot, _ in self._trail:
            for _, pool in spot.pools:
                self._losses.pop(self._ledger.rooms.by_key[spot.cluster, pool].number, None)

    def _back_to(self, mark: int) -> None:
        for spot, replicas in reversed(self._trail[mark:]):
            self._ledger.add(spot, -replicas)
            self._note(spot, -replicas)
        del self._trail[mark:]

    def _add(self, spot: Spot, replicas: int) -> None:
        self._trail.append((spot, replicas))
        self._ledger.add(spot, replicas)
        self._note(spot, replicas)

    def _note(self, spot: Spot, replicas: int) -> None:
        self.new[spot] += replicas
        if not self.new[spot]:
            del self.new[spot]
        for _, pool in spot.pools:
            room = self._ledger.rooms.by_key[spot.cluster, pool].number
            self._on_pool[room] += replicas
            if not self._on_pool[room]:
                del self._on_pool[room]


def _free_gpus(room: Room) -> int:
    return sum(state.gpus * number for state, number in room.free.items())
