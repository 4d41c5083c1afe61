"""What changes against a lock, in words: one line per deployment, its moves, and new sets of pods."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from inferfleet.fleet.decisions import Change, Move, Roll, moves
from inferfleet.fleet.placement.sizes import counted
from inferfleet.fleet.spot import Spot


def change_lines(changes: Iterable[Change], left: Mapping[Spot, str]) -> Iterator[str]:
    """Yield one line per deployment, `ml/x: east/l4 2 -> 1, west/l4 0 -> 1`, and below it why replicas leave
    a spot, and the moves of those with several roles, role by role.
    """
    for deployment, group in groupby(sorted(changes), key=lambda change: change.spot.deployment):
        of_deployment = list(group)
        steps = (f"{change.spot.place} {change.before} -> {change.after}" for change in of_deployment)
        yield f"{deployment}: {', '.join(steps)}"
        for change in of_deployment:
            if change.spot in left:
                yield f"  leaves {change.spot.place}: {left[change.spot]}"
        if any(len(change.spot.pools) > 1 for change in of_deployment):
            for move in moves(of_deployment):
                yield f"  {counted(move.replicas, 'replica')}: {'; '.join(_steps(move))}"


def roll_line(roll: Roll) -> str:
    """Return how a new set of pods takes the place of an old one, with what clients see of it."""
    what = f"{roll.spot.deployment} on {roll.spot.place}: a new set of pods"
    if roll.beside:
        return f"{what} beside the old one, which serves until the new one is ready and ends then"
    return f"{what} after the old one, since there is no room for both: nothing serves in between"


def _steps(move: Move) -> Iterator[str]:
    """Yield what becomes of each role of replicas that move; pods of one that stays run on."""
    before, after = dict(move.before.pools), dict(move.after.pools)
    for role in sorted({*before, *after}):
        source, target = (
            f"{spot.cluster}/{pools[role]}" if role in pools else ""
            for spot, pools in ((move.before, before), (move.after, after))
        )
        if source == target and move.before.revision != move.after.revision:
            yield f"{role} starts anew on {target}"
        elif source == target:
            yield f"{role} stays on {source}"
        elif source and target:
            yield f"{role} moves from {source} to {target}"
        else:
            yield f"{role} starts on {target}" if target else f"{role} ends on {source}"
