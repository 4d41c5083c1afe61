"""Which clusters and pools suit a deployment, and why the others do not, before room is counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.base import Taint, Toleration
from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.roles import roles_of, selector_of, without_image, workers_of
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors
from inferfleet.fleet.shapes import (
    Demand,
    Demands,
    Node,
    Pod,
    PoolKey,
    Share,
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


class Suitability:
    """Objections by deployment and cluster, and by role and class, each worked out once per plan."""

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
        self._by_selector: dict[tuple[object, ...], frozenset[str]] = {}

    def clusters(self, deployment: str) -> frozenset[str]:
        """Return the clusters that take replicas of the deployment, as far as they are asked as a whole."""
        document = self._documents.deployments[deployment]
        spec, engines = document.spec, without_image(document)
        asked = (str(spec.cluster_selector), spec.tolerations, engines)
        if asked not in self._by_selector:
            self._by_selector[asked] = frozenset(
                name
                for name, cluster in self._documents.clusters.items()
                if cluster.spec.state == "active"
                and spec.cluster_selector.matches(cluster.metadata.labels)
                and not ((cluster.spec.taints or engines) and self.cluster_objection(deployment, name))
            )
        return self._by_selector[asked]

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
        objections = self._by_cluster(spot.deployment, self._documents.clusters[spot.cluster])
        pools = dict(spot.pools)
        for role in roles_of(self._documents.deployments[spot.deployment]):
            if role in pools:
                objections += self.by_pool(spot.deployment, role, (spot.cluster, pools[role]))
            else:
                objections.append(Objection(Consequence.IMPOSSIBLE, f"has no pool for role {role}"))
        return strongest(objections)

    def cluster_objection(self, deployment: str, cluster: str) -> Objection | None:
        """Return the strongest objection that holds for all pools of the cluster, or None."""
        return strongest(self._by_cluster(deployment, self._documents.clusters[cluster]))

    def _by_cluster(self, deployment: str, cluster: InferenceCluster) -> list[Objection]:
        document = self._documents.deployments[deployment]
        spec = document.spec
        state = cluster.spec.state
        objections = []
        if state != "active":
            consequence = Consequence.EVICT if state == "drained" else Consequence.CORDON
            objections.append(Objection(consequence, state))
        for key, needs in spec.cluster_selector.unmet(cluster.metadata.labels):
            has = cluster.metadata.labels.get(key)
            label = f"no cluster label {key}" if has is None else f"cluster label {key}={has}"
            objections.append(Objection(Consequence.EVICT, f"{label}, needs {needs}"))
        for taint in cluster.spec.taints:
            if not any(_tolerates(toleration, taint) for toleration in spec.tolerations):
                consequence = Consequence.EVICT if taint.effect == "NoExecute" else Consequence.CORDON
                text = f"{taint.key}={taint.value}" if taint.value else taint.key
                objections.append(Objection(consequence, f"taint {text}:{taint.effect} is not tolerated"))
        for engine in without_image(document):
            if engine not in cluster.spec.serving.images.engine:
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
            objections.append(Objection(Consequence.EVICT, f"{label} of the pool, needs {needs}"))
        model = document.capacity.model
        if model not in spec.capacity_models:
            text = f"capacity model {model}, which capacityModels does not name"
            objections.append(Objection(Consequence.CORDON, text))
        empty = self._nodes[class_name]
        final = any(objection.final for objection in objections)
        if empty and not final and (why := misfit(self._demands.of(deployment, role, pool), empty)):
            objections.insert(0, Objection(Consequence.IMPOSSIBLE, why, pool[1]))
        return [replace(objection, pool=pool[1]) for objection in objections]

    def _on_class(self, deployment: str, role: str, class_name: str) -> list[Objection]:
        """Return what a class has against a role, besides the size of its nodes."""
        key = deployment, role, class_name
        if key not in self._by_class:
            self._by_class[key] = self._asked(deployment, role, self._documents.classes[class_name])
        return self._by_class[key]

    def _asked(self, deployment: str, role: str, inference_class: InferenceClass) -> list[Objection]:
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
            return [Objection(Consequence.IMPOSSIBLE, why, final=True)]
        objections: list[Objection] = []
        if not_spread := spread_over(document, role, inference_class, empty):
            has = f"has {gpus(empty.gpus)} per node, needs {workers_of(document, role).topology.gpus_per_pod}"
            objections.append(Objection(Consequence.IMPOSSIBLE, f"{has}, and {not_spread}", final=True))
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


def misfit(demand: Demand, node: Node) -> str | None:
    """Return why the pods of a worker do not fit even on empty nodes, or None when they do."""
    why = _too_large(demand.pod, node, demand.shares)
    if why is None and demand.follower is not None and demand.follower != demand.pod:
        why = _too_large(demand.follower, node, demand.follower_shares)
        return f"{why} (follower)" if why else None
    return why


def _too_large(pod: Pod, node: Node, shares: tuple[Share, ...]) -> str | None:
    if pod.gpus > node.gpus:
        return f"has {gpus(node.gpus)} per node, needs {pod.gpus}"
    if pod.cpu > node.cpu:
        return f"has {cores(node.cpu)} cores per node, needs {needed(pod, shares, 'cpu')}"
    if pod.memory > node.memory:
        return f"has {gib(node.memory)} of memory per node, needs {needed(pod, shares, 'memory')}"
    for field, size in HUGE_PAGES.items():
        if getattr(pod, field) > (has := getattr(node, field)):
            offers = f"{gib(has)} of {size} huge pages per node" if has else f"no {size} huge pages"
            return f"has {offers}, needs {needed(pod, shares, field)}"
    return None


# The size of huge pages by the field of a pod and of a node that counts them.
HUGE_PAGES: Mapping[str, str] = {"huge_2mi": "2Mi", "huge_1gi": "1Gi"}


def needed(pod: Pod, shares: tuple[Share, ...], field: str) -> str:
    """Return what a pod requests, and how much of it for plugins, with the lines of their links:
    `58Gi (50Gi of it by plugin cache, a.yaml:3)`.

    `field` is one of those of a pod other than GPUs, which plugins cannot ask for.
    """
    amount = amounts(field)
    by = ", ".join(
        ", ".join((f"{amount(more)} of it by plugin {share.plugin}", *map(str, share.where)))
        for share in shares
        if (more := getattr(share.pod, field)) > 0
    )
    return amount(getattr(pod, field)) + (f" ({by})" if by else "")


def amounts(field: str) -> Callable[[int], str]:
    """Return how amounts of a field of a pod other than GPUs are written."""
    return cores if field == "cpu" else gib


def gpus(number: int) -> str:
    """Return `1 GPU`, `8 GPUs`."""
    return f"{number} GPU" if number == 1 else f"{number} GPUs"


def cores(thousandths: int) -> str:
    """Return thousandths of a core as cores: `1.5`."""
    return f"{thousandths / 1000:g}"


def gib(amount: int) -> str:
    """Return bytes as GiB, rounded to a tenth: `79.6Gi`; less than a tenth as MiB, such as `64Mi`."""
    if 0 < amount < 2**30 / 10:
        return f"{round(amount / 2**20, 1):g}Mi"
    return f"{round(amount / 2**30, 1):g}Gi"


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the taint is tolerated, by the rules of Kubernetes.

    No effect means all effects; Exists without a key tolerates everything.
    """
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in (None, "", taint.key)
    return toleration.key == taint.key and (toleration.value or "") == taint.value
