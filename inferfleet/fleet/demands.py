"""What each role of each deployment needs of the nodes of a pool, and what of that the documents alone say.

`declared_demands` reads templates, the routing proxy, and what makes GKE inject a sidecar; what plugins make
of pods, and what clouds say of labels of nodes, is worked out above, in `desired`, and handed to the plan in
`edited` and `labels`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import CachedModel, ModelDeployment, ModelSource
from inferfleet.documents.kinds.workers import PodTemplate, Position
from inferfleet.documents.pods.gcsfuse import DRIVER, sidecar
from inferfleet.documents.pods.template import ROUTING_PROXY
from inferfleet.documents.problems import Where
from inferfleet.fleet.accelerators import DeviceRequest, device_request
from inferfleet.fleet.node_conditions import Labels, NodeConditions, known_labels
from inferfleet.fleet.roles import (
    engine_of,
    every_pod_serves,
    is_disaggregated,
    proxied_port,
    role_conditions,
    roles_of,
    workers_of,
)
from inferfleet.fleet.shapes import (
    Node,
    Pod,
    PodSpec,
    PoolKey,
    Shape,
    node,
    pod_of,
    shape,
)

RoleKey = tuple[str, str]  # (deployment, role)


@dataclass(frozen=True)
class Share:
    """What a plugin asks for: the pod would request so much less without it."""

    plugin: str
    pod: Pod
    where: tuple[Where, ...] = ()
    """The lines of its links, for messages."""


@dataclass(frozen=True)
class Demand:
    """What a role of a replica needs of its pool.

    Pods stand in gangs, the pods of one worker, each on a node of its own: an entry, and followers.
    """

    pod: Pod
    """What an entry requests."""
    pods: int
    """Pods of the role in a replica."""
    spare: int
    """Pods more, once per placement, for which space is kept for rollouts."""
    shares: tuple[Share, ...] = ()
    """Those of plugins in what an entry requests, in the order in which they run."""
    gang: int = 1
    """Pods of a worker."""
    follower: Pod | None = None
    """What a follower requests, None where that is what an entry does."""
    follower_shares: tuple[Share, ...] = ()
    sets: int = 1
    """How often each replica counts: twice where another set of all its pods comes beside the first."""

    @property
    def workers(self) -> int:
        """Return the workers of the role in a replica."""
        return self.pods // self.gang

    @property
    def shapes(self) -> tuple[Pod, ...]:
        """Return what pods request: an entry, and a follower where that differs."""
        return (self.pod,) if self.follower is None else (self.pod, self.follower)

    @property
    def gpus(self) -> int:
        """Return the GPUs of the role in a replica."""
        return self.pods * self.pod.gpus

    @property
    def cpu(self) -> int:
        """Return the thousandths of a core of the role in a replica."""
        follower = self.follower or self.pod
        return self.workers * (self.pod.cpu + (self.gang - 1) * follower.cpu)

    def size(self, empty: Node) -> int:
        """Return the GPUs of the role in a replica; on nodes that have none, the thousandths of a core."""
        return self.gpus if empty.gpus else self.cpu

    def of(self, position: Position) -> tuple[Pod, tuple[Share, ...]]:
        """Return what an entry or a follower requests, and the shares of plugins in it."""
        if position == "Entry" or self.follower is None:
            return self.pod, self.shares
        return self.follower, self.follower_shares


@dataclass(frozen=True)
class Demands:
    """What each role of each deployment needs on each pool."""

    declared: Mapping[RoleKey, Demand] = field(default_factory=dict)
    """By the documents alone."""
    devices: Mapping[RoleKey, DeviceRequest] = field(default_factory=dict)
    """The accelerators that pods ask for."""
    edited: Mapping[RoleKey, Mapping[PoolKey, Demand]] = field(default_factory=dict)
    """What plugins make of it, on the pools where any runs over the pods of a role."""
    spread: Mapping[RoleKey, Mapping[int, Demand]] = field(default_factory=dict)
    """What a role needs of nodes with fewer GPUs than a group of its `tensor`, by the GPUs of a node."""
    node_gpus: Mapping[PoolKey, int] = field(default_factory=dict)
    """The GPUs of a node of each pool with accelerators."""
    conditions: Mapping[RoleKey, tuple[NodeConditions, ...]] = field(default_factory=dict)
    """What templates ask of the labels of nodes: those of entries and of followers, where these differ."""
    labels: Mapping[PoolKey, Labels] = field(default_factory=dict)
    """What documents and clouds say of the labels of nodes."""

    def of(self, deployment: str, role: str, pool: PoolKey) -> Demand:
        """Return what a role needs on the pool. Raises KeyError for one that no document has."""
        edited = self.edited.get((deployment, role))
        return (edited.get(pool) if edited else None) or self.unedited(
            deployment, role, self.node_gpus.get(pool, 0)
        )

    def unedited(self, deployment: str, role: str, node_gpus: int) -> Demand:
        """Return the demand of a role on nodes with so many GPUs, as it is where no plugin edits its pods."""
        spread = self.spread.get((deployment, role))
        return (spread.get(node_gpus) if spread else None) or self.declared[deployment, role]

    def least_cpu(self, deployment: str, role: str) -> int:
        """Return the least thousandths of a core that a pod of the role asks for on any pool."""
        edited = self.edited.get((deployment, role), {})
        return min(demand.pod.cpu for demand in (self.declared[deployment, role], *edited.values()))

    def has(self, deployment: str, role: str) -> bool:
        """Return whether a document says what the role needs."""
        return (deployment, role) in self.declared


def declared_demands(documents: Documents) -> Demands:
    """Return what replicas need where no plugin edits their pods."""
    by_class = {name: node(document) for name, document in documents.classes.items()}
    node_gpus = {
        (name, pool.name): empty.gpus
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (empty := by_class.get(pool.class_name)) and empty.gpus
    }
    sizes = sorted(set(node_gpus.values()))
    demands: dict[RoleKey, Demand] = {}
    devices: dict[RoleKey, DeviceRequest] = {}
    spread: dict[RoleKey, dict[int, Demand]] = {}
    for key, document in documents.deployments.items():
        for role in roles_of(document):
            request = device_request(document, role, documents.device_resources)
            devices[key, role] = request
            topology = workers_of(document, role).topology
            # Without accelerators a pod has none, whatever its topology.
            of_topology = topology.gpus_per_pod if request.resource else 0
            declared_shape = shape(topology, of_topology, request.per_pod)
            demands[key, role] = _demand(document, role, declared_shape)
            wide = {
                size: _demand(document, role, spread_shape)
                for size in (sizes if request.resource else ())
                if (spread_shape := shape(topology, size, request.per_pod)) != declared_shape
            }
            if wide:
                spread[key, role] = wide
    labels = {
        (name, pool.name): known_labels(cluster, pool)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }
    return Demands(demands, devices, {}, spread, node_gpus, _conditions(documents), labels)


def _conditions(documents: Documents) -> dict[RoleKey, tuple[NodeConditions, ...]]:
    """Return what templates ask of nodes, for roles that ask for anything."""
    conditions: dict[RoleKey, tuple[NodeConditions, ...]] = {}
    for key, document in documents.deployments.items():
        for role in roles_of(document):
            of_templates = dict.fromkeys(each for _, each in role_conditions(document, role))
            if of_templates:
                conditions[key, role] = tuple(of_templates)
    return conditions


def _demand(deployment: ModelDeployment, role: str, worker: Shape) -> Demand:
    """Return what a role of one replica needs, by the document's templates and proxy, with workers of these
    pods.
    """
    workers = workers_of(deployment, role)
    pods, gpus = worker
    follower = workers.of("Follower") if pods > 1 else None
    surge, apart = deployment.spec.rollout == "Surge", is_disaggregated(deployment)
    proxied = proxied_port(deployment, role) is not None
    behind = proxied and pods > 1 and every_pod_serves(deployment, role, pods)
    model = engine_of(deployment, role).model
    return Demand(
        pod_of(_with_proxy(deployment, _admitted(workers.entry_template, model), proxied), gpus=gpus),
        workers.count * pods,
        pods if surge and not apart else 0,
        gang=pods,
        follower=pod_of(_with_proxy(deployment, _admitted(follower, model), behind), gpus=gpus)
        if follower
        else None,
        # A second set has space for the one pod more of a change in place too.
        sets=2 if surge and apart else 1,
    )


def _admitted(template: PodTemplate, model: ModelSource | None) -> PodSpec:
    """Return the pod spec of a written template with the sidecar that GKE injects, if it does: for volumes of
    the template, or for a model in a bucket.
    """
    manifest = template.manifest
    if isinstance(model, CachedModel) and model.in_bucket:
        volumes = [*template.spec.get("volumes", ()), {"csi": {"driver": DRIVER}}]
        manifest = {**manifest, "spec": {**template.spec, "volumes": volumes}}
    return with_sidecars(template.spec, sidecar(manifest))


def with_sidecars(spec: PodSpec, sidecars: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a pod spec with sidecars by their names and requests, before every init container."""
    if not sidecars:
        return dict(spec)
    added = [
        {"name": name, "restartPolicy": "Always", "resources": {"requests": dict(requests)}}
        for name, requests in sidecars.items()
    ]
    return {**spec, "initContainers": [*added, *spec.get("initContainers", ())]}


def _with_proxy(deployment: ModelDeployment, spec: PodSpec, proxied: bool) -> PodSpec:
    """Return the pod spec with what the routing proxy requests, which is added to pods that serve by one."""
    prefill = deployment.spec.prefill
    resources = prefill.proxy.resources if prefill and proxied else None
    if resources is None:
        return spec
    asks = {"requests": resources.requests, "limits": resources.limits}
    proxy = {"name": ROUTING_PROXY, "restartPolicy": "Always", "resources": asks}
    return {**spec, "initContainers": [*spec.get("initContainers", ()), proxy]}
