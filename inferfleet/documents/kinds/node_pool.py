"""A node pool of an InferenceCluster: nodes of one class, their number, and how they are bought."""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    DAY,
    WRITTEN_DURATION,
    Labels,
    Model,
    PoolName,
    Taint,
    WantedLabels,
    seconds,
)
from inferfleet.documents.kinds.gke.upgrades import UpgradeSettings
from inferfleet.documents.kinds.gke_cluster import PROJECT, ZONE, zone_mistakes
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import Mistake, mistaken

CapacityModel = Literal["OnDemand", "Spot", "FlexStart", "Queued", "Reservation"]
# https://cloud.google.com/kubernetes-engine/docs/concepts/dws: at most seven days without interruption.
LONGEST_RUN = 7 * DAY
# Written 30m or 168h; held in seconds.
Run = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="10m", longest="168h")),
    Field(ge=600, le=LONGEST_RUN),
    WRITTEN_DURATION,
]


class Reservation(Model):
    """A reservation of machines at Google Cloud."""

    name: Annotated[str, Written("[a-z]([-a-z0-9]*[a-z0-9])?", "the name of a reservation", 63)]
    """Name of the reservation."""
    project: Annotated[str, PROJECT] | None = None
    """Project that owns a shared reservation. Default: the cluster's project."""
    block: Annotated[str, Written("[-a-z0-9]+", "the name of a reservation block", 63)] | None = None
    """Block of the reservation to use. Default: any."""
    sub_block: Annotated[str, Written("[-a-z0-9]+", "the name of a reservation sub-block", 63)] | None = None
    """Sub-block of the block to use. Default: any."""

    @model_validator(mode="after")
    def _of_a_block(self) -> "Reservation":
        if self.sub_block and self.block is None:
            raise mistaken(f"sub-block {self.sub_block} is of a block, and none is named", "Add block")
        return self


class Capacity(Model):
    """How the nodes of a pool are bought."""

    # Which fields go together is checked by gke/recipes/capacity.py, with all other rules of a pool at once.
    model: CapacityModel = "OnDemand"
    """`OnDemand`, `Spot`, `FlexStart` (nodes come when there is room), `Queued` (nodes come all at once, for
    a ProvisioningRequest) or `Reservation`. Not every machine type is offered in all of them.
    """
    reservation: Reservation | None = None
    """The reservation to take nodes from, for model `Reservation`. Default: any that fits."""
    max_run_duration: Run | None = None
    """How long a node of model `FlexStart` or `Queued` may run, from `10m` to `168h`. Default: Google's own
    limit.
    """
    host_maintenance: Literal["Periodic", "AsNeeded"] | None = None
    """How Google maintains the hosts of the nodes, which has to be as the reservation has it. Default: as
    Google decides for the machine type.
    """


class NodePool(Model):
    """Nodes of one class. Sizes count the whole pool, over all zones; one of `nodeCount` and `maxNodeCount`
    is required.
    """

    name: PoolName
    """Name of the pool within its cluster. On GKE the node pool's name begins with it."""
    class_name: str = Field(min_length=1)
    """Name of the InferenceClass of the nodes. On GKE it must have a recipe (`provisioning.gke`)."""
    node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Number of nodes of a pool of fixed size. On GKE it must divide evenly over the pool's zones."""
    min_node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Nodes that the autoscaler keeps, once it has started them. Default: 0."""
    max_node_count: int | None = Field(default=None, ge=0, le=15_000)
    """Most nodes of an autoscaled pool; the plan counts on all of them."""
    node_selector: WantedLabels | None = None
    """Labels by which nodes of an existing cluster belong to the pool; refused on GKE. Default:
    `inferfleet.dev/pool: <pool>`.
    """
    taints: tuple[Taint, ...] = ()
    """Taints of the nodes, which pods placed there tolerate. GKE puts them on the nodes; nodes of an existing
    cluster must have them already; default: none.
    """
    labels: Labels = {}
    """Kubernetes labels that GKE puts on the nodes; refused on existing clusters. Default: none beside the
    pool's name.
    """
    zones: Annotated[tuple[Annotated[str, ZONE], ...], Field(max_length=8)] = ()
    """Zones of the nodes, in the cluster's region; refused on existing clusters. Default: the cluster's
    zones, or else those that GKE picks.
    """
    capacity: Capacity = Capacity()
    """How the nodes are bought on GKE; refused on existing clusters. Default: on demand."""
    upgrade_settings: UpgradeSettings | None = None
    """In which steps GKE replaces nodes when it upgrades them; refused on existing clusters, and for models
    `FlexStart` and `Queued`, for which GKE has a strategy of its own. Default: one node at a time, which is
    missing meanwhile.
    """

    @model_validator(mode="after")
    def _one_size(self) -> "NodePool":
        if (self.node_count is None) == (self.max_node_count is None):
            raise mistaken("a pool has either nodeCount (fixed) or maxNodeCount (autoscaled)", "Write one")
        if self.min_node_count is None:
            return self
        if self.max_node_count is None:
            raise mistaken(
                "minNodeCount is for autoscaled pools, this one has nodeCount", "Remove minNodeCount"
            )
        if self.min_node_count > self.max_node_count:
            what = f"minNodeCount {self.min_node_count} is above maxNodeCount {self.max_node_count}"
            raise mistaken(what, "Lower it or raise maxNodeCount")
        return self

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels of its nodes that the document says, by which deployments select pools."""
        return self.labels if self.node_selector is None else self.node_selector

    @property
    def size(self) -> int:
        """Largest number of nodes the pool can have."""
        return self.node_count if self.node_count is not None else self.max_node_count or 0

    @property
    def autoscaled(self) -> bool:
        """True when nodes may have to be started before a pod can run."""
        return self.max_node_count is not None and (self.min_node_count or 0) < self.max_node_count

    def not_on_existing(self, place: int) -> list[Mistake]:
        """Return mistakes: fields that only a pool which the stack creates can have."""
        return [
            Mistake(
                f"{field} is for pools that inferfleet creates, and this cluster exists already",
                f"Remove {field}",
                ("nodePools", place, field),
            )
            for name, field in (
                ("labels", "labels"),
                ("zones", "zones"),
                ("capacity", "capacity"),
                ("upgrade_settings", "upgradeSettings"),
            )
            if name in self.model_fields_set
        ]

    def not_on_gke(self, place: int, region: str) -> list[Mistake]:
        """Return mistakes: fields that only an existing pool can have, and zones of other regions."""
        mistakes = zone_mistakes(self.zones, region, ("nodePools", place, "zones"))
        if self.node_selector is not None:
            what = (
                "nodeSelector is for nodes that exist; inferfleet labels the nodes of pools that it creates"
            )
            mistakes.append(Mistake(what, "Remove nodeSelector", ("nodePools", place, "nodeSelector")))
        return mistakes
