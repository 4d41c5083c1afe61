"""The replicas that are new in a plan, their moves with a way back, and what each would lose elsewhere."""

from collections import Counter
from typing import NamedTuple

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.packing import Filled
from inferfleet.fleet.placement.policy.spreading import Worth, first_pool
from inferfleet.fleet.placement.policy.wanted import Wanted
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

# Kinds of pods on a pool for which a try counts once more.
_KINDS = 12


class Loss(NamedTuple):
    """What a replica would cost more on the best other spot; not `sure` where none has room as it is. `size`
    is what it takes of its pools, in GPUs or thousandths of a core.
    """

    sure: bool
    loss: int
    size: int
    spot: Spot


class Losses(NamedTuple):
    """What each new replica on a pool would lose: those that lose least first, and least by size first."""

    each: list[Loss]
    by_size: list[Loss]


class Moves:
    """Moves of the `new` replicas, counted by their spots, and `on_pool` by the numbers of pools."""

    def __init__(self, ledger: Ledger, candidates: Candidates) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self.new: Counter[Spot] = Counter()
        self.on_pool: Counter[int] = Counter()
        self._trail: list[tuple[Spot, int, dict[PoolKey, Filled]]] = []
        self._losses: dict[int, Losses] = {}
        self._places: dict[tuple[object, ...], list[tuple[int, int]]] = {}

    def note(self, spots: list[Spot]) -> None:
        """Let the replicas that were added to these spots move from now on."""
        for spot in spots:
            self._note(spot, 1)
        self.weigh_anew()

    def mark(self) -> int:
        """Return the place in the trail of moves to which `back_to` goes back."""
        return len(self._trail)

    def back_to(self, mark: int) -> None:
        """Take the moves since then back."""
        for spot, replicas, before in reversed(self._trail[mark:]):
            self._ledger.add(spot, -replicas, before)
            self._note(spot, -replicas)
        del self._trail[mark:]

    def settle(self) -> None:
        """Keep the moves, and let losses on the pools that they changed be worked out anew."""
        for spot, _, _ in self._trail:
            for _, pool in spot.pools:
                self._losses.pop(self._ledger.rooms.by_key[spot.cluster, pool].number, None)
        self._trail.clear()

    def weigh_anew(self) -> None:
        """Let all losses be worked out anew."""
        self._losses.clear()

    def leave(self, spot: Spot) -> Worth:
        """Take a replica from a spot. Return the worth of the spot for it."""
        self.add(spot, -1)
        return self._worth(spot)

    def add(self, spot: Spot, replicas: int = 1) -> None:
        """Put a replica on a spot, or take it away."""
        self._trail.append((spot, replicas, self._ledger.filled(spot)))
        self._ledger.add(spot, replicas)
        self._note(spot, replicas)

    def allowed(self, spot: Spot, limit: int | None, level: Worth | None) -> bool:
        """Return whether a spot costs less than `limit` and is worth no less than `level`."""
        if limit is not None and self._candidates.cost(spot) >= limit:
            return False
        return level is None or self._worth(spot) <= level

    def _worth(self, spot: Spot) -> Worth:
        wanted = self._candidates.wanted(spot.deployment)
        if wanted.over_clusters and not wanted.ordered:
            return 0, 0, self._ledger.by_cluster(spot.deployment).get(spot.cluster, 0)
        return self._candidates.spreading.worth(wanted, first_pool(wanted, spot))

    def by_cost(self, wanted: Wanted) -> list[tuple[int, int]]:
        """Return the pools that suit the first role as far as class and cluster go: what it costs there, and
        their numbers, the cheapest first. They are the same for all deployments that ask for the same.
        """
        role = wanted.roles[0]
        offers = {
            name: self._candidates.cost_on(wanted.deployment, role, name) for name in wanted.offers[role]
        }
        asked = wanted.clusters, *sorted(offers.items())
        if asked not in self._places:
            of_offer = self._ledger.rooms.of_offer
            self._places[asked] = sorted(
                (cost, room.number)
                for name, cost in offers.items()
                for room in of_offer[name]
                if room.key[0] in wanted.clusters
            )
        return self._places[asked]

    def losses(self, room: Room) -> Losses:
        """Return what each new replica on a pool would lose elsewhere, worked out once for many moves."""
        if room.number not in self._losses:
            known = [self._loss(spot) for spot in self._ledger.on_pool(room.key) if self.new[spot] > 0]
            self._losses[room.number] = Losses(
                sorted(known, key=lambda one: (not one.sure, one.loss, one.size, one.spot)),
                sorted(known, key=lambda one: (not one.sure, one.loss / max(one.size, 1), one.spot)),
            )
        return self._losses[room.number]

    def _loss(self, spot: Spot) -> Loss:
        size = sum(self._candidates.size_on(spot.deployment, role, room) for role, room in self._rooms(spot))
        # Its own pool is none of the others, so it need not be packed without it.
        apart = len(spot.pools) == 1
        before = self._ledger.filled(spot)
        if not apart:
            self._ledger.add(spot, -1)
        other = self._candidates.best(spot.deployment, leaving=spot)
        if not apart:
            self._ledger.add(spot, 1, before)
        loss = self._candidates.cost(other) - self._candidates.cost(spot) if other else 0
        return Loss(other is not None, loss, size, spot)

    def _rooms(self, spot: Spot) -> list[tuple[str, Room]]:
        return [(role, self._ledger.rooms.by_key[spot.cluster, pool]) for role, pool in spot.pools]

    def _note(self, spot: Spot, replicas: int) -> None:
        self.new[spot] += replicas
        if not self.new[spot]:
            del self.new[spot]
        for _, room in self._rooms(spot):
            self.on_pool[room.number] += replicas
            if not self.on_pool[room.number]:
                del self.on_pool[room.number]


def work(room: Room) -> int:
    """Return how many tries one on this pool counts: more where packing it takes longer."""
    return 1 + room.kinds // _KINDS


def free_on(room: Room) -> int:
    """Return what all nodes of a pool have free: GPUs, or thousandths of a core where they have none."""
    return sum(room.node.level(state) * number for state, number in room.free.items())
