"""What should exist in a cloud and what an update does there, as plain values of whichever cloud it is.

`render` prints them, `components` registers them, the lock keeps their settings, digests and policies tell of
them. Kinds of components, paths of settings and types of resources are texts of the provider, which nobody
else reads.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferfleet.documents.kinds.base import Taint
from inferfleet.fleet.node_conditions import Labels

# The pool of CPU nodes that each cluster has for everything but engines; no pool of a document may have its
# name.
SYSTEM_POOL = "system"
ChangeKind = Literal["created", "replaced", "nodes replaced", "removed"]
# Whether a cloud offers something: for certain, not at all, or as sources that disagree say.
Verdict = Literal["yes", "no", "disputed"]
Manifest = dict[str, Any]
# What stands for the number of a project in a member of an IAM policy.
PROJECT_NUMBER = "PROJECT_NUMBER"


@dataclass(frozen=True)
class CloudResource:
    """One resource of a cloud: its inputs under their wire names (plain values, no references: every name is
    made before), and how it is registered.
    """

    token: str
    """Pulumi's type of it."""
    name: str
    """Its name in Pulumi's state; resources of several types may have one."""
    inputs: dict[str, Any]
    after: tuple[str, ...] = ()
    """Keys of the resources that must exist first."""
    ignore: tuple[str, ...] = ()
    """Paths of inputs that the cloud fills in and nobody asked for."""
    protect: bool = False
    retain: bool = False
    """Whether it stays in the cloud when it leaves the program."""
    project_number_of: str | None = None
    """Key of the bucket whose project's number, which Google alone knows, its member has in place of
    PROJECT_NUMBER."""
    delete_first: bool = False
    """Whether the old one is deleted before its replacement is created."""
    deleted_with: str | None = None
    """Key of a resource whose deletion deletes this one too."""
    timeout: int | None = None
    """In seconds; None: the provider's own."""

    @property
    def key(self) -> str:
        """Return the identity in the whole stack."""
        return f"{self.token} {self.name}"

    @property
    def title(self) -> str:
        """Return the resource as people and Pulumi name it: `NodePool east/h100`."""
        return f"{self.token.rpartition(':')[2]} {self.name}"


@dataclass(frozen=True)
class CloudComponent:
    """One Pulumi component and the resources registered under it, in order."""

    kind: str
    """The class of the component, which is part of URNs."""
    name: str
    resources: tuple[CloudResource, ...]
    standing: tuple[tuple[str, str], ...] = ()
    """Types and names of resources under it that no document has, and that stay because their cluster is
    paused."""


@dataclass(frozen=True)
class CloudPool:
    """A pool of a document as the cloud is to have it, decided once nothing was found against it.

    Two are equal when the cloud gets the same, wherever the pool stands in its document. What pods and
    plugins are told of its nodes is here too, because there may be no node to ask yet.
    """

    cluster: str
    pool: str
    """Its name in the document."""
    class_name: str
    name: str
    """Its name in the cloud, `<pool>-<hash>`, which is also the value of our pool label on its nodes."""
    component: CloudComponent
    settings: Mapping[str, Any]
    """What the lock keeps of it, by path on the wire: settings that cannot change in place, and those whose
    change replaces the nodes."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its nodes that plugins are told, without that of the pool."""
    node_labels: Labels = field(default_factory=dict)
    """What is certain of labels of its nodes, whether they have them or not."""
    taints: tuple[Taint, ...] = ()
    """What its pods tolerate besides the taint of accelerators and those of documents."""
    zones: tuple[str, ...] = ()
    """Sorted, and empty where the cloud chooses them."""
    fixed_size: int | None = None
    """Its number of nodes; None where it is autoscaled."""
    fabric: str | None = None
    """The kind of network between GPUs that its nodes have."""
    networks: tuple[str, ...] = ()
    """Names of the Network objects of the nodes' extra interfaces, in their order on the node."""
    claims_cards: bool = False
    """Whether pods claim the cards of its fabric."""
    reservation: tuple[str, str] | None = None
    """Project and name of the reservation that its nodes come from."""

    @property
    def key(self) -> str:
        """Return the name in the whole stack, as the lock and messages have it: `east/h100`."""
        return f"{self.cluster}/{self.pool}"

    @property
    def resource(self) -> CloudResource:
        """Return the pool itself, the last resource of its component."""
        return self.component.resources[-1]


@dataclass(frozen=True)
class CloudCluster:
    """A cluster that the stack creates: what should exist of it in its cloud, and its identity there."""

    cluster: str
    """Its name in the document."""
    project: str
    region: str
    cloud_name: str
    endpoint: str
    """By which of its endpoints the API server is reached, in the provider's words."""
    components: tuple[CloudComponent, ...]
    pools: Mapping[str, CloudPool]
    """Pools of the document by name, sorted."""
    source: str = field(kw_only=True)
    """`spec.cluster.source` of its document, which is the name of its provider."""
    identifier: str = field(kw_only=True, default="")
    """What tells it from every other cluster, for Pulumi's Kubernetes provider."""
    key: str = field(kw_only=True, default="")
    """Key of the resource that is the cluster; what is on it ends with it."""
    system_key: str = field(kw_only=True, default="")
    """Key of the resource of the system pool, after which everything on the cluster comes."""
    unlocked: tuple[CloudComponent, ...] = field(kw_only=True, default=())
    """Components of a paused cluster that the lock does not know: none is made, and those that stand stay."""
    settings: Mapping[str, Any] = field(kw_only=True, default_factory=dict)
    """What the lock keeps of it, by path on the wire: settings that cannot change in place."""
    protected: bool = field(kw_only=True, default=False)
    """Whether nothing may delete or replace it."""
    proxy: str | None = field(kw_only=True, default=None)
    """Address of a proxy through which machines that run updates reach the API server."""
    proxies: str | None = field(kw_only=True, default=None)
    """Addresses from which the proxies of its gateways come, where the stack chooses them."""
    internal: Mapping[str, str] = field(kw_only=True, default_factory=dict)
    """Annotations of a Service of type LoadBalancer whose address is inside of the cluster's network."""
    objects: tuple[Manifest, ...] = field(kw_only=True, default=())
    """Kubernetes objects that its nodes need; one may refer by its own name to such as come before it."""

    @property
    def pool_names(self) -> dict[str, str]:
        """Return the names of pools in the cloud by those in the document."""
        return {name: pool.name for name, pool in self.pools.items()}

    @property
    def resources(self) -> Iterator[CloudResource]:
        """Yield the resources of all components in their order."""
        for component in self.components:
            yield from component.resources

    def resource(self, key: str) -> CloudResource:
        """Return a resource of the cluster by its key."""
        return next(resource for resource in self.resources if resource.key == key)


@dataclass(frozen=True)
class NodeRequest:
    """A workload whose pods take nodes that are asked for, and the objects that ask for them."""

    workload: Manifest
    objects: tuple[Manifest, ...] = ()
    """In the order in which they are made."""
    immutable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields that no update changes once the object is there, by its kind."""


@dataclass(frozen=True)
class Difference:
    """One setting of a cloud resource that differs."""

    path: str
    """On the wire."""
    before: Any
    """None: not set."""
    after: Any
    names: tuple[str, ...] = ()
    """Fields of documents that may have caused it; none for settings that no document decides."""


@dataclass(frozen=True)
class CloudChange:
    """What an update does to one cluster (`pool` is "") or to one pool of it."""

    cluster: str
    pool: str
    kind: ChangeKind
    differences: tuple[Difference, ...] = ()
    note: str = ""
    """In which order, and which replicas are affected."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Return what forces it: fields of documents, or settings that no document has."""
        field_names = [
            name for difference in self.differences for name in difference.names or (difference.path,)
        ]
        return tuple(dict.fromkeys(field_names))

    def __str__(self) -> str:
        """Return `pool east/h100 is replaced: accelerator.count 4 -> 8; new nodes first`."""
        thing = f"pool {self.cluster}/{self.pool}" if self.pool else f"cluster {self.cluster}"
        verb = "has its nodes replaced" if self.kind == "nodes replaced" else f"is {self.kind}"
        why = f": {in_words(self.differences)}" if self.differences else ""
        return f"{thing} {verb}{why}{f'; {self.note}' if self.note else ''}"


_SHOWN = 3


def in_words(differences: Iterable[Difference]) -> str:
    """Return the differences by field: `accelerator.count 4 -> 8, capacity.model (spot unset -> true)`."""
    by_field: dict[str, list[Difference]] = {}
    for difference in differences:
        by_field.setdefault(" or ".join(difference.names) or difference.path, []).append(difference)
    return ", ".join(_field(name, group) for name, group in by_field.items())


def _field(name: str, group: list[Difference]) -> str:
    if len(group) == 1 and name.rpartition(".")[2] == group[0].path.rpartition(".")[2]:
        return f"{name} {_values(group[0])}"
    parts = [f"{each.path.rpartition('.')[2]} {_values(each)}" for each in group[:_SHOWN]]
    rest = [f"{len(group) - _SHOWN} more"] if len(group) > _SHOWN else []
    return f"{name} ({', '.join(parts + rest)})"


def _values(difference: Difference) -> str:
    return f"{_value(difference.before)} -> {_value(difference.after)}"


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


@dataclass(frozen=True)
class Comparison:
    """What an update does to a resource of a cloud that stays in the documents."""

    replaced: bool
    fields: tuple[str, ...]
    """Paths of the settings that differ; where it is replaced, of those that force it."""
    words: str
    """The differences by field of the documents: `releaseChannel (channel REGULAR -> RAPID)`."""
    happens: str = "changes in place"
    """What happens to the resource where it is not replaced."""


@dataclass(frozen=True, order=True)
class QuotaUse:
    """How much of one quota `pools` (`cluster/pool`, of networks `cluster`) take at the peak of an update."""

    project: str
    region: str
    """"" for a quota of the whole project."""
    metric: str
    amount: int
    in_use: int
    """How much of the amount is taken already."""
    pools: tuple[str, ...]
    path: str
    """Field of the first pool in its cluster's document."""

    @property
    def added(self) -> int:
        return self.amount - self.in_use


@dataclass(frozen=True)
class Setting:
    """One setting of a pool in its cloud."""

    path: str
    value: Any
    names: tuple[str, ...]
    """Fields of documents that it comes from; none where no document decides it."""
    effect: str | None
    """What another value would do; None where no document decides it."""


@dataclass(frozen=True)
class Drift:
    """One field of one object, in the cloud or on a cluster, that somebody changed."""

    cluster: str
    thing: str
    field: str
    found: str
    wanted: str
    """The value by the documents."""
    undeployed: bool = False
    """Whether it is known that an update set what is found: the documents changed since, or went back to what
    they were before an update that was cancelled."""

    def __str__(self) -> str:
        return f"{self.thing}: {self.field} is {self.found}, documents say {self.wanted}"


def shown(value: Any) -> str:
    """Return a value as people read it: text as it is, anything else as JSON, `unset` for None."""
    if value is None:
        return "unset"
    return value if isinstance(value, str) and value else json.dumps(value)
