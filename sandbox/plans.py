"""Decides from the documents which clusters of a stack are simulated and what each of them has."""

from dataclasses import dataclass
from pathlib import Path

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from sandbox.cluster.nodes import Node, nodes
from sandbox.places import StackPlaces


@dataclass(frozen=True)
class ClusterPlan:
    """One simulated cluster: the file for its kubeconfig, its nodes and its GatewayClasses."""

    name: str
    kubeconfig: Path
    context: str
    nodes: tuple[Node, ...]
    gateway_classes: tuple[str, ...]


def cluster_plans(places: StackPlaces, documents: Documents) -> tuple[ClusterPlan, ...]:
    """Return plans of the clusters whose kubeconfig is in the stack's sandbox folder.

    Others are real clusters.
    """
    plans = []
    for name, cluster in sorted(documents.clusters.items()):
        kubeconfig = _kubeconfig(places, documents, cluster)
        if kubeconfig is None or not places.holds(kubeconfig):
            continue
        existing = cluster.spec.cluster.existing
        gateway = cluster.spec.serving.gateway
        plans.append(
            ClusterPlan(
                name=name,
                kubeconfig=kubeconfig,
                context=(existing.context if existing else None) or name,
                nodes=nodes(cluster, documents.classes),
                gateway_classes=(gateway.class_name,) if gateway.class_name else (),
            )
        )
    return tuple(plans)


def _kubeconfig(places: StackPlaces, documents: Documents, cluster: InferenceCluster) -> Path | None:
    existing = cluster.spec.cluster.existing
    if existing is None or existing.kubeconfig.path is None:
        return None
    where = documents.where("InferenceCluster", cluster.metadata.name)
    folder = (places.root / where.file).parent if where else places.root
    return (folder / Path(existing.kubeconfig.path).expanduser()).resolve()
