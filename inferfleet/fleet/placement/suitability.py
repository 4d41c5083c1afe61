"""Which clusters and pools suit a deployment, and why the others do not, before room is counted."""

from dataclasses import dataclass
from enum import IntEnum

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.base import Taint, Toleration
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors
from inferfleet.fleet.shapes import DECODE, Demand, Node, accelerators, node
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


class Suitability:
    """Objections by (deployment, cluster, pool), each worked out once per plan."""

    def __init__(self, documents: Documents, selectors: Selectors, demands: dict[str, Demand]) -> None:
        self._documents = documents
        self._selectors = selectors
        self._demands = demands
        self._nodes = {name: node(inference_class) for name, inference_class in documents.classes.items()}
        self._known: dict[Spot, Objection | None] = {}

    def spots(self, deployment: str) -> list[Spot]:
        """Return a spot for every pool of every cluster, suitable or not, in order."""
        return [
            Spot(deployment, name, ((DECODE, pool.name),))
            for name, cluster in sorted(self._documents.clusters.items())
            for pool in sorted(cluster.spec.node_pools, key=lambda pool: pool.name)
        ]

    def objection(self, spot: Spot) -> Objection | None:
        """Return the strongest objection, or None; of equal ones the cluster's, which holds for all pools."""
        if spot not in self._known:
            cluster = self._documents.clusters[spot.cluster]
            pools = {pool.name: pool for pool in cluster.spec.node_pools}
            objections = self._by_cluster(spot.deployment, cluster)
            for _, name in spot.pools:
                objections += self._by_pool(spot.deployment, pools[name])
            self._known[spot] = _strongest(objections)
        return self._known[spot]

    def cluster_objection(self, deployment: str, cluster: str) -> Objection | None:
        """Return the strongest objection that holds for all pools of the cluster, or None."""
        return _strongest(self._by_cluster(deployment, self._documents.clusters[cluster]))

    def _by_cluster(self, deployment: str, cluster: InferenceCluster) -> list[Objection]:
        spec = self._documents.deployments[deployment].spec
        state = cluster.spec.state
        objections = []
        if state != "active":
            consequence = Consequence.EVICT if state == "drained" else Consequence.CORDON
            objections.append(Objection(consequence, state))
        for key, value in sorted(spec.cluster_selector.match_labels.items()):
            has = cluster.metadata.labels.get(key)
            if has != value:
                label = f"cluster label {key}={has}" if has is not None else f"no cluster label {key}"
                objections.append(Objection(Consequence.EVICT, f"{label}, needs {key}={value}"))
        for taint in cluster.spec.taints:
            if not any(_tolerates(toleration, taint) for toleration in spec.tolerations):
                consequence = Consequence.EVICT if taint.effect == "NoExecute" else Consequence.CORDON
                text = f"{taint.key}={taint.value}" if taint.value else taint.key
                objections.append(Objection(consequence, f"taint {text}:{taint.effect} is not tolerated"))
        return objections

    def _by_pool(self, deployment: str, pool: NodePool) -> list[Objection]:
        inference_class = self._documents.classes[pool.class_name]
        node = self._nodes[pool.class_name]
        if node is None:
            number = len(accelerators(inference_class))
            why = f"class {pool.class_name} has {number} devices of a supported driver, needs exactly one"
            return [Objection(Consequence.IMPOSSIBLE, why, pool.name)]
        if inference_class.spec.allocation == "DRA":
            why = f"class {pool.class_name} allocates GPUs by DRA claims, which is not supported yet"
            return [Objection(Consequence.IMPOSSIBLE, why, pool.name)]
        objections = []
        too_small = misfit(self._demands[deployment], node) if deployment in self._demands else None
        if too_small:
            objections.append(Objection(Consequence.IMPOSSIBLE, too_small, pool.name))
        selector = self._documents.deployments[deployment].spec.node_selector
        if selector:
            try:
                objection = self._selectors.objection(selector.cel, inference_class)
            except InvalidSelector as invalid:
                objection = f"nodeSelector is invalid: {invalid}"
            if objection:
                objections.append(Objection(Consequence.EVICT, objection, pool.name))
        return objections


def _strongest(objections: list[Objection]) -> Objection | None:
    return max(objections, key=lambda objection: objection.consequence, default=None)


def misfit(demand: Demand, node: Node) -> str | None:
    """Return why a pod does not fit even on an empty node, or None when it does."""
    pod = demand.pod
    if pod.gpus > node.gpus:
        return f"has {gpus(node.gpus)} per node, needs {pod.gpus}"
    if pod.cpu > node.cpu:
        return f"has {cores(node.cpu)} cores per node, needs {cores(pod.cpu)}"
    if pod.memory > node.memory:
        return f"has {gib(node.memory)} of memory per node, needs {gib(pod.memory)}"
    return None


def gpus(number: int) -> str:
    """Return `1 GPU`, `8 GPUs`."""
    return f"{number} GPU" if number == 1 else f"{number} GPUs"


def cores(thousandths: int) -> str:
    """Return thousandths of a core as cores: `1.5`."""
    return f"{thousandths / 1000:g}"


def gib(amount: int) -> str:
    """Return bytes as GiB, rounded to a tenth: `79.6Gi`."""
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
