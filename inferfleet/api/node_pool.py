"""A pool of an InferenceCluster: nodes of one class."""

from typing import Annotated

from pydantic import Field, model_validator

from inferfleet.api.capacity import Capacity
from inferfleet.api.document import Labels, Model, PoolName, Taint, WantedLabels
from inferfleet.api.gke_cluster import ZONE, zone_mistakes
from inferfleet.api.mistakes import Mistake, mistaken


class NodePool(Model):
    """Nodes of one class. `maxNodeCount` (of an autoscaled pool) or `nodeCount` counts the whole pool."""

    name: PoolName
    class_name: str = Field(min_length=1)
    node_count: int | None = Field(default=None, ge=0, le=15_000)
    min_node_count: int | None = Field(default=None, ge=0, le=15_000)
    max_node_count: int | None = Field(default=None, ge=0, le=15_000)
    node_selector: WantedLabels | None = None
    taints: tuple[Taint, ...] = ()
    labels: Labels = {}
    zones: Annotated[tuple[Annotated[str, ZONE], ...], Field(max_length=8)] = ()
    capacity: Capacity = Capacity()

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
    def size(self) -> int:
        """The most nodes the pool can have."""
        return self.node_count if self.node_count is not None else self.max_node_count or 0

    @property
    def autoscaled(self) -> bool:
        """True when nodes may have to be started before a pod can run."""
        return self.max_node_count is not None and (self.min_node_count or 0) < self.max_node_count

    def not_on_existing(self, place: int) -> list[Mistake]:
        """Mistakes: what only a pool that the stack creates can say."""
        return [
            Mistake(
                f"{field} says how a pool is created; the nodes of an existing cluster are there",
                f"Remove {field}",
                ("nodePools", place, field),
            )
            for field in ("labels", "zones", "capacity")
            if field in self.model_fields_set
        ]

    def not_on_gke(self, place: int, region: str) -> list[Mistake]:
        """Mistakes: what only a pool that exists can say, and zones of another region."""
        found = zone_mistakes(self.zones, region, ("nodePools", place, "zones"))
        if self.node_selector is not None:
            what = "nodeSelector finds nodes that exist; pods find those of a created pool by its own label"
            found.append(Mistake(what, "Remove nodeSelector", ("nodePools", place, "nodeSelector")))
        return found
