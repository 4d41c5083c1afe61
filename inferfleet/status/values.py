"""What `inferfleet status` tells, as values: phases of pods, placements, pickers, pools, routes, gateways."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from inferfleet.gke.drift import Drift


class Phase(StrEnum):
    """From worst to best; a whole is as its worst part."""

    FAILED = "Failed"
    MISSING = "Missing"  # desired, and not on the cluster
    UNKNOWN = "Unknown"  # the cluster was not asked, or did not answer
    PENDING = "Pending"  # waits for somebody: a scheduler, a controller
    NOT_READY = "NotReady"  # has started, and does not serve
    STARTING = "Starting"
    LEAVING = "Leaving"  # is being deleted
    READY = "Ready"


def worst(phases: Iterable[Phase]) -> Phase:
    """Ready when there are none."""
    order = list(Phase)
    return min(phases, key=order.index, default=Phase.READY)


@dataclass(frozen=True)
class PodStatus:
    """`seconds` in this phase so far, and the `budget` it has, where there is one."""

    name: str
    phase: Phase
    message: str = ""
    seconds: int | None = None
    budget: int | None = None
    node: str | None = None
    restarts: int = 0


@dataclass(frozen=True)
class PartStatus:
    """One object that traffic passes through, `Kind namespace/name`."""

    cluster: str
    object: str
    phase: Phase
    message: str = ""


@dataclass(frozen=True)
class PlacementStatus:
    """`wanted` and `ready` count pods."""

    cluster: str
    pools: str
    phase: Phase
    wanted: int
    ready: int
    message: str = ""
    pods: tuple[PodStatus, ...] = ()


@dataclass(frozen=True)
class EndpointStatus:
    """`route` is None for deployments whose route is not enabled."""

    cluster: str
    picker: PartStatus
    pool: PartStatus
    route: PartStatus | None
    picker_pods: tuple[PodStatus, ...] = ()

    @property
    def parts(self) -> tuple[PartStatus, ...]:
        return (self.picker, self.pool, *((self.route,) if self.route else ()))


@dataclass(frozen=True)
class DeploymentStatus:
    """`unplaced` replicas have no place in the plan."""

    name: str
    placements: tuple[PlacementStatus, ...]
    endpoints: tuple[EndpointStatus, ...]
    unplaced: int = 0

    @property
    def phase(self) -> Phase:
        parts = [part.phase for endpoint in self.endpoints for part in endpoint.parts]
        unplaced = [Phase.PENDING] if self.unplaced else []
        return worst([*(one.phase for one in self.placements), *parts, *unplaced])


@dataclass(frozen=True)
class ServiceStatus:
    """One route per cluster."""

    name: str
    routes: tuple[PartStatus, ...]

    @property
    def phase(self) -> Phase:
        return worst(one.phase for one in self.routes)


@dataclass(frozen=True)
class ClusterStatus:
    """`missing` are objects that should stand there. `gateway` is None where nothing is known of it."""

    name: str
    gateway: PartStatus | None = None
    address: str | None = None
    missing: tuple[str, ...] = ()
    silent: str = ""  # why nothing is known of the cluster

    @property
    def phase(self) -> Phase:
        if self.silent:
            return Phase.UNKNOWN
        return worst(
            [*([Phase.MISSING] if self.missing else []), *([self.gateway.phase] if self.gateway else [])]
        )


@dataclass(frozen=True)
class Status:
    """The whole stack at one moment. What drifted still serves, so it is no part of the phase."""

    stack: str
    clusters: tuple[ClusterStatus, ...]
    deployments: tuple[DeploymentStatus, ...]
    services: tuple[ServiceStatus, ...]
    drift: tuple[Drift, ...] = ()

    @property
    def phase(self) -> Phase:
        parts: tuple[ClusterStatus | DeploymentStatus | ServiceStatus, ...]
        parts = (*self.clusters, *self.deployments, *self.services)
        return worst(one.phase for one in parts)
