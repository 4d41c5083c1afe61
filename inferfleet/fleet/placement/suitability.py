"""Which clusters and pools suit a deployment, and why the others do not, before room is counted."""

from dataclasses import dataclass, replace
from enum import IntEnum

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import Taint, Toleration
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import Images
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.work import take
from inferfleet.fleet.placement.sizes import Misfit, gpus, misfit
from inferfleet.fleet.roles import lacking_images, roles_of, selector_of, workers_of
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors, Unmet
from inferfleet.fleet.shapes import (
    Demands,
    Node,
    PoolKey,
    accelerators,
    has_accelerators,
    has_fabric,
    node,
    spans_nodes,
)
from inferfleet.fleet.spot import Spot


class Consequence(IntEnum):
    """What an objection does to replicas, like the effect of a taint. None of them takes new replicas."""

    CORDON = 1  # replicas that are there stay
    EVICT = 2  # they move away if there is room elsewhere
    IMPOSSIBLE = 3  # they cannot run there: they move away, and if they cannot, that is an error


@dataclass(frozen=True)
class Objection:
    """Why a cluster or pool does not take replicas of a deployment."""

    consequence: Consequence
    why: str
    pool: str = ""  # "" when the whole cluster objects
    final: bool = False  # whether the sizes of nodes and pods do not matter any more
    short: str = ""  # said of several clusters or pools, where that differs


# What a deployment asks of a whole cluster: its selector, its tolerations, and images of engines.
_Asked = tuple[object, ...]
_NO_IMAGES = Images()


class Suitability:
    """Objections by what is asked of clusters, and by role and class, each worked out once per plan."""

    def __init__(self, documents: Documents, selectors: Selectors, demands: Demands) -> None:
        self._documents = documents
        self._selectors = selectors
        self._demands = demands
        self._nodes = {name: node(inference_class) for name, inference_class in documents.classes.items()}
        self._pools = {
            (name, pool.name): pool
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        self._by_class: dict[tuple[str, str, str], list[Objection]] = {}
        self._by_selector: dict[_Asked, frozenset[str]] = {}
        self._asked_of: dict[str, _Asked] = {}
        self._by_cluster: dict[tuple[_Asked, str], tuple[Objection, ...]] = {}

    def clusters(self, deployment: str) -> frozenset[str]:
        """Return the clusters that take replicas of the deployment, as far as they are asked as a whole."""
        asked = self._asked(deployment)
        if asked not in self._by_selector:
            spec = self._documents.deployments[deployment].spec
            take(len(self._documents.clusters), f"asking clusters for {deployment}")
            self._by_selector[asked] = frozenset(
                name
                for name, cluster in self._documents.clusters.items()
                if cluster.spec.state == "active"
                and spec.cluster_selector.matches(cluster.metadata.labels)
                and not self.cluster_objections(deployment, name)
            )
        return self._by_selector[asked]

    def _asked(self, deployment: str) -> _Asked:
        if deployment not in self._asked_of:
            document = self._documents.deployments[deployment]
            spec, engines = document.spec, lacking_images(document, _NO_IMAGES)
            self._asked_of[deployment] = (str(spec.cluster_selector), spec.tolerations, engines)
        return self._asked_of[deployment]

    def takes(self, deployment: str, role: str, class_name: str) -> bool:
        """Return whether nodes of the class suit a role, for pods that no plugin edits."""
        if self._on_class(deployment, role, class_name):
            return False
        empty = self._nodes[class_name]
        if empty is None:
            return False
        demand = self._demands.unedited(deployment, role, empty.gpus)
        return (deployment, role) in self._demands.edited or misfit(demand, empty) is None

    def objection(self, spot: Spot) -> Objection | None:
        """Return the strongest objection, or None; of equal ones the cluster's, which holds for all pools."""
        objections = self.cluster_objections(spot.deployment, spot.cluster)
        pools = dict(spot.pools)
        for role in roles_of(self._documents.deployments[spot.deployment]):
            if role in pools:
                objections += self.by_pool(spot.deployment, role, (spot.cluster, pools[role]))
            else:
                objections.append(Objection(Consequence.IMPOSSIBLE, f"has no pool for role {role}"))
        return strongest(objections)

    def cluster_objections(self, deployment: str, name: str) -> list[Objection]:
        """Return all that a cluster as a whole has against a deployment, its state first."""
        key = self._asked(deployment), name
        if key not in self._by_cluster:
            self._by_cluster[key] = tuple(self._against(deployment, name))
        return list(self._by_cluster[key])

    def _against(self, deployment: str, name: str) -> list[Objection]:
        document, cluster = self._documents.deployments[deployment], self._documents.clusters[name]
        spec = document.spec
        state = cluster.spec.state
        objections = []
        if state != "active":
            consequence = Consequence.EVICT if state == "drained" else Consequence.CORDON
            objections.append(Objection(consequence, state))
        for key, needs in spec.cluster_selector.unmet(cluster.metadata.labels):
            has = cluster.metadata.labels.get(key)
            label = f"no cluster label {key}" if has is None else f"cluster label {key}={has}"
            objections.append(Objection(Consequence.EVICT, f"{label}, needs {needs}", short=f"lack {needs}"))
        for taint in cluster.spec.taints:
            if not any(_tolerates(toleration, taint) for toleration in spec.tolerations):
                consequence = Consequence.EVICT if taint.effect == "NoExecute" else Consequence.CORDON
                text = f"{taint.key}={taint.value}" if taint.value else taint.key
                objections.append(Objection(consequence, f"taint {text}:{taint.effect} is not tolerated"))
        for engine in lacking_images(document, cluster.spec.serving.images):
            why = f"no image for engine {engine} (serving.images.engine)"
            objections.append(Objection(Consequence.EVICT, why))
        return objections

    def by_pool(self, deployment: str, role: str, pool: PoolKey) -> list[Objection]:
        """Return what a pool has against a role, whatever its cluster has against the deployment."""
        class_name = self._pools[pool].class_name
        objections = list(self._on_class(deployment, role, class_name))
        spec, document = self._documents.deployments[deployment].spec, self._pools[pool]
        selects = "pool_selector" in spec.model_fields_set
        for key, needs in spec.pool_selector.unmet(document.node_labels) if selects else ():
            has = document.node_labels.get(key)
            label = f"no label {key}" if has is None else f"label {key}={has}"
            why, short = f"{label} of the pool, needs {needs}", f"lack {needs} on pools"
            objections.append(Objection(Consequence.EVICT, why, short=short))
        model = document.capacity.model
        if model not in spec.capacity_models:
            text = f"capacity model {model}, which capacityModels does not name"
            objections.append(Objection(Consequence.CORDON, text, short=f"have {text}"))
        empty = self._nodes[class_name]
        final = any(objection.final for objection in objections)
        if empty and not final and (small := misfit(self._demands.of(deployment, role, pool), empty)):
            objections.insert(0, Objection(Consequence.IMPOSSIBLE, small.why, pool[1], short=small.short))
        return [replace(objection, pool=pool[1]) for objection in objections]

    def unmet(self, deployment: str, role: str, pool: PoolKey) -> Unmet | None:
        """Return which condition of the role's selector is false on the class of a pool, as far as one is."""
        selector = selector_of(self._documents.deployments[deployment], role)
        inference_class = self._documents.classes[self._pools[pool].class_name]
        return self._selectors.unmet(selector.cel, inference_class) if selector else None

    def _on_class(self, deployment: str, role: str, class_name: str) -> list[Objection]:
        """Return what a class has against a role, besides the size of its nodes."""
        key = deployment, role, class_name
        if key not in self._by_class:
            self._by_class[key] = self._of_class(deployment, role, self._documents.classes[class_name])
        return self._by_class[key]

    def _of_class(self, deployment: str, role: str, inference_class: InferenceClass) -> list[Objection]:
        document, class_name = self._documents.deployments[deployment], inference_class.metadata.name
        empty = self._nodes[class_name]
        if empty is None:
            number = len(accelerators(inference_class))
            why = f"class {class_name} has {number} devices of a supported driver, needs exactly one"
            return [Objection(Consequence.IMPOSSIBLE, why, final=True)]
        if bool(empty.gpus) != has_accelerators(document):
            why = (
                f"class {class_name} has accelerators, and accelerator of the deployment is None"
                if empty.gpus
                else f"class {class_name} has no accelerator"
            )
            short = f"have {'an' if empty.gpus else 'no'} accelerator"
            return [Objection(Consequence.IMPOSSIBLE, why, final=True, short=short)]
        objections: list[Objection] = []
        if not_spread := spread_over(document, role, inference_class, empty):
            asked = str(workers_of(document, role).topology.gpus_per_pod)
            small = Misfit(f"{gpus(empty.gpus)} per node", asked, asked)
            why = f"{small.why}, and {not_spread}"
            objections.append(Objection(Consequence.IMPOSSIBLE, why, final=True, short=small.short))
        if selector := selector_of(document, role):
            try:
                objection = self._selectors.objection(selector.cel, inference_class)
            except InvalidSelector as invalid:
                objection = f"nodeSelector is invalid: {invalid}"
            if objection:
                objections.append(Objection(Consequence.EVICT, objection))
        return objections


NO_FOLLOWER = "workers of several pods need follower.template"


def spread_over(
    document: ModelDeployment, role: str, inference_class: InferenceClass, empty: Node
) -> str | None:
    """Return why a group of `tensor` GPUs that is larger than a node cannot have several nodes, or None.

    Also None where a group fits on a node.
    """
    workers = workers_of(document, role)
    topology = workers.topology
    if not spans_nodes(topology, empty.gpus):
        return None
    if topology.data_local > 1:
        return "over several nodes dataLocal must be 1"
    if not has_fabric(inference_class):
        name = inference_class.metadata.name
        return f"class {name} has no network between its nodes"
    if topology.tensor % empty.gpus:
        return f"tensor {topology.tensor} is no number of whole nodes of {empty.gpus}"
    return NO_FOLLOWER if workers.of("Follower") is None else None


def strongest(objections: list[Objection]) -> Objection | None:
    """Return the objection with the gravest consequence, of equal ones the first; None without any."""
    return max(objections, key=lambda objection: objection.consequence, default=None)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the taint is tolerated, by the rules of Kubernetes.

    No effect means all effects; Exists without a key tolerates everything.
    """
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in (None, "", taint.key)
    return toleration.key == taint.key and (toleration.value or "") == taint.value
