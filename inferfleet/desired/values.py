"""Everything that should exist, as values: what `render` prints and `components` registers."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, get_args

from inferfleet.cloud.values import CloudChange, CloudCluster, CloudComponent
from inferfleet.documents.kinds.inference_cluster import State
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.front_door import Door
from inferfleet.fleet.node_conditions import Labels, NodeConditions
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkEffect
from inferfleet.plugins.contract import Plugin, Request
from inferfleet.plugins.link import BoundLink
from inferfleet.serving.metadata import SKIP_AWAIT
from inferfleet.serving.monitors import KINDS as MONITORS
from inferfleet.serving.scaler import KEDA, target_of
from inferfleet.serving.schedulers import SchedulerNeed
from inferfleet.serving.workload import WORKER_SET
from inferfleet.tables.addons import AddonName

_NOT_CALLED = "not told yet"
ComponentKind = Literal[
    "ClusterAddon",
    "ServingStack",
    "ModelCache",
    "ModelEndpoint",
    "ModelReplicas",
    "ModelService",
    "FrontDoor",
    "FrontDoorService",
]
KINDS: tuple[ComponentKind, ...] = get_args(ComponentKind)
# Components that lead to other clusters, and come after all of these.
FRONT_DOORS: tuple[ComponentKind, ...] = ("FrontDoor", "FrontDoorService")
# In front of a component's kind in its type.
COMPONENTS = "inferfleet:components:"


class Resource(NamedTuple):
    """A resource in Pulumi's state: kind of the component above it ("" for components), type and name."""

    parent: str
    token: str
    name: str


# What the state has of each resource: its outputs.
Standing = Mapping[Resource, Mapping[str, Any]]


def titled(kind: str, namespace: str | None, name: str) -> str:
    """Return an object as messages name it: `Kind namespace/name`."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


@dataclass(frozen=True)
class KubeObject:
    """One Kubernetes object: its manifest, and how it is registered with Pulumi."""

    name: str
    """Its name in Pulumi's state."""
    manifest: dict[str, Any]
    after: tuple[str, ...] = ()
    """Keys of objects and resources that are created before it."""
    timeout: int | None = None
    """Seconds that an update waits for it; None for Pulumi's own."""
    retain: bool = False
    """Whether it stays on the cluster when it leaves the program."""
    deleted_with: str | None = None
    """Key of the cloud resource that takes the object along when it goes."""
    ignore: tuple[str, ...] = ()
    """Fields of somebody else, which no update changes once the object is there."""
    address_of: str | None = None
    """The cluster whose gateway's address it has: an EndpointSlice without endpoints until that is known."""
    invented: str | None = None
    """The entry of a Secret whose value is a random one, written with the Secret and never changed."""
    webhooks: tuple["KubeObject", ...] = ()
    """Configurations of the webhooks that an API server calls for it, which answer before it is written."""

    @property
    def api_version(self) -> str:
        return str(self.manifest["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def namespace(self) -> str | None:
        namespace: str | None = self.manifest["metadata"].get("namespace")
        return namespace

    @property
    def kubernetes_name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def title(self) -> str:
        """Return the object as messages name it."""
        return titled(self.kind, self.namespace, self.kubernetes_name)

    @property
    def token(self) -> str:
        """Return Pulumi's type token; the core group has no name in Kubernetes and is `core` here."""
        version = self.api_version if "/" in self.api_version else f"core/{self.api_version}"
        return f"kubernetes:{version}:{self.kind}"

    @property
    def watched(self) -> bool:
        """Return whether an update watches its pods while it waits: those of engines and endpoint pickers."""
        awaited = SKIP_AWAIT not in self.manifest["metadata"].get("annotations", {})
        if self.kind != "Deployment":
            return awaited and self.kind == WORKER_SET
        # Not a Deployment that a plugin adds beside a workload.
        template = self.manifest.get("spec", {}).get("template", {})
        labels = (template.get("metadata") or {}).get("labels") or {}
        return awaited and (names.PLACEMENT in labels or labels.get(names.MANAGED_BY) == names.MANAGER)

    @property
    def key(self) -> str:
        """Return the identity in the stack: objects of different kinds may have one Pulumi name."""
        return f"{self.token} {self.name}"


@dataclass(frozen=True)
class ReadyHook:
    """A plugin that is called once the pods of a workload are ready."""

    name: str
    """Name in Pulumi's state of what it remembers of the hook."""
    workload: KubeObject
    links: tuple[BoundLink, ...]
    """The links that name the plugin. Each calls it, in their order."""
    request: Request
    """What the plugin is told of the pods."""
    template: str
    """A text that is another one for another pod template."""
    held: bool = False
    """Whether it is not called, because the update does not wait for the pods."""

    @property
    def plugin(self) -> Plugin:
        return self.links[0].plugin

    @property
    def pods(self) -> str:
        """Return which pods are meant, in words."""
        request = self.request
        return (
            f"deployment {request.namespace}/{request.deployment.name}, role {request.role} "
            f"on {request.cluster.name}/{request.pool.name}"
        )

    @property
    def remembered(self) -> str:
        """Return what the state remembers once the hook has run, or from the beginning while it is held."""
        return _NOT_CALLED if self.held else self.template


@dataclass(frozen=True)
class HookOutcome:
    """What came of calling a ready hook."""

    said: str
    """What the plugin says."""
    warnings: tuple[Problem, ...] = ()
    """Why there is no Event of it on the cluster."""
    failure: str | None = None
    """Why the update fails."""


CallHook = Callable[[ReadyHook], Awaitable[HookOutcome]]
Say = Callable[[str], None]


class Listen(Protocol):
    """Listens to the pods of a workload while an update waits for it, until it is cancelled."""

    def __call__(self, workload: KubeObject, warn: Say, fail: Say) -> Coroutine[None, None, None]:
        """Warn of how pods end, and tell what was waited for shortly before the update fails."""
        ...


# Waits until a definition is served, or the webhooks of another object answer, and returns why not.
AwaitServed = Callable[[KubeObject], Awaitable[str | None]]


# What of a cluster does not serve at the end of an update.
Confirm = Callable[[str], Awaitable[tuple[Problem, ...]]]


@dataclass(frozen=True)
class Component:
    """One Pulumi component, the objects registered under it, in order, and the ready hooks of workloads.

    Of one that is `held` nothing changes that is there. `standing` are resources under it that nothing
    decides any more, and that stay.
    """

    kind: ComponentKind
    name: str
    objects: tuple[KubeObject, ...]
    hooks: tuple[ReadyHook, ...] = ()
    held: bool = False
    standing: tuple[Resource, ...] = ()

    @property
    def place(self) -> Resource:
        """Return what it is in Pulumi's state."""
        return Resource("", f"{COMPONENTS}{self.kind}", self.name)

    def place_of(self, child: KubeObject) -> Resource:
        """Return what an object under it is in Pulumi's state."""
        return Resource(self.kind, child.token, child.name)


@dataclass(frozen=True)
class Connection:
    """How to reach a cluster. Exactly one of `kubeconfig`, `config_key` and `cloud` is set."""

    cluster: str
    identifier: str
    state: State
    kubeconfig: Path | None = None
    config_key: str | None = None
    context: str | None = None
    uid: str | None = None
    """UID of the namespace kube-system that the lock remembers."""
    cloud: CloudCluster | None = None
    """A cluster that the stack creates, which may not be there yet."""


@dataclass(frozen=True)
class ObjectNeed:
    """An object that pods name and the stack does not make. `kind`, `key` and `path` are the field of the
    document that names it first.
    """

    object_kind: str
    namespace: str
    """The namespace; "" for kinds that belong to the whole cluster."""
    name: str
    keys: tuple[str, ...]
    """The keys of a Secret or ConfigMap that are read; none where it is read as a whole."""
    deployments: tuple[str, ...]
    """Whose pods name it."""
    kind: str
    key: str
    path: str
    may_follow: bool = False
    """Whether a custom resource that the stack writes beside the pods may have its controller make it."""


@dataclass(frozen=True)
class Served:
    """What serves a deployment on a cluster, by keys."""

    members: tuple[str, ...]
    """Its InferencePool, its endpoint picker and its workloads."""
    routes: tuple[str, ...]
    """The HTTPRoutes that lead to it: its own, and those of services."""


@dataclass(frozen=True)
class ClusterAddon:
    """An add-on that the stack installs on a cluster, or has installed."""

    name: AddonName
    version: str
    why: str
    """What on the cluster needs it, in words; "" where nothing does any more."""
    left: bool = False
    """Whether documents leave it to others again, so that it stays as it stands."""


@dataclass(frozen=True)
class ExpectedNodes:
    """The nodes of a pool, as documents declare them."""

    name: str
    place: int
    """Place of the pool in its document."""
    class_name: str
    selector: Mapping[str, str]
    least: int
    """Nodes that are there whatever an autoscaler does."""
    replicas: int
    """Replicas that are placed there."""
    driver: str
    resource: str
    """Extended resource of its devices, "" where nodes have none."""
    devices: int
    """Devices of the driver that each node offers."""
    claimed: bool
    """Whether pods claim them from the driver, which publishes them then."""
    cpu: int
    """Thousandths of a core of each node."""
    memory: int
    """Bytes of memory of each node."""
    conditions: Mapping[NodeConditions, tuple[str, ...]] = field(default_factory=dict)
    """What pods that are placed there ask of labels besides the selector, with their deployments."""
    labels: Labels = field(default_factory=dict)
    """Labels that the update gives to its nodes, whatever they have now, where the stack creates them."""
    products: Mapping[str, str] = field(default_factory=dict)
    """Which product the class says its devices are, by the labels of nodes that may name one."""
    autoscaled: bool = False

    def path(self, field: str) -> str:
        """Return the path of a field of the pool in its document."""
        return f"spec.nodePools[{self.place}].{field}"


@dataclass(frozen=True)
class DesiredCluster:
    """One cluster: how it is reached, and everything that should exist there."""

    connection: Connection
    components: tuple[Component, ...]
    """On a cluster that is paused or lost these are those of the lock, and are held."""
    gateway_class: str | None = None
    gateway_provider: str = "none"
    gateway_ref: tuple[str, str] | None = None
    """Namespace and name of a Gateway that the stack does not create."""
    objects_needed: tuple[ObjectNeed, ...] = ()
    gateway: KubeObject | None = None
    """The Gateway that the stack creates, one of the objects of the components."""
    workloads: Mapping[Spot, tuple[str, ...]] = field(default_factory=dict)
    """Keys of engine workloads by spot."""
    scheduler_needs: tuple[SchedulerNeed, ...] = ()
    served: Mapping[str, Served] = field(default_factory=dict)
    """What serves each deployment."""
    pools: tuple[ExpectedNodes, ...] = ()
    """The pools whose nodes are looked at: all of an existing cluster."""
    front_doors: Mapping[str, KubeObject] = field(default_factory=dict)
    """The Gateways of InferenceGateways that stand there, by their names."""
    envoy_gateway: Mapping[str, Any] = field(default_factory=dict)
    """What these need of Envoy Gateway's configuration."""
    addons: tuple[ClusterAddon, ...] = ()
    """What the stack installs there, in this order."""

    @property
    def objects(self) -> Iterator[KubeObject]:
        return (item for component in self.components for item in component.objects)

    @property
    def changing(self) -> "DesiredCluster":
        """Return the cluster without what is held: of that an update asks nothing."""
        held = {made.key for component in self.components if component.held for made in component.objects}
        return replace(
            self,
            components=tuple(component for component in self.components if not component.held),
            workloads={spot: keys for spot, keys in self.workloads.items() if held.isdisjoint(keys)},
            served={key: served for key, served in self.served.items() if held.isdisjoint(served.members)},
        )

    @property
    def monitors(self) -> Iterator[KubeObject]:
        """Return the objects by which endpoints are scraped or replicas scaled, which a cluster may lack.
        What a plugin adds beside a workload is none of them, of whatever kind it is.
        """
        for component in self.components:
            if component.kind == "ModelEndpoint":
                yield from (item for item in component.objects if (item.api_version, item.kind) in MONITORS)
        scaled = {(item.kind, item.kubernetes_name) for item in self.objects if item.ignore}
        scalers = (item for item in self.objects if (item.api_version, item.kind) == KEDA)
        yield from (item for item in scalers if target_of(item.manifest) in scaled)


class Outputs(TypedDict):
    """What a stack exports, to be read with `pulumi stack output`."""

    placements: dict[str, dict[str, int]]
    """Number of replicas, the most where they are scaled, by deployment (`<namespace>/<name>`) and place
    (`<cluster> <role>=<pool>`).
    """
    services: dict[str, list[str]]
    """Clusters that have a route of the service, by service (`<namespace>/<name>`)."""
    gateways: dict[str, str | None]
    """Address of each cluster's gateway, an IP address or a host name. A Gateway of somebody else (`ref`) is
    left out until it has one.
    """
    urls: dict[str, dict[str, str | None]]
    """URL of each service on each cluster that has a route of it, by service and cluster. A cluster without
    an entry in `gateways` is left out.
    """
    frontDoors: dict[str, dict[str, str | None]]
    """Address of each InferenceGateway on each of its clusters, an IP address or a host name."""
    plugins: dict[str, list[str]]
    """Plugins that changed the pods of a workload or added objects beside it, each as `<name>@<version>` in
    the order in which they ran, by workload (`<cluster>/<namespace>/<name>`).
    """
    ready: dict[str, dict[str, str]]
    """Pod template for which a plugin was last told that its pods are ready, by workload and plugin. It is
    `not told yet` until an update has waited for the pods.
    """


@dataclass(frozen=True)
class Desired:
    """The whole stack."""

    stack: str
    clusters: tuple[DesiredCluster, ...]
    plan: Plan
    waiting: frozenset[Spot]
    """Spots whose workload fits only once others have left."""
    warnings: tuple[Problem, ...]
    """Warnings and notices, with file and line."""
    effects: Mapping[Spot, Mapping[str, tuple[LinkEffect, ...]]] = field(default_factory=dict)
    """The changes of each plugin to the pods of a spot, by role."""
    cloud_changes: tuple[CloudChange, ...] = ()
    follower_effects: Mapping[Spot, Mapping[str, tuple[LinkEffect, ...]]] = field(default_factory=dict)
    """Those to the followers of roles whose workers have many pods."""
    buckets: tuple[CloudComponent, ...] = ()
    """The stack's own buckets for weights, which are of no cluster."""
    doors: tuple[Door, ...] = ()
    """InferenceGateways on each of their clusters, and where they lead."""
    fleet: str = field(default="", compare=False)
    """Options by which commands find the documents of a Fleet in somebody's program; "" for a stack."""

    @property
    def outputs(self) -> dict[str, Any]:
        """Return the stack outputs that need no cluster: placements, services, and what plugins acted."""
        placements: dict[str, dict[str, int]] = {}
        for placement in self.plan.placements:
            spot = placement.spot
            pools = " ".join(f"{role}={pool}" for role, pool in spot.pools)
            placements.setdefault(spot.deployment, {})[f"{spot.cluster} {pools}"] = placement.replicas
        services: dict[str, list[str]] = {}
        for route in self.plan.services:
            services.setdefault(route.service, []).append(route.cluster)
        return {"placements": placements, "services": services, "plugins": self._plugins}

    @property
    def _plugins(self) -> dict[str, list[str]]:
        acted: dict[str, list[str]] = {}
        for spot, roles in self.effects.items():
            for role, effects in roles.items():
                name = names.pulumi_object(spot.cluster, names.workload(spot, role), namespace=spot.namespace)
                every = (*effects, *self.follower_effects.get(spot, {}).get(role, ()))
                plugins = [
                    f"{effect.plugin}@{effect.version}" for effect in every if effect.status == "changed"
                ]
                if plugins:
                    acted[name] = list(dict.fromkeys(plugins))
        return acted
