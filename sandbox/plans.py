"""Decides from the documents which clusters of a stack are simulated and what each of them has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.accelerators import worker_shape
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.roles import is_disaggregated, roles_of, workers_of
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.shapes import node
from inferfleet.serving.envoy_gateway import configuration
from inferfleet.tables.addons import AddonName
from sandbox.agent.programs.images import OF_LLM_D
from sandbox.cluster.nodes import Node, nodes
from sandbox.devices.published import published
from sandbox.places import StackPlaces
from sandbox.toolchain.parts import EPP, FRONT_DOOR, LLM_D, LWS, RATE_LIMIT, Part

# The GatewayClass that istiod makes; Gateways that exist already, which documents refer to, may be of it too.
ISTIO_CLASS = "istio"


@dataclass(frozen=True)
class ClusterPlan:
    """One simulated cluster: the file for its kubeconfig, its nodes, its GatewayClasses, and what drivers of
    DRA publish on it. `istio` says that its Gateways are for Istio.
    """

    name: str
    kubeconfig: Path
    context: str
    nodes: tuple[Node, ...]
    gateway_classes: tuple[str, ...]
    devices: tuple[dict[str, Any], ...] = ()
    istio: bool = False
    addons: frozenset[AddonName] = frozenset()
    """What the stack installs there itself."""
    front_doors: tuple[str, ...] = ()
    """GatewayClasses of the InferenceGateways that stand there."""
    envoy_gateway: Mapping[str, Any] = field(default_factory=dict)
    """What these need of Envoy Gateway's configuration."""
    ways: tuple[tuple[str, int, str], ...] = ()
    """Host names and ports at which these find the gateways of other clusters, and whose they are."""

    @property
    def wants_istio(self) -> bool:
        """Whether Istio has to run beside the cluster: Gateways of its class are its own."""
        return self.istio and "istio" not in self.addons and set(self.gateway_classes) <= {ISTIO_CLASS}


def cluster_plans(places: StackPlaces, documents: Documents) -> tuple[ClusterPlan, ...]:
    """Return plans of the clusters whose kubeconfig is in the stack's sandbox folder.

    Others are real clusters.
    """
    plans = []
    ways = tuple(
        (address, cluster.spec.serving.gateway.port, name)
        for name, cluster in sorted(documents.clusters.items())
        if (address := cluster.spec.serving.gateway.address)
    )
    for name, cluster in sorted(documents.clusters.items()):
        kubeconfig = _kubeconfig(places, documents, cluster)
        if kubeconfig is None or not places.holds(kubeconfig):
            continue
        existing = cluster.spec.cluster.existing
        gateway = cluster.spec.serving.gateway
        doors = [door for _, door in sorted(documents.gateways.items()) if name in door.spec.clusters]
        plans.append(
            ClusterPlan(
                name=name,
                kubeconfig=kubeconfig,
                context=(existing.context if existing else None) or name,
                nodes=nodes(cluster, documents.classes),
                gateway_classes=(gateway.class_name,)
                if gateway.class_name and cluster.spec.node_pools
                else (),
                devices=published(cluster, documents.classes),
                istio=gateway.provider == "istio",
                addons=frozenset(cluster.spec.addons),
                front_doors=tuple(sorted({door.spec.class_name for door in doors})),
                envoy_gateway=configuration(doors) if doors else {},
                ways=ways if doors else (),
            )
        )
    return tuple(plans)


def has_workers_of_many_pods(documents: Documents) -> bool:
    """Return whether workers of a deployment have many pods, which a LeaderWorkerSet holds together, on nodes
    of some class where they may run.
    """
    suitability = Suitability(documents, Selectors(), declared_demands(documents))
    sizes = {
        pool.class_name: empty.gpus
        for cluster in documents.clusters.values()
        for pool in cluster.spec.node_pools
        if (empty := node(documents.classes[pool.class_name]))
    }
    return any(
        workers_of(deployment, role).topology.pods_per_worker > 1
        or any(
            worker_shape(documents, deployment, role, size).pods > 1
            and suitability.takes(key, role, class_name)
            for class_name, size in sizes.items()
        )
        for key, deployment in documents.deployments.items()
        for role in roles_of(deployment)
    )


def parts_for(documents: Documents) -> tuple[Part, ...]:
    """Return the parts of the toolchain that not every stack needs and the pods of these documents do.

    Some that no pod comes to use may be among them: what is not, is built by the next `up`.
    """
    deployments = documents.deployments.values()
    written = [kind.model_dump_json() for kind in (*deployments, *documents.clusters.values())]
    with_llm_d = any(is_disaggregated(deployment) for deployment in deployments) or any(
        image in text for text in written for image in OF_LLM_D
    )
    return (
        *((EPP,) if deployments else ()),
        *((LLM_D,) if with_llm_d else ()),
        *(FRONT_DOOR if documents.gateways else ()),
        *((RATE_LIMIT,) if any(gateway.spec.limits for gateway in documents.gateways.values()) else ()),
        *((LWS,) if has_workers_of_many_pods(documents) else ()),
    )


def _kubeconfig(places: StackPlaces, documents: Documents, cluster: InferenceCluster) -> Path | None:
    existing = cluster.spec.cluster.existing
    if existing is None or existing.kubeconfig.path is None:
        return None
    where = documents.where("InferenceCluster", cluster.metadata.name)
    folder = (places.root / where.file).parent if where else places.root
    return (folder / Path(existing.kubeconfig.path).expanduser()).resolve()
