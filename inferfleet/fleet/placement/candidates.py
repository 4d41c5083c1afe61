"""The best spot for one more replica, found without looking at every pool.

Clusters with the fewest replicas of the deployment come first; there, the nodes with the lowest price per
GPU, then the pool where a node has the fewest GPUs free that suffice, then names. On classes without
accelerators it is the price per core, and the cores that are free. The role with the most GPUs
chooses its pool by these; the others choose theirs on the same cluster in the same way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.fleet import names
from inferfleet.fleet.engines.exchanged import revision
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.prices import class_of, prices, ranks
from inferfleet.fleet.placement.rooms import More, Room
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.roles import is_disaggregated, roles_of
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

# Clusters up to which each of their pools is looked at; with more of them, the index is.
_FEW = 16
# Pools that are tried for the roles of one replica on one cluster.
_TRIES = 200


@dataclass(frozen=True)
class Wanted:
    """Where replicas of a deployment may run: the clusters, and by role the offers with their order.

    The role with the most GPUs is the first. `nodes` are those of the offers that suit the role which fewest
    suit, `gpus` those of the largest pod, `gang` the pods of the largest worker, `total` the GPUs of a
    replica, `cpu` by role the least thousandths of a core that a pod asks for. Where replicas are `together`,
    those on a cluster have one spot, because each prefill pod serves each decode pod; `share` of them come to
    a cluster if all have the same number.
    """

    deployment: str
    roles: tuple[str, ...]
    clusters: frozenset[str]
    offers: Mapping[str, Mapping[str, int]]
    nodes: int
    gpus: int
    gang: int
    total: int
    cpu: Mapping[str, int]
    priority: int
    together: bool = False
    share: int = 1

    @property
    def scarcity(self) -> tuple[int, int, int, str]:
        """Return the key by which deployments choose: large pods, large workers, few suitable nodes first."""
        return -self.gpus, -self.gang, self.nodes, self.deployment


class Candidates:
    """Best spots in a ledger."""

    def __init__(self, documents: Documents, suitability: Suitability, ledger: Ledger) -> None:
        self._documents = documents
        self._suitability = suitability
        self._ledger = ledger
        self._rooms = ledger.rooms
        self._demands = ledger.demands
        self._order = sorted(self._rooms.of_offer, key=ranks(documents).__getitem__)
        self._nodes = {name: sum(room.size for room in rooms) for name, rooms in self._rooms.of_offer.items()}
        self._wanted: dict[str, Wanted] = {}
        self._prices = prices(documents)

    def wanted(self, deployment: str) -> Wanted:
        """Return where replicas of a deployment may run."""
        if deployment not in self._wanted:
            document, takes = self._documents.deployments[deployment], self._suitability.takes
            offers = {
                role: {
                    name: rank
                    for rank, name in enumerate(self._order)
                    if takes(deployment, role, class_of(name))
                }
                for role in roles_of(document)
            }
            written = {role: self._demands.written[deployment, role] for role in offers}
            roles = sorted(offers, key=lambda role: (-written[role].gpus, role))
            self._wanted[deployment] = Wanted(
                deployment,
                tuple(roles),
                self._suitability.clusters(deployment),
                offers,
                min(sum(self._nodes[name] for name in of_role) for of_role in offers.values()),
                max(demand.pod.gpus for demand in written.values()),
                max(demand.gang for demand in written.values()),
                sum(demand.gpus for demand in written.values()),
                {role: self._demands.least_cpu(deployment, role) for role in roles},
                document.spec.priority,
                is_disaggregated(document),
                -(-document.spec.replicas // max(1, len(self._suitability.clusters(deployment)))),
            )
        return self._wanted[deployment]

    def best(
        self,
        deployment: str,
        replicas: int = 1,
        *,
        leaving: Spot | None = None,
        thorough: bool = False,
    ) -> Spot | None:
        """Return the best spot for more replicas together, other than the one they leave, or None.

        Only a `thorough` search finds room on nodes where pods would have to be put otherwise. The first of
        replicas that are together chooses pools with room for the others, as far as there are such.
        """
        wanted = self.wanted(deployment)
        most = max(replicas, wanted.share) if wanted.together else replicas
        while True:
            spot = self._best(wanted, replicas, most, leaving=leaving, thorough=thorough)
            if spot is not None or most == replicas:
                return spot
            most = max(replicas, most - max(1, most // 8))

    def _best(
        self, wanted: Wanted, replicas: int, most: int, *, leaving: Spot | None, thorough: bool
    ) -> Spot | None:
        deployment = wanted.deployment
        there = self._ledger.by_cluster(deployment)
        used = {cluster: number for cluster, number in there.items() if cluster in wanted.clusters}
        levels = set(used.values())
        if len(used) < len(wanted.clusters):
            levels.add(0)
        for level in sorted(levels):
            at_level = (
                [cluster for cluster, number in used.items() if number == level] if level else wanted.clusters
            )
            tried: set[int] = set()
            for room in self._pools(wanted, at_level, thorough=thorough):
                cluster = room.key[0]
                if room.number in tried or there.get(cluster, 0) != level or cluster not in wanted.clusters:
                    continue
                tried.add(room.number)
                first = most if level == 0 else replicas
                spot = self.on_pool(wanted, room, first, leaving=leaving)
                if spot is not None:
                    return spot
        return None

    def on_pool(
        self, wanted: Wanted, room: Room, replicas: int = 1, *, leaving: Spot | None = None
    ) -> Spot | None:
        """Return a spot with room for more replicas whose first role is on the pool, or None."""
        first, key = wanted.roles[0], room.key
        if room.offer not in wanted.offers[first] or not self._suits(wanted, first, room):
            return None
        more = self._more(wanted, first, key, replicas)
        if not room.fits(more):
            return None
        if len(wanted.roles) == 1:
            spot = self._spot(wanted.deployment, key[0], {first: key[1]})
            return spot if spot != leaving else None
        return self.completed(wanted, key[0], {first: key[1]}, replicas, leaving=leaving)

    def completed(
        self,
        wanted: Wanted,
        cluster: str,
        fixed: Mapping[str, str],
        replicas: int,
        *,
        leaving: Spot | None = None,
    ) -> Spot | None:
        """Return a spot with room on the cluster, with the pools that some roles have already, or None.

        Two spots of a deployment on a cluster share no pool of a role: workloads are named by these two. If
        its replicas are together, they have one spot.
        """
        others = [
            spot
            for spot in self._ledger.on_cluster(wanted.deployment, cluster)
            if len(spot.pools) == len(wanted.roles)
        ]
        for spot in others:
            if all(spot.pool(role) == pool for role, pool in fixed.items()):
                return spot if spot != leaving and self._ledger.fits(spot, replicas) else None
        if others and wanted.together:
            return None
        if any(spot.pool(role) == pool for spot in others for role, pool in fixed.items()):
            return None
        labels = {names.placement(spot) for spot in self._ledger.on_cluster(wanted.deployment, cluster)}
        tries = _TRIES
        open_roles = [role for role in wanted.roles if role not in fixed]

        def chosen(index: int, pools: dict[str, str], added: dict[PoolKey, list[More]]) -> Spot | None:
            nonlocal tries
            if index == len(open_roles):
                spot = self._spot(wanted.deployment, cluster, pools)
                return spot if spot != leaving and names.placement(spot) not in labels else None
            role = open_roles[index]
            for room in self._near(wanted, role, cluster):
                tries -= 1
                if tries < 0:
                    return None
                if any(spot.pool(role) == room.key[1] for spot in others):
                    continue
                together = [*added.get(room.key, ()), self._more(wanted, role, room.key, replicas)]
                if room.fits(*together):
                    spot_ = chosen(index + 1, pools | {role: room.key[1]}, added | {room.key: together})
                    if spot_ is not None:
                        return spot_
            return None

        added: dict[PoolKey, list[More]] = {}
        for role, pool in fixed.items():
            key = cluster, pool
            added.setdefault(key, []).append(self._more(wanted, role, key, replicas))
        if not all(self._rooms.by_key[key].fits(*more) for key, more in added.items()):
            return None
        return chosen(0, dict(fixed), added)

    def _spot(self, deployment: str, cluster: str, pools: Mapping[str, str]) -> Spot:
        images = self._documents.clusters[cluster].spec.serving.images
        of = revision(self._documents.deployments[deployment], images)
        return Spot(deployment, cluster, tuple(sorted(pools.items())), of)

    def cost(self, spot: Spot) -> int:
        """Return what the GPUs of a replica cost on a spot, in a unit that is the same for all."""
        offers = {role: self._rooms.by_key[spot.cluster, pool].offer for role, pool in spot.pools}
        return sum(self.cost_on(spot.deployment, role, name) for role, name in offers.items())

    def cost_on(self, deployment: str, role: str, offer: str) -> int:
        """Return what the GPUs of a role of a replica cost on nodes of an offer."""
        return self.gpus(deployment, role, offer) * self._prices[offer]

    def least(self, deployment: str) -> int:
        """Return what a replica costs where each role is on the cheapest nodes that suit it."""
        return sum(
            min((self.cost_on(deployment, role, name) for name in of_role), default=0)
            for role, of_role in self.wanted(deployment).offers.items()
        )

    def gpus(self, deployment: str, role: str, offer: str) -> int:
        """Return the GPUs of a role of a replica on nodes of an offer."""
        node_gpus = self._rooms.of_offer[offer][0].node.gpus
        return self._demands.unedited(deployment, role, node_gpus).gpus

    def _pools(
        self, wanted: Wanted, clusters: frozenset[str] | list[str], *, thorough: bool
    ) -> Iterator[Room]:
        """Yield pools for the first role, the best first, some of them on other clusters, some twice."""
        role = wanted.roles[0]
        if len(clusters) <= _FEW:
            near = [
                (self._preference(wanted, role, room), room)
                for cluster in clusters
                for room in self._rooms.on_cluster.get(cluster, ())
                if room.offer in wanted.offers[role]
            ]
            yield from (room for _, room in sorted(near, key=lambda pair: pair[0]))
            return
        for offer in wanted.offers[role]:
            yield from self._rooms.with_free(offer, self._asked(wanted, role, offer))
            if thorough:
                yield from self._rooms.of_offer[offer]

    def _near(self, wanted: Wanted, role: str, cluster: str) -> list[Room]:
        """Return the pools of a cluster that suit a role, the best first."""
        return sorted(
            (
                room
                for room in self._rooms.on_cluster.get(cluster, ())
                if room.offer in wanted.offers[role] and self._suits(wanted, role, room)
            ),
            key=lambda room: self._preference(wanted, role, room),
        )

    def _preference(self, wanted: Wanted, role: str, room: Room) -> tuple[int, int, int]:
        asked = self._asked(wanted, role, room.offer)
        levels = (room.node.level(state) for state in room.free)
        free = min((free for free in levels if free >= asked), default=room.node.level(room.node))
        return wanted.offers[role][room.offer], free, room.number

    def _asked(self, wanted: Wanted, role: str, offer: str) -> int:
        """Return the GPUs of a pod on nodes of an offer; where such nodes have none, its cores."""
        node_gpus = self._rooms.of_offer[offer][0].node.gpus
        gpus = self._demands.unedited(wanted.deployment, role, node_gpus).pod.gpus
        return gpus if node_gpus else wanted.cpu[role]

    def _suits(self, wanted: Wanted, role: str, room: Room) -> bool:
        """Return whether the pool suits pods that plugins edit; for others, that of its class says all."""
        edited = (wanted.deployment, role) in self._demands.edited
        return not edited or not self._suitability.by_pool(wanted.deployment, role, room.key)

    def _more(self, wanted: Wanted, role: str, pool: PoolKey, replicas: int) -> More:
        return More((wanted.deployment, role), self._demands.of(wanted.deployment, role, pool), replicas)
