"""Everything that should exist, as values: what `render` prints and `components` registers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from inferfleet.api.kinds.inference_cluster import State
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.spot import Spot
from inferfleet.gke.changes.differences import CloudChange
from inferfleet.gke.values import CloudCluster
from inferfleet.plugins.chain import Step

ComponentKind = Literal["ServingStack", "ModelEndpoint", "ModelReplicas", "ModelService"]


@dataclass(frozen=True)
class KubeObject:
    """One Kubernetes object: its manifest, its Pulumi name, and how it is registered.

    `after` holds the keys of objects that are created before it. `timeout` is the await budget in seconds
    (None: Pulumi's own). `retain` keeps the object on the cluster when it leaves the program. `deleted_with`
    is the key of the cloud resource that takes the object along when it goes.
    """

    name: str
    manifest: dict[str, Any]
    after: tuple[str, ...] = ()
    timeout: int | None = None
    retain: bool = False
    deleted_with: str | None = None

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
    def token(self) -> str:
        """Return Pulumi's type token; the core group has no name in Kubernetes and is `core` here."""
        version = self.api_version if "/" in self.api_version else f"core/{self.api_version}"
        return f"kubernetes:{version}:{self.kind}"

    @property
    def key(self) -> str:
        """Return the identity in the stack: objects of different kinds may have one Pulumi name."""
        return f"{self.token} {self.name}"


@dataclass(frozen=True)
class Component:
    """One Pulumi component and the objects registered under it, in order."""

    kind: ComponentKind
    name: str
    objects: tuple[KubeObject, ...]


@dataclass(frozen=True)
class Connection:
    """How to reach a cluster. Exactly one of `kubeconfig`, `config_key` and `cloud` is set; a cluster that
    the stack creates (`cloud`) may not be there yet.
    """

    cluster: str
    identifier: str
    state: State
    kubeconfig: Path | None = None
    config_key: str | None = None
    context: str | None = None
    uid: str | None = None  # kube-system UID that the lock remembers
    cloud: CloudCluster | None = None


@dataclass(frozen=True)
class SecretNeed:
    """A Secret that pods of `namespace` read (`keys` empty: as a whole) and the stack does not hold."""

    namespace: str
    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class DesiredCluster:
    """One cluster: how it is reached, and everything that should exist there.

    On a `lost` cluster the components are those of the lock, and nothing of them is touched. `gateway` is the
    Gateway that the stack creates, among their objects; `workloads` are the keys of engine workloads by spot.
    """

    connection: Connection
    components: tuple[Component, ...]
    gateway_class: str | None = None
    gateway_ref: tuple[str, str] | None = (
        None  # (namespace, name) of a Gateway that the stack does not create
    )
    secrets_needed: tuple[SecretNeed, ...] = ()
    gateway: KubeObject | None = None
    workloads: Mapping[Spot, tuple[str, ...]] = field(default_factory=dict)

    @property
    def objects(self) -> Iterator[KubeObject]:
        return (made for component in self.components for made in component.objects)


class Outputs(TypedDict):
    """What a stack exports, to be read with `pulumi stack output`."""

    placements: dict[str, dict[str, int]]
    """Number of replicas, by deployment (`<namespace>/<name>`) and place (`<cluster> <role>=<pool>`)."""
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


@dataclass(frozen=True)
class Desired:
    """The whole stack. `waiting` are spots whose workload fits only once others have left.

    `warnings` have their lines. `steps` are the changes of each plugin to the pods of a spot, by role.
    """

    stack: str
    clusters: tuple[DesiredCluster, ...]
    plan: Plan
    waiting: frozenset[Spot]
    warnings: tuple[Problem, ...]
    steps: Mapping[Spot, Mapping[str, tuple[Step, ...]]] = field(default_factory=dict)
    cloud_changes: tuple[CloudChange, ...] = ()

    @property
    def outputs(self) -> dict[str, Any]:
        """Return the stack outputs: replicas by deployment and spot, and the clusters of each service."""
        placements: dict[str, dict[str, int]] = {}
        for placement in self.plan.placements:
            spot = placement.spot
            pools = " ".join(f"{role}={pool}" for role, pool in spot.pools)
            placements.setdefault(spot.deployment, {})[f"{spot.cluster} {pools}"] = placement.replicas
        services: dict[str, list[str]] = {}
        for route in self.plan.services:
            services.setdefault(route.service, []).append(route.cluster)
        return {"placements": placements, "services": services}
