"""What a cluster or pool has against the replicas of a deployment, before room is counted."""

from dataclasses import dataclass
from enum import IntEnum

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.base import Taint, Toleration
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors
from inferfleet.fleet.shapes import DECODE, Demand, Node, accelerators, node
from inferfleet.fleet.spot import Spot


class Effect(IntEnum):
    """What an objection means for replicas, as the effect of a taint does: none is placed there anew."""

    CORDON = 1  # what stands there stays
    EVICT = 2  # what stands there moves away, if it finds room
    IMPOSSIBLE = 3  # cannot run there at all: moves away, and is a problem if it cannot


@dataclass(frozen=True)
class Objection:
    effect: Effect
    why: str
    pool: str = ""  # "" when the whole cluster objects


class Suitability:
    """Objections by (deployment, cluster, pool), each worked out once per plan."""

    def __init__(self, documents: Documents, selectors: Selectors, demands: dict[str, Demand]) -> None:
        self._documents = documents
        self._selectors = selectors
        self._demands = demands
        self._nodes = {name: node(one) for name, one in documents.classes.items()}
        self._known: dict[Spot, Objection | None] = {}

    def spots(self, deployment: str) -> list[Spot]:
        """Every pool of every cluster, suitable or not."""
        return [
            Spot(deployment, name, ((DECODE, pool.name),))
            for name, cluster in sorted(self._documents.clusters.items())
            for pool in sorted(cluster.spec.node_pools, key=lambda pool: pool.name)
        ]

    def objection(self, spot: Spot) -> Objection | None:
        """The strongest objection; among equals the cluster's, which speaks for all its pools."""
        if spot not in self._known:
            cluster = self._documents.clusters[spot.cluster]
            pools = {pool.name: pool for pool in cluster.spec.node_pools}
            found = [
                *self._by_cluster(spot.deployment, cluster),
                *(one for _, name in spot.pools for one in self._by_pool(spot.deployment, pools[name])),
            ]
            self._known[spot] = max(found, key=lambda one: one.effect, default=None)
        return self._known[spot]

    def cluster_objection(self, deployment: str, cluster: str) -> Objection | None:
        return max(
            self._by_cluster(deployment, self._documents.clusters[cluster]),
            key=lambda one: one.effect,
            default=None,
        )

    def _by_cluster(self, deployment: str, cluster: InferenceCluster) -> list[Objection]:
        spec = self._documents.deployments[deployment].spec
        state = cluster.spec.state
        found = []
        if state != "active":
            found.append(Objection(Effect.EVICT if state == "drained" else Effect.CORDON, state))
        for key, value in sorted(spec.cluster_selector.match_labels.items()):
            has = cluster.metadata.labels.get(key)
            if has != value:
                label = f"cluster label {key}={has}" if has is not None else f"no cluster label {key}"
                found.append(Objection(Effect.EVICT, f"{label}, needs {key}={value}"))
        for taint in cluster.spec.taints:
            if not any(_tolerates(one, taint) for one in spec.tolerations):
                effect = Effect.EVICT if taint.effect == "NoExecute" else Effect.CORDON
                text = f"{taint.key}={taint.value}" if taint.value else taint.key
                found.append(Objection(effect, f"taint {text}:{taint.effect} is not tolerated"))
        return found

    def _by_pool(self, deployment: str, pool: NodePool) -> list[Objection]:
        inference_class = self._documents.classes[pool.class_name]
        node = self._nodes[pool.class_name]
        if node is None:
            number = len(accelerators(inference_class))
            why = f"class {pool.class_name} has {number} accelerators of known drivers, needs exactly one"
            return [Objection(Effect.IMPOSSIBLE, why, pool.name)]
        if inference_class.spec.allocation == "DRA":
            why = f"class {pool.class_name} hands out GPUs by DRA claims, which pods do not make yet"
            return [Objection(Effect.IMPOSSIBLE, why, pool.name)]
        found = []
        short = misfit(self._demands[deployment], node) if deployment in self._demands else None
        if short:
            found.append(Objection(Effect.IMPOSSIBLE, short, pool.name))
        selector = self._documents.deployments[deployment].spec.node_selector
        if selector:
            try:
                objection = self._selectors.objection(selector.cel, inference_class)
            except InvalidSelector as invalid:
                objection = f"nodeSelector is invalid: {invalid}"
            if objection:
                found.append(Objection(Effect.EVICT, objection, pool.name))
        return found


def misfit(demand: Demand, node: Node) -> str | None:
    """Why a pod does not fit even on an empty node."""
    pod = demand.pod
    if pod.gpus > node.gpus:
        return f"has {gpus(node.gpus)} per node, needs {pod.gpus}"
    if pod.cpu > node.cpu:
        return f"has {cores(node.cpu)} cores per node, needs {cores(pod.cpu)}"
    if pod.memory > node.memory:
        return f"has {gib(node.memory)} of memory per node, needs {gib(pod.memory)}"
    return None


def gpus(number: int) -> str:
    return f"{number} GPU" if number == 1 else f"{number} GPUs"


def cores(thousandths: int) -> str:
    return f"{thousandths / 1000:g}"


def gib(amount: int) -> str:
    return f"{round(amount / 2**30, 1):g}Gi"


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As Kubernetes: no effect means all effects; Exists without a key tolerates everything."""
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in (None, "", taint.key)
    return toleration.key == taint.key and (toleration.value or "") == taint.value
