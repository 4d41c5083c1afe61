"""Whether workers fit on the nodes of a pool, by trying every way: nodes are listed, and so are workers.

It shares nothing with the planner's packing, which counts alike nodes and alike pods.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

# Ways that are tried before it is left open whether there is one.
_MOST = 20_000


class Size(NamedTuple):
    """What a pod asks for, or a node has free: GPUs, thousandths of a core, bytes of memory."""

    gpus: int
    cpu: int
    memory: int

    def holds(self, other: "Size") -> bool:
        """Return whether another one fits."""
        return self.gpus >= other.gpus and self.cpu >= other.cpu and self.memory >= other.memory

    def minus(self, other: "Size") -> "Size":
        """Return what is left."""
        return Size(self.gpus - other.gpus, self.cpu - other.cpu, self.memory - other.memory)


# The pods of one worker, each on a node of its own.
Worker = tuple[Size, ...]


def fit(nodes: Sequence[Size], workers: Sequence[Worker]) -> bool | None:
    """Return whether all workers have nodes at once, None where that takes too long to find out."""
    total = [sum(column) for column in zip(*nodes, strict=True)] or [0, 0, 0]
    asked = [sum(pod[place] for worker in workers for pod in worker) for place in range(3)]
    if any(wanted > has for wanted, has in zip(asked, total, strict=True)):
        return False
    search = _Search(sorted(workers, key=lambda worker: (-max(worker).gpus, -len(worker), worker)))
    found = search.fits(tuple(sorted(nodes)), 0)
    return found if found or search.left > 0 else None


class _Search:
    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.left = _MOST
        self._known: set[tuple[tuple[Size, ...], int]] = set()

    def fits(self, nodes: tuple[Size, ...], place: int) -> bool:
        if place == len(self.workers):
            return True
        if (nodes, place) in self._known:
            return False
        for after in _ways(nodes, self.workers[place]):
            self.left -= 1
            if self.left <= 0:
                return False
            if self.fits(after, place + 1):
                return True
        self._known.add((nodes, place))
        return False


def _ways(nodes: tuple[Size, ...], worker: Worker) -> Iterator[tuple[Size, ...]]:
    """Yield what nodes have free with a worker more, each way once."""
    entry, followers = worker[0], worker[1:]
    told = set()
    for first, node in enumerate(nodes):
        if not node.holds(entry):
            continue
        others = [place for place in range(len(nodes)) if place != first]
        if not followers:
            chosen: Iterator[tuple[int, ...]] = iter([()])
        else:
            able = [place for place in others if nodes[place].holds(followers[0])]
            chosen = combinations(able, len(followers))
        for places in chosen:
            after = list(nodes)
            after[first] = node.minus(entry)
            for place in places:
                after[place] = nodes[place].minus(followers[0])
            way = tuple(sorted(after))
            if way not in told:
                told.add(way)
                yield way
