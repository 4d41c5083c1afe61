"""A ledger whose pools grow until a deployment has room, by as few nodes as its replicas then use."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from inferfleet.documents.documents import Documents
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.wanted import Wanted
from inferfleet.fleet.placement.prices import prices
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.shapes import PoolKey, fit
from inferfleet.fleet.spot import Spot

# Clusters on which nodes for one deployment are tried, those that seem cheapest.
_TRIES = 24
# Nodes that a pool may have at most: the limit of `nodeCount`.
_MOST_NODES = 15_000


# What nodes on a cluster would cost, with their number, and the most nodes by pool.
_Option = tuple[tuple[int, int], dict[PoolKey, int]]


@dataclass
class Part:
    """What was done for one deployment: nodes by pool, and the pools its replicas came to.

    Parts of a smaller `order` come first.
    """

    order: tuple[int, int]
    nodes: Counter[PoolKey] = field(default_factory=Counter)
    used: set[PoolKey] = field(default_factory=set)
    placed: bool = False


class Growing:
    """Places replicas in a ledger, on more nodes where it must. `most` are the nodes that pools may have."""

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
            name: by_offer[name] * (rooms[0].node.gpus or max(1, rooms[0].node.cpu // 1000))
            for name, rooms in ledger.rooms.of_offer.items()
        }

    def place(self, deployment: str, number: int, part: Part) -> bool:
        """Place so many replicas and note in a part where. Return False, and change nothing, where some find
        no place however large the pools are.
        """
        placed = self._placed(deployment, number)
        grown: Counter[PoolKey] = Counter()
        progress = True
        while len(placed) < number and progress:
            progress = False
            for pools in self._options(deployment, number - len(placed)):
                for pool, nodes in pools.items():
                    self._grow(pool, nodes, grown)
                more = self._placed(deployment, number - len(placed))
                placed += more
                progress = progress or bool(more)
                for pool in pools:
                    room = self.ledger.rooms.by_key[pool]
                    empty = room.free.get(room.node, 0)
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
        self.ledger.rooms.grow(pool, nodes)

    def add(self, spot: Spot, replicas: int) -> None:
        """Put more replicas on a spot, or take them away with a negative number."""
        self._changes[spot.cluster] += 1
        self.ledger.add(spot, replicas)

    def _placed(self, deployment: str, number: int) -> list[Spot]:
        """Place up to so many replicas as far as there is room. Return where."""
        placed: list[Spot] = []
        while len(placed) < number:
            spot = self.candidates.room_for(deployment)
            if spot is None:
                break
            self.add(spot, 1)
            placed.append(spot)
        return placed

    def _options(self, deployment: str, replicas: int) -> list[dict[PoolKey, int]]:
        """Return nodes by pool that could hold the replicas, one set for each cluster, the cheapest first."""
        wanted = self.candidates.wanted(deployment)
        there, kind = self.ledger.by_cluster(deployment), self.candidates.kind(deployment)
        options = []
        for cluster in wanted.clusters:
            found = self._known_option(wanted, kind, cluster, replicas)
            if found is not None:
                cost, nodes = found
                options.append((cost, there.get(cluster, 0), cluster, nodes))
        return [nodes for _, _, _, nodes in nsmallest(_TRIES, options, key=lambda option: option[:3])]

    def _known_option(self, wanted: Wanted, kind: int, cluster: str, replicas: int) -> _Option | None:
        """Return the option of a cluster, worked out once for a kind as long as nothing changes there."""
        key, changes = (kind, cluster, replicas), self._changes[cluster]
        known = self._known.get(key)
        if known is None or known[0] != changes:
            self._known[key] = known = changes, self._option(wanted, cluster, replicas)
        return known[1]

    def _option(self, wanted: Wanted, cluster: str, replicas: int) -> _Option | None:
        """Return what nodes on a cluster would cost, with their number, and the most nodes by pool."""
        rooms = self.ledger.rooms.on_cluster.get(cluster, ())
        spots = self.ledger.on_cluster(wanted.deployment, cluster)
        cost, short, nodes = 0, 0, Counter[PoolKey]()
        for role in wanted.roles:
            own = {spot.pool(role) for spot in spots if len(spot.pools) == len(wanted.roles)}
            best = min(
                (
                    (more * self._price[room.offer], more, room.number, most)
                    for room in rooms
                    if room.offer in wanted.offers[role]
                    and not self.candidates.spreading.closes(wanted, room)
                    and (room.key[1] in own or not own or len(wanted.roles) == 1)
                    and not self.candidates.refused(wanted.deployment, role, room)
                    and (needs := self._nodes(wanted, role, room, replicas))
                    for more, most in [needs]
                ),
                default=None,
            )
            if best is None:
                return None
            cost, short = cost + best[0], short + best[1]
            nodes[self.ledger.rooms.all[best[2]].key] += best[3]
        # Roles may share a pool, each with all that it may have.
        capped = {pool: min(more, self._left(self.ledger.rooms.by_key[pool])) for pool, more in nodes.items()}
        return (cost, short), capped

    def _left(self, room: Room) -> int:
        """Return how many nodes more a pool may have."""
        return min(_MOST_NODES, self._most.get(room.key, _MOST_NODES)) - room.size

    def _nodes(self, wanted: Wanted, role: str, room: Room, replicas: int) -> tuple[int, int] | None:
        """Return how many nodes more the replicas seem to need on a pool, and how many at most."""
        demand = self.ledger.demands.of(wanted.deployment, role, room.key)
        workers = replicas * demand.workers * demand.sets
        pods = workers * demand.gang + demand.spare
        on_one = min(fit(room.node, pod) for pod in demand.shapes)
        if demand.gang > 1:
            on_one = min(on_one, workers)
        if not on_one:
            return None
        most = max(demand.gang, -(-pods // on_one)) + (demand.gang if demand.spare else 0)
        if most > self._left(room):
            return None
        places = 0
        if demand.gang == 1:
            places = sum(fit(state, demand.pod) * count for state, count in room.free.items())
        return max(1, -(-(pods - places) // on_one)), most
