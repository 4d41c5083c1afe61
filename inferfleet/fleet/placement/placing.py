"""Phase three of the plan: replicas are removed, moved and added.

The steps repeat, each time with all pools packed from the beginning and with everything that is placed as if
it ran, until one changes nothing. The next plan starts there, so it changes nothing either. A `Task` is what
there is to place, as one value: ledgers and steps are made from it as often as a search needs.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heapreplace
from itertools import groupby

from inferfleet.documents.documents import Documents
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.exchange import Exchange
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.packing import Snapshot
from inferfleet.fleet.placement.quotas import Limits, Quotas
from inferfleet.fleet.placement.reasons import kept_free
from inferfleet.fleet.placement.space import Deductions, Spaces
from inferfleet.fleet.placement.suitability import Consequence, Obstacle, Suitability
from inferfleet.fleet.placement.terms import first_pool
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


class Placing:
    """The steps on one ledger. `targets` are replicas by deployment.

    `valid` deployments may move and grow; all others may only shrink. From pools that do not hold their
    replicas some leave: those of `yielding` deployments, and from pools that are `shrunk` any. `ran` counts
    those that ran by deployment, with those of abandoned clusters: up to so many get a place before any that
    are new. `left` has why replicas left a spot, also of those that were new, and `exchange_ended` whether
    moves among new ones were tried as often as a plan may.
    """

    def __init__(
        self,
        ledger: Ledger,
        suitability: Suitability,
        candidates: Candidates,
        *,
        targets: dict[str, int],
        valid: list[str],
        ran: Mapping[str, int],
        shrunk: Collection[PoolKey] = (),
        yielding: Collection[str] = (),
    ) -> None:
        self._ledger = ledger
        self._suitability = suitability
        self._candidates = candidates
        self._targets = targets
        self._ran = ran
        self._shrunk = shrunk
        self._may_yield = yielding
        self.departure_reasons: dict[Spot, str] = {}
        self.exchange_ended = False
        self._halves: list[str] = []
        self._valid = sorted(valid, key=lambda deployment: candidates.terms(deployment).scarcity)

    def place(self) -> None:
        """Bring the replicas of each deployment to its target, as far as there is space."""
        for deployment in sorted(self._targets):
            self._shrink(deployment, self._targets[deployment])
        # Those that stay without a role may get it once others have left.
        self._halves = [deployment for deployment in self._valid if not self._complete(deployment)]
        self._ledger.deduct()
        self._ledger.spaces.pack_anew()
        while self._step():
            self._ledger.spaces.pack_anew()

    def _settle(self) -> bool:
        """Move replicas away from where they must not be, and from overfull pools. Return whether any
        left.
        """
        moved = [self._evict(deployment) for deployment in self._valid]
        relieved = [self._relieve(pool) for pool in self._ledger.overfull()]
        return any(moved) or any(relieved)

    def _relieve(self, pool: PoolKey) -> bool:
        """Let replicas leave an overfull pool: a single one that suffices if there is one, else the largest.

        Those of deployments that yield leave it also where they have no other place. Where it did not
        shrink, its pods grew, or branches that are fine alone were merged: then nobody else leaves, because
        who should is not for a plan to say. Return True when any left.
        """
        relieved = False
        while self._ledger.is_overfull(pool):
            on_pool = self._ledger.on_pool(pool)
            spots = [spot for name in self._valid for spot in on_pool if spot.deployment == name]
            yielding = [spot for spot in spots if spot.deployment in self._may_yield]
            leaving = yielding or (spots if pool in self._shrunk else [])
            order = [spot for spot in reversed(leaving) if self._ledger.holds_without(pool, spot)] + leaving
            why = self._overfull(pool)
            mover = next((spot for spot in order if self._move(spot)), None)
            if mover is None and yielding:
                mover = order[0]
                self._ledger.add(mover, -1)
                self._ledger.deduct(mover)
            if mover is None:
                break
            self.departure_reasons[mover] = why
            relieved = True
        return relieved

    def _overfull(self, pool: PoolKey) -> str:
        """Return in words that the pool does not hold its pods, and how much of it is kept for rollouts."""
        why = f"pool {'/'.join(pool)} is too small for its pods"
        kept = kept_free(self._ledger, pool)
        return f"{why} and {kept}" if kept else why

    def _move(self, spot: Spot, replicas: int = 1) -> bool:
        """Move replicas to the best other spot. Return False when there is none."""
        self._ledger.add(spot, -replicas)
        target = self._candidates.best(spot.deployment, replicas, leaving=spot, thorough=True)
        self._ledger.add(target or spot, replicas)
        self._ledger.deduct(spot)
        return target is not None

    def _step(self) -> bool:
        settled = self._settle()
        halves = [deployment for deployment in self._halves if not self._complete(deployment)]
        completed, self._halves = halves != self._halves, halves
        self._ledger.deduct()
        return settled or completed or self._grow()

    def _shrink(self, deployment: str, target: int) -> None:
        """Remove surplus replicas: those that should leave first, then from where most of them are."""
        if self._ledger.total(deployment) <= target:
            return
        spots = list(self._ledger.replicas(deployment))
        obstacles = [self._suitability.obstacle(spot) for spot in spots]
        order = [self._surplus_order(spot, index, obstacles[index]) for index, spot in enumerate(spots)]
        heapify(order)
        while self._ledger.total(deployment) > target:
            index = -order[0][-1]
            # With each replica that goes, a place in the order only becomes worse, so the first is looked at.
            key = self._surplus_order(spots[index], index, obstacles[index])
            if key != order[0]:
                heapreplace(order, key)
                continue
            self._ledger.add(spots[index], -1)

    def _surplus_order(self, spot: Spot, index: int, obstacle: Obstacle | None) -> tuple[int, ...]:
        """Return the sort key of a spot; a replica on the spot with the smallest key is removed first.

        Spots that a cluster or pool objects to come first, and those on nodes that may be taken away while
        there are more of them than the document wants. Then those that it prefers least, those where its
        replicas crowd, and with objective `cost` the dearest; then the cluster and the spot with the most
        replicas of the deployment, then the last name; `index` is the spot's in the order of names.
        """
        consequence = int(obstacle.consequence) if obstacle else 0
        if any(self._ledger.is_overfull((spot.cluster, pool)) for _, pool in spot.pools):
            consequence = max(consequence, int(Consequence.EVICT))
        replicas = self._ledger.on_spot(spot)
        if not replicas:
            return 1, 0, 0, 0, 0, 0, -index
        terms, spreading = self._candidates.terms(spot.deployment), self._candidates.spreading
        if spreading.too_many_unsteady(terms, spot):
            consequence = max(consequence, int(Consequence.CORDON))
        worst, second, _ = spreading.worth(terms, first_pool(terms, spot))
        cost = self._candidates.cost(spot) if terms.objective == "cost" and not consequence else 0
        on_cluster = self._ledger.by_cluster(spot.deployment)[spot.cluster]
        return -consequence, -worst, -second, -cost, -on_cluster, -replicas, -index

    def _complete(self, deployment: str) -> bool:
        """Give replicas a pool for each role that is new in the document, beside those that they have.

        Return whether all of them have one.
        """
        terms = self._candidates.terms(deployment)
        spots = self._ledger.replicas(deployment)
        # Of those that are together, the spot of the most is the one that others join.
        for spot, replicas in sorted(spots.items(), key=lambda item: -item[1] if terms.together else 0):
            if len(spot.pools) < len(terms.roles):
                self._ledger.add(spot, -replicas)
                whole = self._candidates.completed(terms, spot.cluster, dict(spot.pools), replicas)
                self._ledger.add(whole or spot, replicas)
        if terms.together:
            self._gather(deployment)
        return all(len(spot.pools) == len(terms.roles) for spot in self._ledger.replicas(deployment))

    def _gather(self, deployment: str) -> None:
        """Bring replicas that are together to one spot on each cluster, that of the most, if it has space.

        Spots that lack a role are left to `_evict`.
        """
        roles = len(self._candidates.terms(deployment).roles)
        by_cluster: dict[str, list[Spot]] = {}
        for spot in self._ledger.replicas(deployment):
            if len(spot.pools) == roles:
                by_cluster.setdefault(spot.cluster, []).append(spot)
        for spots in by_cluster.values():
            stays = min(spots, key=lambda spot: (-self._ledger.on_spot(spot), spot))
            for spot in spots:
                replicas = self._ledger.on_spot(spot)
                if spot == stays or not self._ledger.fits(stays, replicas):
                    continue
                self._ledger.add(spot, -replicas)
                self._ledger.add(stays, replicas)
                self.departure_reasons[spot] = (
                    f"all replicas on a cluster share their pools, those of {stays.place}"
                )

    def _evict(self, deployment: str) -> bool:
        """Move replicas away from spots that evict them. Return True when any moved."""
        moved = False
        for spot, replicas in self._ledger.replicas(deployment).items():
            obstacle = self._suitability.obstacle(spot)
            if obstacle is None or obstacle.consequence <= Consequence.CORDON:
                continue
            # Together they may keep the pools of roles that nothing is wrong with.
            if len(spot.pools) > 1 and replicas > 1 and self._move(spot, replicas):
                self.departure_reasons[spot] = obstacle.why
                moved = True
                continue
            for _ in range(replicas):
                if not self._move(spot):
                    break
                self.departure_reasons[spot] = obstacle.why
                moved = True
        return moved

    def _grow(self) -> bool:
        """Add missing replicas. Return True when any was added.

        Where there is space for all, the scarcest shapes choose first, whatever their priority. Else those
        that lost their cluster are served before those that never ran, and of both the highest priority
        first. Replicas added here make space for more, and move to where they cost less.
        """
        exchange = Exchange(self._ledger, self._candidates)
        all_missing = self._missing(self._targets)
        if not self._all(all_missing, exchange):
            for goals in (self._ran, self._targets):
                missing = self._missing(goals)
                for _, group in groupby(sorted(missing, key=self._rank), key=self._rank):
                    served = Counter({deployment: missing[deployment] for deployment in group})
                    # Of all that were missing it is known that there is not space for them.
                    if served == all_missing or not self._all(served, exchange):
                        self._serve(served, exchange)
        added = exchange.any_new
        # On the nodes that are in use already, each costs nothing more.
        if self._candidates.objective != "pack":
            exchange.cheapen()
        self.exchange_ended = self.exchange_ended or exchange.ended
        return added

    def _missing(self, goals: Mapping[str, int]) -> Counter[str]:
        """Return how many replicas each deployment lacks of these goals, and of its target at most."""
        total, targets = self._ledger.total, self._targets
        lacks = {key: min(goals.get(key, 0), targets[key]) - total(key) for key in self._valid}
        return Counter({deployment: number for deployment, number in lacks.items() if number > 0})

    def _all(self, missing: Counter[str], exchange: Exchange) -> bool:
        """Add all missing replicas, in their order. Return False, and add none, where one has no space."""
        added: list[tuple[Spot, Mapping[PoolKey, Snapshot]]] = []
        for deployment, number in missing.items():
            for _ in range(number):
                spot = self._place_for(deployment)
                if spot is None:
                    for spot, before in reversed(added):
                        self._ledger.add(spot, -1, before)
                    return False
                added.append((spot, self._ledger.snapshot(spot)))
                self._ledger.add(spot, 1)
        exchange.note([spot for spot, _ in added])
        return True

    def _serve(self, missing: Counter[str], exchange: Exchange) -> None:
        """Add missing replicas of one priority, as many as possible where not all have space.

        Those with the fewest GPUs choose first; deployments of one size take turns, so that none takes all.
        """
        exchange.note(self._in_turns(missing))
        for deployment in sorted(missing, key=self._size):
            for _ in range(missing[deployment]):
                if not exchange.place(deployment):
                    break

    def _in_turns(self, missing: Counter[str]) -> list[Spot]:
        """Add missing replicas, one of each deployment of a size in a turn. Return where, and count them."""
        added: list[Spot] = []
        for _, group in groupby(sorted(missing, key=self._size), key=self._size):
            waiting = list(group)
            while waiting:
                still = []
                for deployment in waiting:
                    spot = self._place_for(deployment)
                    if spot is None:
                        continue
                    self._ledger.add(spot, 1)
                    added.append(spot)
                    missing[deployment] -= 1
                    if missing[deployment]:
                        still.append(deployment)
                waiting = still
        return added

    def _rank(self, deployment: str) -> int:
        return -self._candidates.terms(deployment).priority

    def _size(self, deployment: str) -> int:
        """Return the GPUs of a replica."""
        return self._candidates.terms(deployment).total

    def _place_for(self, deployment: str) -> Spot | None:
        """Return the spot for one more replica, or None."""
        return self._candidates.spot_for(deployment) if self._candidates.affordable(deployment) else None


def changeable(documents: Documents) -> list[str]:
    """Return the clusters whose replicas are placed: all but those that are paused, lost or abandoned."""
    return [
        name
        for name, cluster in documents.clusters.items()
        if not cluster.spec.held and cluster.spec.state != "abandoned"
    ]


@dataclass(frozen=True)
class Task:
    """What there is to place on the clusters that can be changed, and by what."""

    documents: Documents
    demands: Demands
    suitability: Suitability
    fixed: Mapping[Spot, int]
    """Replicas on clusters that cannot be changed. They count for quotas alone."""
    seen: Mapping[PoolKey, Observation]
    """What capacity.lock has."""
    targets: dict[str, int]
    """By deployment, how many replicas there should be on clusters that can be changed."""
    valid: list[str]
    """Deployments that may move and grow; all others may only shrink."""
    shrunk: frozenset[PoolKey] = frozenset()
    """Pools with fewer nodes than they had: any replica may leave one that does not hold its replicas."""
    yielding: frozenset[str] = frozenset()
    """Deployments whose replicas may leave any pool that does not hold its replicas."""

    @cached_property
    def _limits(self) -> Limits:
        return Limits(self.documents, self.demands)

    def ledger(
        self, replicas: Mapping[Spot, int], added_nodes: Mapping[PoolKey, int] | None = None
    ) -> Ledger:
        """Return a ledger with these replicas on the clusters that can be changed, and with what
        capacity.lock takes.

        Quotas count the fixed replicas too. Pools in `added_nodes` have so many nodes more.
        """
        quotas = Quotas(self._limits, self.demands) if self.documents.quotas else None
        spaces, deductions = (
            Spaces(self.documents, changeable(self.documents)),
            Deductions(self.documents, self.seen),
        )
        ledger = Ledger(spaces, self.demands, quotas, deductions)
        for pool, nodes in (added_nodes or {}).items():
            ledger.spaces.grow(pool, nodes)
        if quotas:
            for spot, number in self.fixed.items():
                quotas.add(spot, number)
        for spot, number in replicas.items():
            ledger.add(spot, number)
        ledger.deduct()
        return ledger

    def candidates(self, ledger: Ledger) -> Candidates:
        """Return what finds spots for replicas in a ledger."""
        return Candidates(self.documents, self.suitability, ledger, self.targets)

    def placing(self, ledger: Ledger, candidates: Candidates, *, ran: Mapping[str, int]) -> Placing:
        """Return the planner's steps on a ledger. `ran` counts the replicas that ran before, by
        deployment.
        """
        return Placing(
            ledger,
            self.suitability,
            candidates,
            targets=self.targets,
            valid=self.valid,
            ran=ran,
            shrunk=self.shrunk,
            yielding=self.yielding,
        )

    def placed(self, ledger: Ledger) -> dict[Spot, int]:
        """Return by spot the replicas of all deployments that have a document."""
        return {
            spot: number
            for name in self.documents.deployments
            for spot, number in ledger.replicas(name).items()
        }
