"""A bounded search for a way to put pods on alike nodes, for when the largest-first rule finds none.

Nodes are filled one after another. Some node has the largest pod that is left, so the next one does, with a
set of others to which none could be added: moving a pod there from a later node never hurts. Sets of the
same remaining pods are tried once. The number of steps is bounded, so that a plan is quick; the
bound is the same for equal pods, whatever was searched before.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from inferfleet.fleet.shapes import Node, Pod, fit, minus

# Steps of the search, at some 5 microseconds each.
_MOST_STEPS = 2_000
# Nodes and kinds of pods beyond which a search of that length finds nothing.
_MOST_NODES, _MOST_KINDS = 48, 12


class Item(NamedTuple):
    """So many alike pods. Of all items of a `group`, a node takes `limit` pods together."""

    pod: Pod
    number: int
    group: int | None
    limit: int


def searched(node: Node, size: int, items: list[Item]) -> dict[Node, int] | Literal["none", "unknown"]:
    """Return what is left on the nodes of a way in which all items fit, in number of nodes by state; `none`
    if there is no way, `unknown` if it was not found out.
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

    def fill(self, left: tuple[int, ...], nodes: int) -> bool:
        if not any(left):
            return True
        if not nodes or (left, nodes) in self._hopeless or self._short(left, nodes):
            return False
        for taken, state in self._sets(left):
            self.chosen.append(state)
            rest = tuple(had - out for had, out in zip(left, taken, strict=True))
            if self.fill(rest, nodes - 1):
                return True
            self.chosen.pop()
            if self.budget <= 0:
                return False
        if self.budget > 0:
            self._hopeless.add((left, nodes))
        return False

    def _short(self, left: tuple[int, ...], nodes: int) -> bool:
        for has, asked in zip(
            self.node[:3], zip(*(item.pod[:3] for item in self.items), strict=True), strict=True
        ):
            if sum(one * number for one, number in zip(asked, left, strict=True)) > has * nodes:
                return True
        return False

    def _sets(self, left: tuple[int, ...]) -> Iterator[tuple[list[int], Node]]:
        """Yield the sets with the largest pod that is left, those with the most of large pods first."""
        first = next(index for index, number in enumerate(left) if number)
        taken = [0] * len(left)
        yield from self._extended(first, first, left, taken, self.node)

    def _extended(
        self, index: int, first: int, left: tuple[int, ...], taken: list[int], state: Node
    ) -> Iterator[tuple[list[int], Node]]:
        self.budget -= 1
        if self.budget <= 0:
            return
        if index == len(left):
            if not self._extendable(left, taken, state):
                yield list(taken), state
            return
        most = min(left[index], self._fit(index, taken, state))
        least = 1 if index == first else 0
        for number in range(most, least - 1, -1):
            taken[index] = number
            after = minus(state, self.items[index].pod, number) if number else state
            yield from self._extended(index + 1, first, left, taken, after)
        taken[index] = 0

    def _extendable(self, left: tuple[int, ...], taken: list[int], state: Node) -> bool:
        return any(
            taken[index] < number and self._fit(index, taken, state) > 0 for index, number in enumerate(left)
        )

    def _fit(self, index: int, taken: list[int], state: Node) -> int:
        item = self.items[index]
        most = fit(state, item.pod)
        if item.group is not None:
            others = sum(
                number
                for other, number in zip(self.items, taken, strict=True)
                if other.group == item.group and other is not item
            )
            most = min(most, item.limit - others)
            if taken[index]:
                most = min(most, item.limit - others - taken[index])
        return max(most, 0)
