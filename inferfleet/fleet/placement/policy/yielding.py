"""Who leaves a pool that is too small, and who stands aside after a merge of branches.

The note of a merge (`fleet/lock/parted.py`) says which replicas did not run before it. They are placed after
all others have their place, on the spots that their branches gave them as far as there is room and quotas
allow: a replica that ran never leaves its place for one that did not. Of those that ran, those that a branch
moved leave first.
"""

from collections import Counter
from collections.abc import Mapping

from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.reasons import kept_free
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


class Yielding:
    """The replicas of the ledger that a merge `added` or `moved`, by their spots, and where they go.

    Those of deployments that are not `valid` stay. `valid` has the largest pods first.
    """

    def __init__(
        self,
        ledger: Ledger,
        candidates: Candidates,
        valid: list[str],
        *,
        added: Mapping[Spot, int],
        moved: Mapping[Spot, int],
    ) -> None:
        self._ledger = ledger
        self._candidates = candidates
        self._valid = valid
        known = set(valid)
        self._aside = {spot: more for spot, more in added.items() if more and spot.deployment in known}
        self._added: Counter[Spot] = Counter()
        self._moved = Counter(moved)

    def stand_aside(self) -> bool:
        """Take the added replicas out of the ledger. Return False where there are none."""
        for spot, number in self._aside.items():
            self._ledger.add(spot, -number)
        return bool(self._aside)

    def come_back(self, targets: Mapping[str, int]) -> dict[Spot, str]:
        """Put them onto their spots again, whether they fit there or not, up to the targets and to quotas.

        Return the spots to which fewer came back than quotas would have to allow, with that as the reason.
        """
        refused: dict[Spot, str] = {}
        quotas = self._ledger.quotas
        for spot in sorted(self._aside, key=self._order):
            missing = targets[spot.deployment] - self._ledger.total(spot.deployment)
            for _ in range(min(self._aside[spot], missing)):
                if quotas and not quotas.allow(spot, 1):
                    refused[spot] = f"a Quota of namespace {spot.namespace} has no room for it"
                    break
                self._ledger.add(spot, 1)
                self._added[spot] += 1
        return refused

    def _order(self, spot: Spot) -> tuple[int, int, Spot]:
        """Put the highest priority first, then clusters with the fewest replicas of the deployment."""
        there = self._ledger.by_cluster(spot.deployment).get(spot.cluster, 0)
        return -self._candidates.wanted(spot.deployment).priority, there, spot

    def relieve(self, pool: PoolKey) -> dict[Spot, str]:
        """Let replicas leave an overfull pool: a single one that suffices if there is one, else the largest.

        Added ones that have no other place end, those of the lowest priority first. Return the spots that
        were left, with why.
        """
        left: dict[Spot, str] = {}
        while self._ledger.is_overfull(pool):
            on_pool = self._ledger.on_pool(pool)
            spots = [spot for name in self._valid for spot in on_pool if spot.deployment == name]
            sufficient = [spot for spot in reversed(spots) if self._ledger.holds_without(pool, spot)]
            order = sorted([*sufficient, *spots], key=lambda spot: self._moved[spot] <= 0)
            added = [spot for spot in order if self._added[spot] > 0]
            why = self._overfull(pool)
            mover = next((spot for spot in added or order if self.move(spot)), None)
            if mover is None and not added:
                break
            if mover is None:
                mover = min(added, key=lambda spot: self._candidates.wanted(spot.deployment).priority)
                self._ledger.add(mover, -1)
                self._ledger.hold_back(mover)
            (self._added if added else self._moved)[mover] -= 1
            left[mover] = why
        return left

    def _overfull(self, pool: PoolKey) -> str:
        """Return in words that the pool does not hold its pods, and which of them are room for rollouts."""
        why = f"pool {'/'.join(pool)} is too small for its pods"
        kept = kept_free(self._ledger, pool)
        return f"{why} and {kept}" if kept else why

    def move(self, spot: Spot, replicas: int = 1) -> bool:
        """Move replicas to the best other spot. Return False when there is none."""
        self._ledger.add(spot, -replicas)
        target = self._candidates.best(spot.deployment, replicas, leaving=spot, thorough=True)
        self._ledger.add(target or spot, replicas)
        self._ledger.hold_back(spot)
        return target is not None
