"""Whether pods fit on the alike nodes of one pool, and what is left of each node.

Largest pods first, each on the fullest node that still takes it: pods that need a whole node get one, small
ones share. Nodes in the same state are counted, not listed, so a pool of 15,000 costs what one of 3 does.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.fleet.shapes import Node, Pod


@dataclass(frozen=True)
class Packing:
    """Pods on the nodes of a pool: what is free on how many nodes, fullest first, and the pods left over."""

    free: tuple[tuple[Node, int], ...]
    left: int

    @property
    def holds(self) -> bool:
        """Return True when every pod has a node."""
        return self.left == 0

    def room(self, pod: Pod) -> int:
        """Return how many more pods of this shape fit beside those that are there."""
        return sum(_fit(node, pod) * count for node, count in self.free)


def pack(node: Node, size: int, pods: Mapping[Pod, int]) -> Packing:
    """Return how `pods` (shape to number) fill `size` empty nodes, as far as they fit."""
    free = {node: size} if size else {}
    left = 0
    for pod in sorted(pods, reverse=True):
        left += _place(free, pod, pods[pod])
    return Packing(tuple(sorted(free.items())), left)


def _place(free: dict[Node, int], pod: Pod, number: int) -> int:
    """Put `number` pods on the nodes in `free`; return how many are left over."""
    for state in sorted(free):
        fit = _fit(state, pod)
        if not number:
            break
        if not fit:
            continue
        filled = min(free[state], number // fit)
        _move(free, state, _minus(state, pod, fit), filled)
        number -= filled * fit
        if number and state in free:  # fewer than fit on one node
            _move(free, state, _minus(state, pod, number), 1)
            number = 0
    return number


def _fit(node: Node, pod: Pod) -> int:
    fit = node.pods
    for has, needs in ((node.gpus, pod.gpus), (node.cpu, pod.cpu), (node.memory, pod.memory)):
        if needs:
            fit = min(fit, has // needs)
    return fit


def _minus(node: Node, pod: Pod, number: int) -> Node:
    return Node(
        node.gpus - pod.gpus * number,
        node.cpu - pod.cpu * number,
        node.memory - pod.memory * number,
        node.pods - number,
    )


def _move(free: dict[Node, int], before: Node, after: Node, nodes: int) -> None:
    if not nodes:
        return
    free[before] -= nodes
    if not free[before]:
        del free[before]
    free[after] = free.get(after, 0) + nodes
