"""The values a plan is made of: placements, endpoints, service routes, what found no place and why."""

from dataclasses import dataclass, field

from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot as Spot


@dataclass(frozen=True, order=True)
class Placement:
    """`replicas` alike replicas of a deployment on one spot."""

    spot: Spot
    replicas: int


@dataclass(frozen=True)
class Endpoint:
    """Where a deployment can be reached on one cluster; `labels` are what services select by."""

    deployment: str
    cluster: str
    replicas: int
    labels: dict[str, str]


@dataclass(frozen=True)
class Backend:
    """A share of a service's traffic: integer weight, only meaningful against its siblings."""

    deployment: str
    weight: int


@dataclass(frozen=True)
class ServiceRoute:
    """A service on one cluster that has at least one of its endpoints."""

    service: str  # namespace/name
    cluster: str
    backends: tuple[Backend, ...]


@dataclass(frozen=True, order=True)
class Reason:
    """Why replicas do not go to a cluster, or to one pool of it ("" speaks of the whole cluster)."""

    cluster: str
    pool: str
    why: str


@dataclass(frozen=True)
class Unplaced:
    """So many replicas found no place, and what every cluster and pool had against them."""

    deployment: str
    replicas: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, order=True)
class Change:
    """A spot whose number of replicas differs from the lock's (0 means: not there)."""

    spot: Spot
    before: int
    after: int


@dataclass(frozen=True)
class Leaving:
    """A workload that still stands on a cluster, with our stack's label, and is no longer desired."""

    cluster: str
    namespace: str
    name: str
    pool: str
    pods: int
    gpus_per_pod: int


@dataclass(frozen=True)
class Plan:
    """Everything the planner decided. Sorted, so that equal inputs give equal plans.

    `problems` are of all severities, and say their fields without lines: `Documents.located` knows those.
    """

    placements: tuple[Placement, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    services: tuple[ServiceRoute, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    changes: tuple[Change, ...] = ()
    reasons: dict[str, tuple[Reason, ...]] = field(default_factory=dict)  # deployment -> why not elsewhere
    problems: tuple[Problem, ...] = ()
    lock: Lock = field(default_factory=Lock)
