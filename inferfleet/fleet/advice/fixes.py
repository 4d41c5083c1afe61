"""The smallest fix for deployments without a place: on which pool how many nodes more place all replicas.

Identity. A fix is a set of pools with nodes to be added. It holds for a deployment even where others without
a place are served before it: with its own nodes come those of the others that could take them.

How it is found. On a copy of the finished ledger the deployments are served in the order of the planner.
Where one has no space, the pool where nodes for its replicas cost least gets as many as they could need; they
are placed by the planner's own search, and the nodes that stay empty are taken away again. Without a price
the same order of nodes counts as for placing. Nothing that runs moves, no cluster's state, selector, spread
or quota changes: where no pool suits as it is, or a quota refuses more replicas, there is no fix.

How it is made sure. The planner's steps run once more on the larger pools: from what this plan places, and
from what the lock had. Where they would use the nodes otherwise, a fix gets a few more. Both take time, so on
large fleets the fixes of the first deployments alone are made sure, and from a lock that lacks many replicas
nothing found may do: then a fix holds for what this plan places. Where others would take the nodes, or a
quota, however many are tried, there is no fix either.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Fix, MoreNodes
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Task
from inferfleet.fleet.placement.prices import foreign_region, of_node, prices
from inferfleet.fleet.placement.retention import LockedReplicas
from inferfleet.fleet.placement.space import Space
from inferfleet.fleet.placement.suitability import Consequence
from inferfleet.fleet.placement.terms import Terms
from inferfleet.fleet.shapes import PoolKey, fit
from inferfleet.fleet.spot import Spot

# Clusters on which nodes for one deployment are tried, those that seem cheapest.
_TRIES = 24
# Nodes that a pool may have at most: the limit of `nodeCount`.
_MOST_NODES = 15_000
# Nodes by which a fix that does not suffice grows, one after the other.
_MORE = (1, 2, 4)
_LARGEST = 10**9
# What making sure may cost in a plan, from each of both: clusters and spots of ledgers, and so much for each
# replica to be placed, more from the lock, where many want the same space. One is about 20 microseconds.
_SURE, _PER_REPLICA = 20_000, (30, 80)
# What nodes on a cluster would cost, with their number, and the most nodes by pool.
_Option = tuple[tuple[int, int], dict[PoolKey, int]]
# Deployments, and the nodes of all of them.
_Served = tuple[tuple[str, ...], Counter[PoolKey]]


@dataclass
class Part:
    """What was done for one deployment."""

    order: tuple[int, int]
    """Parts of a smaller one are served first."""
    nodes: Counter[PoolKey] = field(default_factory=Counter)
    """The nodes that pools got for it."""
    used: set[PoolKey] = field(default_factory=set)
    """The pools its replicas came to."""
    placed: bool = False


class _Kind(NamedTuple):
    """Where a deployment may run: clusters, pools that are closed to it, and offers of its roles."""

    clusters: frozenset[str]
    closed: frozenset[PoolKey]
    offers: frozenset[str]


class Fixes(Mapping[str, Fix | None]):
    """The fix of each deployment that lacks a place, None where no number of nodes helps.

    All are worked out together when the first is asked for; whose nodes come with one, once for all that are
    served alike. No pool grows over the nodes that quotas and reservations were seen to allow.
    """

    def __init__(self, task: Task, ledger: Ledger, retained: LockedReplicas) -> None:
        self._task = task
        self._finished = task.placed(ledger)
        self._clusters = len(ledger.spaces.on_cluster)
        self._retained = retained
        lacking = {name: task.targets[name] - ledger.total(name) for name in sorted(task.valid)}
        self._known: dict[tuple[frozenset[PoolKey], tuple[int, int]], _Served] = {}
        self._remaining_work = [_SURE, _SURE]  # from the plan, and from the lock
        self._missing = {name: number for name, number in lacking.items() if number > 0}

    def __getitem__(self, deployment: str) -> Fix | None:
        if deployment not in self._missing:
            raise KeyError(deployment)
        return self._all[deployment]

    def __iter__(self) -> Iterator[str]:
        return iter(self._missing)

    def __len__(self) -> int:
        return len(self._missing)

    @cached_property
    def _all(self) -> dict[str, Fix | None]:
        """Work all fixes out, in the order of names, so that it does not matter which is asked for first."""
        fixes: dict[str, Fix | None] = {}
        for name in self._missing:
            if not self._parts[name].placed:
                fixes[name] = None
                continue
            sure = self._sure(name)
            if sure is None:
                fixes[name] = None
                continue
            nodes, first = sure
            more_nodes = tuple(self._more(pool, number) for pool, number in sorted(nodes.items()))
            fixes[name] = Fix(more_nodes, first)
        return fixes

    def _sure(self, deployment: str) -> tuple[Counter[PoolKey], tuple[str, ...]] | None:
        """Return nodes with which the planner places a deployment, and who else could take them.

        Return None where it places it with none of those that are tried.
        """
        best: tuple[Counter[PoolKey], tuple[str, ...]] | None = None
        tries = self._tries(deployment)
        for nodes, first in tries:
            if self._too_many(nodes):
                continue
            from_plan = self._places(deployment, nodes, self._finished)
            if from_plan is None:
                return best or tries[0]
            if not from_plan:
                continue
            best = best or (nodes, first)
            from_lock = self._retained.movable == self._finished or self._places(
                deployment, nodes, self._retained.movable
            )
            if from_lock is None:
                return best
            if from_lock:
                return nodes, first
        return best

    def _tries(self, deployment: str) -> list[tuple[Counter[PoolKey], tuple[str, ...]]]:
        """Return the nodes of a deployment with those of others that could take them: of those that are
        served before it, then of all that are no less important, then some more.
        """
        part = self._parts[deployment]
        rank, size = part.order
        tries = []
        for last in ((rank, size), (rank, _LARGEST)):
            served, nodes = self._served(frozenset(part.used), last)
            tries.append((nodes, tuple(name for name in served if name != deployment)))
        nodes, first = tries[-1]
        return [
            *tries,
            *((nodes + Counter(dict.fromkeys(nodes, extra_nodes)), first) for extra_nodes in _MORE),
        ]

    def _served(self, used: frozenset[PoolKey], last: tuple[int, int]) -> _Served:
        """Return the deployments that could take nodes of these pools, or of pools that one of them uses,
        up to a place in the order; and the nodes of all of them.
        """
        if (used, last) not in self._known:
            pools, kinds, names = [*used], set[_Kind](), set[str]()
            for pool in pools:
                for kind in self._takers(pool) - kinds:
                    kinds.add(kind)
                    for name in self._kinds[kind]:
                        part = self._parts[name]
                        if part.placed and part.order <= last:
                            names.add(name)
                            pools += part.used.difference(pools)
            nodes = Counter[PoolKey]()
            for name in names:
                nodes.update(self._parts[name].nodes)
            self._known[used, last] = tuple(sorted(names)), nodes
        return self._known[used, last]

    def _places(
        self, deployment: str, nodes: Mapping[PoolKey, int], start: Mapping[Spot, int]
    ) -> bool | None:
        """Return whether the planner places all replicas of the deployment on pools with more nodes, from
        what this plan places or from what the lock had; None where the time for that is used up.
        """
        from_lock = int(start is self._retained.movable)
        size = len(start) + self._clusters
        to_place = sum(self._task.targets.values()) - sum(start.values())
        self._remaining_work[from_lock] -= size + max(0, to_place) * _PER_REPLICA[from_lock]
        if self._remaining_work[from_lock] < 0:
            return None
        ledger = self._task.ledger(start, nodes)
        self._task.placing(ledger, self._task.candidates(ledger), ran=self._retained.ran).place()
        return ledger.total(deployment) >= self._task.targets[deployment]

    @cached_property
    def _growing(self) -> "Growing":
        ledger = self._task.ledger(self._finished)
        return Growing(ledger, self._task.candidates(ledger), self._task.documents, self.most)

    @cached_property
    def most(self) -> dict[PoolKey, int]:
        """Return by pool the most nodes that capacity.lock allows, as many in each zone of the pool."""
        return {
            (name, pool.name): observation.most - observation.most % max(1, len(pool.zones))
            for name, cluster in self._task.documents.clusters.items()
            for pool in cluster.spec.node_pools
            if (observation := self._task.seen.get((name, pool.name))) and observation.most is not None
        }

    def _too_many(self, nodes: Mapping[PoolKey, int]) -> bool:
        """Return whether a pool would have more nodes than it may."""
        return any(
            self._task.documents.clusters[cluster].spec.pool(name).size + added_nodes
            > self.most[cluster, name]
            for (cluster, name), added_nodes in nodes.items()
            if (cluster, name) in self.most
        )

    @cached_property
    def _parts(self) -> dict[str, Part]:
        growing, terms = self._growing, self._growing.candidates.terms
        parts: dict[str, Part] = {}
        for spot, replicas in self._leaving():
            part = parts.setdefault(spot.deployment, Part((-_LARGEST, 0)))
            growing.add(spot, -replicas)
            if not growing.place(spot.deployment, replicas, part):
                growing.add(spot, replicas)
        order = {name: (-terms(name).priority, terms(name).total) for name in self._missing}
        for name in sorted(self._missing, key=lambda name: (order[name], terms(name).scarcity)):
            part = parts.setdefault(name, Part(order[name]))
            part.placed = growing.place(name, self._missing[name], part)
        return parts

    def _leaving(self) -> list[tuple[Spot, int]]:
        """Return the replicas that leave their spots as soon as there is space, before any is added."""
        return [
            (spot, replicas)
            for spot, replicas in sorted(self._finished.items())
            if spot.deployment in self._task.valid
            and (obstacle := self._task.suitability.obstacle(spot))
            and obstacle.consequence > Consequence.CORDON
        ]

    @cached_property
    def _kinds(self) -> dict[_Kind, list[str]]:
        """Return the deployments with a part by where they may run."""
        kinds: dict[_Kind, list[str]] = {}
        for name in self._parts:
            terms = self._growing.candidates.terms(name)
            offers = frozenset(offer for of_role in terms.offers.values() for offer in of_role)
            kinds.setdefault(_Kind(terms.clusters, terms.closed, offers), []).append(name)
        return kinds

    def _takers(self, pool: PoolKey) -> set[_Kind]:
        """Return the kinds of deployments that could come to a pool."""
        offer = self._growing.ledger.spaces.by_key[pool].offer
        return {
            kind
            for kind in self._kinds
            if pool[0] in kind.clusters and pool not in kind.closed and offer in kind.offers
        }

    def _more(self, pool: PoolKey, nodes: int) -> MoreNodes:
        cluster, name = pool
        document = self._task.documents.clusters[cluster]
        of_pool = document.spec.pool(name)
        if over := (of_pool.size + nodes) % max(1, len(of_pool.zones)):
            nodes += len(of_pool.zones) - over  # a pool has as many nodes in each of its zones
        of_class = self._task.documents.classes[of_pool.class_name]
        size, price = of_pool.size + nodes, of_node(of_pool, of_class)
        if price is None:
            return MoreNodes(cluster, name, nodes, size)
        elsewhere = foreign_region(document, of_class)
        return MoreNodes(cluster, name, nodes, size, f"{price[0] * nodes:f}", price[1], elsewhere)


class Growing:
    """A ledger in which replicas are placed, on more nodes where there is no space for them.

    `most` are the nodes that pools may have.
    """

    def __init__(
        self, ledger: Ledger, candidates: Candidates, documents: Documents, most: Mapping[PoolKey, int]
    ) -> None:
        self.ledger = ledger
        self.candidates = candidates
        self._most = most
        self._changes: Counter[str] = Counter()  # of clusters
        self._known: dict[tuple[int, str, int], tuple[int, _Option | None]] = {}
        by_offer = prices(documents)
        self._price = {
            name: by_offer[name] * (spaces[0].node.gpus or max(1, spaces[0].node.cpu // 1000))
            for name, spaces in ledger.spaces.of_offer.items()
        }

    def place(self, deployment: str, number: int, part: Part) -> bool:
        """Place so many replicas, and note in `part` where.

        Return False, and change nothing, where some find no place however large the pools are.
        """
        placed = self._placed(deployment, number)
        grown: Counter[PoolKey] = Counter()
        progress = True
        while len(placed) < number and progress:
            progress = False
            for pools in self._options(deployment, number - len(placed)):
                for pool, nodes in pools.items():
                    self._grow(pool, nodes, grown)
                new_spots = self._placed(deployment, number - len(placed))
                placed += new_spots
                progress = progress or bool(new_spots)
                for pool in pools:
                    space = self.ledger.spaces.by_key[pool]
                    empty = space.free.get(space.node, 0)
                    self._grow(pool, -min(empty, grown[pool]), grown)
                if len(placed) == number:
                    break
        if len(placed) < number:
            for spot in placed:
                self.add(spot, -1)
            for pool, nodes in list(grown.items()):
                self._grow(pool, -nodes, grown)
            return False
        part.nodes.update(+grown)
        part.used |= {(spot.cluster, pool) for spot in placed for _, pool in spot.pools}
        return True

    def _grow(self, pool: PoolKey, nodes: int, grown: Counter[PoolKey]) -> None:
        grown[pool] += nodes
        self._changes[pool[0]] += 1
        self.ledger.spaces.grow(pool, nodes)

    def add(self, spot: Spot, replicas: int) -> None:
        """Put more replicas on a spot, or take them away with a negative number."""
        self._changes[spot.cluster] += 1
        self.ledger.add(spot, replicas)

    def _placed(self, deployment: str, number: int) -> list[Spot]:
        """Place replicas, at most so many, as far as there is space. Return where."""
        placed: list[Spot] = []
        while len(placed) < number:
            spot = self.candidates.spot_for(deployment)
            if spot is None:
                break
            self.add(spot, 1)
            placed.append(spot)
        return placed

    def _options(self, deployment: str, replicas: int) -> list[dict[PoolKey, int]]:
        """Return nodes by pool that could hold the replicas, one set for each cluster, the cheapest first."""
        terms = self.candidates.terms(deployment)
        by_cluster, kind = self.ledger.by_cluster(deployment), self.candidates.kind(deployment)
        options = []
        for cluster in terms.clusters:
            option = self._known_option(terms, kind, cluster, replicas)
            if option is not None:
                cost, nodes = option
                options.append((cost, by_cluster.get(cluster, 0), cluster, nodes))
        return [nodes for _, _, _, nodes in nsmallest(_TRIES, options, key=lambda option: option[:3])]

    def _known_option(self, terms: Terms, kind: int, cluster: str, replicas: int) -> _Option | None:
        """Return the option of a cluster, worked out once for a kind as long as nothing changes there."""
        key, changes = (kind, cluster, replicas), self._changes[cluster]
        cached = self._known.get(key)
        if cached is None or cached[0] != changes:
            self._known[key] = cached = changes, self._option(terms, cluster, replicas)
        return cached[1]

    def _option(self, terms: Terms, cluster: str, replicas: int) -> _Option | None:
        """Return what nodes on a cluster would cost, how many they are, and the most nodes by pool."""
        spaces = self.ledger.spaces.on_cluster.get(cluster, ())
        spots = self.ledger.on_cluster(terms.deployment, cluster)
        cost, short, nodes = 0, 0, Counter[PoolKey]()
        for role in terms.roles:
            pools = {spot.pool(role) for spot in spots if len(spot.pools) == len(terms.roles)}
            best = min(
                (
                    (node_count * self._price[space.offer], node_count, space.number, most)
                    for space in spaces
                    if space.offer in terms.offers[role]
                    and not self.candidates.spreading.closes(terms, space)
                    and (space.key[1] in pools or not pools or len(terms.roles) == 1)
                    and not self.candidates.refused(terms.deployment, role, space)
                    and (needs := self._nodes(terms, role, space, replicas))
                    for node_count, most in [needs]
                ),
                default=None,
            )
            if best is None:
                return None
            cost, short = cost + best[0], short + best[1]
            nodes[self.ledger.spaces.all[best[2]].key] += best[3]
        # Roles may share a pool, each with all that it may have.
        capped = {
            pool: min(node_count, self._addable_nodes(self.ledger.spaces.by_key[pool]))
            for pool, node_count in nodes.items()
        }
        return (cost, short), capped

    def _addable_nodes(self, space: Space) -> int:
        """Return how many nodes more a pool may have."""
        return min(_MOST_NODES, self._most.get(space.key, _MOST_NODES)) - space.size

    def _nodes(self, terms: Terms, role: str, space: Space, replicas: int) -> tuple[int, int] | None:
        """Return how many more nodes of a pool the replicas seem to need, and how many at most."""
        demand = self.ledger.demands.of(terms.deployment, role, space.key)
        workers = replicas * demand.workers * demand.sets
        pods = workers * demand.gang + demand.spare
        on_one = min(fit(space.node, pod) for pod in demand.shapes)
        if demand.gang > 1:
            on_one = min(on_one, workers)
        if not on_one:
            return None
        most = max(demand.gang, -(-pods // on_one)) + (demand.gang if demand.spare else 0)
        if most > self._addable_nodes(space):
            return None
        places = 0
        if demand.gang == 1:
            places = sum(fit(state, demand.pod) * count for state, count in space.free.items())
        return max(1, -(-(pods - places) // on_one)), most
