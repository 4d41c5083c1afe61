"""Cloud resources as values: what `render` prints, `components` registers and the lock records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.pool import GkePool
from inferfleet.fleet.lock.lock import LockedPool

# The pool of CPU nodes for everything but engines; no pool of a document may have its name.
SYSTEM_POOL = "system"
CloudKind = Literal["GkeNetwork", "GkeCluster", "GpuNodePool"]


@dataclass(frozen=True)
class CloudResource:
    """One resource of Google Cloud: its inputs under their wire names (plain values, no references: every
    name is made before), and how it is registered.

    `after` holds the keys of resources that must exist first. `ignore` holds property paths that GKE fills
    in and nobody asked for. With `delete_first` the old one is deleted before its replacement is created.
    `deleted_with` is the key of a resource whose deletion deletes this one too. `timeout` is in seconds
    (None: the provider's own).
    """

    token: str
    name: str
    inputs: dict[str, Any]
    after: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    protect: bool = False
    delete_first: bool = False
    deleted_with: str | None = None
    timeout: int | None = None

    @property
    def key(self) -> str:
        """Return the identity in the whole stack: resources of several types may have one Pulumi name."""
        return f"{self.token} {self.name}"


@dataclass(frozen=True)
class CloudComponent:
    """One Pulumi component and the resources registered under it, in order."""

    kind: CloudKind
    name: str
    resources: tuple[CloudResource, ...]


@dataclass(frozen=True)
class CloudPool:
    """A GkePool as Google Cloud is to have it, decided once the rules found nothing against it.

    `name` is `<pool>-<hash>`, which is also the value of our pool label on its nodes. `settings` are those
    that placement.lock records, by path on the wire: those that are immutable, and those whose change makes
    GKE replace the nodes. Two are equal when Google gets the same, wherever the pool is in its document.
    """

    pool: GkePool = field(compare=False)
    name: str
    component: CloudComponent
    settings: Mapping[str, Any]

    @property
    def resource(self) -> CloudResource:
        """Return the NodePool, the last resource of its component."""
        return self.component.resources[-1]

    @property
    def locked(self) -> LockedPool:
        """Return the pool as placement.lock has it."""
        return LockedPool(self.name, self.settings)


@dataclass(frozen=True)
class CloudCluster:
    """One GKE cluster: what should exist of it in Google Cloud, and its identity there.

    `gpu_pools` go by their names in the document, sorted. `block` holds all addresses the stack gives it;
    None where it is in somebody else's network.
    """

    cluster: str
    project: str
    region: str
    cloud_name: str
    endpoint: Literal["DNS", "IP"]
    components: tuple[CloudComponent, ...]
    gpu_pools: Mapping[str, CloudPool]
    block: str | None = None

    @property
    def pools(self) -> dict[str, str]:
        """Return the names of pools in the cloud by those in the document."""
        return {name: pool.name for name, pool in self.gpu_pools.items()}

    @property
    def key(self) -> str:
        """Return the key of the Cluster resource."""
        return f"{CLUSTER} {self.cluster}"

    def pool_key(self, pool: str) -> str:
        """Return the key of the NodePool resource of a pool of the document, or of the system pool."""
        return f"{NODE_POOL} {self.cluster}/{pool}"
