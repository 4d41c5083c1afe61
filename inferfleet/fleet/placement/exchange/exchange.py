"""Short chains of moves: for one more replica, or for less cost.

A chain is kept if one more replica has a place by it, or if all of them cost less and none is spread worse.
The chains are short and the number of tries is bounded: this finds what the order of deployments missed, and
need not find everything. Where it finds no place, long chains may (`chains.py`).
"""

from collections.abc import Iterator

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.exchange.chains import Chains
from inferfleet.fleet.placement.exchange.moves import Loss, Moves, free_on, work
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.spreading import Worth
from inferfleet.fleet.placement.policy.wanted import Wanted
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.spot import Spot

# Replicas that may have to move one after another, and that may leave one pool together.
_LONGEST, _MOST_LEAVING = 3, 8
# Tries in a plan to place replicas and to lower the cost, and for one replica of each.
_TRIES, _TRIES_OF_ONE, _LEAST_TRIES_OF_ONE = 1_500, 300, 5
_TRIES_FOR_COST, _TRIES_FOR_COST_OF_ONE = 400, 40
# Steps of the searches for long chains in a plan.
_STEPS = 800
# Pools that are looked at for one replica.
_MOST_POOLS = 32


class Exchange:
    """Moves among new replicas: those that were noted."""

    def __init__(self, ledger: Ledger, candidates: Candidates) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._moves = Moves(ledger, candidates)
        self._chains = Chains(ledger, candidates, self._moves, _STEPS)
        self._left = 0
        self._tries = _TRIES
        self._allowance = _TRIES_OF_ONE
        self._free_gpus: int | None = None
        # Whether tries or steps ran out, so that more might have been found.
        self.ended = False

    def note(self, spots: list[Spot]) -> None:
        """Let the replicas that were added to these spots move from now on."""
        self._moves.note(spots)
        self._free_gpus = None

    @property
    def any_new(self) -> bool:
        """Return whether there are new replicas."""
        return bool(self._moves.new)

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment, by moves of others if it must. Return False if none do."""
        if self._free_gpus is None:  # no move changes it
            self._free_gpus = sum(free_on(room) for room in self._ledger.rooms.all if room.node.gpus)
        if self._candidates.wanted(deployment).total > self._free_gpus:
            return False
        if not self._candidates.affordable(deployment):
            return False
        start = self._left = min(self._tries, self._allowance)
        placed = self._placed(deployment, None, None, _LONGEST, frozenset()) is not None
        self._tries -= start - self._left
        # Where one found nothing, the next seldom does.
        self._allowance = _TRIES_OF_ONE if placed else max(self._allowance // 2, _LEAST_TRIES_OF_ONE)
        placed = placed or self._chains.place(deployment)
        self._moves.settle()
        if placed:
            self._free_gpus = None
        self.ended = self.ended or (not placed and self._tries <= 0)
        return placed

    def cheapen(self) -> None:
        """Lower the cost of the new replicas by moves, as long as some chain does."""
        tries, allowance, improved = _TRIES_FOR_COST, _TRIES_FOR_COST_OF_ONE, True
        while improved and tries > 0:
            improved = False
            self._moves.weigh_anew()
            saving = {spot: saved for spot in self._moves.new if (saved := self._saving(spot))}
            for spot in sorted(saving, key=lambda spot: (-saving[spot], spot)):
                for _ in range(self._moves.new[spot]):
                    start = self._left = min(tries, allowance)
                    moved = self._cheaper(spot)
                    tries -= start - self._left
                    allowance = _TRIES_FOR_COST_OF_ONE if moved else max(allowance // 2, _LEAST_TRIES_OF_ONE)
                    if not moved:
                        break
                    improved = True
        self.ended = self.ended or tries <= 0

    def _saving(self, spot: Spot) -> int:
        """Return what a replica would save on the cheapest class of each role."""
        return self._candidates.cost(spot) - self._candidates.least(spot.deployment)

    def _cheaper(self, spot: Spot) -> bool:
        if not self._moves.new[spot]:
            return False
        level = self._moves.leave(spot)
        for depth in (1, 2):
            cost = self._placed(spot.deployment, self._candidates.cost(spot), level, depth, frozenset())
            if cost is not None:
                self._moves.settle()
                return True
        self._moves.back_to(0)
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
        if spot is not None and self._moves.allowed(spot, limit, level):
            self._moves.add(spot)
            return self._candidates.cost(spot)
        if not depth:
            return None
        wanted = self._candidates.wanted(deployment)
        for room, leaving in self._options(wanted, limit, level, depth, taken):
            if self._left <= 0:
                return None
            self._left -= work(room)
            mark = self._moves.mark()
            levels = [self._moves.leave(spot) for spot in leaving]
            own = self._candidates.on_pool(wanted, room)
            if own is not None and self._moves.allowed(own, None, level):
                self._moves.add(own)
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
            self._moves.back_to(mark)
        return None

    def _options(
        self, wanted: Wanted, limit: int | None, level: Worth | None, depth: int, taken: frozenset[int]
    ) -> Iterator[tuple[Room, list[Spot]]]:
        """Yield pools for the first role with the new replicas that might leave them, the best first."""
        there, worth = self._ledger.by_cluster(wanted.deployment), self._candidates.spreading.worth
        most = level[2] if level is not None and wanted.over_clusters and not wanted.ordered else None
        left = _MOST_POOLS
        for own, number in self._moves.by_cost(wanted):
            if not left or (limit is not None and own >= limit):
                return
            if number not in self._moves.on_pool or number in taken:
                continue
            room = self._ledger.rooms.all[number]
            if (
                level is None
                or (most is not None and there.get(room.key[0], 0) <= most)
                or (most is None and worth(wanted, room.key) <= level)
            ):
                left -= 1
                for leaving in self._leaving(wanted, room, None if limit is None else limit - own, depth):
                    yield room, leaving

    def _leaving(self, wanted: Wanted, room: Room, limit: int | None, depth: int) -> Iterator[list[Spot]]:
        """Yield sets of new replicas that might leave a pool, those that lose least by it first."""
        size = self._candidates.size_on(wanted.deployment, wanted.roles[0], room)
        free = free_on(room)
        known_losses = self._moves.losses(room)
        for known in known_losses.each:
            if not known.sure and depth <= 1:
                break  # of those that follow none has another place
            enough = known.size + free >= size and (limit is None or known.loss < limit)
            if enough and self._may_leave(known, wanted):
                yield [known.spot]
        together: list[Spot] = []
        lost = freed = 0
        for known in known_losses.by_size:
            if not known.sure and depth <= 1:
                return
            for _ in range(self._moves.new[known.spot] if self._may_leave(known, wanted) else 0):
                if len(together) == _MOST_LEAVING or (limit is not None and lost + known.loss >= limit):
                    return
                together.append(known.spot)
                lost, freed = lost + known.loss, freed + known.size
                if freed + free >= size and len(together) > 1:
                    yield list(together)

    def _may_leave(self, known: Loss, wanted: Wanted) -> bool:
        return self._moves.new[known.spot] > 0 and known.spot.deployment != wanted.deployment
