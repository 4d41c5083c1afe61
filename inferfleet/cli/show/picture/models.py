"""Models with where they run and why, and services with how they split requests."""

from inferfleet.cli.show.picture.markup import Html, element, joined
from inferfleet.cli.show.picture.parts import marks, phase, table
from inferfleet.review.picture import ModelPicture, Picture, PlacePicture, RoutePicture, ServicePicture

# Pods that are told one by one are those of so many models.
_UNFOLDED = 8


def models_section(picture: Picture) -> Html:
    """Return all models; many are folded."""
    few = len(picture.models) <= _UNFOLDED
    return joined(_model(model, few=few, live=picture.live) for model in picture.models)


def _model(model: ModelPicture, *, few: bool, live: bool) -> Html:
    columns = ("cluster", "pools", "replicas", "GPUs", "why here", *(("phase", "pods ready") if live else ()))
    return element(
        "details",
        element(
            "summary",
            element("h3", model.name),
            element("span", f"{model.placed} of {model.wanted} replicas placed", class_="held"),
            element("span", "unplaced", class_="tag") if model.missing else None,
            element("span", "changes", class_="tag") if model.changes else None,
            phase(model.phase),
        ),
        marks(model.changes),
        element("p", model.missing) if model.missing else None,
        table(f"Where {model.name} runs", columns, [_row(place, live=live) for place in model.places])
        if model.places
        else None,
        element("p", element("b", "Not on others: "), model.elsewhere) if model.elsewhere else None,
        open=few or bool(model.missing),
        class_="model",
        data_find=True,
    )


def _row(place: PlacePicture, *, live: bool) -> tuple[Html | str, ...]:
    row = (
        place.cluster,
        place.pools,
        place.replicas,
        "" if place.gpus is None else str(place.gpus),
        place.why,
    )
    if not live:
        return row
    pods = element(
        "ul",
        (
            element("li", " ".join(filter(None, (name, told, node and f"on {node}"))))
            for name, told, node in place.pods
        ),
    )
    told = joined(
        phase(place.phase), f" {place.message}" if place.message else None, pods if place.pods else None
    )
    return (*row, told, f"{place.ready} of {place.wanted}")


def services_section(picture: Picture) -> Html:
    """Return all routes with their weights."""
    if not picture.services:
        return element("p", "There are none.")
    live = picture.live
    columns = ("service", "cluster", "weights", *(("phase",) if live else ()))
    rows = [row for service in picture.services for row in _routes(service, live=live)]
    return table("How services split requests", columns, rows)


def _routes(service: ServicePicture, *, live: bool) -> list[tuple[Html | str | None, ...]]:
    name = joined(service.name, marks(service.changes))
    rows: list[tuple[Html | str | None, ...]] = [
        (
            name if not place else service.name,
            route.cluster,
            _weights(route),
            *((_told(route),) if live else ()),
        )
        for place, route in enumerate(service.routes)
    ]
    return rows or [
        (name, "", "no deployment that it selects has replicas", *((phase(service.phase),) if live else ()))
    ]


def _told(route: RoutePicture) -> Html:
    return joined(phase(route.phase), f" {route.message}" if route.message else None)


def _weights(route: RoutePicture) -> str:
    whole = sum(weight for _, weight in route.backends) or 1
    return ", ".join(f"{name} {weight} ({100 * weight / whole:.0f} %)" for name, weight in route.backends)
