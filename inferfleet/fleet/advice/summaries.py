"""Plans in a few lines: why a deployment has no place, what would give it one, and what changes against the
lock.

Clusters are counted by what keeps replicas from them, each once, with the pool that is nearest to taking one:
`0 of 12 clusters have room: 7 have 4 GPUs per node (8 wanted), 3 full, 2 lack tier=prod`. A few reasons that
fit into a line are told as they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from inferfleet.documents.wording import listing, shown
from inferfleet.fleet.decisions import Change, Fix, MoreNodes, Move, Reason, Roll, Unplaced, moves
from inferfleet.fleet.placement.reasons import listed
from inferfleet.fleet.placement.suitability import FULL
from inferfleet.fleet.shapes import counted
from inferfleet.fleet.spot import Spot

# Characters of reasons that are told one by one, and of all that messages say of one deployment.
_IN_FULL, MOST = 200, 600
# Pools that a next step names, changes of documents, and its characters.
_POOLS, _STEPS, _STEP = 2, 2, 320
# Deployments whose reasons and fix one report tells: both are worked out for these alone.
_DEPLOYMENTS = 20
# Verbs of `Reason.short` where they speak of one cluster.
_SINGULAR = {"have": "has", "lack": "lacks", "fail": "fails"}


def named_and_counted(unplaced_deployments: Sequence[Unplaced]) -> tuple[list[Unplaced], list[Unplaced]]:
    """Return the deployments without a place that a report explains, and those that it only counts.

    Of many, it explains those whose replicas would end, and then the first by name.
    """
    chosen = {
        unplaced.deployment
        for unplaced in sorted(unplaced_deployments, key=lambda unplaced: not unplaced.running)[:_DEPLOYMENTS]
    }
    return (
        [unplaced for unplaced in unplaced_deployments if unplaced.deployment in chosen],
        [unplaced for unplaced in unplaced_deployments if unplaced.deployment not in chosen],
    )


def in_short(reasons: Iterable[Reason], most: int = 300) -> str:
    """Return the reasons in one line of at most so many characters."""
    all_reasons = tuple(reasons)
    if not all_reasons:
        return "there is no cluster"
    if len(all_reasons) <= 4 and len(full := listed(all_reasons)) <= min(most, _IN_FULL):
        return full
    return by_cluster(all_reasons, most)


def by_cluster(reasons: Iterable[Reason], most: int = MOST) -> str:
    """Return in one line, of at most so many characters, how many clusters there are with each reason."""
    all_groups = groups(reasons)
    clusters = sum(group.clusters for group in all_groups)
    line = f"0 of {clusters:,} {'cluster has' if clusters == 1 else 'clusters have'} room: "
    for index, group in enumerate(all_groups):
        unlisted_clusters = clusters - sum(earlier.clusters for earlier in all_groups[:index])
        unlisted_text = f"{unlisted_clusters:,} for other reasons"
        group_text = f"{group}{', ' if index + 1 < len(all_groups) else ''}"
        # What follows must leave room to say how many are left.
        reserve = len(unlisted_text) if index + 1 < len(all_groups) else 0
        if len(line) + len(group_text) + reserve > most:
            return line + unlisted_text
        line += group_text
    return line


@dataclass(frozen=True)
class Group:
    """How many clusters have the same reason, in the words for several; `example` is the reason of the
    first.
    """

    clusters: int
    short: str
    example: Reason

    def __str__(self) -> str:
        """Return `7 have 4 GPUs per node (8 wanted)`."""
        verb, _, rest = self.short.partition(" ")
        if self.clusters == 1 and verb in _SINGULAR:
            return f"1 {_SINGULAR[verb]} {shown(rest, 90)}"
        return f"{self.clusters:,} {shown(self.short, 95)}"


def groups(reasons: Iterable[Reason]) -> tuple[Group, ...]:
    """Return the clusters grouped by their reason, the largest group first."""
    by_short: dict[str, list[Reason]] = {}
    for _, of_cluster in groupby(sorted(reasons), key=lambda reason: reason.cluster):
        nearest = max(of_cluster, key=lambda reason: reason.near)
        by_short.setdefault(nearest.short or nearest.why, []).append(nearest)
    found = [Group(len(alike), short, alike[0]) for short, alike in by_short.items()]
    return tuple(sorted(found, key=lambda group: (-group.clusters, group.short)))


def fix_step(fix: Fix | None, reasons: Iterable[Reason]) -> str:
    """Return what would place all replicas as a next step: `Add 2 nodes to pool east/h100 (4.1 USD an hour)`.

    What costs no nodes comes first. Of several pools and changes the first are named;
    `inferfleet explain` has all.
    """
    all_reasons = tuple(reasons)
    free = list(_free(fix, all_reasons))
    if fix is not None:
        # Nodes would do, so that somebody ends a cordon comes after them.
        ends = [reason.step for reason in all_reasons if reason.step and not reason.pool]
        steps = [*free[:1], _added(fix), *([] if free else ends[:1])]
    elif free:
        steps = free[:_STEPS]
    elif any(reason.near >= FULL for reason in all_reasons):
        steps = ["raise its priority or its quota, or lower replicas of others: these take what is added"]
    else:
        steps = ["add a pool that suits it, or change what it asks for: no active pool does, however large"]
    line = ", or ".join(steps)
    if len(line) > _STEP:
        line = shown(steps[0], _STEP)
    return line[:1].upper() + line[1:]


def _free(fix: Fix | None, reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield the steps that would place replicas and cost no nodes, the nearest first."""
    nearest = sorted(reasons, key=lambda reason: (-reason.near, reason))
    # With a fix, nothing that is refused or cordoned elsewhere has to change.
    steps = [reason.step for reason in nearest if reason.step and (fix is None or reason.near >= FULL)]
    yield from dict.fromkeys(steps)


def _added(fix: Fix) -> str:
    named_and_counted = [
        f"{counted(more_nodes.nodes, 'node')} to pool {place(more_nodes)} ({cost(more_nodes)})"
        for more_nodes in fix.pools
    ]
    if unlisted_pools := len(named_and_counted) - _POOLS:
        named_and_counted[_POOLS:] = (
            [f"nodes to {counted(unlisted_pools, 'more pool')}"] if unlisted_pools > 0 else []
        )
    other_deployments = (
        f" (room for {counted(len(fix.first), 'other')} without a place included)" if fix.first else ""
    )
    return f"add {' and '.join(named_and_counted)}{other_deployments}"


def fix_lines(fix: Fix | None, reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield what would place all replicas, with every change of a document, every pool and every other
    deployment that it is for.
    """
    yield f"smallest fix: {fix_step(fix, reasons)}"
    for step in list(_free(fix, reasons))[1 if fix else _STEPS :]:
        yield f"  or {step}"
    if fix is None:
        return
    for more_nodes in fix.pools:
        sizes = f"{more_nodes.size - more_nodes.nodes:,} -> {counted(more_nodes.size, 'node')}"
        yield f"  {place(more_nodes)}: {sizes}, {cost(more_nodes)}"
    if fix.first:
        yield f"  these nodes are for {listing(fix.first)} too"


def place(more_nodes: MoreNodes) -> str:
    """Return cluster and pool: `east/h100`."""
    return f"{shown(more_nodes.cluster, 63)}/{shown(more_nodes.pool, 63)}"


def cost(more_nodes: MoreNodes) -> str:
    """Return what nodes cost: `4.10 USD an hour`, `4.10 USD an hour in us-east4` where they are elsewhere."""
    if not more_nodes.per_hour:
        return "its class has no price"
    region = f" in {more_nodes.price_region}" if more_nodes.price_region else ""
    return f"{more_nodes.per_hour} {more_nodes.currency} an hour{region}"


# What changes against a lock.


def change_lines(changes: Iterable[Change], departure_reasons: Mapping[Spot, str]) -> Iterator[str]:
    """Yield one line per deployment, `ml/x: east/l4 2 -> 1, west/l4 0 -> 1`, and below it why replicas leave
    a spot, and the moves of those with several roles, role by role.
    """
    for deployment, group in groupby(sorted(changes), key=lambda change: change.spot.deployment):
        of_deployment = list(group)
        steps = (f"{change.spot.place} {change.before} -> {change.after}" for change in of_deployment)
        yield f"{deployment}: {', '.join(steps)}"
        for change in of_deployment:
            if change.spot in departure_reasons:
                yield f"  leaves {change.spot.place}: {departure_reasons[change.spot]}"
        if any(len(change.spot.pools) > 1 for change in of_deployment):
            for move in moves(of_deployment):
                yield f"  {counted(move.replicas, 'replica')}: {'; '.join(_steps(move))}"


def _steps(move: Move) -> Iterator[str]:
    """Yield in words where the pods of each role go with replicas that move; those of a role that stays
    run on.
    """
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


def roll_line(roll: Roll) -> str:
    """Return in a line how a new set of pods takes the place of an old one, and what clients see of it."""
    what = f"{roll.spot.deployment} on {roll.spot.place}: a new set of pods"
    if roll.beside:
        return f"{what} beside the old one, which serves until the new one is ready and ends then"
    return f"{what} after the old one, since there is no room for both: nothing serves in between"
