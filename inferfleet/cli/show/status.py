"""A status as tables for people and as values for machines."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from inferfleet.cli.show.tables import print_table
from inferfleet.status.values import (
    DeploymentStatus,
    EndpointStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    PodStatus,
    Status,
)

_RESTORE = "Restore it with `pulumi up --refresh`, or take it into the documents"
DRIFT = f"drift: changed by hand, or not deployed yet. {_RESTORE}"
Row = Sequence[object]
Titled = tuple[str, Sequence[str], list[Row]]  # title, columns, rows


def show(status: Status) -> None:
    """Clusters, deployments with their pods, services, and what is missing."""
    for number, (title, columns, rows) in enumerate(tables(status)):
        if number:
            print()
        print_table(title, columns, rows)


def tables(status: Status) -> Iterator[Titled]:
    """What there is none of is left out."""
    yield (
        f"stack {status.stack}: {'ready' if status.phase == Phase.READY else 'not ready'}",
        ("cluster", "phase", "gateway", "address", "what"),
        [
            (
                one.name,
                one.phase,
                one.gateway.phase if one.gateway else None,
                one.address,
                one.silent or _gateway(one.gateway),
            )
            for one in status.clusters
        ],
    )
    if status.deployments:
        rows = [row for one in status.deployments for row in _deployment(one)]
        yield "deployments", ("deployment", "phase", "pods", "time", "what"), rows
    if status.services:
        services: list[Row] = []
        for service in status.services:
            services.append((service.name, service.phase, None))
            services += [
                (f"  {one.cluster} {one.object}", one.phase, one.message or None) for one in service.routes
            ]
        yield "services", ("service", "phase", "what"), services
    missing: list[Row] = [(one.name, name) for one in status.clusters for name in one.missing]
    if missing:
        yield "missing: desired, and not on the cluster", ("cluster", "object"), missing
    if status.drift:
        yield (
            DRIFT,
            ("object", "field", "is", "documents say"),
            [(one.thing, one.field, one.found, one.wanted) for one in status.drift],
        )


def as_values(status: Status) -> dict[str, Any]:
    """Field names as JSON spells them; the phase of a whole stands beside its parts."""
    return {
        "stack": status.stack,
        "phase": status.phase,
        "ready": status.phase == Phase.READY,
        "clusters": [{**_camel(asdict(one)), "phase": one.phase} for one in status.clusters],
        "deployments": [{**_camel(asdict(one)), "phase": one.phase} for one in status.deployments],
        "services": [{**_camel(asdict(one)), "phase": one.phase} for one in status.services],
        "drift": [{**asdict(one), "what": str(one), "nextStep": _RESTORE} for one in status.drift],
    }


def _deployment(one: DeploymentStatus) -> Iterator[Row]:
    ready, wanted = sum(of.ready for of in one.placements), sum(of.wanted for of in one.placements)
    lacks = f"{one.unplaced} without a place: inferfleet explain {one.name}" if one.unplaced else None
    yield one.name, one.phase, f"{ready}/{wanted}", None, lacks
    for placement in one.placements:
        yield from _placement(placement)
    for endpoint in one.endpoints:
        yield from _endpoint(endpoint)


def _placement(one: PlacementStatus) -> Iterator[Row]:
    yield f"  {one.cluster} {one.pools}", one.phase, f"{one.ready}/{one.wanted}", None, one.message or None
    yield from map(_pod, one.pods)


def _endpoint(one: EndpointStatus) -> Iterator[Row]:
    for part in one.parts:
        # A picker's own words stand at its pods.
        told = None if part is one.picker and one.picker_pods else part.message or None
        yield f"  {part.cluster} {part.object}", part.phase, None, None, told
        if part is one.picker:
            yield from map(_pod, one.picker_pods)


def _pod(one: PodStatus) -> Row:
    restarts = f"restarted {one.restarts} times" if one.restarts else ""
    what = "; ".join(part for part in (one.message, restarts) if part)
    return f"    {one.name}", one.phase, None, _time(one), what or None


def _time(one: PodStatus) -> str | None:
    if one.seconds is None:
        return None
    return _short(one.seconds) + (f" of {_short(one.budget)}" if one.budget else "")


def _short(seconds: int) -> str:
    """`38s`, `12m05s`, `3h20m`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _gateway(one: PartStatus | None) -> str | None:
    return f"{one.object}: {one.message}" if one and one.message else None


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_name(key): _camel(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_camel(one) for one in value]
    return value


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
