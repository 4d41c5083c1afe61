"""Which place comes first by what a deployment asks for, and which it refuses, in a ledger as it is now.

The skew of a place is how many more replicas its domain would have than the domain with the fewest, as
kube-scheduler counts it for topologySpreadConstraints. Domains are those of pools that could take replicas,
also when they are full; replicas on lost clusters are not counted.
"""

from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.quotas import Refusal
from inferfleet.fleet.placement.policy.wanted import Domains, Wanted, is_steady
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

# A place by the order of preference; smaller is better.
Worth = tuple[int, int, int]
# Which preference a pool matches first, and by how much more replicas there exceed the skew.
Level = tuple[int, int]
_NOWHERE = 1 << 40  # of a pool in no domain, which comes after all that are in one
_NO_DOMAIN = "/"  # no name of a cluster, region or zone, and no value of a label


class Spreading:
    """Spread, preferences and capacity models of deployments, over the replicas of a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._counts: dict[str, Counter[str]] = {}
        self._unsteady: dict[str, Counter[str]] = {}

    def refuses(self, wanted: Wanted, room: Room, replicas: int = 1) -> bool:
        """Return whether more replicas must not have their first role on a pool."""
        if self.closes(wanted, room, replicas):
            return True
        return wanted.required and self._crowd(wanted).excess(room.key, replicas) > 0

    def closes(self, wanted: Wanted, room: Room, replicas: int = 1) -> bool:
        """Return whether more replicas must not have any role on a pool, by its labels and capacity model."""
        if room.key in wanted.closed:
            return True
        most = wanted.unsteady
        if most is None or is_steady(self._ledger.rooms.models[room.key]):
            return False
        return self.unsteady(wanted) + replicas > most

    def why(self, wanted: Wanted, room: Room) -> Refusal | None:
        """Return why one more replica must not have its first role on a pool that suits it, or None."""
        model = self._ledger.rooms.models[room.key]
        most = None if is_steady(model) else wanted.unsteady
        if most is not None and self.unsteady(wanted) >= most:
            return Refusal(
                f"capacity model {model}: at most {most} {'replica' if most == 1 else 'replicas'} may be on "
                "others than OnDemand and Reservation (onDemandReplicas)",
                f"refused by onDemandReplicas (at most {most} on {model} and the like)",
                f"lower onDemandReplicas of {wanted.deployment} by 1 for each replica that may be on {model}",
            )
        spread = wanted.domains
        if spread is None or not spread.required:
            return None
        if room.key not in spread.of:
            return Refusal(
                f"is in no {_kind(spread.over)} that is known, and replicas spread over it (spread.over)",
                f"refused by spread (no {_kind(spread.over)} known)",
                "",
            )
        crowd = self._crowd(wanted)
        if crowd.excess(room.key, 1) <= 0:
            return None
        own, least, counts = spread.of[room.key], crowd.least[1], crowd.counts
        return Refusal(
            f"{_kind(spread.over)} {own} has {counts[own]} replicas and {least} {counts[least]}: one more "
            f"makes the skew {counts[own] + 1 - counts[least]} (maxSkew {spread.max_skew})",
            f"refused by spread over {_kind(spread.over)} (maxSkew {spread.max_skew})",
            f"raise spread.maxSkew of {wanted.deployment}, or make room in {_kind(spread.over)} {least}",
        )

    def levels(self, wanted: Wanted, replicas: int) -> list[Level]:
        """Return the levels on which pools may take more replicas, those that come first before others."""
        excesses = {0}
        if wanted.domains and not wanted.required:
            excesses = self._crowd(wanted).excesses(replicas)
        return sorted((tier, excess) for tier in wanted.by_tier for excess in excesses)

    def on_level(self, wanted: Wanted, level: Level, rooms: Iterator[Room], replicas: int) -> Iterator[Room]:
        """Yield the pools that are on a level for more replicas."""
        crowd = self._crowd(wanted) if wanted.domains else None
        tier, excess = level
        for room in rooms:
            own = max(0, crowd.excess(room.key, replicas)) if crowd else 0
            if own == excess and wanted.tiers.get(room.key, 0) == tier:
                yield room

    def worth(self, wanted: Wanted, pool: PoolKey) -> Worth:
        """Return the place of a pool in the order of preference, by what stands in its domain now."""
        tier = wanted.tiers.get(pool, 0)
        on_cluster = self._ledger.by_cluster(wanted.deployment).get(pool[0], 0) if wanted.over_clusters else 0
        spread = wanted.domains
        if spread is None:
            return tier, 0, on_cluster
        number = self.counts(wanted)[spread.of[pool]] if pool in spread.of else _NOWHERE
        return (number, tier, on_cluster) if spread.required else (tier, number, on_cluster)

    def counts(self, wanted: Wanted) -> Counter[str]:
        """Return the replicas in each domain, also of running ones in domains that take no more."""
        if wanted.deployment not in self._counts:
            of = wanted.domains.of if wanted.domains else {}
            self._counts[wanted.deployment] = self._ledger.tally(
                wanted.deployment, lambda spot: of.get(first_pool(wanted, spot))
            )
        return self._counts[wanted.deployment]

    def too_many_unsteady(self, wanted: Wanted, spot: Spot) -> bool:
        """Return whether a spot has nodes that may be taken away, and more replicas have than should."""
        return (
            wanted.unsteady is not None
            and self._is_unsteady(spot)
            and self.unsteady(wanted) > wanted.unsteady
        )

    def unsteady(self, wanted: Wanted) -> int:
        """Return the replicas with a pool whose nodes may be taken away."""
        if wanted.deployment not in self._unsteady:
            self._unsteady[wanted.deployment] = self._ledger.tally(
                wanted.deployment, lambda spot: "unsteady" if self._is_unsteady(spot) else None
            )
        return self._unsteady[wanted.deployment]["unsteady"]

    def _is_unsteady(self, spot: Spot) -> bool:
        models = self._ledger.rooms.models
        return any(not is_steady(models.get((spot.cluster, pool), "OnDemand")) for _, pool in spot.pools)

    def _crowd(self, wanted: Wanted) -> "_Crowd":
        counts = self.counts(wanted)
        spread = wanted.domains or Domains("", False, 0, {}, ())
        return _Crowd(spread, counts, *_two_least(counts, spread.eligible))


_Least = tuple[int, str]


class _Crowd(NamedTuple):
    """Replicas by domain, and the two domains with the fewest of those that may take replicas."""

    spread: Domains
    counts: Counter[str]
    least: _Least
    next: _Least | None

    def excess(self, pool: PoolKey, replicas: int) -> int:
        """Return by how much more replicas on a pool make the skew larger than it may be."""
        own = self.spread.of.get(pool)
        return _NOWHERE if own is None else self._excess(own, replicas)

    def excesses(self, replicas: int) -> set[int]:
        """Return what more replicas on one of the pools may exceed the skew by, 0 where they do not."""
        # The name of no domain stands for all those without replicas that are not the first.
        some = {*self.counts, self.least[1], self.next[1] if self.next else "", _NO_DOMAIN}
        return {max(0, self._excess(own, replicas)) for own in some} | {_NOWHERE}

    def _excess(self, own: str, replicas: int) -> int:
        other = self.next if own == self.least[1] else self.least
        if other is None:
            return 0  # there is one domain alone
        after = self.counts[own] + replicas
        return after - min(other[0], after) - self.spread.max_skew


def _two_least(counts: Counter[str], eligible: tuple[str, ...]) -> tuple[_Least, _Least | None]:
    least = [(0, name) for name in islice((name for name in eligible if name not in counts), 2)]
    if len(least) < 2:
        least = nsmallest(2, ((counts[name], name) for name in eligible))
    return (least[0] if least else (0, "")), (least[1] if len(least) > 1 else None)


def first_pool(wanted: Wanted, spot: Spot) -> PoolKey:
    """Return the pool of the role with the most GPUs that a spot has."""
    pools = dict(spot.pools)
    return spot.cluster, next((pools[role] for role in wanted.roles if role in pools), "")


def _kind(over: str) -> str:
    return over if over in ("cluster", "region", "zone") else f"label {over}"
