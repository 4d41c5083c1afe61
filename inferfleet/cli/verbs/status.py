"""`inferfleet status`: does everything serve that should, and if not, why?"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.tables import print_table, table
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    google,
    source_of_options,
)
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import read_files
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.status.read import LiveCluster, read, read_cloud
from inferfleet.clusters.status.status import status as status_of
from inferfleet.clusters.status.values import (
    ClusterStatus,
    DeploymentStatus,
    EndpointStatus,
    FrontDoorStatus,
    GroupStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    PluginStatus,
    PodStatus,
    ServiceStatus,
    Status,
)
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import one_line

# Seconds: a cluster that does not answer must not delay the answers of the others for long.
SECONDS = 10.0
# Seconds between two looks with --watch: often enough to show progress, and no load for an API server.
PAUSE = 2.0
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again every 2 s, until Ctrl-C.")]
_RESTORE = "Restore it with `pulumi up --refresh`, or take it into the documents"
DRIFT = f"drift: changed by hand, or not deployed yet. {_RESTORE}"
# Without --refresh nothing is written where the update that wrote this was cancelled: the state has what was
# there before, and a document that went back to it changes nothing.
_DEPLOY = "`pulumi up --refresh` writes it"
UNDEPLOYED = f"not deployed yet: an update wrote what is there, and documents say something else. {_DEPLOY}"
_PAUSED = "paused: nothing of it changes"
Row = Sequence[object]
Titled = tuple[str, Sequence[str], list[Row]]  # title, columns, rows


def status(
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Show what serves and what does not, and why: the phase of deployments, pods, pickers, pools, routes and
    gateways, read from the clusters, and what somebody changed by hand.
    """
    with reporting(as_json=as_json) as report:
        if watch and as_json:
            why = "--watch is for people; for machines call --json repeatedly"
            raise typer.BadParameter(why, param_hint="--watch")
        source = source_of_options(folder, stack, fleet, lock_file, kubeconfig=kubeconfig)
        report.documents = source.documents
        desired = source.desired()
        trusted = source.documents.settings.trust_repository_kubeconfigs
        repository = Repository(source.root, trusted)
        current = _watch(desired, repository) if watch else look(desired, repository)
        report.values |= as_values(current)
        if not as_json:
            show(current)
        if current.phase != Phase.READY:
            report.code = ExitCode.NOT_READY


def look(desired: Desired, repository: Repository) -> Status:
    """Return the status of the stack now. Clusters that do not answer are part of it."""
    connections = [cluster.connection for cluster in desired.clusters]
    kubeconfigs = read_files(connections, repository)
    seen: dict[str, LiveCluster | Problem] = dict(kubeconfigs.problems)
    until = time.monotonic() + SECONDS
    cloud = Questions({"cloud": partial(read_cloud, desired, google=google(), seconds=SECONDS)})
    seen |= read(desired, kubeconfigs.texts, container_api=google().container, seconds=SECONDS)
    in_cloud = cloud.answers(until=until).get("cloud", {})
    return status_of(desired, seen, datetime.now(UTC), in_cloud=in_cloud)


def _watch(desired: Desired, repository: Repository) -> Status:
    """Redraw until Ctrl-C; the last status is what the command ends with."""
    current = look(desired, repository)
    try:
        with Live(_drawn(current), console=Console(), auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(PAUSE)
                current = look(desired, repository)
                live.update(_drawn(current), refresh=True)
    except KeyboardInterrupt:
        return current


def _drawn(status: Status) -> RenderableType:
    parts: list[RenderableType] = []
    for title, columns, rows in tables(status):
        parts += [Text(one_line(title), style="bold"), table(columns, rows), Text("")]
    return Group(*parts)


def show(status: Status) -> None:
    """Print clusters, deployments with their pods, services, missing objects and drift."""
    for number, (title, columns, rows) in enumerate(tables(status)):
        if number:
            print_line()
        print_table(title, columns, rows)


def tables(status: Status) -> Iterator[Titled]:
    """Yield title, columns and rows of each table: clusters always, the others where they have rows."""
    yield (
        f"stack {status.stack}: {'ready' if status.phase == Phase.READY else 'not ready'}",
        ("cluster", "phase", "gateway", "address", "what"),
        [
            (
                cluster.name,
                cluster.phase,
                cluster.gateway.phase if cluster.gateway else None,
                cluster.address,
                cluster.silent or (_PAUSED if cluster.paused else _gateway(cluster.gateway)),
            )
            for cluster in status.clusters
        ],
    )
    if status.deployments:
        rows = [row for deployment in status.deployments for row in _deployment(deployment)]
        yield "deployments", ("deployment", "phase", "pods", "time", "what"), rows
    if status.caches:
        caches: list[Row] = [
            (f"{cache.name} on {cache.cluster}", cache.phase, cache.message or None)
            for cache in status.caches
        ]
        yield "weights", ("cache", "phase", "what"), caches
    if status.services:
        services: list[Row] = []
        for service in status.services:
            services.append((service.name, service.phase, None))
            services += [
                (f"  {route.cluster} {route.object}", route.phase, route.message or None)
                for route in service.routes
            ]
        yield "services", ("service", "phase", "what"), services
    if status.front_doors:
        doors: list[Row] = []
        for door in status.front_doors:
            doors.append((f"{door.name} on {door.cluster}", door.phase, door.address, None))
            doors += [
                (f"  {part.object}", part.phase, None, part.message or None)
                for part in door.parts
                if part.phase != Phase.READY
            ]
        yield "InferenceGateways", ("gateway", "phase", "address", "what"), doors
    missing: list[Row] = [(cluster.name, name) for cluster in status.clusters for name in cluster.missing]
    if missing:
        yield "missing: desired, but not on the cluster", ("cluster", "object"), missing
    for title, undeployed in ((UNDEPLOYED, True), (DRIFT, False)):
        fields: list[Row] = [
            (drift.thing, drift.field, drift.found, drift.wanted)
            for drift in status.drift
            if drift.undeployed == undeployed
        ]
        if fields:
            yield title, ("object", "field", "is", "documents say"), fields


def as_values(status: Status) -> dict[str, Any]:
    """Return the status as values for JSON, with the phase of each whole beside its parts."""
    return {
        "stack": status.stack,
        "phase": status.phase,
        "ready": status.phase == Phase.READY,
        "clusters": _wholes(status.clusters),
        "deployments": _wholes(status.deployments),
        "services": _wholes(status.services),
        "frontDoors": _wholes(status.front_doors),
        "caches": [asdict(cache) for cache in status.caches],
        "drift": [
            {**asdict(drift), "what": str(drift), "nextStep": _DEPLOY if drift.undeployed else _RESTORE}
            for drift in status.drift
        ],
    }


def _wholes(
    wholes: Sequence[ClusterStatus | DeploymentStatus | ServiceStatus | FrontDoorStatus],
) -> list[dict[str, Any]]:
    return [{**_camel(asdict(whole)), "phase": whole.phase} for whole in wholes]


def _deployment(deployment: DeploymentStatus) -> Iterator[Row]:
    ready = sum(placement.ready for placement in deployment.placements)
    wanted = sum(placement.wanted for placement in deployment.placements)
    explain = f"{deployment.unplaced} without a place: inferfleet explain {deployment.name}"
    what = _PAUSED if deployment.paused else explain if deployment.unplaced else None
    yield deployment.name, deployment.phase, f"{ready}/{wanted}", None, what
    for placement in deployment.placements:
        yield from _placement(placement)
    for endpoint in deployment.endpoints:
        yield from _endpoint(endpoint)


def _placement(placement: PlacementStatus) -> Iterator[Row]:
    title, pods = f"  {placement.cluster} {placement.pools}", f"{placement.ready}/{placement.wanted}"
    yield title, placement.phase, pods, None, placement.message or None
    for workload, groups in sorted(placement.groups.items()):
        yield from (_group(workload, group) for group in groups)
    yield from map(_pod, placement.pods)
    yield from map(_plugins, placement.plugins)


def _endpoint(endpoint: EndpointStatus) -> Iterator[Row]:
    for part in endpoint.parts:
        # The message of a picker may be that of one of its pods, which have rows of their own.
        of_pod = part is endpoint.picker and any(pod.message == part.message for pod in endpoint.picker_pods)
        what = None if of_pod else part.message or None
        yield f"  {part.cluster} {part.object}", part.phase, None, None, what
        if part is endpoint.picker:
            yield from map(_pod, endpoint.picker_pods)


def _group(workload: str, group: GroupStatus) -> Row:
    what = f"waits for {group.pod}" if group.pod else ""
    what = ": ".join(part for part in (what, group.message) if part)
    title = f"    group {group.number} of {workload}"
    return title, group.phase, f"{group.ready}/{group.wanted}", None, what or None


def _pod(pod: PodStatus) -> Row:
    times = "once" if pod.restarts == 1 else f"{pod.restarts} times"
    restarts = f"restarted {times}" if pod.restarts else ""
    adapters = f"adapters: {pod.adapters}" if pod.adapters else ""
    what = "; ".join(part for part in (pod.message, restarts, adapters) if part)
    return f"    {pod.name}", pod.phase, None, _time(pod), what or None


def _plugins(plugins: PluginStatus) -> Row:
    what = f"plugins: {', '.join(plugins.made_with) or 'none'}"
    if plugins.differ:
        what += f"; documents say: {', '.join(plugins.wanted) or 'none'}"
    return f"    {plugins.workload}", None, None, None, what


def _time(pod: PodStatus) -> str | None:
    if pod.seconds is None:
        return None
    return _short(pod.seconds) + (f" of {_short(pod.budget)}" if pod.budget else "")


def _short(seconds: int) -> str:
    """Return a duration as `38s`, `12m05s` or `3h20m`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _gateway(gateway: PartStatus | None) -> str | None:
    return f"{gateway.object}: {gateway.message}" if gateway and gateway.message else None


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_name(key): _camel(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_camel(item) for item in value]
    return value


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
