"""One way in which the pods of a plan fill the nodes of each pool, for people to look at.

The planner counts nodes in the same state and names no pods, and which node a pod gets is decided by the
scheduler of its cluster. So this repeats the planner's first attempt, largest pods first, each on the fullest
node that takes it, and remembers whose they are. Where only the planner's longer search finds a way for all,
the pods that are left over here are counted. Nodes that are filled alike are one entry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.demands import Demand, Demands, RoleKey
from inferfleet.fleet.placement.packing import at_most
from inferfleet.fleet.shapes import Node, Pod, PoolKey, fit, minus
from inferfleet.review.picture.values import Nodes, Seat


class _Item(NamedTuple):
    """Alike pods that need nodes; of a worker of several, at most `limit` of its role on a node."""

    pod: Pod
    deployment: str
    role: str
    kept: bool
    number: int
    limit: int


class _State(NamedTuple):
    free: Node
    seats: tuple[Seat, ...]


Roles = Mapping[RoleKey, int]


def roles_on_pools(placements: Iterable[Placement], demands: Demands) -> dict[PoolKey, dict[RoleKey, int]]:
    """Return the replicas of each role on each pool, where documents say what they need."""
    made: dict[PoolKey, dict[RoleKey, int]] = {}
    for placement in placements:
        spot = placement.spot
        for role, pool in spot.pools:
            if demands.has(spot.deployment, role):
                there = made.setdefault((spot.cluster, pool), {})
                key = (spot.deployment, role)
                there[key] = there.get(key, 0) + placement.replicas
    return made


def seated(
    pool: PoolKey, empty: Node, size: int, roles: Roles, demands: Demands
) -> tuple[tuple[Nodes, ...], int]:
    """Return how the nodes of a pool are filled, fullest first, and the pods that found no node."""
    nodes: dict[_State, int] = {_State(empty, ()): size} if size else {}
    items = [
        item
        for (deployment, role), replicas in roles.items()
        for item in _items(deployment, role, demands.of(deployment, role, pool), replicas, empty)
    ]
    left = sum(
        _seat(nodes, item) for item in sorted(items, key=lambda item: (item.pod, item[1:4]), reverse=True)
    )
    made = tuple(
        Nodes(number, state.seats, state.free.gpus)
        for state, number in sorted(nodes.items(), key=lambda entry: (entry[0].seats == (), entry[0]))
    )
    return made, left


def _items(deployment: str, role: str, demand: Demand, replicas: int, empty: Node) -> Iterable[_Item]:
    workers = replicas * demand.workers
    spare = workers * (demand.sets - 1) + (1 if demand.spare else 0)
    for kept, number in ((False, workers), (True, spare)):
        if not number:
            continue
        limit = workers + spare if demand.gang > 1 else empty.pods
        yield _Item(at_most(demand.pod, empty), deployment, role, kept, number, limit)
        if demand.gang > 1:
            follower = at_most(demand.follower or demand.pod, empty)
            yield _Item(follower, deployment, role, kept, number * (demand.gang - 1), limit)


def _seat(nodes: dict[_State, int], item: _Item) -> int:
    """Put pods on nodes; return how many are left over."""
    left = item.number
    for state in sorted(nodes):
        there = sum(
            seat.pods for seat in state.seats if (seat.deployment, seat.role) == (item.deployment, item.role)
        )
        most = min(fit(state.free, item.pod), item.limit - there)
        if most <= 0:
            continue
        whole = min(nodes[state], left // most)
        _move(nodes, state, item, most, whole)
        left -= whole * most
        if 0 < left < most and nodes.get(state):
            _move(nodes, state, item, left, 1)
            left = 0
        if not left:
            break
    return left


def _move(nodes: dict[_State, int], state: _State, item: _Item, pods: int, number: int) -> None:
    if not number:
        return
    nodes[state] -= number
    if not nodes[state]:
        del nodes[state]
    seat = Seat(item.deployment, item.role, item.pod.gpus, item.kept, pods)
    alike = [known for known in state.seats if _kind(known) == _kind(seat)]
    others = [known for known in state.seats if known not in alike]
    merged = replace(seat, pods=pods + sum(known.pods for known in alike))
    after = _State(minus(state.free, item.pod, seat.pods), tuple(sorted([*others, merged])))
    nodes[after] = nodes.get(after, 0) + number


def _kind(seat: Seat) -> tuple[str, str, int, bool]:
    return seat.deployment, seat.role, seat.gpus, seat.kept
