"""In which order the pools of the fleet are tried for a replica.

First by what its deployment says (`prefer`, `spread`), then by the objective of the stack: clusters with the
fewest replicas, nodes with the lowest price, then nodes that something runs on already.
"""

from collections.abc import Iterator, Mapping

from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.spreading import Spreading
from inferfleet.fleet.placement.policy.wanted import Wanted
from inferfleet.fleet.placement.rooms import Room
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.shapes import fit

# Clusters up to which each of their pools is looked at; with more of them, the index is.
_FEW = 16
# Pools of an offer that match a preference, up to which each of them is looked at.
_FEW_POOLS = 64


class Order:
    """The order of pools, by the replicas that a ledger has now."""

    def __init__(self, ledger: Ledger, suitability: Suitability, spreading: Spreading) -> None:
        self._ledger = ledger
        self._suitability = suitability
        self._spreading = spreading
        self._rooms = ledger.rooms
        self._demands = ledger.demands

    def groups(self, wanted: Wanted, replicas: int, *, thorough: bool) -> Iterator[Iterator[Room]]:
        """Yield pools for the first role, the best first, in groups."""
        if not wanted.ordered:
            yield from self._by_objective(wanted, thorough=thorough)
            return
        for level in self._spreading.levels(wanted, replicas):
            among = wanted.by_tier[level[0]]
            for group in self._by_objective(wanted, thorough=thorough, among=among):
                yield self._spreading.on_level(wanted, level, group, replicas)

    def _by_objective(
        self, wanted: Wanted, *, thorough: bool, among: Mapping[str, list[Room]] | None = None
    ) -> Iterator[Iterator[Room]]:
        """Yield pools for the first role in the order of the stack's objective, in groups.

        With pools by their offers, it is no others than `among` these that matter.
        """
        there = self._ledger.by_cluster(wanted.deployment)
        used = {cluster: number for cluster, number in there.items() if cluster in wanted.clusters}
        levels = set(used.values())
        if len(used) < len(wanted.clusters):
            levels.add(0)
        if wanted.over_clusters:
            for level in sorted(levels):
                at_level = (
                    [cluster for cluster, number in used.items() if number == level]
                    if level
                    else wanted.clusters
                )
                rooms = self._pools(wanted, at_level, thorough=thorough, among=among)
                yield self._at(wanted, level, rooms)
            return
        each: list[int | None] = [*sorted(levels)] if wanted.objective == "cost" else [None]
        for opens in (False, True) if wanted.objective == "pack" else (None,):
            for name in wanted.offers[wanted.roles[0]]:
                for number in each:
                    rooms = self._of_offer(wanted, name, thorough=thorough, among=among)
                    yield self._at(wanted, number, rooms, opens=opens)

    def _at(
        self, wanted: Wanted, level: int | None, rooms: Iterator[Room], *, opens: bool | None = None
    ) -> Iterator[Room]:
        """Yield the pools on clusters that have so many replicas of the deployment, or any number. With
        `opens`, it is those alone where a pod takes a node that nothing runs on, or where it does not.
        """
        there, clusters = self._ledger.by_cluster(wanted.deployment), wanted.clusters
        for room in rooms:
            cluster = room.key[0]
            if (
                (level is None or there.get(cluster, 0) == level)
                and cluster in clusters
                and (opens is None or self._opens(wanted, room) == opens)
            ):
                yield room

    def _opens(self, wanted: Wanted, room: Room) -> bool:
        """Return whether a pod takes a node that nothing runs on."""
        return self._preference(wanted, wanted.roles[0], room)[1] == room.node.level(room.node)

    def _pools(
        self,
        wanted: Wanted,
        clusters: frozenset[str] | list[str],
        *,
        thorough: bool,
        among: Mapping[str, list[Room]] | None,
    ) -> Iterator[Room]:
        """Yield pools for the first role, the best first, some of them on other clusters, some twice."""
        role = wanted.roles[0]
        if len(clusters) <= _FEW:
            near = [
                (self._preference(wanted, role, room), room)
                for cluster in clusters
                for room in self._rooms.on_cluster.get(cluster, ())
                if room.offer in wanted.offers[role] and (thorough or self._has_free(wanted, role, room))
            ]
            yield from (room for _, room in sorted(near, key=lambda pair: pair[0]))
            return
        for offer in wanted.offers[role]:
            yield from self._of_offer(wanted, offer, thorough=thorough, among=among)

    def _of_offer(
        self, wanted: Wanted, offer: str, *, thorough: bool, among: Mapping[str, list[Room]] | None
    ) -> Iterator[Room]:
        """Yield pools of an offer for the first role, those that it fills best first, some of them twice."""
        rooms = among.get(offer, []) if among is not None else None
        if rooms is not None and len(rooms) <= _FEW_POOLS:
            role = wanted.roles[0]
            rooms = [room for room in rooms if thorough or self._has_free(wanted, role, room)]
            yield from sorted(rooms, key=lambda room: self._preference(wanted, role, room))
            return
        role = wanted.roles[0]
        for room in self._rooms.with_free(offer, self._asked(wanted, role, offer)):
            if thorough or self._has_free(wanted, role, room):
                yield room
        if thorough:
            yield from self._rooms.of_offer[offer]

    def _has_free(self, wanted: Wanted, role: str, room: Room) -> bool:
        """Return whether a pod may have room on a node as they are filled, as far as a short look tells."""
        return fit(room.most, self._demands.of(wanted.deployment, role, room.key).pod) > 0

    def near(self, wanted: Wanted, role: str, cluster: str, replicas: int = 1) -> list[Room]:
        """Return the pools of a cluster that suit a role, the best first."""
        rooms = sorted(
            (
                room
                for room in self._rooms.on_cluster.get(cluster, ())
                if room.offer in wanted.offers[role]
                and not self._spreading.closes(wanted, room, replicas)
                and self.suits(wanted, role, room)
            ),
            key=lambda room: self._preference(wanted, role, room),
        )
        return sorted(rooms, key=lambda room: wanted.tiers.get(room.key, 0)) if wanted.tiers else rooms

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

    def suits(self, wanted: Wanted, role: str, room: Room) -> bool:
        """Return whether the pool suits pods that plugins edit; for others, that of its class says all."""
        edited = (wanted.deployment, role) in self._demands.edited
        return not edited or not self._suitability.by_pool(wanted.deployment, role, room.key)
