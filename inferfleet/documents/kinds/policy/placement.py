"""Where replicas of a deployment should be: how they spread, and which clusters and pools come first."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.documents.kinds.base import LabelSelector, Model, PoolName
from inferfleet.documents.kinds.node_pool import CapacityModel
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import mistaken

# Nodes that stay until somebody takes them away. Spot nodes are reclaimed at any time, and nodes of the
# Dynamic Workload Scheduler end after seven days at the latest
# (https://cloud.google.com/kubernetes-engine/docs/concepts/dws).
STEADY: frozenset[CapacityModel] = frozenset({"OnDemand", "Reservation"})
UNASKED: tuple[CapacityModel, ...] = ("OnDemand", "FlexStart", "Queued", "Reservation")
_OVER = Written(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    "cluster, region, zone or the key of a cluster label, such as example.com/site",
    317,
)


class Spread(Model):
    """How evenly replicas are spread, as topologySpreadConstraints of Kubernetes spread pods."""

    over: Annotated[str, _OVER] = "cluster"
    """`cluster`, `region`, `zone` or the key of a label of clusters (Kubernetes: topologyKey). The region of
    a cluster that exists is its label `topology.kubernetes.io/region`, the zone of its pools that of their
    `nodeSelector` or its own, under `topology.kubernetes.io/zone`.
    """
    mode: Literal["Require", "Prefer"] = "Prefer"
    """`Require` leaves a replica unplaced that would make the skew larger than `maxSkew` (Kubernetes:
    DoNotSchedule). `Prefer` places it where the skew is least (ScheduleAnyway).
    """
    max_skew: int = Field(default=1, ge=1, le=10_000)
    """How many more replicas one cluster, region, zone or label value may have than the one with the
    fewest.
    """


class Preference(Model):
    """A preferred part of the fleet: pools that match all of what is written here."""

    cluster_selector: LabelSelector | None = None
    """Clusters of these pools, by the labels of their documents. Default: all clusters."""
    pools: Annotated[tuple[PoolName, ...], Field(max_length=64)] = ()
    """Names of the pools, whichever cluster they are of. Default: all pools."""
    capacity_models: Annotated[tuple[CapacityModel, ...], Field(max_length=5)] = ()
    """Capacity models of the pools (`capacity.model`). Default: all that the deployment runs on."""

    @model_validator(mode="after")
    def _says_something(self) -> "Preference":
        if not (self.cluster_selector or self.pools or self.capacity_models):
            what = "a preference names nothing"
            raise mistaken(what, "Write clusterSelector, pools or capacityModels")
        return self
