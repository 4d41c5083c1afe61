"""What each role of each deployment needs by the documents alone: its templates, and the routing proxy."""

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.containers import ROUTING_PROXY
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.balance import every_pod_serves
from inferfleet.fleet.requests import PodSpec
from inferfleet.fleet.roles import DECODE, is_disaggregated, proxied_port, roles_of, workers_of
from inferfleet.fleet.shapes import (
    Demand,
    Demands,
    RoleKey,
    has_accelerators,
    has_fabric,
    node,
    pod_of,
    shape,
)


def written(documents: Documents) -> Demands:
    """Return what replicas need where no plugin edits their pods."""
    by_class = {name: node(document) for name, document in documents.classes.items() if has_fabric(document)}
    node_gpus = {
        (name, pool.name): empty.gpus
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (empty := by_class.get(pool.class_name)) and empty.gpus
    }
    sizes = sorted(set(node_gpus.values()))
    demands: dict[RoleKey, Demand] = {}
    spread: dict[RoleKey, dict[int, Demand]] = {}
    for key, document in documents.deployments.items():
        for role in roles_of(document):
            topology = workers_of(document, role).topology
            demands[key, role] = demand(document, role)
            if not has_accelerators(document):
                continue
            wide = {
                size: demand(document, role, size)
                for size in sizes
                if shape(topology, size) != shape(topology, topology.gpus_per_pod)
            }
            if wide:
                spread[key, role] = wide
    return Demands(demands, {}, spread, node_gpus)


def demand(deployment: ModelDeployment, role: str = DECODE, node_gpus: int | None = None) -> Demand:
    """Return what a role of one replica needs, by the document's templates and proxy, of nodes with so many
    GPUs; without a number, of nodes with as many as a pod of the document's shape asks for. Without
    accelerators a pod has none.
    """
    workers = workers_of(deployment, role)
    topology = workers.topology
    if not has_accelerators(deployment):
        node_gpus = 0
    pods, gpus = shape(topology, topology.gpus_per_pod if node_gpus is None else node_gpus)
    follower = workers.of("Follower") if pods > 1 else None
    surge, apart = deployment.spec.rollout == "Surge", is_disaggregated(deployment)
    proxied = proxied_port(deployment, role) is not None
    behind = proxied and pods > 1 and every_pod_serves(deployment, role, pods)
    return Demand(
        pod_of(_with_proxy(deployment, workers.entry_template.spec, proxied), gpus=gpus),
        workers.count * pods,
        pods if surge and not apart else 0,
        gang=pods,
        follower=pod_of(_with_proxy(deployment, follower.spec, behind), gpus=gpus) if follower else None,
        # A second set has room for the one pod more of a change in place too.
        sets=2 if surge and apart else 1,
    )


def _with_proxy(deployment: ModelDeployment, spec: PodSpec, proxied: bool) -> PodSpec:
    """Return the pod spec with what the routing proxy requests, which is added to pods that serve by one."""
    prefill = deployment.spec.prefill
    resources = prefill.proxy.resources if prefill and proxied else None
    if resources is None:
        return spec
    asks = {"requests": resources.requests, "limits": resources.limits}
    proxy = {"name": ROUTING_PROXY, "restartPolicy": "Always", "resources": asks}
    return {**spec, "initContainers": [*spec.get("initContainers", ()), proxy]}
