"""What `inferfleet status` shows, as values: phases of pods, placements, pickers, pools, routes, gateways."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inferfleet.cloud.values import Drift


class Phase(StrEnum):
    """The phase of a pod or of an object, from worst to best. A whole has the phase of its worst part."""

    FAILED = "Failed"
    MISSING = "Missing"  # desired, but not on the cluster
    UNKNOWN = "Unknown"  # the cluster was not asked, or did not answer
    PENDING = "Pending"  # waits for a scheduler or a controller
    NOT_READY = "NotReady"  # has started, but does not serve
    STARTING = "Starting"
    LEAVING = "Leaving"  # is being deleted
    READY = "Ready"


def worst(phases: Iterable[Phase]) -> Phase:
    """Return the worst of the phases, Ready when there are none."""
    order = list(Phase)
    return min(phases, key=order.index, default=Phase.READY)


@dataclass(frozen=True)
class PodStatus:
    """One pod. `seconds` counts its time in this phase, `budget` what it may take, where there is a limit.

    `adapters` says what became of each of its adapters, in the words of the engine or the hub.
    """

    name: str
    phase: Phase
    message: str = ""
    seconds: int | None = None
    budget: int | None = None
    node: str | None = None
    restarts: int = 0
    adapters: str = ""


@dataclass(frozen=True)
class GroupStatus:
    """One group of pods that are one engine. `pod` holds it up, and `message` says why; both may be "".

    `wanted` and `ready` count pods.
    """

    number: int
    phase: Phase
    ready: int
    wanted: int
    pod: str = ""
    message: str = ""


@dataclass(frozen=True)
class PartStatus:
    """One object that requests pass through; `object` is its `Kind namespace/name`."""

    cluster: str
    object: str
    phase: Phase
    message: str = ""


@dataclass(frozen=True)
class PluginStatus:
    """The plugins that a workload was made with, and those of the documents where they `differ`.

    Each names plugin, version and a fingerprint of its config.
    """

    workload: str
    made_with: tuple[str, ...]
    wanted: tuple[str, ...]
    differ: bool


@dataclass(frozen=True)
class PlacementStatus:
    """Alike replicas on one cluster. `wanted` and `ready` count pods.

    `plugins` has the workloads that were made with plugins, or are to be. `groups` are those of workers of
    many pods, by name of their workload.
    """

    cluster: str
    pools: str
    phase: Phase
    wanted: int
    ready: int
    message: str = ""
    pods: tuple[PodStatus, ...] = ()
    plugins: tuple[PluginStatus, ...] = ()
    groups: Mapping[str, tuple[GroupStatus, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class EndpointStatus:
    """One deployment on one cluster. `route` is None for deployments whose route is not enabled."""

    cluster: str
    picker: PartStatus
    pool: PartStatus
    route: PartStatus | None
    picker_pods: tuple[PodStatus, ...] = ()

    @property
    def parts(self) -> tuple[PartStatus, ...]:
        """Return the objects that requests pass through."""
        return (self.picker, self.pool, *((self.route,) if self.route else ()))


@dataclass(frozen=True)
class DeploymentStatus:
    """One deployment on all its clusters. `unplaced` counts replicas that have no place in the plan.

    Of one that is `paused`, or on a cluster that is, what has another name than documents say is left out.
    """

    name: str
    placements: tuple[PlacementStatus, ...]
    endpoints: tuple[EndpointStatus, ...]
    unplaced: int = 0
    paused: bool = False

    @property
    def phase(self) -> Phase:
        parts = [part.phase for endpoint in self.endpoints for part in endpoint.parts]
        unplaced = [Phase.PENDING] if self.unplaced else []
        return worst([*(placement.phase for placement in self.placements), *parts, *unplaced])


@dataclass(frozen=True)
class ServiceStatus:
    """One service, with its route on every cluster."""

    name: str
    routes: tuple[PartStatus, ...]

    @property
    def phase(self) -> Phase:
        return worst(route.phase for route in self.routes)


@dataclass(frozen=True)
class FrontDoorStatus:
    """An InferenceGateway on one of its clusters. `parts` are its Gateway, routes, policies and router."""

    name: str
    cluster: str
    address: str | None
    parts: tuple[PartStatus, ...]

    @property
    def phase(self) -> Phase:
        return worst(part.phase for part in self.parts)


@dataclass(frozen=True)
class CacheStatus:
    """The weights of a ModelCache on one cluster: `Ready` once all are there, `Starting` while they are
    fetched, and `Failed` while something keeps them away, until a next try.
    """

    name: str
    cluster: str
    phase: Phase
    message: str = ""


@dataclass(frozen=True)
class ClusterStatus:
    """One cluster. `missing` are objects that it lacks; `gateway` is None where nothing is known of it."""

    name: str
    gateway: PartStatus | None = None
    address: str | None = None
    missing: tuple[str, ...] = ()
    silent: str = ""  # why nothing is known of the cluster
    paused: bool = False

    @property
    def phase(self) -> Phase:
        if self.silent:
            return Phase.UNKNOWN
        return worst(
            [*([Phase.MISSING] if self.missing else []), *([self.gateway.phase] if self.gateway else [])]
        )


@dataclass(frozen=True)
class Status:
    """The whole stack at one moment. What drifted still serves, and weights serve nobody by themselves, so
    neither changes the phase.
    """

    stack: str
    clusters: tuple[ClusterStatus, ...]
    deployments: tuple[DeploymentStatus, ...]
    services: tuple[ServiceStatus, ...]
    drift: tuple[Drift, ...] = ()
    caches: tuple[CacheStatus, ...] = ()
    front_doors: tuple[FrontDoorStatus, ...] = ()

    @property
    def phase(self) -> Phase:
        parts: tuple[ClusterStatus | DeploymentStatus | ServiceStatus | FrontDoorStatus, ...]
        parts = (*self.clusters, *self.deployments, *self.services, *self.front_doors)
        return worst(part.phase for part in parts)
