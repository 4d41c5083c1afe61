"""Cloud resources as values: what `render` prints and `components` registers, and what the lock remembers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
# The pool of what is no engine; no pool of a document may be named like it.
SYSTEM_POOL = "system"
CloudKind = Literal["GkeNetwork", "GkeCluster", "GpuNodePool"]


@dataclass(frozen=True)
class CloudResource:
    """One resource of Google Cloud: its inputs under their wire names (plain values, no references: every
    name is made before), and how it is registered.

    `after` holds the keys of resources that must stand first. `ignore` holds property paths that GKE fills
    in and nobody asked for. `delete_first` ends the old one before its replacement is made. `deleted_with` is
    the key of a resource whose end ends this one too. `timeout` is in seconds (None: the provider's own).
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
        """Identity in the whole stack: one Pulumi name may stand for resources of several types."""
        return f"{self.token} {self.name}"


@dataclass(frozen=True)
class CloudComponent:
    """One Pulumi component and the resources registered under it, in order."""

    kind: CloudKind
    name: str
    resources: tuple[CloudResource, ...]


@dataclass(frozen=True)
class CloudCluster:
    """One GKE cluster: what exists of it in the cloud, and how it is told from any other.

    `pools` maps names of pools in the document to those in the cloud, `<pool>-<hash>`, which is also the
    value of our pool label on their nodes. `block` holds all addresses the stack gives it; None where it
    stands in somebody else's network.
    """

    cluster: str
    project: str
    region: str
    cloud_name: str
    endpoint: Literal["DNS", "IP"]
    components: tuple[CloudComponent, ...]
    pools: Mapping[str, str]
    block: str | None = None

    @property
    def key(self) -> str:
        """The key of the Cluster resource."""
        return f"{CLUSTER} {self.cluster}"

    def pool_key(self, pool: str) -> str:
        """The key of the NodePool resource of a pool of the document, or of the system pool."""
        return f"{NODE_POOL} {self.cluster}/{pool}"
