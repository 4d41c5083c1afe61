"""Whether pods fit on the alike nodes of one pool, and what is left of each node.

Largest pods first, each on the fullest node that still takes it: pods that need a whole node get one, small
ones share. Nodes in the same state are counted, not listed, so a pool of 15,000 costs what one of 3 does.
Where that leaves pods over, the total of what they ask for may show that no way would do; else a bounded
search looks for one (`searched`, below).

The pods of a worker stand on nodes of their own. Where a workload has W workers, that is the same as no more
than W of its pods on a node: let each node and each position of a worker be a vertex, each pod an edge
between the two; no vertex has more than W edges, so W colours do (König), and each colour is a worker.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import le
from typing import Literal, NamedTuple

from inferfleet.fleet.shapes import Node, Pod, fit, minus

# How many nodes are in which state.
Free = dict[Node, int]


class Gang(NamedTuple):
    """The pods of a workload whose workers have several: no two of one worker share a node."""

    entry: Pod
    follower: Pod
    size: int  # pods per worker
    workers: int

    def pods(self) -> dict[Pod, int]:
        """Return the number of pods of each shape."""
        pods = {self.entry: self.workers}
        pods[self.follower] = pods.get(self.follower, 0) + self.workers * (self.size - 1)
        return pods

    def within(self, node: Node) -> "Gang":
        """Return the gang with each pod cut to what a whole node has."""
        return self._replace(entry=at_most(self.entry, node), follower=at_most(self.follower, node))

    def limits(self, node: Node) -> bool:
        """Return whether an empty node could hold more of the pods than it may."""
        least = Pod(*map(min, self.entry, self.follower))
        return fit(node, least) > self.workers


@dataclass(frozen=True)
class Packing:
    """Pods on the nodes of a pool: what is free on how many nodes, fullest first, and the pods left over.

    `certain` is False where pods are left over and a longer search might have found a way.
    """

    free: tuple[tuple[Node, int], ...]
    unplaced_pods: int
    certain: bool = True

    @property
    def holds(self) -> bool:
        """Return True when every pod has a node."""
        return self.unplaced_pods == 0


class Item(NamedTuple):
    """So many alike pods. Of all items of a `group`, a node takes `limit` pods together."""

    pod: Pod
    number: int
    group: int | None
    limit: int


def pack(node: Node, size: int, pods: Mapping[Pod, int], gangs: Iterable[Gang] = ()) -> Packing:
    """Return how `pods` (shape to number) and gangs fill `size` empty nodes, as far as they fit."""
    alone = dict(pods)
    apart: list[Gang] = []
    for gang in gangs:
        if gang.limits(node):
            apart.append(gang)
            continue
        for pod, number in gang.pods().items():
            alone[pod] = alone.get(pod, 0) + number
    free: Free = {node: size} if size else {}
    unplaced_pods = 0
    steps: list[Pod | Gang] = [*alone, *apart]
    for step in sorted(steps, key=_largest, reverse=True):
        unplaced_pods += put_gang(free, step) if isinstance(step, Gang) else put(free, step, alone[step])
    if not unplaced_pods:
        return Packing(tuple(sorted(free.items())), 0)
    items = [Item(pod, number, None, 0) for pod, number in alone.items()]
    for index, gang in enumerate(apart):
        items += [Item(pod, number, index, gang.workers) for pod, number in gang.pods().items()]
    result: Literal["none", "unknown"] | Free = (
        "none" if _too_much(node, size, items, fills=not apart) else searched(node, size, items)
    )
    if isinstance(result, dict):
        return Packing(tuple(sorted(result.items())), 0)
    return Packing(tuple(sorted(free.items())), unplaced_pods, certain=result == "none")


def _largest(step: Pod | Gang) -> Pod:
    return max(step.entry, step.follower) if isinstance(step, Gang) else step


def put(free: Free, pod: Pod, number: int) -> int:
    """Put `number` pods on the nodes in `free`; return how many are left over."""
    for state in sorted(free):
        if not number:
            break
        most = fit(state, pod)
        if not most:
            continue
        filled = min(free[state], number // most)
        _move(free, state, minus(state, pod, most), filled)
        number -= filled * most
        if number and state in free:  # fewer than fit on one node
            _move(free, state, minus(state, pod, number), 1)
            number = 0
    return number


def put_gang(free: Free, gang: Gang) -> int:
    """Put the pods of a workload on the nodes in `free`, none of which has any of them; return how many are
    left over.
    """
    taken: dict[tuple[Node, int], int] = {(state, 0): count for state, count in free.items()}
    unplaced_pods = 0
    for pod, total in sorted(gang.pods().items(), reverse=True):
        number = total
        for state, has in sorted(taken):
            if not number:
                break
            most = min(fit(state, pod), gang.workers - has)
            if most <= 0:
                continue
            filled = min(taken[state, has], number // most)
            for added_pods, nodes in ((most, filled), (number - filled * most, 1)):
                if added_pods and added_pods <= most and nodes and taken.get((state, has), 0) >= nodes:
                    taken[state, has] -= nodes
                    after = (minus(state, pod, added_pods), has + added_pods)
                    taken[after] = taken.get(after, 0) + nodes
                    number -= added_pods * nodes
        unplaced_pods += number
    free.clear()
    for (state, _), count in taken.items():
        if count:
            free[state] = free.get(state, 0) + count
    return unplaced_pods


def _move(free: Free, before: Node, after: Node, nodes: int) -> None:
    if not nodes:
        return
    free[before] -= nodes
    if not free[before]:
        del free[before]
    free[after] = free.get(after, 0) + nodes


def _too_much(node: Node, size: int, items: list[Item], *, fills: bool) -> bool:
    """Return whether the items are sure not to fit, whichever way they are put.

    They ask for more than all nodes have; or one is larger than a node, or may stand on too few; or those of
    which no two share a node are more than there are nodes; or sizes are such that largest first is best:
    each divides the next one, and nothing but GPUs is ever short (Coffman, Garey and Johnson 1987).
    """
    total = [0] * 6
    lonely = 0
    for pod, number, _, _ in items:
        asked = (pod.gpus, pod.cpu, pod.memory, 1, pod.huge_2mi, pod.huge_1gi)
        total = [had + amount * number for had, amount in zip(total, asked, strict=True)]
    if any(asked > has * size for asked, has in zip(total, node, strict=True)):
        return True
    for pod, number, _, limit in items:
        most = fit(node, pod)
        if not most or number > min(most, limit or most) * size:
            return True
        lonely += number if 2 * pod.gpus > node.gpus else 0
    if lonely > size:
        return True
    sizes = sorted({item.pod.gpus for item in items})
    return (
        fills
        and sizes[0] > 0
        and all(larger % smaller == 0 for smaller, larger in pairwise(sizes))
        and all(_in_proportion(node, pod) for pod, _, _, _ in items)
    )


def _in_proportion(node: Node, pod: Pod) -> bool:
    """Return whether a pod asks for no more of anything than of GPUs, as a part of a node."""
    return all(
        asked * node.gpus <= pod.gpus * has
        for asked, has in (
            (pod.cpu, node.cpu),
            (pod.memory, node.memory),
            (1, node.pods),
            (pod.huge_2mi, node.huge_2mi),
            (pod.huge_1gi, node.huge_1gi),
        )
    )


def no_more(smaller: tuple[Pod, int], larger: tuple[Pod, int]) -> bool:
    """Return whether so many of some pods ask for no more of anything than so many of others."""
    return smaller[1] <= larger[1] and all(map(le, smaller[0], larger[0]))


def at_most(pod: Pod, node: Node) -> Pod:
    return Pod(*map(min, pod, (node.gpus, node.cpu, node.memory, node.huge_2mi, node.huge_1gi)))


# A bounded search for a way to put pods on alike nodes, for when the largest-first rule finds none. Nodes are
# filled one after another. Some node has the largest pod that is left, so the next one does, with a set of
# others to which none could be added: moving a pod there from a later node never hurts. Sets of the same
# remaining pods are tried once. The number of steps is bounded, so that a plan is quick; the bound is the
# same for equal pods, whatever was searched before.
# Units of the search, at some 5 microseconds each.
_MOST_STEPS = 2_000
# Nodes and kinds of pods beyond which a search of that length finds nothing.
_MOST_NODES, _MOST_KINDS = 48, 12


def searched(node: Node, size: int, items: list[Item]) -> dict[Node, int] | Literal["none", "unknown"]:
    """Return how many nodes have what free when all items are put; `none` if there is no way, `unknown` if
    the search ended before it knew.
    """
    items = sorted((item for item in items if item.number), key=lambda item: item.pod, reverse=True)
    if size > _MOST_NODES or len(items) > _MOST_KINDS:
        return "unknown"
    search = _Search(node, items)
    if search.fill(tuple(item.number for item in items), size):
        search.free[node] = search.free.get(node, 0) + size - len(search.chosen)
        for state in search.chosen:
            search.free[state] = search.free.get(state, 0) + 1
        return {state: count for state, count in search.free.items() if count}
    return "unknown" if search.budget <= 0 else "none"


class _Search:
    """Remaining pods that are known not to fit, and the states of the nodes that are filled."""

    def __init__(self, node: Node, items: list[Item]) -> None:
        self.node = node
        self.items = items
        self.budget = _MOST_STEPS
        self.chosen: list[Node] = []
        self.free: dict[Node, int] = {}
        self._hopeless: set[tuple[tuple[int, ...], int]] = set()

    def fill(self, remaining_pods: tuple[int, ...], nodes: int) -> bool:
        if not any(remaining_pods):
            return True
        if not nodes or (remaining_pods, nodes) in self._hopeless or self._short(remaining_pods, nodes):
            return False
        for taken, state in self._sets(remaining_pods):
            self.chosen.append(state)
            pods_after = tuple(had - out for had, out in zip(remaining_pods, taken, strict=True))
            if self.fill(pods_after, nodes - 1):
                return True
            self.chosen.pop()
            if self.budget <= 0:
                return False
        if self.budget > 0:
            self._hopeless.add((remaining_pods, nodes))
        return False

    def _short(self, remaining_pods: tuple[int, ...], nodes: int) -> bool:
        for has, asked in zip(
            self.node[:3], zip(*(item.pod[:3] for item in self.items), strict=True), strict=True
        ):
            if (
                sum(amount * number for amount, number in zip(asked, remaining_pods, strict=True))
                > has * nodes
            ):
                return True
        return False

    def _sets(self, remaining_pods: tuple[int, ...]) -> Iterator[tuple[list[int], Node]]:
        """Yield the sets with the largest pod that is left, those with the most of large pods first."""
        first = next(index for index, number in enumerate(remaining_pods) if number)
        taken = [0] * len(remaining_pods)
        yield from self._extended(first, first, remaining_pods, taken, self.node)

    def _extended(
        self, index: int, first: int, remaining_pods: tuple[int, ...], taken: list[int], state: Node
    ) -> Iterator[tuple[list[int], Node]]:
        self.budget -= 1
        if self.budget <= 0:
            return
        if index == len(remaining_pods):
            if not self._extendable(remaining_pods, taken, state):
                yield list(taken), state
            return
        most = min(remaining_pods[index], self._fit(index, taken, state))
        least = 1 if index == first else 0
        for number in range(most, least - 1, -1):
            taken[index] = number
            after = minus(state, self.items[index].pod, number) if number else state
            yield from self._extended(index + 1, first, remaining_pods, taken, after)
        taken[index] = 0

    def _extendable(self, remaining_pods: tuple[int, ...], taken: list[int], state: Node) -> bool:
        return any(
            taken[index] < number and self._fit(index, taken, state) > 0
            for index, number in enumerate(remaining_pods)
        )

    def _fit(self, index: int, taken: list[int], state: Node) -> int:
        item = self.items[index]
        most = fit(state, item.pod)
        if item.group is not None:
            taken_of_group = sum(
                number
                for group_item, number in zip(self.items, taken, strict=True)
                if group_item.group == item.group and group_item is not item
            )
            most = min(most, item.limit - taken_of_group)
            if taken[index]:
                most = min(most, item.limit - taken_of_group - taken[index])
        return max(most, 0)


class Snapshot(NamedTuple):
    """How a pool is filled at one time, so that a change can be undone: what is packed, and what did not
    fit more.
    """

    free: Free | None
    unplaced_pods: int
    certain: bool
    most: Node
    total: Node
    refused: tuple[tuple[Pod, int], ...]
