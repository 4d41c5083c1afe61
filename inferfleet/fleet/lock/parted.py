"""What a merge of locks notes of replicas: how many ran where the two branches parted.

Of `ml/chat east decode=l4: 3  # was 1` 2 are new. Those that a branch took from other places of the
deployment are not, because they ran there: `# was 0, 1 moved here`. A note that base and branches have in
common is of an earlier merge that nobody planned with yet, and stays.
"""

from collections import Counter
from collections.abc import Mapping

from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot

_Replicas = Mapping[Spot, int]


class Parted:
    """The replicas of three locks."""

    def __init__(self, base: Lock, ours: Lock, theirs: Lock) -> None:
        self._base = base
        self._sides = ours, theirs
        self._new = [_new(base.placements, side.placements) for side in self._sides]

    def note(self, spot: Spot, replicas: int) -> str:
        """Return the note behind a line with so many replicas, as a branch has them; "" where none is due."""
        new, moved = self._known(spot, replicas)
        if not new and not moved:
            return ""
        was = f"  # was {replicas - new - moved}"
        return f"{was}, {moved} moved here" if moved else was

    def _known(self, spot: Spot, replicas: int) -> tuple[int, int]:
        """Return how many of the replicas are new, and how many were moved there."""
        more = replicas - self._base.placements.get(spot, 0)
        sides = [number for number in (0, 1) if self._sides[number].placements.get(spot) == replicas]
        notes = [_noted(self._sides[number], spot) for number in sides]
        first, last = notes[0], notes[-1]
        noted = last if first == _noted(self._base, spot) else first
        if more <= 0 or (spot in self._base.was and any(noted)):
            return noted
        # What is new for one branch, the other may have moved there.
        new = min(more, *(self._new[number][spot] for number in sides))
        return new, more - new


def _noted(lock: Lock, spot: Spot) -> tuple[int, int]:
    if spot not in lock.was:
        return 0, 0
    return max(0, lock.placements[spot] - lock.was[spot] - lock.moved[spot]), lock.moved[spot]


def _new(before: _Replicas, after: _Replicas) -> Counter[Spot]:
    """Return how many replicas on each spot its deployment had nowhere before."""
    left: Counter[str] = Counter()
    for spot, replicas in before.items():
        left[spot.deployment] += max(0, replicas - after.get(spot, 0))
    new: Counter[Spot] = Counter()
    for spot, replicas in sorted(after.items()):
        more = max(0, replicas - before.get(spot, 0))
        moved = min(more, left[spot.deployment])
        left[spot.deployment] -= moved
        new[spot] = more - moved
    return new
