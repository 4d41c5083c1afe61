"""What capacity.lock leaves of pools: new replicas are planned with the smaller of declared and seen.

Nodes that are missing, what others hold and what nodes lack are put onto pools as if it were pods, after the
replicas that run and only as far as there is room beside them. So what was seen keeps new replicas away, and
moves none. Where replicas leave, the rest is put there before new ones come. What is put there follows from
the replicas that stand, not from those that left, so the next plan holds back the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.node_pool import NodePool
from inferfleet.fleet.lock.capacity import Beside, Seen
from inferfleet.fleet.placement.rooms import More, Room, Rooms
from inferfleet.fleet.placement.sizes import cores, counted, gib, gpus
from inferfleet.fleet.shapes import Demand, Node, Pod, PoolKey, RoleKey


class HeldBack:
    """What keeps new replicas away from pools, and how much of it is put there already."""

    def __init__(self, documents: Documents, seen: Mapping[PoolKey, Seen]) -> None:
        self._pools = {key: (pool, seen[key]) for key, pool in pools_of(documents) if key in seen}
        self._there: dict[PoolKey, list[More]] = {}
        self._complete: set[PoolKey] = set()

    def put_onto(self, rooms: Rooms, pools: Iterable[PoolKey] | None = None) -> None:
        """Put onto pools, without a choice onto all, as much as they have room for beside their replicas."""
        for key in self._pools if pools is None else pools:
            if key in self._pools and key in rooms.by_key and key not in self._complete:
                self._put(rooms, key)

    def _put(self, rooms: Rooms, key: PoolKey) -> None:
        for more in self._there.pop(key, ()):
            rooms.add(key, more._replace(replicas=-more.replicas))
        room, (pool, one) = rooms.by_key[key], self._pools[key]
        room.forget()
        held, there = list(_held(pool, one, room.node, room.size)), []
        for each in held:
            if number := each.fitting(room):
                there.append(each.more(number))
                rooms.add(key, there[-1])
        self._there[key] = there
        if there == [each.more(each.most) for each in held]:
            self._complete.add(key)

    def shortage(self, key: PoolKey, empty: Node) -> "Shortage | None":
        """Return what new replicas find less of on a pool with such nodes, None where nothing is."""
        return shortage(*self._pools[key], empty) if key in self._pools else None


class _Held(NamedTuple):
    """Up to `most` pods as which something is held back. Those that are `apart` have a node each."""

    role: RoleKey
    pod: Pod
    most: int
    apart: bool = False

    def more(self, number: int) -> More:
        """Return so many of the pods."""
        if self.apart:
            return More(self.role, Demand(self.pod, number, 0, gang=number, follower=self.pod), 1)
        return More(self.role, Demand(self.pod, 1, 0), number)

    def fitting(self, room: Room) -> int:
        """Return how many of the pods have room."""
        low, high = 0, self.most
        while low < high:
            # All of them, nearly always.
            middle = high if high == self.most else (low + high + 1) // 2
            low, high = (middle, high) if room.fits(self.more(middle)) else (low, middle - 1)
        return low


def _held(pool: NodePool, one: Seen, empty: Node, size: int) -> Iterator[_Held]:
    """Yield what is held back: nodes and pods of others, large ones first, then what each node lacks."""
    whole = Pod(empty.gpus, empty.cpu, empty.memory, empty.huge_2mi, empty.huge_1gi)
    free_of_us = [whole if gpus >= empty.gpus else Pod(gpus, 0, 0) for gpus in one.held]
    pods = Counter([whole] * _absent(pool, one) + free_of_us)
    pods.update(Pod(min(gpus, empty.gpus), 0, 0) for gpus in one.foreign)
    pods.update(Pod(0, *amounts) for amounts in taken(one, empty))
    for place, pod in enumerate(sorted(pods, reverse=True)):
        yield _Held(("", f"held back {place}"), pod, pods[pod])
    lacks = Pod(
        *(
            max(0, has - offered) if offered is not None else 0
            for has, offered in ((empty.gpus, one.gpus), *_offered(one, empty))
        )
    )
    left = size - _absent(pool, one) - len(one.held)
    if any(lacks) and left > 0:
        yield _Held(("", "lacking"), lacks, left, apart=True)


def _absent(pool: NodePool, one: Seen) -> int:
    """Return how many nodes of the pool there cannot be."""
    most = pool.size if one.most is None else one.most
    return max(_missing(pool, one), pool.size - min(pool.size, most))


def _missing(pool: NodePool, one: Seen) -> int:
    """Return how many nodes the pool lacks of those that it should have had when it was seen.

    An autoscaler may still add those not there, an update those that documents ask for since then; and of a
    pool that became smaller, nodes that were there stay as far as they are declared.
    """
    there = one.nodes + len(one.held)
    return 0 if pool.autoscaled else min(one.missing, max(0, pool.size - there))


def _offered(one: Seen, empty: Node) -> tuple[tuple[int, int | None], tuple[int, int | None]]:
    """Return cores and memory of a node by its class, and the least that DaemonSets leave of one."""
    return (
        (empty.cpu, None if one.cpu is None else one.cpu - one.daemons.cpu),
        (empty.memory, None if one.memory is None else one.memory - one.daemons.memory),
    )


def taken(one: Seen, empty: Node) -> Iterator[Beside]:
    """Yield what other pods take of what the class of a node says, for each node where they take any."""
    spare = [max(0, (offered or 0) - has) for has, offered in _offered(one, empty)]
    for each in one.others:
        amounts = Beside(
            min(empty.cpu, max(0, each.cpu - spare[0])), min(empty.memory, max(0, each.memory - spare[1]))
        )
        if any(amounts):
            yield amounts


class Shortage(NamedTuple):
    """What new replicas find less of on a pool than its document and class say, by what was seen on a day.

    `held` nodes take no pods, `missing` ones are not there, `gpus` belong to pods of others, which `take`
    cores and memory on so many nodes. `daemons` is what DaemonSets request of each node where the class
    leaves them no room. Quotas and reservations allow `most` nodes, None where that is enough.
    """

    day: date
    size: int
    held: int
    missing: int
    gpus: int
    take: tuple[Beside, ...]
    daemons: Beside
    most: int | None

    def __str__(self) -> str:
        """Return in words what is less: `1 of 3 nodes not there, 2 GPUs held by pods of others`."""
        return ", ".join(told for told, _ in self._parts())

    @property
    def short(self) -> str:
        """Return what is less, said of several clusters: `have nodes that are not there`."""
        return "have " + " and ".join(short for _, short in self._parts())

    @property
    def step(self) -> str:
        """Return what gives new replicas more room, "" where that is nothing that is not always there."""
        steps = [
            f"uncordon or repair {counted(self.held, 'node')}" if self.held else "",
            f"bring back {counted(self.missing, 'node')}" if self.missing else "",
            "end pods of others" if self.gpus or self.take else "",
            "raise quotas or reservations of Google" if self.most is not None else "",
        ]
        return " or ".join(filter(None, steps))

    def _parts(self) -> Iterator[tuple[str, str]]:
        if self.held:
            yield f"{self.held} of its nodes cordoned or not ready", "nodes cordoned or not ready"
        if self.missing:
            yield f"{self.missing} of {self.size} nodes not there", "nodes that are not there"
        if self.gpus:
            yield f"{gpus(self.gpus)} held by pods of others", "GPUs held by pods of others"
        if self.take:
            most = Beside(*map(max, *self.take)) if len(self.take) > 1 else self.take[0]
            on = f"on {counted(len(self.take), 'node')}"
            yield f"up to {amount(most)} taken by other pods {on}", "nodes with other pods"
        if any(self.daemons):
            yield f"{amount(self.daemons)} of each node requested by DaemonSets", "nodes with DaemonSets"
        if self.most is not None:
            yield (
                f"quotas and reservations allow {self.most} of {self.size} nodes",
                "fewer nodes by quotas and reservations",
            )


def shortage(pool: NodePool, one: Seen, empty: Node) -> Shortage | None:
    """Return what a pool has less than its document and class say, None where nothing is."""
    # What nodes offer less than their class says is another matter, and told by itself.
    lacks = [max(0, has - offered) if offered is not None else 0 for has, offered in _offered(one, empty)]
    found = Shortage(
        one.day,
        pool.size,
        len(one.held),
        _missing(pool, one),
        sum(one.foreign),
        tuple(taken(one, empty)),
        Beside(min(one.daemons.cpu, lacks[0]), min(one.daemons.memory, lacks[1])),
        one.most if one.most is not None and one.most < pool.size else None,
    )
    return found if str(found) else None


def amount(beside: Beside) -> str:
    """Return in words: `1.5 cores and 3Gi`."""
    parts = [f"{cores(beside.cpu)} cores" if beside.cpu else "", gib(beside.memory) if beside.memory else ""]
    return " and ".join(filter(None, parts))


def pools_of(documents: Documents) -> Iterator[tuple[PoolKey, NodePool]]:
    """Yield all pools, by cluster."""
    for name, cluster in sorted(documents.clusters.items()):
        for pool in cluster.spec.node_pools:
            yield (name, pool.name), pool
