"""Moves among replicas that are new in this plan, and so run nowhere yet: for more of them, or at less cost.

A new replica gives its pool to another one and goes elsewhere itself, where again a new one may have to make
space. A chain of moves is kept if one more replica has a place by it, or if all of them cost less and none is
spread worse. Nothing here moves a replica that runs.

Short chains come first (`Exchange`): they and the number of tries are bounded, so they find what the order of
deployments missed, and need not find everything. Where they find no place, long chains may (`Chains`), in
which each replica takes the place of one other. `Moves` is what both are made of: moves with a way back.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.packing import Snapshot
from inferfleet.fleet.placement.space import Space
from inferfleet.fleet.placement.terms import Terms, Worth, first_pool
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

# Replicas that may have to move one after another, and that may leave one pool together.
_LONGEST, _MOST_LEAVING = 3, 8
# Tries in a plan to place replicas and to lower the cost, and for one replica of each.
_TRIES, _TRIES_OF_ONE, _LEAST_TRIES_OF_ONE = 1_500, 300, 5
_TRIES_FOR_COST, _TRIES_FOR_COST_OF_ONE = 400, 40
# Units of the searches for long chains in a plan.
_CHAIN_STEPS = 800
# Pools that are looked at for one replica.
_MOST_POOLS = 32
# Of the steps that are left, one search may take one such part.
_PARTS = 4
# Kinds of pods on a pool for which a try counts once more.
_KINDS = 12


class Alternative(NamedTuple):
    """The best other spot of a replica, as what it would cost more there than on `spot`, where it is."""

    sure: bool
    """False where no other spot has space as it is; `extra` is 0 then."""
    extra: int
    size: int
    """What the replica takes of its pools, in GPUs or thousandths of a core."""
    spot: Spot


class Alternatives(NamedTuple):
    """Those of each new replica on a pool: by what they cost more, and by that for their size."""

    each: list[Alternative]
    by_size: list[Alternative]


class Exchange:
    """Short chains of moves among the replicas that were noted as new, then long ones."""

    def __init__(self, ledger: Ledger, candidates: Candidates) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._moves = Moves(ledger, candidates)
        self._chains = Chains(ledger, candidates, self._moves, _CHAIN_STEPS)
        self._remaining_budget = 0
        self._tries = _TRIES
        self._allowance = _TRIES_OF_ONE
        self._free_gpus: int | None = None
        # Whether tries or steps ran out, so that more might have been found.
        self.ended = False

    def note(self, spots: list[Spot]) -> None:
        """Count replicas that were just added to these spots as new: they may move from now on."""
        self._moves.note(spots)
        self._free_gpus = None

    @property
    def any_new(self) -> bool:
        """Return whether there are new replicas."""
        return bool(self._moves.new)

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment, by moves of others if need be. Return False where none
        help.
        """
        if self._free_gpus is None:  # no move changes it
            self._free_gpus = sum(free_on(space) for space in self._ledger.spaces.all if space.node.gpus)
        if self._candidates.terms(deployment).total > self._free_gpus:
            return False
        if not self._candidates.affordable(deployment):
            return False
        start = self._remaining_budget = min(self._tries, self._allowance)
        placed = self._placed(deployment, None, None, _LONGEST, frozenset()) is not None
        self._tries -= start - self._remaining_budget
        # Where one found nothing, the next seldom does.
        self._allowance = _TRIES_OF_ONE if placed else max(self._allowance // 2, _LEAST_TRIES_OF_ONE)
        placed = placed or self._chains.place(deployment)
        self._moves.settle()
        if placed:
            self._free_gpus = None
        self.ended = self.ended or (not placed and self._tries <= 0)
        return placed

    def cheapen(self) -> None:
        """Lower the cost of the new replicas by moves, until no chain of moves does any more."""
        tries, allowance, improved = _TRIES_FOR_COST, _TRIES_FOR_COST_OF_ONE, True
        cost, least = self._candidates.cost, self._candidates.least
        while improved and tries > 0:
            improved = False
            self._moves.weigh_anew()
            # How much less a replica would cost with each role on its cheapest class.
            saving = {spot: cost(spot) - least(spot.deployment) for spot in self._moves.new}
            for spot in sorted(filter(saving.get, saving), key=lambda spot: (-saving[spot], spot)):
                for _ in range(self._moves.new[spot]):
                    start = self._remaining_budget = min(tries, allowance)
                    moved = self._cheaper(spot)
                    tries -= start - self._remaining_budget
                    allowance = _TRIES_FOR_COST_OF_ONE if moved else max(allowance // 2, _LEAST_TRIES_OF_ONE)
                    if not moved:
                        break
                    improved = True
        self.ended = self.ended or tries <= 0

    def _cheaper(self, spot: Spot) -> bool:
        if not self._moves.new[spot]:
            return False
        worth_limit = self._moves.leave(spot)
        for depth in (1, 2):
            cost = self._placed(spot.deployment, self._candidates.cost(spot), worth_limit, depth, frozenset())
            if cost is not None:
                self._moves.settle()
                return True
        self._moves.back_to(0)
        return False

    def _placed(
        self,
        deployment: str,
        limit: int | None,
        worth_limit: Worth | None,
        depth: int,
        taken: frozenset[int],
    ) -> int | None:
        """Place a replica, and elsewhere what makes space for it. Return what that adds to the cost, less
        than `limit`, or None where nothing was found.

        The place is no worse than `worth_limit` by what the deployment prefers and how it is spread, and
        neither is that of those that move. Where a spread is required, theirs is never worse.
        """
        spot = self._candidates.best(deployment)
        if spot is not None and self._moves.allowed(spot, limit, worth_limit):
            self._moves.add(spot)
            return self._candidates.cost(spot)
        if not depth:
            return None
        terms = self._candidates.terms(deployment)
        for space, leaving in self._options(terms, limit, worth_limit, depth, taken):
            if self._remaining_budget <= 0:
                return None
            self._remaining_budget -= work(space)
            mark = self._moves.mark()
            worths = [self._moves.leave(spot) for spot in leaving]
            place = self._candidates.on_pool(terms, space)
            if place is not None and self._moves.allowed(place, None, worth_limit):
                self._moves.add(place)
                cost = self._candidates.cost(place) - sum(map(self._candidates.cost, leaving))
                for spot, at_most in zip(leaving, worths, strict=True):
                    remaining_cost = None if limit is None else limit - cost
                    required = self._candidates.terms(spot.deployment).required
                    its_worth_limit = at_most if required or worth_limit is not None else None
                    cost_of_moves = self._placed(
                        spot.deployment, remaining_cost, its_worth_limit, depth - 1, taken | {space.number}
                    )
                    if cost_of_moves is None:
                        break
                    cost += cost_of_moves
                else:
                    if limit is None or cost < limit:
                        return cost
            self._moves.back_to(mark)
        return None

    def _options(
        self,
        terms: Terms,
        limit: int | None,
        worth_limit: Worth | None,
        depth: int,
        taken: frozenset[int],
    ) -> Iterator[tuple[Space, list[Spot]]]:
        """Yield pools for the first role with the new replicas that might leave them, the best first."""
        by_cluster, worth = self._ledger.by_cluster(terms.deployment), self._candidates.spreading.worth
        most = (
            worth_limit[2] if worth_limit is not None and terms.over_clusters and not terms.ordered else None
        )
        pools_to_try = _MOST_POOLS
        for cost, number in self._moves.by_cost(terms):
            if not pools_to_try or (limit is not None and cost >= limit):
                return
            if number not in self._moves.on_pool or number in taken:
                continue
            space = self._ledger.spaces.all[number]
            if (
                worth_limit is None
                or (most is not None and by_cluster.get(space.key[0], 0) <= most)
                or (most is None and worth(terms, space.key) <= worth_limit)
            ):
                pools_to_try -= 1
                for leaving in self._leaving(terms, space, None if limit is None else limit - cost, depth):
                    yield space, leaving

    def _leaving(self, terms: Terms, space: Space, limit: int | None, depth: int) -> Iterator[list[Spot]]:
        """Yield sets of new replicas that might leave a pool, those that lose least by it first."""
        size = self._candidates.size_on(terms.deployment, terms.roles[0], space)
        free = free_on(space)
        alternatives = self._moves.alternatives(space)
        for alternative in alternatives.each:
            if not alternative.sure and depth <= 1:
                break  # of those that follow none has another place
            enough = alternative.size + free >= size and (limit is None or alternative.extra < limit)
            if enough and self._may_leave(alternative, terms):
                yield [alternative.spot]
        together: list[Spot] = []
        lost = freed = 0
        for alternative in alternatives.by_size:
            if not alternative.sure and depth <= 1:
                return
            for _ in range(self._moves.new[alternative.spot] if self._may_leave(alternative, terms) else 0):
                if len(together) == _MOST_LEAVING or (
                    limit is not None and lost + alternative.extra >= limit
                ):
                    return
                together.append(alternative.spot)
                lost, freed = lost + alternative.extra, freed + alternative.size
                if freed + free >= size and len(together) > 1:
                    yield list(together)

    def _may_leave(self, alternative: Alternative, terms: Terms) -> bool:
        return self._moves.new[alternative.spot] > 0 and alternative.spot.deployment != terms.deployment


class Moves:
    """Moves of replicas that are new in the plan, with a way back.

    `new` counts these replicas by spot, `on_pool` by the number of the pool.
    """

    def __init__(self, ledger: Ledger, candidates: Candidates) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self.new: Counter[Spot] = Counter()
        self.on_pool: Counter[int] = Counter()
        self._trail: list[tuple[Spot, int, dict[PoolKey, Snapshot]]] = []
        self._alternatives: dict[int, Alternatives] = {}
        self._places: dict[tuple[object, ...], list[tuple[int, int]]] = {}

    def note(self, spots: list[Spot]) -> None:
        """Count replicas that were just added to these spots as new: they may move from now on."""
        for spot in spots:
            self._note(spot, 1)
        self.weigh_anew()

    def mark(self) -> int:
        """Return a mark of all moves so far, for `back_to`."""
        return len(self._trail)

    def back_to(self, mark: int) -> None:
        """Undo all moves since a mark."""
        for spot, replicas, before in reversed(self._trail[mark:]):
            self._ledger.add(spot, -replicas, before)
            self._note(spot, -replicas)
        del self._trail[mark:]

    def settle(self) -> None:
        """Keep the moves. Alternatives on the pools that they changed are worked out anew."""
        for spot, _, _ in self._trail:
            for _, pool in spot.pools:
                self._alternatives.pop(self._ledger.spaces.by_key[spot.cluster, pool].number, None)
        self._trail.clear()

    def weigh_anew(self) -> None:
        """Let all alternatives be worked out anew."""
        self._alternatives.clear()

    def leave(self, spot: Spot) -> Worth:
        """Take a replica from a spot. Return what the spot was worth to it."""
        self.add(spot, -1)
        return self._worth(spot)

    def add(self, spot: Spot, replicas: int = 1) -> None:
        """Put a replica on a spot, or take it away."""
        self._trail.append((spot, replicas, self._ledger.snapshot(spot)))
        self._ledger.add(spot, replicas)
        self._note(spot, replicas)

    def allowed(self, spot: Spot, limit: int | None, worth_limit: Worth | None) -> bool:
        """Return whether a spot costs less than `limit` and is worth no less than `worth_limit`."""
        if limit is not None and self._candidates.cost(spot) >= limit:
            return False
        return worth_limit is None or self._worth(spot) <= worth_limit

    def _worth(self, spot: Spot) -> Worth:
        terms = self._candidates.terms(spot.deployment)
        if terms.over_clusters and not terms.ordered:
            return 0, 0, self._ledger.by_cluster(spot.deployment).get(spot.cluster, 0)
        return self._candidates.spreading.worth(terms, first_pool(terms, spot))

    def by_cost(self, terms: Terms) -> list[tuple[int, int]]:
        """Return the cost of the first role and the number of each pool that suits it, the cheapest first.

        Only class and cluster are looked at, so the answer is the same for all deployments that ask for the
        same.
        """
        role = terms.roles[0]
        offers = {name: self._candidates.cost_on(terms.deployment, role, name) for name in terms.offers[role]}
        key = terms.clusters, *sorted(offers.items())
        if key not in self._places:
            of_offer = self._ledger.spaces.of_offer
            self._places[key] = sorted(
                (cost, space.number)
                for name, cost in offers.items()
                for space in of_offer[name]
                if space.key[0] in terms.clusters
            )
        return self._places[key]

    def alternatives(self, space: Space) -> Alternatives:
        """Return the alternatives of each new replica on a pool, worked out once for many moves."""
        if space.number not in self._alternatives:
            each = [self._alternative(spot) for spot in self._ledger.on_pool(space.key) if self.new[spot] > 0]
            self._alternatives[space.number] = Alternatives(
                sorted(each, key=lambda one: (not one.sure, one.extra, one.size, one.spot)),
                sorted(each, key=lambda one: (not one.sure, one.extra / max(one.size, 1), one.spot)),
            )
        return self._alternatives[space.number]

    def _alternative(self, spot: Spot) -> Alternative:
        size = sum(
            self._candidates.size_on(spot.deployment, role, space) for role, space in self._spaces(spot)
        )
        # Its own pool is none of the others, so it need not be packed without it.
        apart = len(spot.pools) == 1
        before = self._ledger.snapshot(spot)
        if not apart:
            self._ledger.add(spot, -1)
        alternative = self._candidates.best(spot.deployment, leaving=spot)
        if not apart:
            self._ledger.add(spot, 1, before)
        extra = self._candidates.cost(alternative) - self._candidates.cost(spot) if alternative else 0
        return Alternative(alternative is not None, extra, size, spot)

    def _spaces(self, spot: Spot) -> list[tuple[str, Space]]:
        return [(role, self._ledger.spaces.by_key[spot.cluster, pool]) for role, pool in spot.pools]

    def _note(self, spot: Spot, replicas: int) -> None:
        self.new[spot] += replicas
        if not self.new[spot]:
            del self.new[spot]
        for _, space in self._spaces(spot):
            self.on_pool[space.number] += replicas
            if not self.on_pool[space.number]:
                del self.on_pool[space.number]


def work(space: Space) -> int:
    """Return for how many tries one try on this pool counts: more where packing it takes longer."""
    return 1 + space.kinds // _KINDS


def free_on(space: Space) -> int:
    """Return the GPUs that are free on all nodes of a pool, or without any thousandths of a core."""
    return sum(space.node.main_amount(state) * number for state, number in space.free.items())


# Long chains. Where each node has one replica, a chain is an augmenting path of a matching, which is found if
# there is one (Berge 1957). Replicas stand for their deployment, which is asked once for a place, so the
# search is as long as there are pairs of a deployment and a new replica that would make space for it. Its
# steps are bounded. The moves are tried out one by one, from the last one, because some may change what
# others need.


class _Link(NamedTuple):
    """A replica that would leave a pool for the deployment which seeks a place before it in the chain."""

    space: Space
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
    """Long chains of moves. `left` are the steps that searches without success may take in a plan."""

    def __init__(self, ledger: Ledger, candidates: Candidates, moves: Moves, budget: int) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._moves = moves
        self._remaining_budget = budget
        self._steps = 0

    def place(self, deployment: str) -> bool:
        """Place one more replica of a deployment. Return False, and move nothing, where no chain is found."""
        # Where one found nothing, the next seldom does.
        allowance = self._steps = self._remaining_budget // _PARTS
        if not allowance:
            return False
        passed = {deployment}
        waiting: deque[tuple[str, _Link | None]] = deque([(deployment, None)])
        while waiting:
            seeking, last = waiting.popleft()
            for link in self._links(seeking, last, passed):
                passed.add(link.spot.deployment)
                if self._made(deployment, _back(link)):
                    return True
                waiting.append((link.spot.deployment, link))
        self._remaining_budget -= allowance - self._steps
        return False

    def _links(self, seeking: str, last: _Link | None, asked: Collection[str]) -> Iterator[_Link]:
        """Yield who would make space, of deployments that were not `asked` yet and on pools that are not in
        the chain.
        """
        terms = self._candidates.terms(seeking)
        passed = {link.space.number for link in _back(last)}
        for _, number in self._moves.by_cost(terms):
            if number in passed or number not in self._moves.on_pool:
                continue
            space = self._ledger.spaces.all[number]
            size, free = self._candidates.size_on(seeking, terms.roles[0], space), free_on(space)
            for spot in self._ledger.on_pool(space.key):
                if spot.deployment in asked or len(spot.pools) > 1 or not self._moves.new[spot]:
                    continue
                role = spot.pools[0][0]
                if self._candidates.size_on(spot.deployment, role, space) + free < size:
                    continue
                if self._steps <= 0:
                    return
                self._steps -= work(space)
                before = self._ledger.snapshot(spot)
                self._ledger.add(spot, -1)
                fits = self._on(seeking, space) is not None
                self._ledger.add(spot, 1, before)
                if fits:
                    yield _Link(space, spot, last)

    def _made(self, deployment: str, links: list[_Link]) -> bool:
        """Move the replicas of a chain and place the new one, or nothing where one of them has no place."""
        if self._best(links[0].spot) is None:
            return False
        mark = self._moves.mark()
        freed: Space | None = None
        for space, spot, _ in links:
            worth_limit = self._moves.leave(spot)
            place = self._on(spot.deployment, freed) if freed else self._best(spot)
            required = self._candidates.terms(spot.deployment).required
            if place is None or not self._moves.allowed(place, None, worth_limit if required else None):
                self._moves.back_to(mark)
                return False
            self._moves.add(place)
            freed = space
        place = self._on(deployment, freed) if freed else None
        if place is None:
            self._moves.back_to(mark)
            return False
        self._moves.add(place)
        return True

    def _best(self, leaving: Spot) -> Spot | None:
        return self._candidates.best(leaving.deployment, leaving=leaving)

    def _on(self, deployment: str, space: Space) -> Spot | None:
        return self._candidates.on_pool(self._candidates.terms(deployment), space)
