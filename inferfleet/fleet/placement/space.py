"""The free space of pools: what is on each, what is left there, indexed by what is free on its nodes, and how
much of it capacity.lock takes from new replicas.

A pool whose replicas only grew is not packed anew: what is added goes onto the fullest nodes that take it.
Where that finds no space, and after a removal, it is packed from the beginning; undoing leaves no trace.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from operator import attrgetter, mul
from typing import Literal, NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.demands import Demand, RoleKey
from inferfleet.fleet.lock.capacity import FILE, Amounts, Observation
from inferfleet.fleet.placement import packing
from inferfleet.fleet.placement.packing import Free, Gang, Packing, Snapshot, no_more
from inferfleet.fleet.placement.prices import offer
from inferfleet.fleet.shapes import Node, Pod, PoolKey, cores, counted, fit, gib, gpus, node


class RoleReplicas(NamedTuple):
    """So many replicas of a role, as they are counted on a pool."""

    role: RoleKey
    demand: Demand
    replicas: int


class Space:
    """The nodes of one pool and the pods on them: how many replicas of which roles, and what is left free.

    `number` orders pools by cluster and name, `offer` is the class and how its nodes are bought.
    """

    def __init__(self, key: PoolKey, number: int, bought: str, node: Node, size: int) -> None:
        self.key = key
        self.number = number
        self.offer = bought
        self.node = node
        self.size = size
        self.indexed_amounts: frozenset[int] = frozenset()  # the free amounts by which the index knows it
        self._refused: list[tuple[Pod, int]] = []
        self._most = self._total = node  # what nodes have free: the most of each, and all together
        self.certain = True
        self._replicas: dict[RoleKey, int] = {}
        self._singles: Counter[Pod] = Counter()
        self._gangs: dict[RoleKey, Gang] = {}
        self._free: Free | None = None
        self._unplaced_pods = 0

    @property
    def free(self) -> Free:
        """Return the nodes by what they have free, as a number for each such state."""
        self._pack()
        return self._free or {}

    @property
    def holds(self) -> bool:
        """Return whether every pod has a node."""
        self._pack()
        return not self._unplaced_pods

    @property
    def most(self) -> Node:
        """Return the most of each resource that any node has free. It need not be one node for all
        resources.
        """
        self._pack()
        return self._most

    @property
    def kinds(self) -> int:
        """Return how many kinds of pods are on the pool. The work of packing it is proportional to that."""
        return len(self._singles) + len(self._gangs)

    def _pack(self) -> None:
        if self._free is None:
            packed = self.packing()
            self._unplaced_pods, self.certain = packed.unplaced_pods, packed.certain
            self._set(dict(packed.free))

    @property
    def overfull(self) -> bool:
        """Return whether the pods are sure not to fit."""
        return not self.holds and self.certain

    def packing(self) -> Packing:
        """Return how the pods fill the nodes, packed from the beginning."""
        return packing.pack(self.node, self.size, self._singles, self._gangs.values())

    def forget(self) -> None:
        """Forget how the pool is packed: when it is looked at next, it is packed from the beginning."""
        self._set(None)

    def grow(self, nodes: int) -> None:
        """Give the pool more nodes, or take empty ones with a negative number.

        Where it has too few empty ones, it is packed from the beginning.
        """
        self.size += nodes
        free = dict(self._free or {})
        empty = free.get(self.node, 0) + nodes
        if self._free is None or self._unplaced_pods or empty < 0:
            self._set(None)
            return
        free.pop(self.node, None)
        self._set(free | ({self.node: empty} if empty else {}))

    def _set(self, free: Free | None) -> None:
        self._free = free
        self._refused.clear()
        if free:
            self._most = Node(*map(max, *free)) if len(free) > 1 else next(iter(free))
            self._total = Node(*(sum(map(mul, has, free.values())) for has in zip(*free, strict=True)))

    def snapshot(self) -> Snapshot:
        """Return how the pool is filled now."""
        return Snapshot(
            self._free, self._unplaced_pods, self.certain, self._most, self._total, tuple(self._refused)
        )

    def add(self, role_replicas: RoleReplicas, back: Snapshot | None = None) -> None:
        """Count more replicas of a role, or fewer with a negative number, whether they fit or not.

        With `back`, they undo the last ones: the pool is filled as it was before these.
        """
        role, demand, replicas = role_replicas
        free = None
        if back is None and replicas > 0 and self._free is not None and not self._unplaced_pods:
            free = self.with_more((role_replicas,))
        before = self._replicas.get(role, 0)
        after = before + replicas
        self._count(role, demand, before, after)
        if after:
            self._replicas[role] = after
        else:
            self._replicas.pop(role, None)
        if back is None:
            self._set(free)
        else:
            self._free, self._unplaced_pods, self.certain, self._most, self._total, refused = back
            self._refused = [*refused]

    def fits(self, *added: RoleReplicas) -> bool:
        """Return whether more replicas of these roles fit together."""
        if len(added) == 1 and self._fits_as_it_is(added[0]):
            return True
        return self.with_more(added) is not None

    def _fits_as_it_is(self, role_replicas: RoleReplicas) -> bool:
        """Return whether a single pod fits as the nodes are filled. It is a quick look, and may say no
        wrongly.
        """
        role, demand, replicas = role_replicas
        if self._workers(role, demand, replicas) > 1 or demand.gang > 1 or not self.holds:
            return False
        return bool(fit(self._most, demand.pod)) and any(fit(state, demand.pod) for state in self.free)

    def with_more(self, added: tuple[RoleReplicas, ...]) -> Free | None:
        """Return how the nodes are filled with more replicas, None if not every pod has a node then."""
        if not self.holds or not self.size:
            return None
        gpus = sum(
            self._workers(role, demand, replicas) * demand.gang * demand.pod.gpus
            for role, demand, replicas in added
        )
        if gpus > self._total.gpus:
            return None
        alike = self._alike(added)
        if alike and (
            fit(self._total, alike[0]) < alike[1] or any(no_more(refused, alike) for refused in self._refused)
        ):
            return None
        free = self._fill_on_top(added) or self._repack(added)
        if free is None and alike:
            self._refused = [refused for refused in self._refused if not no_more(alike, refused)]
            self._refused.append(alike)
        return free

    def _alike(self, added: tuple[RoleReplicas, ...]) -> tuple[Pod, int] | None:
        """Return the pod and how many of it are added, if each is a worker by itself."""
        if len(added) > 1 or added[0].demand.gang > 1:
            return None
        return added[0].demand.pod, self._workers(*added[0])

    def without(self, role: RoleKey, demand: Demand) -> bool:
        """Return whether the rest would hold if one replica of the role were removed."""
        replicas = self._replicas.get(role, 0)
        self._count(role, demand, replicas, replicas - 1)
        holds = self.packing().holds
        self._count(role, demand, replicas - 1, replicas)
        return holds

    def _fill_on_top(self, added: tuple[RoleReplicas, ...]) -> Free | None:
        """Return how the nodes are filled with the added replicas beside all pods, which stay on their nodes.

        None if an added pod finds no node in this way. None too if an empty node could hold more pods of an
        added gang than it may, because only packing from the beginning counts them.
        """
        free = dict(self.free)
        for role, demand, replicas in added:
            workers = self._workers(role, demand, replicas)
            if demand.gang == 1:
                pods = {demand.pod: workers}
            else:
                gang = _gang(demand, workers + (self._gangs[role].workers if role in self._gangs else 0))
                if gang.limits(self.node):
                    return None
                pods = gang._replace(workers=workers).pods()
            for pod in sorted(pods, reverse=True):
                if packing.put(free, pod, pods[pod]):
                    return None
        return free

    def _repack(self, added: tuple[RoleReplicas, ...]) -> Free | None:
        """Return how the nodes are filled when all pods are packed from the beginning, the added among them.

        None if not every pod has a node then.
        """
        if any(not fit(self.node, pod) for role_replicas in added for pod in role_replicas.demand.shapes):
            return None
        singles, gangs = Counter(self._singles), dict(self._gangs)
        for role, demand, replicas in added:
            workers = self._workers(role, demand, replicas)
            if demand.gang == 1:
                singles[demand.pod] += workers
            else:
                gangs[role] = _gang(demand, workers + (gangs[role].workers if role in gangs else 0))
        packed = packing.pack(self.node, self.size, singles, gangs.values())
        return dict(packed.free) if packed.holds else None

    def _workers(self, role: RoleKey, demand: Demand, replicas: int) -> int:
        """Return how many workers come with more replicas: one more with a new workload, for rollouts."""
        return replicas * demand.workers * demand.sets + bool(demand.spare and role not in self._replicas)

    def _count(self, role: RoleKey, demand: Demand, before: int, after: int) -> None:
        """Count other pods for another number of replicas of a role.

        A pod that outgrew the nodes counts as a whole node. Otherwise the pool would be too small whatever
        else left it, and its neighbours would be moved away.
        """
        counts = [
            replicas * demand.workers * demand.sets + (1 if demand.spare else 0) if replicas > 0 else 0
            for replicas in (before, after)
        ]
        if demand.gang == 1:
            pod = packing.at_most(demand.pod, self.node)
            self._singles[pod] += counts[1] - counts[0]
            if not self._singles[pod]:
                del self._singles[pod]
            return
        self._gangs.pop(role, None)
        if counts[1]:
            self._gangs[role] = _gang(demand, counts[1]).within(self.node)


class Spaces:
    """All pools that have nodes of a known size, and an index of them by offer and by what is free on a
    node, in GPUs or cores."""

    def __init__(self, documents: Documents, clusters: Iterable[str]) -> None:
        nodes = {name: node(document) for name, document in documents.classes.items()}
        self.all: list[Space] = []
        self.by_key: dict[PoolKey, Space] = {}
        self.models: dict[PoolKey, str] = {}  # how nodes are bought
        self.on_cluster: dict[str, list[Space]] = {}
        self.of_offer: dict[str, list[Space]] = {}
        self._index: dict[str, dict[int, list[int]]] = {}
        self._stale: set[int] = set()
        self.changes = 0  # how often pools grew, or were packed anew
        for name in sorted(clusters):
            for pool in sorted(documents.clusters[name].spec.node_pools, key=attrgetter("name")):
                if empty := nodes[pool.class_name]:
                    bought = offer(pool, documents.classes[pool.class_name])
                    space = Space((name, pool.name), len(self.all), bought, empty, pool.size)
                    self.models[space.key] = pool.capacity.model
                    self.all.append(space)
                    self.by_key[space.key] = space
                    self.on_cluster.setdefault(name, []).append(space)
                    self.of_offer.setdefault(bought, []).append(space)
                    self._stale.add(space.number)

    def add(self, pool: PoolKey, role_replicas: RoleReplicas, back: Snapshot | None = None) -> None:
        """Count more replicas of a role on a pool, or fewer. With `back`, they undo the last ones."""
        space = self.by_key[pool]
        space.add(role_replicas, back)
        self._stale.add(space.number)

    def grow(self, pool: PoolKey, nodes: int) -> None:
        """Give a pool more nodes, or take some with a negative number."""
        self.by_key[pool].grow(nodes)
        self._stale.add(self.by_key[pool].number)
        self.changes += 1

    def pack_anew(self) -> None:
        """Pack every pool from the beginning when it is looked at next, whatever was added in which order."""
        for space in self.all:
            space.forget()
            self._stale.add(space.number)
        self.changes += 1

    def with_free(self, bought: str, least: int) -> Iterator[Space]:
        """Yield pools of an offer with a node that has at least so much free, those with the least first."""
        self._refresh()
        by_amount = self._index.get(bought, {})
        for free in sorted(free for free in by_amount if free >= least):
            yield from (self.all[number] for number in by_amount[free])

    def _refresh(self) -> None:
        for number in self._stale:
            space = self.all[number]
            free = space.free if space.holds else {}
            amounts = frozenset(
                space.node.main_amount(state) for state in free if state.gpus or not space.node.gpus
            )
            by_amount = self._index.setdefault(space.offer, {})
            for gone in space.indexed_amounts - amounts:
                numbers = by_amount[gone]
                del numbers[bisect_left(numbers, number)]
                if not numbers:
                    del by_amount[gone]
            for new in amounts - space.indexed_amounts:
                insort(by_amount.setdefault(new, []), number)
            space.indexed_amounts = amounts
        self._stale.clear()


def _gang(demand: Demand, workers: int) -> Gang:
    return Gang(demand.pod, demand.follower or demand.pod, demand.gang, workers)


# What capacity.lock leaves of pools: new replicas are planned with the smaller of declared and seen. Nodes
# that are missing, what others hold and what nodes lack are put onto pools as if it were pods, after the
# replicas that run and only as far as there is space beside them. So what was seen keeps new replicas away,
# and moves none. Where replicas leave, the rest is put there before new ones come. What is put there follows
# from the replicas that stand, not from those that left, so the next plan holds back the same.


class Deductions:
    """What is deducted from pools before new replicas come, and how much of it is put there already."""

    def __init__(self, documents: Documents, seen: Mapping[PoolKey, Observation]) -> None:
        self._pools = {key: (pool, seen[key]) for key, pool in pools_of(documents) if key in seen}
        self._put_there: dict[PoolKey, list[RoleReplicas]] = {}
        self._complete: set[PoolKey] = set()

    def put_onto(self, spaces: Spaces, pools: Iterable[PoolKey] | None = None) -> None:
        """Put what is deducted onto pools, all without a choice, as far as there is space beside their
        replicas.
        """
        for key in self._pools if pools is None else pools:
            if key in self._pools and key in spaces.by_key and key not in self._complete:
                self._put(spaces, key)

    def _put(self, spaces: Spaces, key: PoolKey) -> None:
        for earlier in self._put_there.pop(key, ()):
            spaces.add(key, earlier._replace(replicas=-earlier.replicas))
        space, (pool, observation) = spaces.by_key[key], self._pools[key]
        space.forget()
        deductions, put = list(_deductions(pool, observation, space.node, space.size)), []
        for deduction in deductions:
            if number := deduction.fitting(space):
                put.append(deduction.replicas(number))
                spaces.add(key, put[-1])
        self._put_there[key] = put
        if put == [deduction.replicas(deduction.most) for deduction in deductions]:
            self._complete.add(key)

    def shortage(self, key: PoolKey, empty: Node) -> "Shortage | None":
        """Return what new replicas find less of on a pool with such nodes, None where nothing is."""
        return shortage(*self._pools[key], empty) if key in self._pools else None


class _Deduction(NamedTuple):
    """Up to `most` pods that stand for what is deducted. Those that are `apart` have a node each."""

    role: RoleKey
    pod: Pod
    most: int
    apart: bool = False

    def replicas(self, number: int) -> RoleReplicas:
        """Return so many of its pods, as they are counted on a pool."""
        if self.apart:
            return RoleReplicas(self.role, Demand(self.pod, number, 0, gang=number, follower=self.pod), 1)
        return RoleReplicas(self.role, Demand(self.pod, 1, 0), number)

    def fitting(self, space: Space) -> int:
        """Return how many of its pods fit on a pool."""
        low, high = 0, self.most
        while low < high:
            # All of them, nearly always.
            middle = high if high == self.most else (low + high + 1) // 2
            low, high = (middle, high) if space.fits(self.replicas(middle)) else (low, middle - 1)
        return low


def _deductions(pool: NodePool, observation: Observation, empty: Node, size: int) -> Iterator[_Deduction]:
    """Yield what is deducted: nodes and pods of others, large ones first, then what each node lacks."""
    whole = Pod(empty.gpus, empty.cpu, empty.memory, empty.huge_2mi, empty.huge_1gi)
    free_of_us = [whole if gpus >= empty.gpus else Pod(gpus, 0, 0) for gpus in observation.held]
    pods = Counter([whole] * _absent(pool, observation) + free_of_us)
    pods.update(Pod(min(gpus, empty.gpus), 0, 0) for gpus in observation.foreign)
    pods.update(Pod(0, *amounts) for amounts in taken_by_others(observation, empty))
    for index, pod in enumerate(sorted(pods, reverse=True)):
        yield _Deduction(("", f"held back {index}"), pod, pods[pod])
    lacks = Pod(
        *(
            max(0, has - offered) if offered is not None else 0
            for has, offered in ((empty.gpus, observation.gpus), *_offered(observation, empty))
        )
    )
    usable_nodes = size - _absent(pool, observation) - len(observation.held)
    if any(lacks) and usable_nodes > 0:
        yield _Deduction(("", "lacking"), lacks, usable_nodes, apart=True)


def _absent(pool: NodePool, observation: Observation) -> int:
    """Return how many of the pool's nodes cannot be there."""
    most = pool.size if observation.most is None else observation.most
    return max(_missing(pool, observation), pool.size - min(pool.size, most))


def _missing(pool: NodePool, observation: Observation) -> int:
    """Return how many nodes the pool lacks of those that it should have had when it was seen.

    An autoscaler may still add those not there, an update those that documents ask for since then; and of a
    pool that became smaller, nodes that were there stay as far as they are declared.
    """
    nodes = observation.nodes + len(observation.held)
    return 0 if pool.autoscaled else min(observation.missing, max(0, pool.size - nodes))


def _offered(observation: Observation, empty: Node) -> tuple[tuple[int, int | None], tuple[int, int | None]]:
    """Return cores and memory of a node, each by its class and as the least that DaemonSets leave of any
    node.
    """
    return (
        (empty.cpu, None if observation.cpu is None else observation.cpu - observation.daemons.cpu),
        (
            empty.memory,
            None if observation.memory is None else observation.memory - observation.daemons.memory,
        ),
    )


def taken_by_others(observation: Observation, empty: Node) -> Iterator[Amounts]:
    """Yield what other pods take of what the class of a node says, for each node where they take any."""
    spare = [max(0, (offered or 0) - has) for has, offered in _offered(observation, empty)]
    for pods in observation.others:
        amounts = Amounts(
            min(empty.cpu, max(0, pods.cpu - spare[0])), min(empty.memory, max(0, pods.memory - spare[1]))
        )
        if any(amounts):
            yield amounts


class Shortage(NamedTuple):
    """What new replicas find less of on a pool than its document and class say, by what was seen on a day."""

    day: date
    size: int
    """Nodes by the document."""
    held: int
    """Nodes that take no pods: cordoned or not ready."""
    missing: int
    """Nodes that are not there."""
    gpus: int
    """GPUs that belong to pods of others."""
    take: tuple[Amounts, ...]
    """Cores and memory that other pods take, for each node where they take any."""
    daemons: Amounts
    """What DaemonSets request of each node where the class leaves them no space."""
    most: int | None
    """Nodes that quotas and reservations allow, None where that is enough."""

    def __str__(self) -> str:
        """Return in words what is less: `1 of 3 nodes not there, 2 GPUs held by pods of others`."""
        return ", ".join(part for part, _ in self._parts())

    @property
    def short(self) -> str:
        """Return what is less, said of several clusters: `have nodes that are not there`."""
        return "have " + " and ".join(short for _, short in self._parts())

    @property
    def step(self) -> str:
        """Return what gives new replicas more space, "" where only DaemonSets take it, which are always
        there.
        """
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
            most = Amounts(*map(max, *self.take)) if len(self.take) > 1 else self.take[0]
            on = f"on {counted(len(self.take), 'node')}"
            yield f"up to {amount(most)} taken by other pods {on}", "nodes with other pods"
        if any(self.daemons):
            yield f"{amount(self.daemons)} of each node requested by DaemonSets", "nodes with DaemonSets"
        if self.most is not None:
            yield (
                f"quotas and reservations allow {self.most} of {self.size} nodes",
                "fewer nodes by quotas and reservations",
            )


def shortage(pool: NodePool, observation: Observation, empty: Node) -> Shortage | None:
    """Return what a pool has less than its document and class say, None where nothing is."""
    # What nodes offer less than their class says is another matter, and told by itself.
    lacks = [
        max(0, has - offered) if offered is not None else 0 for has, offered in _offered(observation, empty)
    ]
    result = Shortage(
        observation.day,
        pool.size,
        len(observation.held),
        _missing(pool, observation),
        sum(observation.foreign),
        tuple(taken_by_others(observation, empty)),
        Amounts(min(observation.daemons.cpu, lacks[0]), min(observation.daemons.memory, lacks[1])),
        observation.most if observation.most is not None and observation.most < pool.size else None,
    )
    return result if str(result) else None


def amount(beside: Amounts) -> str:
    """Return in words: `1.5 cores and 3Gi`."""
    parts = [f"{cores(beside.cpu)} cores" if beside.cpu else "", gib(beside.memory) if beside.memory else ""]
    return " and ".join(filter(None, parts))


def pools_of(documents: Documents) -> Iterator[tuple[PoolKey, NodePool]]:
    """Yield all pools, by cluster."""
    for name, cluster in sorted(documents.clusters.items()):
        for pool in cluster.spec.node_pools:
            yield (name, pool.name), pool


# What is said of it.


def shortage_problems(documents: Documents, seen: Mapping[PoolKey, Observation]) -> Iterator[Problem]:
    """Yield notices of pools that have less space than their documents say, and warnings of nodes that are
    not what their class says.
    """
    for key, pool in pools_of(documents):
        observation, empty = seen.get(key), node(documents.classes[pool.class_name])
        if observation is None or empty is None:
            continue
        name = "/".join(key)
        if less := shortage(pool, observation, empty):
            what = f"new replicas have less room on pool {name}, seen on {observation.day}: {less}"
            yield _at_pool(key, what, "Run inferfleet capacity --write when that has changed", "notice")
        for has, promised, unit in (
            (observation.gpus, empty.gpus, "GPUs"),
            (observation.cpu and observation.cpu / 1000, empty.cpu / 1000, "cores"),
            (observation.memory and observation.memory / 2**30, empty.memory / 2**30, "GiB"),
        ):
            if has is not None and has < promised:
                what = f"nodes of pool {name} offer {has:,.10g} {unit}, and class {pool.class_name} says"
                step = f"Correct the class, or the pool's className; {FILE} counts meanwhile"
                yield _at_pool(key, f"{what} {promised:,.10g}", step, "warning")


def _at_pool(key: PoolKey, what: str, step: str, severity: Literal["notice", "warning"]) -> Problem:
    return cluster_problem(key[0], what, step, "spec.nodePools", severity=severity)
