"""What replicas need once plugins have edited their pods, worked out before the plan.

Pods of a role on nodes of one class are alike wherever they run, so their chain runs once, for one of
the pools where they may run; on clusters with a chain of their own, or another image for their engine, once
for each. A plugin that asks for more on one cluster than on another, by facts of it, would make the plan
wrong: that is found where its pods are placed, and is an error. No chain runs where no link acts on the pods:
the document says all then.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from inferfleet.cloud.provider import cloud_pools
from inferfleet.cloud.values import CloudPool
from inferfleet.desired.chains import Chains
from inferfleet.desired.demands.shares import edited
from inferfleet.desired.pods import Made, pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.fleet.demands import Demand, Demands, RoleKey, declared_demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import image_of, lacking_images, selector_of, workers_of
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector
from inferfleet.fleet.shapes import Node, PoolKey, has_accelerators, node
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkProblem
from inferfleet.plugins.link import Origin


@dataclass(frozen=True)
class Worked:
    """What replicas need, and the pods that were made to find it out.

    `made` has those of one spot for all that are alike, and `alike` that spot by role and pool.
    """

    demands: Demands
    made: Mapping[Spot, Made]
    alike: Mapping[tuple[RoleKey, PoolKey], Spot]


def worked_out(documents: Documents, lock: Lock, chains: Chains) -> Worked:
    """Return what replicas of every deployment need on every pool where they may run."""
    demands = declared_demands(documents)
    by_pool: dict[RoleKey, dict[PoolKey, Demand]] = {}
    made: dict[Spot, Made] = {}
    alike: dict[tuple[RoleKey, PoolKey], Spot] = {}
    clouds: Mapping[str, Mapping[str, CloudPool]] | None = None
    acting = _Acting(documents, chains)
    selectors = Selectors()
    nodes = {name: node(document) for name, document in documents.classes.items()}
    locked = {
        ((spot.deployment, role), (spot.cluster, pool))
        for spot in lock.placements
        for role, pool in spot.pools
    }
    for key in demands.declared:
        for spots in _groups(documents, locked, key, acting=acting, selectors=selectors, nodes=nodes):
            if clouds is None:
                clouds = cloud_pools(documents, lock)
            first = _first(documents, spots, chains, made=made, clouds=clouds)
            for spot in spots:
                alike[key, pool_of(spot)] = first
                needs = before = demands.of(*key, pool_of(spot))
                for of_position in made[first][0]:
                    needs = edited(needs, of_position)
                if needs != before:
                    by_pool.setdefault(key, {})[pool_of(spot)] = needs
    return Worked(replace(demands, edited=by_pool), made, alike)


def unplaced_link_problems(worked: Worked, placed: Set[str]) -> Iterator[LinkProblem]:
    """Yield what plugins did wrong, and said, on pods of deployments that are not among those with a place.

    A link that fails is told where its replicas found no place as well, once for pods that are alike: room
    for them would not make it run. Where no chain ran, or no pool suits, there is nothing to tell.
    """
    for spot in dict.fromkeys(worked.alike.values()):
        if spot.deployment not in placed:
            of_spot, _, link_problems = worked.made[spot]
            yield from link_problems
            for of_position in of_spot:
                yield from of_position.outcome.output


class _Acting:
    """Where links act on the pods of a role, of all chains but those of deployments worked out once."""

    def __init__(self, documents: Documents, chains: Chains) -> None:
        self._documents = documents
        self._links = chains.links
        self._stack = chains.stack
        self._shared: dict[tuple[str, bool], tuple[bool, frozenset[str], frozenset[str]]] = {}

    def pools(self, deployment: str, role: str, *, several: bool) -> Iterator[tuple[str, NodePool, bool]]:
        """Yield the pools where links act on pods of the role, with their cluster, and whether that has links
        of its own. `several` pods of a worker are entry and followers.
        """
        if (role, several) not in self._shared:
            self._shared[role, several] = (
                self._acts("stack", self._stack, role, several),
                frozenset(
                    name for name in self._documents.classes if self._acts("class", name, role, several)
                ),
                frozenset(
                    name for name in self._documents.clusters if self._acts("cluster", name, role, several)
                ),
            )
        everywhere, classes, clusters = self._shared[role, several]
        everywhere = everywhere or self._acts("deployment", deployment, role, several)
        if not (everywhere or classes or clusters):
            return
        for cluster, document in sorted(self._documents.clusters.items()):
            for pool in document.spec.node_pools:
                if everywhere or cluster in clusters or pool.class_name in classes:
                    yield cluster, pool, cluster in clusters

    def _acts(self, origin: Origin, name: str, role: str, several: bool) -> bool:
        scopes = [bound.link.spec.scope for bound in self._links[origin, name]]
        positions = ("Entry", "Worker") if several else ("Entry",)
        return any(scope.has(role, position) for scope in scopes for position in positions)


def _groups(
    documents: Documents,
    locked: Set[tuple[RoleKey, PoolKey]],
    key: RoleKey,
    *,
    acting: _Acting,
    selectors: Selectors,
    nodes: Mapping[str, Node | None],
) -> list[list[Spot]]:
    """Return the spots where links act on the pods of a role, those with alike pods together.

    Each has the pool of that role alone. Those of the lock come first: most likely they are placed again.
    """
    deployment, role = key
    document = documents.deployments[deployment]
    workers = workers_of(document, role)
    topology = workers.topology
    groups: dict[tuple[str, str, str | None], list[Spot]] = {}
    templates = filter(None, (workers.of("Entry"), workers.of("Follower")))
    has_image = all("image" in template.engine for template in templates)
    # Where a group of `tensor` is larger than a node, a worker has several pods too.
    several = topology.gpus_per_worker > 1
    for cluster, pool, own in acting.pools(deployment, role, several=several):
        spot = Spot(deployment, cluster, ((role, pool.name),))
        empty = nodes[pool.class_name]
        if empty is not None and (
            (key, pool_of(spot)) in locked
            or (
                bool(empty.gpus) == has_accelerators(document)
                and _may_run(documents, spot, role, pool.class_name, selectors)
            )
        ):
            images = documents.clusters[cluster].spec.serving.images
            image = None if has_image else image_of(document, role, images)
            groups.setdefault((pool.class_name, cluster if own else "", image), []).append(spot)
    return [
        sorted(spots, key=lambda spot: ((key, pool_of(spot)) not in locked, spot))
        for spots in groups.values()
    ]


def _may_run(documents: Documents, spot: Spot, role: str, class_name: str, selectors: Selectors) -> bool:
    """Return whether the deployment selects the cluster, with images there, and the class of the pool."""
    document = documents.deployments[spot.deployment]
    cluster = documents.clusters[spot.cluster]
    if cluster.spec.state == "abandoned" or not document.spec.cluster_selector.matches(
        cluster.metadata.labels
    ):
        return False
    if lacking_images(document, cluster.spec.serving.images):
        return False
    selector = selector_of(document, role)
    try:
        return selector is None or not selectors.mismatch(selector.cel, documents.classes[class_name])
    except InvalidSelector:
        return False  # a problem of the plan, which places nothing then


def _first(
    documents: Documents,
    spots: list[Spot],
    chains: Chains,
    *,
    made: dict[Spot, Made],
    clouds: Mapping[str, Mapping[str, CloudPool]],
) -> Spot:
    """Make the pods of the first spot on which no plugin fails, or of the first one, and return the spot."""
    for spot in spots:
        made[spot] = pods(documents, spot, chains, clouds.get(spot.cluster))
        if not made[spot][2]:
            return spot
    return spots[0]


def pool_of(spot: Spot) -> PoolKey:
    """Return the one pool of a spot."""
    return spot.cluster, spot.pools[0][1]
