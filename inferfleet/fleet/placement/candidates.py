"""The best spot for one more replica, found without looking at every pool.

Clusters with the fewest replicas of the deployment come first; there, the nodes with the lowest price per
GPU, then the pool where a node has the fewest GPUs free that suffice, then names. On classes without
accelerators it is the price per core, and the cores that are free. The role with the most GPUs chooses its
pool by these; the others choose theirs on the same cluster in the same way. Before all of that comes what the
deployment itself says (`prefer`, `spread`).
"""

from collections.abc import Iterator, Mapping

from inferfleet.documents.documents import Documents
from inferfleet.documents.work import spend
from inferfleet.fleet import names
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.prices import prices
from inferfleet.fleet.placement.space import RoleReplicas, Space
from inferfleet.fleet.placement.suitability import Obstacle, Suitability
from inferfleet.fleet.placement.terms import Spreading, Terms, TermsByDeployment
from inferfleet.fleet.roles import revision
from inferfleet.fleet.shapes import PoolKey, fit
from inferfleet.fleet.spot import Spot

# Pools that are tried for the roles of one replica on one cluster.
_TRIES = 200
# Units of work that trying one takes.
_STEPS = 10
# Clusters up to which each of their pools is looked at; with more of them, the index is.
_FEW = 16
# Pools of an offer that match a preference, up to which each of them is looked at.
_FEW_POOLS = 64


class Candidates:
    """The best spots for more replicas, given the replicas that a ledger has now."""

    def __init__(
        self,
        documents: Documents,
        suitability: Suitability,
        ledger: Ledger,
        targets: Mapping[str, int] | None = None,
    ) -> None:
        self._documents = documents
        self._ledger = ledger
        self._spaces = ledger.spaces
        self._demands = ledger.demands
        self._prices = prices(documents)
        self._revisions: dict[tuple[object, ...], str] = {}
        self._terms = TermsByDeployment(documents, suitability, ledger.spaces, ledger.demands, targets or {})
        self.spreading = Spreading(ledger)
        self._order = SearchOrder(ledger, suitability, self.spreading)
        self.objective = documents.settings.objective
        self._without_space: dict[int, tuple[int, int]] = {}
        self._kind_of: dict[str, int] = {}
        self._kinds: dict[tuple[object, ...], int] = {}

    def terms(self, deployment: str) -> Terms:
        """Return the terms on which replicas of a deployment are placed."""
        return self._terms.of(deployment)

    def best(
        self,
        deployment: str,
        replicas: int = 1,
        *,
        leaving: Spot | None = None,
        thorough: bool = False,
    ) -> Spot | None:
        """Return the best spot with space for so many replicas together, or None.

        It is another one than they leave. Only a `thorough` search finds space on nodes whose pods would have
        to be put otherwise. The first of replicas that stay together chooses pools with space for the others
        too, as far as there are such.
        """
        terms = self.terms(deployment)
        most = max(replicas, terms.share) if terms.together else replicas
        while True:
            spot = self._best(terms, replicas, most, leaving=leaving, thorough=thorough)
            if spot is not None or most == replicas:
                return spot
            most = max(replicas, most - max(1, most // 8))

    def spot_for(self, deployment: str) -> Spot | None:
        """Return the best spot for one more replica, searched for thoroughly, or None.

        Where a search found none, another one for a deployment of the same kind is made only once something
        has left a pool or a pool has grown.
        """
        kind, state = self.kind(deployment), (self._ledger.removals, self._spaces.changes)
        if self._without_space.get(kind) == state:
            return None
        spot = self.best(deployment) or self.best(deployment, thorough=True)
        if spot is None:
            self._without_space[kind] = state
        return spot

    def kind(self, deployment: str) -> int:
        """Return a number that deployments share of which all have space for a replica or none has.

        A deployment whose own replicas count for that has a number of its own.
        """
        if deployment not in self._kind_of:
            kind = self._depends_on(deployment)
            self._kind_of[deployment] = self._kinds.setdefault(kind, len(self._kinds))
        return self._kind_of[deployment]

    def _depends_on(self, deployment: str) -> tuple[object, ...]:
        terms, demands = self.terms(deployment), self._demands
        role = terms.roles[0]
        demand, key = demands.declared[deployment, role], (deployment, role)
        alone = len(terms.roles) > 1 or terms.limited or terms.ordered or self._ledger.quotas is not None
        if alone or demand.spare or demand.sets > 1 or key in demands.edited:
            return (deployment,)
        by_size = (demand, *demands.spread.get(key, {}).values())
        pods = [(each.pod, each.follower, each.pods, each.gang) for each in by_size]
        return role, terms.clusters, terms.closed, *terms.offers[role], *pods

    def _best(
        self, terms: Terms, replicas: int, most: int, *, leaving: Spot | None, thorough: bool
    ) -> Spot | None:
        by_cluster = self._ledger.by_cluster(terms.deployment)
        for spaces in self._order.groups(terms, replicas, thorough=thorough):
            tried: set[int] = set()
            for space in spaces:
                if space.number in tried:
                    continue
                tried.add(space.number)
                first = replicas if by_cluster.get(space.key[0], 0) else most
                spot = self.on_pool(terms, space, first, leaving=leaving)
                if spot is not None:
                    return spot
        return None

    def on_pool(
        self, terms: Terms, space: Space, replicas: int = 1, *, leaving: Spot | None = None
    ) -> Spot | None:
        """Return a spot with space for more replicas whose first role is on the pool, or None."""
        spend(_STEPS, f"placing {terms.deployment}")
        first, key = terms.roles[0], space.key
        if space.key in terms.closed or space.offer not in terms.offers[first]:
            return None
        if not self._order.suits(terms, first, space):
            return None
        if terms.limited and self.spreading.refuses(terms, space, replicas):
            return None
        role_replicas = self._more(terms, first, key, replicas)
        if not space.fits(role_replicas):
            return None
        if len(terms.roles) == 1:
            spot = self._spot(terms.deployment, key[0], {first: key[1]})
            return spot if spot != leaving and self._allowed(spot, replicas, leaving) else None
        whole = self.completed(terms, key[0], {first: key[1]}, replicas, leaving=leaving)
        if whole is None or not (terms.closed or terms.limited):
            return whole
        pools = [self._spaces.by_key[key[0], pool] for _, pool in whole.pools]
        return (
            None
            if any(self.spreading.closes(terms, space_of_role, replicas) for space_of_role in pools)
            else whole
        )

    def refused(self, deployment: str, role: str, space: Space) -> Obstacle | None:
        """Return the policy that keeps one more replica from a pool which suits its role, or None.

        Whether there is space is not looked at.
        """
        terms = self.terms(deployment)
        why = self.spreading.why(terms, space) if role == terms.roles[0] else None
        if why or not self._ledger.quotas:
            return why
        gpus = self._demands.of(deployment, role, space.key).gpus
        return self._ledger.quotas.why(deployment, role, space.key, max(0, terms.total - gpus))

    def affordable(self, deployment: str) -> bool:
        """Return whether quotas leave enough for one more replica on the spots where it counts least."""
        quotas, namespace = self._ledger.quotas, deployment.partition("/")[0]
        if quotas is None or namespace not in quotas.limits.alike:
            return True
        unedited, of_offer = self._demands.unedited, self._spaces.of_offer
        roles = (
            {name: unedited(deployment, role, of_offer[name][0].node.gpus) for name in offers}
            for role, offers in self.terms(deployment).offers.items()
        )
        return quotas.affordable(namespace, roles)

    def _allowed(self, spot: Spot, replicas: int, leaving: Spot | None) -> bool:
        """Return whether quotas allow more replicas on a spot."""
        quotas = self._ledger.quotas
        return quotas is None or quotas.allow(spot, replicas, leaving)

    def completed(
        self,
        terms: Terms,
        cluster: str,
        fixed: Mapping[str, str],
        replicas: int,
        *,
        leaving: Spot | None = None,
    ) -> Spot | None:
        """Return the best spot with space on a cluster where some roles have their pool already, or None.

        Two spots of a deployment on a cluster share no pool of a role: workloads are named by these two. If
        its replicas are together, they have one spot.
        """
        whole_spots = [
            spot
            for spot in self._ledger.on_cluster(terms.deployment, cluster)
            if len(spot.pools) == len(terms.roles)
        ]
        for spot in whole_spots:
            if all(spot.pool(role) == pool for role, pool in fixed.items()):
                fits = spot != leaving and self._ledger.fits(spot, replicas)
                return spot if fits and self._allowed(spot, replicas, leaving) else None
        if whole_spots and terms.together:
            return None
        if any(spot.pool(role) == pool for spot in whole_spots for role, pool in fixed.items()):
            return None
        labels = {names.placement(spot) for spot in self._ledger.on_cluster(terms.deployment, cluster)}
        tries = _TRIES
        open_roles = [role for role in terms.roles if role not in fixed]

        def chosen(
            index: int, pools: dict[str, str], added: dict[PoolKey, list[RoleReplicas]]
        ) -> Spot | None:
            nonlocal tries
            if index == len(open_roles):
                spot = self._spot(terms.deployment, cluster, pools)
                if spot == leaving or names.placement(spot) in labels:
                    return None
                return spot if self._allowed(spot, replicas, leaving) else None
            role = open_roles[index]
            for space in self._order.near(terms, role, cluster, replicas):
                tries -= 1
                spend(_STEPS, f"placing {terms.deployment}")
                if tries < 0:
                    return None
                if any(spot.pool(role) == space.key[1] for spot in whole_spots):
                    continue
                together = [*added.get(space.key, ()), self._more(terms, role, space.key, replicas)]
                if space.fits(*together):
                    spot_ = chosen(index + 1, pools | {role: space.key[1]}, added | {space.key: together})
                    if spot_ is not None:
                        return spot_
            return None

        added: dict[PoolKey, list[RoleReplicas]] = {}
        for role, pool in fixed.items():
            key = cluster, pool
            added.setdefault(key, []).append(self._more(terms, role, key, replicas))
        if not all(self._spaces.by_key[key].fits(*role_replicas) for key, role_replicas in added.items()):
            return None
        return chosen(0, dict(fixed), added)

    def _spot(self, deployment: str, cluster: str, pools: Mapping[str, str]) -> Spot:
        return Spot(deployment, cluster, tuple(sorted(pools.items())), self._revision(deployment, cluster))

    def _revision(self, deployment: str, cluster: str) -> str:
        """Return the revision of a deployment on a cluster, worked out once for all that have its images."""
        images = self._documents.clusters[cluster].spec.serving.images
        key = deployment, *sorted(images.engine.items())
        if key not in self._revisions:
            self._revisions[key] = revision(self._documents.deployments[deployment], images)
        return self._revisions[key]

    def cost(self, spot: Spot) -> int:
        """Return what a replica costs on a spot, in a unit that is the same for all spots.

        It counts the price of its GPUs, or of its cores on nodes without any.
        """
        offers = {role: self._spaces.by_key[spot.cluster, pool].offer for role, pool in spot.pools}
        return sum(self.cost_on(spot.deployment, role, name) for role, name in offers.items())

    def cost_on(self, deployment: str, role: str, offer: str) -> int:
        """Return the cost of one role of a replica on nodes of an offer, in the unit of `cost`."""
        empty = self._spaces.of_offer[offer][0].node
        cost = self._demands.unedited(deployment, role, empty.gpus).size(empty) * self._prices[offer]
        return cost if empty.gpus else cost // 1000

    def least(self, deployment: str) -> int:
        """Return what a replica costs where each role is on the cheapest nodes that suit it, in the unit
        of `cost`.
        """
        return sum(
            min((self.cost_on(deployment, role, name) for name in of_role), default=0)
            for role, of_role in self.terms(deployment).offers.items()
        )

    def size_on(self, deployment: str, role: str, space: Space) -> int:
        """Return the GPUs that a role of a replica takes on a pool, or without any thousandths of a core."""
        return self._demands.of(deployment, role, space.key).size(space.node)

    def _more(self, terms: Terms, role: str, pool: PoolKey, replicas: int) -> RoleReplicas:
        return RoleReplicas(
            (terms.deployment, role), self._demands.of(terms.deployment, role, pool), replicas
        )


class SearchOrder:
    """In which order pools are tried for a replica, given the replicas that a ledger has now."""

    def __init__(self, ledger: Ledger, suitability: Suitability, spreading: Spreading) -> None:
        self._ledger = ledger
        self._suitability = suitability
        self._spreading = spreading
        self._spaces = ledger.spaces
        self._demands = ledger.demands

    def groups(self, terms: Terms, replicas: int, *, thorough: bool) -> Iterator[Iterator[Space]]:
        """Yield the pools that are tried for the first role, in groups, the best group and the best pool
        first.
        """
        if not terms.ordered:
            yield from self._by_objective(terms, thorough=thorough)
            return
        for level in self._spreading.levels(terms, replicas):
            among = terms.by_tier[level[0]]
            for group in self._by_objective(terms, thorough=thorough, among=among):
                yield self._spreading.on_level(terms, level, group, replicas)

    def _by_objective(
        self, terms: Terms, *, thorough: bool, among: Mapping[str, list[Space]] | None = None
    ) -> Iterator[Iterator[Space]]:
        """Yield pools for the first role in the order of the stack's objective, in groups.

        `among` are pools by offer: where it is given, only these count.
        """
        by_cluster = self._ledger.by_cluster(terms.deployment)
        used = {cluster: number for cluster, number in by_cluster.items() if cluster in terms.clusters}
        replica_counts = set(used.values())
        if len(used) < len(terms.clusters):
            replica_counts.add(0)
        if terms.over_clusters:
            for count in sorted(replica_counts):
                clusters_with_count = (
                    [cluster for cluster, number in used.items() if number == count]
                    if count
                    else terms.clusters
                )
                spaces = self._candidate_pools(terms, clusters_with_count, thorough=thorough, among=among)
                yield self._at(terms, count, spaces)
            return
        numbers: list[int | None] = [*sorted(replica_counts)] if terms.objective == "cost" else [None]
        for opens in (False, True) if terms.objective == "pack" else (None,):
            for name in terms.offers[terms.roles[0]]:
                for number in numbers:
                    spaces = self._of_offer(terms, name, thorough=thorough, among=among)
                    yield self._at(terms, number, spaces, opens=opens)

    def _at(
        self, terms: Terms, count: int | None, spaces: Iterator[Space], *, opens: bool | None = None
    ) -> Iterator[Space]:
        """Yield the pools on clusters that have so many replicas of the deployment, or any number. With
        `opens`, it is those alone where a pod takes a node that nothing runs on, or where it does not.
        """
        by_cluster, clusters = self._ledger.by_cluster(terms.deployment), terms.clusters
        for space in spaces:
            cluster = space.key[0]
            if (
                (count is None or by_cluster.get(cluster, 0) == count)
                and cluster in clusters
                and (opens is None or self._opens(terms, space) == opens)
            ):
                yield space

    def _opens(self, terms: Terms, space: Space) -> bool:
        """Return whether a pod takes a node that nothing runs on."""
        return self._preference(terms, terms.roles[0], space)[1] == space.node.main_amount(space.node)

    def _candidate_pools(
        self,
        terms: Terms,
        clusters: frozenset[str] | list[str],
        *,
        thorough: bool,
        among: Mapping[str, list[Space]] | None,
    ) -> Iterator[Space]:
        """Yield pools for the first role, the best first.

        For up to `_FEW` clusters, they are exactly the pools of these. For more, they come from the index by
        offer, which knows no clusters and may repeat a pool: `_at` drops pools of other clusters, and `_best`
        drops repeats.
        """
        role = terms.roles[0]
        if len(clusters) <= _FEW:
            spaces = [
                (self._preference(terms, role, space), space)
                for cluster in clusters
                for space in self._spaces.on_cluster.get(cluster, ())
                if space.offer in terms.offers[role] and (thorough or self._has_free(terms, role, space))
            ]
            yield from (space for _, space in sorted(spaces, key=lambda pair: pair[0]))
            return
        for offer in terms.offers[role]:
            yield from self._of_offer(terms, offer, thorough=thorough, among=among)

    def _of_offer(
        self, terms: Terms, offer: str, *, thorough: bool, among: Mapping[str, list[Space]] | None
    ) -> Iterator[Space]:
        """Yield pools of an offer for the first role, those that it fills best first, some of them twice."""
        spaces = among.get(offer, []) if among is not None else None
        if spaces is not None and len(spaces) <= _FEW_POOLS:
            role = terms.roles[0]
            spaces = [space for space in spaces if thorough or self._has_free(terms, role, space)]
            yield from sorted(spaces, key=lambda space: self._preference(terms, role, space))
            return
        role = terms.roles[0]
        for space in self._spaces.with_free(offer, self._asked(terms, role, offer)):
            if thorough or self._has_free(terms, role, space):
                yield space
        if thorough:
            yield from self._spaces.of_offer[offer]

    def _has_free(self, terms: Terms, role: str, space: Space) -> bool:
        """Return whether some node may have space for a pod. It is a quick look, which may say yes
        wrongly.
        """
        return fit(space.most, self._demands.of(terms.deployment, role, space.key).pod) > 0

    def near(self, terms: Terms, role: str, cluster: str, replicas: int = 1) -> list[Space]:
        """Return the pools of a cluster that suit a role and are open to it, the best first."""
        spaces = sorted(
            (
                space
                for space in self._spaces.on_cluster.get(cluster, ())
                if space.offer in terms.offers[role]
                and not self._spreading.closes(terms, space, replicas)
                and self.suits(terms, role, space)
            ),
            key=lambda space: self._preference(terms, role, space),
        )
        return sorted(spaces, key=lambda space: terms.tiers.get(space.key, 0)) if terms.tiers else spaces

    def _preference(self, terms: Terms, role: str, space: Space) -> tuple[int, int, int]:
        least = self._asked(terms, role, space.offer)
        amounts = (space.node.main_amount(state) for state in space.free)
        free = min((free for free in amounts if free >= least), default=space.node.main_amount(space.node))
        return terms.offers[role][space.offer], free, space.number

    def _asked(self, terms: Terms, role: str, offer: str) -> int:
        """Return the GPUs of a pod on nodes of an offer; where such nodes have none, its cores."""
        node_gpus = self._spaces.of_offer[offer][0].node.gpus
        gpus = self._demands.unedited(terms.deployment, role, node_gpus).pod.gpus
        return gpus if node_gpus else terms.cpu[role]

    def suits(self, terms: Terms, role: str, space: Space) -> bool:
        """Return whether the pool suits pods that plugins edit, and the labels of its nodes pods of the role;
        for others, that of its class says all.
        """
        key = terms.deployment, role
        if key in self._demands.edited:
            return not self._suitability.by_pool(terms.deployment, role, space.key)
        return key not in self._demands.conditions or space.key not in self._suitability.closed(*key)
