"""What a change of one field of a document may do in the cloud: a row of the table of changes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

DocumentKind = Literal["InferenceClass", "InferenceCluster"]
RECIPE = "spec.provisioning.gke."
POOL = "spec.nodePools[]."
GKE = "spec.cluster.gke."


class Effect(StrEnum):
    """What happens in the cloud, from the least to the most severe."""

    NOTHING = "nothing in the cloud"
    CREATES = "creates a pool"
    IN_PLACE = "in place"
    ZONES = "in place, GKE deletes the nodes of removed zones"
    NODES = "in place, GKE replaces the nodes"
    DELETES = "deletes the pool"
    ANOTHER = "creates another pool, deletes this one"
    REPLACES = "replaces the pool"
    REFUSED = "refused"


@dataclass(frozen=True)
class Row:
    """One field of a document, and what its change does.

    `wire` holds the paths that it decides, without places in lists, after the resource they are of:
    "Cluster.location", "NodePool.nodeConfig.spot", "SystemPool.nodeConfig.machineType".
    """

    kind: DocumentKind
    path: str
    effect: Effect
    why: str
    wire: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name that `replace.allow` and messages use: `accelerator.type`, `capacity.model`."""
        return self.path.removeprefix(RECIPE).removeprefix(POOL).removeprefix(GKE).removeprefix("spec.")
