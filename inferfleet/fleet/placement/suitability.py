"""Which clusters and pools suit a deployment, and why the others do not, before free space is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import Images
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.documents.work import spend
from inferfleet.fleet.accelerators import DeviceRequest, accelerator_in_words, missing_resource
from inferfleet.fleet.demands import Demand, Demands, Share
from inferfleet.fleet.node_conditions import ALL_MATCH, LabelMatch, MatchingNodes
from inferfleet.fleet.placement.pool_labels import PoolLabels
from inferfleet.fleet.roles import (
    caches_of,
    lacking_images,
    role_templates,
    roles_of,
    selector_of,
    workers_of,
)
from inferfleet.fleet.selectors.devices import FalseCondition, Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector
from inferfleet.fleet.shapes import (
    HUGE_PAGES,
    Node,
    Pod,
    PoolKey,
    accelerators,
    amounts,
    cores,
    fit,
    gib,
    gpus,
    has_fabric,
    node,
    spans_nodes,
)
from inferfleet.fleet.spot import Spot


class Consequence(IntEnum):
    """What an obstacle does to replicas, like the effect of a taint. None of them lets new replicas come."""

    CORDON = 1  # replicas that are there stay
    EVICT = 2  # they move away if there is space elsewhere
    IMPOSSIBLE = 3  # they cannot run there: they move away, and if they cannot, that is an error


# How near a pool is to taking a replica that something keeps from it: it has other accelerators or none, it
# does not suit otherwise, a quota or spread refuses it, or only free space is missing; 0 for a whole cluster.
UNLIKE, UNSUITABLE, REFUSED, FULL = 1, 2, 3, 4


@dataclass(frozen=True)
class Obstacle:
    """Why a cluster or pool takes no more replicas of a deployment.

    Two obstacles are equal that say the same and are as near.
    """

    why: str
    """Said of one pool: `has 4 GPUs per node, needs 8`."""
    short: str = ""
    """Said of several clusters or pools: `have 4 GPUs per node (8 wanted)`; empty where `why` will do."""
    consequence: Consequence = field(default=Consequence.CORDON, compare=False)
    """What it does to replicas that are there."""
    near: int = UNSUITABLE
    step: str = ""
    """What would take it away without more nodes. Empty where that is not one thing."""
    final: bool = field(default=False, compare=False)
    """Whether the sizes of nodes and pods do not matter any more."""

    @property
    def summary(self) -> str:
        """Return the reason in words for several clusters or pools."""
        return self.short or self.why


class _Toleration(NamedTuple):
    """A toleration of a document or of one of its templates."""

    key: str | None
    operator: str
    value: str | None
    effect: str | None


# What a deployment needs of a whole cluster: its selector, what its pods tolerate, and images of engines.
_ClusterNeeds = tuple[object, ...]
_NO_IMAGES = Images()


class Suitability:
    """What keeps replicas from clusters and pools, each obstacle worked out once per plan."""

    def __init__(
        self,
        documents: Documents,
        selectors: Selectors,
        demands: Demands,
        pool_labels: PoolLabels | None = None,
    ) -> None:
        """`pool_labels` are those of the plan, with what capacity.lock has."""
        self._documents = documents
        self._selectors = selectors
        self._demands = demands
        self._nodes = {name: node(inference_class) for name, inference_class in documents.classes.items()}
        self._pools = {
            (name, pool.name): pool
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        self._by_class: dict[tuple[str, str, str], list[Obstacle]] = {}
        self._by_selector: dict[_ClusterNeeds, frozenset[str]] = {}
        self._needs_of: dict[str, _ClusterNeeds] = {}
        self._by_cluster: dict[tuple[_ClusterNeeds, str], tuple[Obstacle, ...]] = {}
        self._pool_labels = pool_labels or PoolLabels(documents, demands, {})
        self._known_meeting: dict[tuple[str, str], PoolKey | None] = {}
        self._missing_resources: dict[tuple[str, DeviceRequest], str | None] = {}
        self._fast_classes: dict[tuple[str, str], str | None] = {}
        self._open: dict[tuple[object, ...], tuple[str, ...]] = {}

    def clusters(self, deployment: str) -> frozenset[str]:
        """Return the clusters that take new replicas of the deployment, as far as whole clusters are
        asked.
        """
        key = self._cluster_needs(deployment)
        if key not in self._by_selector:
            spec = self._documents.deployments[deployment].spec
            spend(len(self._documents.clusters), f"asking clusters for {deployment}")
            self._by_selector[key] = frozenset(
                name
                for name, cluster in self._documents.clusters.items()
                if cluster.spec.state == "active"
                and spec.cluster_selector.matches(cluster.metadata.labels)
                and not self.cluster_obstacles(deployment, name)
            )
        return self._by_selector[key]

    def _cluster_needs(self, deployment: str) -> _ClusterNeeds:
        if deployment not in self._needs_of:
            document = self._documents.deployments[deployment]
            spec, engines = document.spec, lacking_images(document, _NO_IMAGES)
            self._needs_of[deployment] = (
                str(spec.cluster_selector),
                *(cache.metadata.key for cache in caches_of(self._documents, deployment)),
                _tolerations(document),
                engines,
            )
        return self._needs_of[deployment]

    def takes(self, deployment: str, role: str, class_name: str) -> bool:
        """Return whether nodes of the class suit a role, for pods that no plugin edits."""
        if self._on_class(deployment, role, class_name):
            return False
        empty = self._nodes[class_name]
        if empty is None:
            return False
        demand = self._demands.unedited(deployment, role, empty.gpus)
        return (deployment, role) in self._demands.edited or too_small(empty, demand) is None

    def obstacle(self, spot: Spot) -> Obstacle | None:
        """Return the gravest obstacle to replicas on a spot, or None; of equal ones that of the whole
        cluster.
        """
        obstacles = self.cluster_obstacles(spot.deployment, spot.cluster)
        pools = dict(spot.pools)
        for role in roles_of(self._documents.deployments[spot.deployment]):
            if role in pools:
                obstacles += self.by_pool(spot.deployment, role, (spot.cluster, pools[role]))
            else:
                obstacles.append(Obstacle(f"has no pool for role {role}", consequence=Consequence.IMPOSSIBLE))
        return strongest(obstacles)

    def cluster_obstacles(self, deployment: str, name: str) -> list[Obstacle]:
        """Return all that keeps a deployment from a whole cluster, the state of the cluster first."""
        key = self._cluster_needs(deployment), name
        if key not in self._by_cluster:
            self._by_cluster[key] = tuple(self._against(deployment, name))
        return list(self._by_cluster[key])

    def _against(self, deployment: str, name: str) -> list[Obstacle]:
        document, cluster = self._documents.deployments[deployment], self._documents.clusters[name]
        spec = document.spec
        state = cluster.spec.state
        obstacles = []
        if state != "active":
            consequence = Consequence.EVICT if state == "drained" else Consequence.CORDON
            obstacles.append(Obstacle(state, consequence=consequence))
        for cache in caches_of(self._documents, deployment):
            key = cache.metadata.key
            if unmet := list(cache.spec.cluster_selector.unmet(cluster.metadata.labels)):
                needs = ", ".join(needs for _, needs in unmet)
                why = f"has no cache {key}, which is on clusters with {needs}"
                obstacles.append(Obstacle(why, f"have no cache {key}", Consequence.EVICT))
        for key, needs in spec.cluster_selector.unmet(cluster.metadata.labels):
            has = cluster.metadata.labels.get(key)
            label = f"no cluster label {key}" if has is None else f"cluster label {key}={has}"
            obstacles.append(Obstacle(f"{label}, needs {needs}", f"lack {needs}", Consequence.EVICT))
        for taint in cluster.spec.taints:
            if not all(
                any(_tolerates(toleration, taint) for toleration in of_template)
                for of_template in _tolerations(document)
            ):
                consequence = Consequence.EVICT if taint.effect == "NoExecute" else Consequence.CORDON
                text = f"{taint.key}={taint.value}" if taint.value else taint.key
                obstacles.append(
                    Obstacle(f"taint {text}:{taint.effect} is not tolerated", consequence=consequence)
                )
        for engine in lacking_images(document, cluster.spec.serving.images):
            why = f"no image for engine {engine} (serving.images.engine)"
            obstacles.append(Obstacle(why, consequence=Consequence.EVICT))
        return obstacles

    def by_pool(self, deployment: str, role: str, pool: PoolKey) -> list[Obstacle]:
        """Return all that keeps a role from a pool, whatever keeps the deployment from its cluster."""
        class_name = self._pools[pool].class_name
        obstacles = list(self._on_class(deployment, role, class_name))
        spec, document = self._documents.deployments[deployment].spec, self._pools[pool]
        selects = "pool_selector" in spec.model_fields_set
        for key, needs in spec.pool_selector.unmet(document.node_labels) if selects else ():
            has = document.node_labels.get(key)
            label = f"no label {key}" if has is None else f"label {key}={has}"
            why, short = f"{label} of the pool, needs {needs}", f"lack {needs} on pools"
            obstacles.append(Obstacle(why, short, Consequence.EVICT))
        model = document.capacity.model
        if model not in spec.capacity_models:
            text = f"capacity model {model}, which capacityModels does not name"
            obstacles.append(Obstacle(text, f"have {text}"))
        if of_labels := self._label_obstacle(deployment, role, pool):
            obstacles.append(of_labels)
        empty = self._nodes[class_name]
        final = any(obstacle.final for obstacle in obstacles)
        if empty and not final and (small := too_small(empty, self._demands.of(deployment, role, pool))):
            obstacles.insert(0, small)
        return obstacles

    def label_match(self, deployment: str, role: str, pool: PoolKey) -> LabelMatch:
        """Return whether nodes of a pool meet what the templates of a role ask of their labels."""
        matches = self._pool_labels.of(deployment, role)
        return matches.of(pool) if matches else ALL_MATCH

    def closed(self, deployment: str, role: str) -> frozenset[PoolKey]:
        """Return the pools that take no new replicas of a role by the labels of their nodes.

        Where some pool is known to have what templates ask for, those of which it is not known take none.
        """
        matches = self._pool_labels.of(deployment, role)
        if matches is None:
            return frozenset()
        known = self._meeting(deployment, role) is not None
        return matches.unmet_or_unknown if known else matches.unmet

    def closed_to_all(self, deployment: str) -> frozenset[PoolKey]:
        """Return the pools that take no new replicas of any role by the labels of their nodes."""
        first, *others = roles_of(self._documents.deployments[deployment])
        closed = self.closed(deployment, first)
        for role in others if closed else ():
            closed &= self.closed(deployment, role)
        return closed

    def _meeting(self, deployment: str, role: str) -> PoolKey | None:
        """Return a pool that may take the role, and is known to meet what its templates ask of nodes."""
        if (deployment, role) not in self._known_meeting:
            matches, clusters = self._pool_labels.of(deployment, role), self.clusters(deployment)
            spec = self._documents.deployments[deployment].spec
            self._known_meeting[deployment, role] = next(
                (
                    key
                    for key in (matches.meeting if matches else ())
                    if key[0] in clusters
                    and self._pools[key].capacity.model in spec.capacity_models
                    and spec.pool_selector.matches(self._pools[key].node_labels)
                    and self.takes(deployment, role, self._pools[key].class_name)
                ),
                None,
            )
        return self._known_meeting[deployment, role]

    def _label_obstacle(self, deployment: str, role: str, pool: PoolKey) -> Obstacle | None:
        """Return why the labels of a pool's nodes keep a role away, or None."""
        match = self.label_match(deployment, role, pool)
        needs = "; or ".join(match.needs)
        if match.nodes == MatchingNodes.NONE:
            # Kubernetes ends no pod whose node lost a label (IgnoredDuringExecution), so what was seen of
            # labels ends none either.
            consequence = Consequence.CORDON if match.on_day else Consequence.IMPOSSIBLE
            return Obstacle(match.why, f"lack {needs} on nodes", consequence)
        if match.nodes != MatchingNodes.UNKNOWN or (meeting := self._meeting(deployment, role)) is None:
            return None
        return Obstacle(
            f"whether its nodes have {needs} is not known, and those of {'/'.join(meeting)} do",
            f"may lack {needs} on nodes",
            step=f"run inferfleet capacity --write, which asks nodes for {' and '.join(match.keys)}; or "
            f"write it into pool {'/'.join(pool)} if all have it (labels on GKE, else nodeSelector)",
        )

    def false_condition(self, deployment: str, role: str, pool: PoolKey) -> FalseCondition | None:
        """Return the condition of the role's selector that is false on the class of a pool, or None.

        It is None too where no condition is false by itself.
        """
        selector = selector_of(self._documents.deployments[deployment], role)
        inference_class = self._documents.classes[self._pools[pool].class_name]
        return self._selectors.false_condition(selector.cel, inference_class) if selector else None

    def _on_class(self, deployment: str, role: str, class_name: str) -> list[Obstacle]:
        """Return the obstacles of a role on a class, but for the size of the nodes."""
        key = deployment, role, class_name
        if key not in self._by_class:
            self._by_class[key] = self._of_class(deployment, role, self._documents.classes[class_name])
        return self._by_class[key]

    def _of_class(self, deployment: str, role: str, inference_class: InferenceClass) -> list[Obstacle]:
        """Return what keeps a role off all pools of a class, whatever space they have."""
        document, class_name = self._documents.deployments[deployment], inference_class.metadata.name
        empty = self._nodes[class_name]
        if empty is None:
            number = len(accelerators(inference_class))
            why = f"class {class_name} has {number} devices of a supported driver, needs exactly one"
            return [Obstacle(why, consequence=Consequence.IMPOSSIBLE, final=True)]
        if unlike := self._unlike_accelerators(document, role, inference_class, empty):
            return [unlike]
        obstacles: list[Obstacle] = []
        if not_spread := self._not_spread(deployment, role, inference_class, empty):
            obstacles.append(not_spread)
        if mismatch := self._mismatch(document, role, inference_class):
            obstacles.append(Obstacle(mismatch, consequence=Consequence.EVICT))
        return obstacles

    def _mismatch(self, document: ModelDeployment, role: str, inference_class: InferenceClass) -> str | None:
        """Return why the class does not meet the selector of a role, or None."""
        selector = selector_of(document, role)
        if selector is None:
            return None
        try:
            return self._selectors.mismatch(selector.cel, inference_class)
        except InvalidSelector as invalid:
            return f"nodeSelector is invalid: {invalid}"

    def _unlike_accelerators(
        self, document: ModelDeployment, role: str, inference_class: InferenceClass, empty: Node
    ) -> Obstacle | None:
        """Return that nodes of the class lack what pods of the role ask for, or have what others ask for."""
        class_name = inference_class.metadata.name
        request = self._demands.devices[document.metadata.key, role]
        key = class_name, request
        if key not in self._missing_resources:
            self._missing_resources[key] = missing_resource(inference_class, request)
        resource = self._missing_resources[key]
        if resource is None and bool(empty.gpus) == (request.resource is not None):
            return None
        has = accelerator_in_words(inference_class)
        if resource and empty.gpus:
            why = f"class {class_name} has {has}, and the pods ask for {resource}"
            short = f"have {has} ({resource} wanted)"
        elif empty.gpus:
            why = f"class {class_name} has accelerators, and the pods ask for none"
            short = "have an accelerator"
        else:
            why, short = f"class {class_name} has no accelerator", "have no accelerator"
        return Obstacle(why, short, Consequence.IMPOSSIBLE, near=UNLIKE, final=True)

    def _not_spread(
        self, deployment: str, role: str, inference_class: InferenceClass, empty: Node
    ) -> Obstacle | None:
        """Return that a group of `tensor` GPUs is larger than a node, and does not have several, or None.

        Over nodes without a network between them it is slow. New replicas do not get that unasked that could
        have another class: groups are spread so where their document says how many GPUs a pod has, or where
        no class that suits has enough GPUs per node, or a network.
        """
        document = self._documents.deployments[deployment]
        request = self._demands.devices[deployment, role]
        if request.named:
            return None
        topology, name = workers_of(document, role).topology, inference_class.metadata.name
        small = _too_small(f"{gpus(empty.gpus)} per node", *[str(topology.gpus_per_pod)] * 2)
        if why := spread_over(document, role, empty):
            return replace(small, why=f"{small.why}, and {why}", final=True)
        if not spans_nodes(topology, empty.gpus) or has_fabric(inference_class):
            return None
        if self._fast_class(deployment, role) is None:
            return None
        return replace(
            small,
            why=f"{small.why}, and class {name} has no network between its nodes",
            consequence=Consequence.CORDON,
            step=f"write {empty.gpus} {request.resource} into the resources "
            f"of the engine of {deployment}, and groups of {topology.tensor} are spread over such nodes, "
            "slowly",
            final=True,
        )

    def _fast_class(self, deployment: str, role: str) -> str | None:
        """Return the first class of the pools open to a deployment that suits a role and holds a group of
        its `tensor` on a node, or has a network between nodes; None if there is none.
        """
        if (deployment, role) not in self._fast_classes:
            document = self._documents.deployments[deployment]
            self._fast_classes[deployment, role] = next(
                (name for name in self._open_classes(document, role) if self._is_fast(document, role, name)),
                None,
            )
        return self._fast_classes[deployment, role]

    def _is_fast(self, document: ModelDeployment, role: str, class_name: str) -> bool:
        inference_class, empty = self._documents.classes[class_name], self._nodes[class_name]
        if empty is None or self._unlike_accelerators(document, role, inference_class, empty):
            return False
        spans = spans_nodes(workers_of(document, role).topology, empty.gpus)
        if spans and (not has_fabric(inference_class) or spread_over(document, role, empty)):
            return False
        demand = self._demands.unedited(document.metadata.key, role, empty.gpus)
        return not too_small(empty, demand) and not self._mismatch(document, role, inference_class)

    def _open_classes(self, document: ModelDeployment, role: str) -> tuple[str, ...]:
        """Return the classes of the pools that take new replicas of a role, as far as clusters, selectors,
        labels and capacity models say.
        """
        spec, matches = document.spec, self._pool_labels.of(document.metadata.key, role)
        unmet: frozenset[PoolKey] = matches.unmet if matches else frozenset()
        clusters = self.clusters(document.metadata.key)
        key = clusters, str(spec.pool_selector), spec.capacity_models, unmet
        if key not in self._open:
            spend(len(self._pools), f"asking pools for {document.metadata.key}")
            self._open[key] = tuple(
                sorted(
                    {
                        pool.class_name
                        for (cluster, name), pool in self._pools.items()
                        if (cluster, name) not in unmet
                        and cluster in clusters
                        and spec.pool_selector.matches(pool.node_labels)
                        and pool.capacity.model in spec.capacity_models
                    }
                )
            )
        return self._open[key]


def strongest(obstacles: list[Obstacle]) -> Obstacle | None:
    """Return the obstacle with the gravest consequence, of equal ones the first; None without any."""
    return max(obstacles, key=lambda obstacle: obstacle.consequence, default=None)


def _tolerations(document: ModelDeployment) -> tuple[tuple[_Toleration, ...], ...]:
    """Return what the pods of each template tolerate: what the document says for all, and the template."""
    by_document = tuple(
        _Toleration(each.key, each.operator, each.value, each.effect) for each in document.spec.tolerations
    )
    by_template = (
        tuple(
            _Toleration(each.get("key"), each.get("operator", "Equal"), each.get("value"), each.get("effect"))
            for each in written.template.spec.get("tolerations", ())
        )
        for role in roles_of(document)
        for written in role_templates(document, role)
    )
    return tuple(dict.fromkeys((*by_document, *written) for written in by_template))


def _tolerates(toleration: _Toleration, taint: Taint) -> bool:
    """Return whether the taint is tolerated, by the rules of Kubernetes.

    No effect means all effects; Exists without a key tolerates everything.
    """
    if toleration.effect not in (None, "", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in (None, "", taint.key)
    return toleration.key == taint.key and (toleration.value or "") == taint.value


NO_FOLLOWER = "workers of several pods need follower.template"


def spread_over(document: ModelDeployment, role: str, empty: Node) -> str | None:
    """Return why a group of `tensor` GPUs that is larger than a node cannot have several nodes, or None.

    Also None where a group fits on a node.
    """
    workers = workers_of(document, role)
    topology = workers.topology
    if not spans_nodes(topology, empty.gpus):
        return None
    if topology.data_local > 1:
        return "over several nodes dataLocal must be 1"
    if topology.tensor % empty.gpus:
        return f"tensor {topology.tensor} is no number of whole nodes of {empty.gpus}"
    return NO_FOLLOWER if workers.of("Follower") is None else None


# Pods that do not fit on a node, in words.


def too_small(node: Node, demand: Demand) -> Obstacle | None:
    """Return why the pods of a worker do not fit even on empty nodes, or None when they do."""
    if small := _too_small_for(demand.pod, node, demand.shares):
        return _too_small(*small)
    if demand.follower is None or demand.follower == demand.pod:
        return None
    if small := _too_small_for(demand.follower, node, demand.follower_shares):
        has, needs, amount = small
        return _too_small(has, f"{needs} (follower)", amount)
    return None


def _too_small(has: str, needs: str, amount: str) -> Obstacle:
    """Return that nodes have so much, and a pod needs more; `amount` is that without the parts of plugins."""
    return Obstacle(f"has {has}, needs {needs}", f"have {has} ({amount} wanted)", Consequence.IMPOSSIBLE)


def _too_small_for(pod: Pod, node: Node, shares: tuple[Share, ...]) -> tuple[str, str, str] | None:
    """Return what a node has, and what a pod needs of it: with the parts of plugins, and without."""
    if pod.gpus > node.gpus:
        return f"{gpus(node.gpus)} per node", str(pod.gpus), str(pod.gpus)
    for name in Pod._fields[1:]:
        if (asked := getattr(pod, name)) > (has := getattr(node, name)):
            return _offered(name, has), needed(pod, shares, name), amounts(name)(asked)
    return None


def _offered(field: str, has: int) -> str:
    if field == "cpu":
        return f"{cores(has)} cores per node"
    if field == "memory":
        return f"{gib(has)} of memory per node"
    size = HUGE_PAGES[field]
    return f"{gib(has)} of {size} huge pages per node" if has else f"no {size} huge pages"


def needed(pod: Pod, shares: tuple[Share, ...], field: str) -> str:
    """Return what a pod requests, and how much of it for plugins, with the lines of their links:
    `58Gi (50Gi of it by plugin cache, a.yaml:3)`.

    `field` is one of those of a pod other than GPUs, which plugins cannot ask for.
    """
    amount = amounts(field)
    by = ", ".join(
        ", ".join((f"{amount(requested)} of it by plugin {share.plugin}", *map(str, share.where)))
        for share in shares
        if (requested := getattr(share.pod, field)) > 0
    )
    return amount(getattr(pod, field)) + (f" ({by})" if by else "")


def too_few_nodes(free: Mapping[Node, int], size: int, demand: Demand) -> str | None:
    """Return in words that fewer nodes have space for a pod of a worker than it has pods, or None."""
    pods_of_worker = [demand.of(position) for position in POSITIONS]
    fitting = sum(count for state, count in free.items() if any(fit(state, pod) for pod, _ in pods_of_worker))
    if fitting >= demand.gang:
        return None
    pod, shares = pods_of_worker[1] if any(fit(state, demand.pod) for state in free) else pods_of_worker[0]
    parts = [gpus(pod.gpus)] if pod.gpus else []
    # GPUs say it all where every node that has them free has space.
    if sum(count for state, count in free.items() if state.gpus >= pod.gpus) > fitting:
        names = {"cpu": "cores", "memory": "memory"} | {
            field: f"{size} huge pages" for field, size in HUGE_PAGES.items()
        }
        parts += [
            f"{name} {needed(pod, shares, field)}" for field, name in names.items() if getattr(pod, field)
        ]
    asking = f" ({', '.join(parts)})" if parts else ""
    return (
        f"room for one pod{asking} on {fitting} of {size} nodes, needs {demand.gang}: "
        "one for each pod of a worker"
    )


def short_of(nodes: list[Node], demand: Demand) -> str:
    """Return in words the first resource that no node has enough of: GPUs, then cores, then memory."""
    pod, shares = demand.pod, demand.shares
    free = max(node.gpus for node in nodes)
    if free < pod.gpus:
        return f"{free} free {'GPU' if free == 1 else 'GPUs'} on the emptiest node, needs {pod.gpus}"
    nodes = [node for node in nodes if node.gpus >= pod.gpus]
    free = max(node.cpu for node in nodes)
    if free < pod.cpu:
        which_nodes = "beside enough GPUs" if pod.gpus else "on the emptiest node"
        return f"{cores(free)} free cores {which_nodes}, needs {needed(pod, shares, 'cpu')}"
    enough = "GPUs" if pod.gpus else "cores"
    nodes = [node for node in nodes if node.cpu >= pod.cpu]
    free = max(node.memory for node in nodes)
    if free < pod.memory:
        return f"{gib(free)} of free memory beside enough {enough}, needs {needed(pod, shares, 'memory')}"
    nodes = [node for node in nodes if node.memory >= pod.memory]
    for name, size in HUGE_PAGES.items():
        free = max(getattr(node, name) for node in nodes)
        if free < getattr(pod, name):
            needs = needed(pod, shares, name)
            return f"{gib(free)} of free {size} huge pages beside enough {enough}, needs {needs}"
        nodes = [node for node in nodes if getattr(node, name) >= getattr(pod, name)]
    return f"no node may run another pod (the emptiest may run {max(node.pods for node in nodes)} more)"
