"""What becomes of clusters, pools and all other resources, and what nodes cost."""

from dataclasses import dataclass
from typing import Literal

PoolChange = Literal["added", "created", "replaced", "nodes replaced", "removed", "changed"]
ClusterChange = Literal["added", "created", "replaced", "removed", "changed"]
Operation = Literal["create", "update", "replace", "delete"]


@dataclass(frozen=True)
class Cluster:
    """A cluster that comes, goes, or has other settings."""

    cluster: str
    """Its name."""
    change: ClusterChange
    """`created` and `replaced` are of Google Cloud, `added` is of clusters that exist."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""
    told: str
    """The same in words."""


@dataclass(frozen=True)
class Pool:
    """A pool that comes, goes, or has other settings."""

    cluster: str
    """Cluster of the pool."""
    pool: str
    """Its name."""
    change: PoolChange
    """`replaced`: a new pool is created and the old one deleted. `nodes replaced`: GKE replaces the nodes,
    some at a time.
    """
    before: int
    """Nodes at most now."""
    after: int
    """Nodes at most afterwards."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""
    told: str
    """The same in words."""


@dataclass(frozen=True)
class Use:
    """Nodes of one class, and what they cost in an hour."""

    name: str
    """Name of the class."""
    gpus: tuple[int, int]
    """GPUs that replicas hold, before and after."""
    nodes: tuple[int, int]
    """Nodes that are paid for, before and after: all of a pool of fixed size, of others those that replicas
    need.
    """
    cost: tuple[str, str]
    """What these nodes cost in an hour, before and after, as decimal numbers; `""` where no price is
    known.
    """
    currency: str
    """Currency of the price, `""` where none is known."""
    region: str
    """Region of the price where nodes are in another one, else `""`."""


@dataclass(frozen=True)
class Cost:
    """What all nodes with a price cost in an hour."""

    currency: str
    """Currency of the prices."""
    before: str
    """Sum now, as a decimal number."""
    after: str
    """Sum afterwards."""


@dataclass(frozen=True)
class Quota:
    """A quota of Google Cloud of which more is needed than before."""

    project: str
    """Google Cloud project."""
    region: str
    """Region, `""` for a quota of the whole project."""
    metric: str
    """Name of the quota."""
    before: int
    """What nodes take now."""
    after: int
    """What they take afterwards."""
    peak: int
    """The most that is taken while the update runs."""


@dataclass(frozen=True)
class Reservation:
    """A reservation of Google Cloud that a new pool needs."""

    project: str
    """Google Cloud project of the reservation."""
    name: str
    """Its name."""
    pool: str
    """`<cluster>/<pool>` that needs it."""
    nodes: int
    """Machines that the pool may need."""


@dataclass(frozen=True)
class Resource:
    """One resource that an update creates, changes or deletes, as Pulumi names it.

    Pulumi's own groups and providers are none.
    """

    resource: str
    """Kind and name, as in `NodePool east/h100`."""
    operation: Operation
    """What an update does with it."""
    fields: tuple[str, ...]
    """Fields that force a replacement, or those that change in place."""
