"""The values a plan is made of: placements, endpoints, service routes, and replicas without a place."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import Demands, Pod
from inferfleet.fleet.spot import Spot as Spot


@dataclass(frozen=True, order=True)
class Placement:
    """How many replicas of a deployment run on one spot. They are alike and not distinguished."""

    spot: Spot
    replicas: int


@dataclass(frozen=True)
class Endpoint:
    """Where a deployment can be reached on one cluster; services select endpoints by `labels`."""

    deployment: str
    cluster: str
    replicas: int
    labels: dict[str, str]


@dataclass(frozen=True)
class Backend:
    """A deployment's share of a service's traffic on one cluster, relative to the other backends there."""

    deployment: str
    weight: int


@dataclass(frozen=True)
class ServiceRoute:
    """A service on one cluster where at least one deployment that it selects has replicas."""

    service: str  # namespace/name
    cluster: str
    backends: tuple[Backend, ...]


@dataclass(frozen=True, order=True)
class Reason:
    """Why no further replicas go to a cluster, or to one of its pools; `pool` is "" for a whole cluster."""

    cluster: str
    pool: str
    why: str


@dataclass(frozen=True)
class Unplaced:
    """How many replicas of a deployment have no place, and why none of the clusters and pools takes them."""

    deployment: str
    replicas: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, order=True)
class Change:
    """A spot whose number of replicas differs from the lock's; 0 means that the spot has none."""

    spot: Spot
    before: int
    after: int


@dataclass(frozen=True)
class Leaving:
    """A workload that still runs on a cluster, has this stack's label, and is no longer desired.

    `requests` are those of each pod where it has no accelerators; of others the accelerators alone are known.
    """

    cluster: str
    namespace: str
    name: str
    pool: str
    pods: int
    gpus_per_pod: int
    requests: Pod | None = None


@dataclass(frozen=True)
class Plan:
    """Everything the planner decided, sorted, so that equal inputs give equal plans.

    `demands` are what it counted with. `reasons` say for each deployment why its replicas do not run on the
    other clusters and pools. `problems` have all severities and name fields without lines:
    `Documents.located` adds these.
    """

    placements: tuple[Placement, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    services: tuple[ServiceRoute, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    changes: tuple[Change, ...] = ()
    reasons: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    lock: Lock = field(default_factory=Lock)
    demands: Demands = field(default_factory=Demands)
