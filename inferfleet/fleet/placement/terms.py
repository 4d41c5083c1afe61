"""The terms on which replicas are placed: where those of each deployment may run, and which places come
first.

What follows from documents alone is worked out once for each deployment (`Terms`); what depends on the
replicas that a ledger has now is asked each time (`Spreading`).

The skew of a place is how many more replicas its domain would have than the domain with the fewest, as
kube-scheduler counts it for topologySpreadConstraints. Domains are those of pools that could take replicas,
also when they are full; replicas on lost clusters are not counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.kinds.model_deployment import STEADY, ModelDeploymentSpec, Preference
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.prices import class_of, common_currency, ranks
from inferfleet.fleet.placement.space import Space, Spaces
from inferfleet.fleet.placement.suitability import REFUSED, Obstacle, Suitability
from inferfleet.fleet.roles import is_disaggregated, roles_of
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
_NOWHERE = 1 << 40  # of a pool in no domain, which comes after all that are in one
_NO_DOMAIN = "/"  # no name of a cluster, region or zone, and no value of a label


class Domains(NamedTuple):
    """What replicas of a deployment spread over: clusters, regions, zones, or the values of a label."""

    over: str
    """`cluster`, `region`, `zone` or a label of clusters."""
    required: bool
    """Whether a replica that makes the spread too uneven has no place."""
    max_skew: int
    of: Mapping[PoolKey, str]
    """The domain of each pool that has one."""
    eligible: tuple[str, ...]
    """The domains with pools that may take replicas, in order."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Where replicas of a deployment may run, and which places it prefers; by documents alone."""

    deployment: str
    roles: tuple[str, ...]
    """Its roles, the one with the most GPUs first: that one chooses its pool before the others."""
    clusters: frozenset[str]
    """Clusters that take new replicas of it, as far as whole clusters are asked."""
    offers: Mapping[str, Mapping[str, int]]
    """By role the offers (a class, and how its nodes are bought) that suit it, with their rank by price."""
    nodes: int
    """Nodes on these clusters that suit the role which fewest suit."""
    gpus: int
    """GPUs of its largest pod."""
    gang: int
    """Pods of its largest worker."""
    total: int
    """GPUs of a replica."""
    cpu: Mapping[str, int]
    """By role the least thousandths of a core that a pod asks for on any pool."""
    priority: int
    closed: frozenset[PoolKey]
    """Pools that take none of its replicas: by their labels, by their capacity model, or because no role's
    template has its nodes.
    """
    unsteady: int | None
    """The most replicas on capacity models other than OnDemand and Reservation; None without a limit."""
    tiers: Mapping[PoolKey, int]
    """Which of its preferences each pool matches first; empty where it has none."""
    domains: Domains | None
    """The spread that the document asks for."""
    by_tier: Mapping[int, Mapping[str, list[Space]]]
    """The pools for the first role by tier and offer, where the document has preferences or a spread."""
    objective: str
    """That of the stack: `balance`, `cost` or `pack`."""
    together: bool
    """Whether replicas on a cluster have one spot, because each prefill pod serves each decode pod."""
    share: int
    """Replicas that come to a cluster if all have the same number."""

    @property
    def scarcity(self) -> tuple[int, int, int, str]:
        """Return the key by which deployments choose: large pods, large workers, few suitable nodes first."""
        return -self.gpus, -self.gang, self.nodes, self.deployment

    @property
    def ordered(self) -> bool:
        """Return whether the document says itself which places come first."""
        return self.domains is not None or bool(self.tiers)

    @property
    def limited(self) -> bool:
        """Return whether pools that suit may be refused for the replicas that are there already."""
        return self.domains is not None or self.unsteady is not None

    @property
    def over_clusters(self) -> bool:
        """Return whether clusters with few replicas come first though the document does not say so."""
        return self.objective == "balance" and (self.domains is None or self.domains.over != "cluster")

    @property
    def required(self) -> bool:
        """Return whether a replica that makes the spread too uneven has no place."""
        return self.domains is not None and self.domains.required


class TermsByDeployment:
    """The terms of each deployment, worked out once. `targets` count its replicas that can be moved."""

    def __init__(
        self,
        documents: Documents,
        suitability: Suitability,
        spaces: Spaces,
        demands: Demands,
        targets: Mapping[str, int],
    ) -> None:
        self._documents = documents
        self._suitability = suitability
        self._spaces = spaces
        self._demands = demands
        self._targets = targets
        by_rank = ranks(documents, common_currency(documents))
        self._order = sorted(spaces.of_offer, key=by_rank.__getitem__)
        self._known: dict[str, Terms] = {}
        self._open: dict[tuple[str, frozenset[PoolKey]], bool] = {}
        self._nodes: dict[tuple[str, frozenset[str], frozenset[PoolKey]], int] = {}
        self._known_closed: dict[tuple[tuple[str, ...], str], frozenset[PoolKey]] = {}
        self._closed_by_both: dict[tuple[frozenset[PoolKey], frozenset[PoolKey]], frozenset[PoolKey]] = {}
        self._known_tiers: dict[str, dict[PoolKey, int]] = {}
        self._known_by_tier: dict[tuple[object, ...], dict[int, dict[str, list[Space]]]] = {}
        self._domains: dict[str, dict[PoolKey, str]] = {}
        self._eligible: dict[tuple[object, ...], tuple[str, ...]] = {}

    def of(self, deployment: str) -> Terms:
        """Return the terms of a deployment."""
        if deployment not in self._known:
            self._known[deployment] = self._worked_out(deployment)
        return self._known[deployment]

    def _worked_out(self, deployment: str) -> Terms:
        """Return the terms on which a deployment is placed, from documents and demands."""
        document, takes = self._documents.deployments[deployment], self._suitability.takes
        spec = document.spec
        closed = self._closed(spec)
        if by_labels := self._suitability.closed_to_all(deployment):
            key = closed, by_labels
            if key not in self._closed_by_both:
                self._closed_by_both[key] = closed | by_labels
            closed = self._closed_by_both[key]
        offers = {
            role: {
                name: rank
                for rank, name in enumerate(self._order)
                if self._has_open(name, closed) and takes(deployment, role, class_of(name))
            }
            for role in roles_of(document)
        }
        declared_demands = {role: self._demands.declared[deployment, role] for role in offers}
        roles = sorted(offers, key=lambda role: (-declared_demands[role].gpus, role))
        clusters = self._suitability.clusters(deployment)
        replicas = self._targets.get(deployment, spec.wanted)
        return Terms(
            deployment=deployment,
            roles=tuple(roles),
            clusters=clusters,
            offers=offers,
            nodes=min(
                sum(self._nodes_of(name, clusters, closed) for name in of_role) for of_role in offers.values()
            ),
            gpus=max(demand.pod.gpus for demand in declared_demands.values()),
            gang=max(demand.gang for demand in declared_demands.values()),
            total=sum(demand.gpus for demand in declared_demands.values()),
            cpu={role: self._demands.least_cpu(deployment, role) for role in roles},
            priority=spec.priority,
            closed=closed,
            unsteady=max(0, replicas - spec.on_demand_replicas) if spec.on_demand_replicas else None,
            tiers=self._tiers(spec.prefer) if spec.prefer else {},
            domains=self._spread(spec, clusters, offers[roles[0]], closed) if spec.spread else None,
            by_tier=self._by_tier(spec, clusters, offers[roles[0]]) if spec.prefer or spec.spread else {},
            objective=self._documents.settings.objective,
            together=is_disaggregated(document),
            share=-(-spec.wanted // max(1, len(clusters))),
        )

    def _closed(self, spec: ModelDeploymentSpec) -> frozenset[PoolKey]:
        """Return the pools whose labels or capacity model the deployment does not allow."""
        key = spec.capacity_models, str(spec.pool_selector)
        if key not in self._known_closed:
            self._known_closed[key] = frozenset(
                (name, pool.name)
                for name, cluster in self._documents.clusters.items()
                for pool in cluster.spec.node_pools
                if pool.capacity.model not in spec.capacity_models
                or not spec.pool_selector.matches(pool.node_labels)
            )
        return self._known_closed[key]

    def _has_open(self, offer: str, closed: frozenset[PoolKey]) -> bool:
        """Return whether an offer has a pool that is not closed."""
        key = offer, closed
        if key not in self._open:
            self._open[key] = any(space.key not in closed for space in self._spaces.of_offer[offer])
        return self._open[key]

    def _nodes_of(self, offer: str, clusters: frozenset[str], closed: frozenset[PoolKey]) -> int:
        """Return the nodes of an offer on the pools of clusters that are not closed."""
        key = offer, clusters, closed
        if key not in self._nodes:
            self._nodes[key] = sum(
                space.size
                for space in self._spaces.of_offer[offer]
                if space.key[0] in clusters and space.key not in closed
            )
        return self._nodes[key]

    def _tiers(self, rules: tuple[Preference, ...]) -> dict[PoolKey, int]:
        if str(rules) not in self._known_tiers:
            self._known_tiers[str(rules)] = {
                (name, pool.name): next(
                    (index for index, rule in enumerate(rules) if prefers(rule, cluster, pool)), len(rules)
                )
                for name, cluster in self._documents.clusters.items()
                for pool in cluster.spec.node_pools
            }
        return self._known_tiers[str(rules)]

    def _by_tier(
        self, spec: ModelDeploymentSpec, clusters: frozenset[str], offers: Mapping[str, int]
    ) -> dict[int, dict[str, list[Space]]]:
        key = str(spec.prefer), clusters, *offers
        if key not in self._known_by_tier:
            tiers = self._tiers(spec.prefer) if spec.prefer else {}
            by_tier = self._known_by_tier[key] = {}
            for name in offers:
                for space in self._spaces.of_offer[name]:
                    if space.key[0] in clusters:
                        by_tier.setdefault(tiers.get(space.key, 0), {}).setdefault(name, []).append(space)
        return self._known_by_tier[key]

    def _spread(
        self,
        spec: ModelDeploymentSpec,
        clusters: frozenset[str],
        offers: Mapping[str, int],
        closed: frozenset[PoolKey],
    ) -> Domains | None:
        """Return the domains that a deployment is spread over, None where its document asks for no spread."""
        if spec.spread is None:
            return None
        over = spec.spread.over
        if over not in self._domains:
            self._domains[over] = domains(self._documents, over)
        domain_of = self._domains[over]
        key = over, clusters, closed, *offers
        if key not in self._eligible:
            eligible = {
                domain_of[space.key]
                for space in self._spaces.all
                if space.key in domain_of
                and space.size
                and space.key[0] in clusters
                and space.offer in offers
                and space.key not in closed
            }
            self._eligible[key] = tuple(sorted(eligible))
        required = spec.spread.mode == "Require"
        return Domains(over, required, spec.spread.max_skew, domain_of, self._eligible[key])


def prefers(rule: Preference, cluster: InferenceCluster, pool: NodePool) -> bool:
    """Return whether a pool is of the part of the fleet that a preference names."""
    selector = rule.cluster_selector
    return (
        (selector is None or selector.matches(cluster.metadata.labels))
        and (not rule.pools or pool.name in rule.pools)
        and (not rule.capacity_models or pool.capacity.model in rule.capacity_models)
    )


def domains(documents: Documents, over: str) -> dict[PoolKey, str]:
    """Return for each pool its cluster, region, zone or label's value; those without one are left out."""
    by_pool = {
        (name, pool.name): _domain(cluster, pool, over)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }
    return {key: domain for key, domain in by_pool.items() if domain is not None}


def _domain(cluster: InferenceCluster, pool: NodePool, over: str) -> str | None:
    labels, gke = cluster.metadata.labels, cluster.spec.cluster.gke
    if over == "cluster":
        return cluster.metadata.name
    if over == "region":
        return gke.region if gke else labels.get(_REGION)
    if over != "zone":
        return labels.get(over)
    if gke is None:
        return (pool.node_selector or {}).get(_ZONE) or labels.get(_ZONE)
    # In which of several zones a pod will be, nobody knows.
    zones = {*(pool.zones or gke.zones)}
    return zones.pop() if len(zones) == 1 else None


def is_steady(model: str) -> bool:
    """Return whether nodes of a capacity model stay until somebody takes them away."""
    return model in STEADY


# A place by the order of preference; smaller is better.
Worth = tuple[int, int, int]
# Which preference a pool matches first, and by how much more replicas there exceed the skew.
PreferenceLevel = tuple[int, int]
_Least = tuple[int, str]


class _Crowd(NamedTuple):
    """Replicas by domain, and the two domains with the fewest of those that may take replicas."""

    spread: Domains
    counts: Counter[str]
    least: _Least
    next: _Least | None

    def excess(self, pool: PoolKey, replicas: int) -> int:
        """Return by how much the skew exceeds its limit with more replicas on a pool."""
        domain = self.spread.of.get(pool)
        return _NOWHERE if domain is None else self._excess(domain, replicas)

    def excesses(self, replicas: int) -> set[int]:
        """Return by how much the skew can exceed its limit with more replicas on any of the pools; 0 is
        within it.
        """
        # The name of no domain stands for all those without replicas that are not the first.
        some = {*self.counts, self.least[1], self.next[1] if self.next else "", _NO_DOMAIN}
        return {max(0, self._excess(domain, replicas)) for domain in some} | {_NOWHERE}

    def _excess(self, domain: str, replicas: int) -> int:
        least_elsewhere = self.next if domain == self.least[1] else self.least
        if least_elsewhere is None:
            return 0  # there is one domain alone
        after = self.counts[domain] + replicas
        return after - min(least_elsewhere[0], after) - self.spread.max_skew


def _two_least(counts: Counter[str], eligible: tuple[str, ...]) -> tuple[_Least, _Least | None]:
    least = [(0, name) for name in islice((name for name in eligible if name not in counts), 2)]
    if len(least) < 2:
        least = nsmallest(2, ((counts[name], name) for name in eligible))
    return (least[0] if least else (0, "")), (least[1] if len(least) > 1 else None)


class Spreading:
    """What spread, preferences and capacity models say of more replicas, given those that a ledger has
    now.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._counts: dict[str, Counter[str]] = {}
        self._unsteady: dict[str, Counter[str]] = {}

    def refuses(self, terms: Terms, space: Space, replicas: int = 1) -> bool:
        """Return whether more replicas must not have their first role on a pool."""
        if self.closes(terms, space, replicas):
            return True
        return terms.required and self._crowd(terms).excess(space.key, replicas) > 0

    def closes(self, terms: Terms, space: Space, replicas: int = 1) -> bool:
        """Return whether more replicas must not have any role on a pool, by its labels and capacity model."""
        if space.key in terms.closed:
            return True
        most = terms.unsteady
        if most is None or is_steady(self._ledger.spaces.models[space.key]):
            return False
        return self.unsteady(terms) + replicas > most

    def why(self, terms: Terms, space: Space) -> Obstacle | None:
        """Return why the first role of one more replica must not be on a pool that suits it, or None."""
        model = self._ledger.spaces.models[space.key]
        most = None if is_steady(model) else terms.unsteady
        if most is not None and self.unsteady(terms) >= most:
            return Obstacle(
                f"capacity model {model}: at most {most} {'replica' if most == 1 else 'replicas'} may be on "
                "others than OnDemand and Reservation (onDemandReplicas)",
                f"refused by onDemandReplicas (at most {most} on {model} and the like)",
                near=REFUSED,
                step=f"lower onDemandReplicas of {terms.deployment} by 1 for each replica that may be on "
                f"{model}",
            )
        spread = terms.domains
        if spread is None or not spread.required:
            return None
        if space.key not in spread.of:
            return Obstacle(
                f"is in no {_kind(spread.over)} that is known, and replicas spread over it (spread.over)",
                f"refused by spread (no {_kind(spread.over)} known)",
                near=REFUSED,
            )
        crowd = self._crowd(terms)
        if crowd.excess(space.key, 1) <= 0:
            return None
        domain, least, counts = spread.of[space.key], crowd.least[1], crowd.counts
        return Obstacle(
            f"{_kind(spread.over)} {domain} has {counts[domain]} replicas and {least} {counts[least]}: one "
            f"more makes the skew {counts[domain] + 1 - counts[least]} (maxSkew {spread.max_skew})",
            f"refused by spread over {_kind(spread.over)} (maxSkew {spread.max_skew})",
            near=REFUSED,
            step=f"raise spread.maxSkew of {terms.deployment}, or make room in {_kind(spread.over)} {least}",
        )

    def levels(self, terms: Terms, replicas: int) -> list[PreferenceLevel]:
        """Return the levels of preference that pools can have for more replicas, the best first."""
        excesses = {0}
        if terms.domains and not terms.required:
            excesses = self._crowd(terms).excesses(replicas)
        return sorted((tier, excess) for tier in terms.by_tier for excess in excesses)

    def on_level(
        self, terms: Terms, level: PreferenceLevel, spaces: Iterator[Space], replicas: int
    ) -> Iterator[Space]:
        """Yield the pools that are on a level for more replicas."""
        crowd = self._crowd(terms) if terms.domains else None
        tier, excess = level
        for space in spaces:
            pool_excess = max(0, crowd.excess(space.key, replicas)) if crowd else 0
            if pool_excess == excess and terms.tiers.get(space.key, 0) == tier:
                yield space

    def worth(self, terms: Terms, pool: PoolKey) -> Worth:
        """Return the place of a pool in the order of preference, by what stands in its domain now."""
        tier = terms.tiers.get(pool, 0)
        on_cluster = self._ledger.by_cluster(terms.deployment).get(pool[0], 0) if terms.over_clusters else 0
        spread = terms.domains
        if spread is None:
            return tier, 0, on_cluster
        number = self.counts(terms)[spread.of[pool]] if pool in spread.of else _NOWHERE
        return (number, tier, on_cluster) if spread.required else (tier, number, on_cluster)

    def counts(self, terms: Terms) -> Counter[str]:
        """Return the replicas in each domain, those too that run in domains which take no more."""
        if terms.deployment not in self._counts:
            domain_of = terms.domains.of if terms.domains else {}
            self._counts[terms.deployment] = self._ledger.tally(
                terms.deployment, lambda spot: domain_of.get(first_pool(terms, spot))
            )
        return self._counts[terms.deployment]

    def too_many_unsteady(self, terms: Terms, spot: Spot) -> bool:
        """Return whether a spot has nodes that may be taken away, and more replicas are on such than may
        be.
        """
        return (
            terms.unsteady is not None and self._is_unsteady(spot) and self.unsteady(terms) > terms.unsteady
        )

    def unsteady(self, terms: Terms) -> int:
        """Return the replicas of which a pool has nodes that may be taken away."""
        if terms.deployment not in self._unsteady:
            self._unsteady[terms.deployment] = self._ledger.tally(
                terms.deployment, lambda spot: "unsteady" if self._is_unsteady(spot) else None
            )
        return self._unsteady[terms.deployment]["unsteady"]

    def _is_unsteady(self, spot: Spot) -> bool:
        models = self._ledger.spaces.models
        return any(not is_steady(models.get((spot.cluster, pool), "OnDemand")) for _, pool in spot.pools)

    def _crowd(self, terms: Terms) -> "_Crowd":
        counts = self.counts(terms)
        spread = terms.domains or Domains("", False, 0, {}, ())
        return _Crowd(spread, counts, *_two_least(counts, spread.eligible))


def first_pool(terms: Terms, spot: Spot) -> PoolKey:
    """Return the pool of the role with the most GPUs that a spot has."""
    pools = dict(spot.pools)
    return spot.cluster, next((pools[role] for role in terms.roles if role in pools), "")


def _kind(over: str) -> str:
    return over if over in ("cluster", "region", "zone") else f"label {over}"
