"""A picture as one HTML file that asks nobody for anything. Its style and script are the files beside.

All of it can be read without the script, which adds search, the choice of a theme and folding. Texts come
from documents, clusters and clouds: `element` escapes every one, and a content security policy lets nothing
act but this style and this script.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from inferfleet.documents.wording import one_line
from inferfleet.fleet.shapes import counted
from inferfleet.review.picture import (
    AlikeNodes,
    ClusterPicture,
    ModelPicture,
    Picture,
    PlacePicture,
    PoolPicture,
    RoutePicture,
    ServicePicture,
)

_HERE = Path(__file__).parent
# More clusters than these are folded, so that they fit onto a few screens.
_UNFOLDED_CLUSTERS = 8
# GPUs of a node that are drawn one by one.
_DRAWN = 64
# Patterns of cells that the style has, and those of models.
_PATTERNS = 4
_Patterns = Mapping[str, int]
_NOTE = (
    "Which node a pod gets is decided by the scheduler of its cluster: this is one way in which the pods of "
    "the plan fill the nodes. Nodes that are filled alike are drawn once."
)
# More models than these are folded.
_UNFOLDED_MODELS = 8
_NUMBERS = frozenset({"replicas", "GPUs", "nodes paid for", "GPUs held", "weight", "share", "pods ready"})
# https://html.spec.whatwg.org/multipage/syntax.html#void-elements, looked up on 2026-11-24.
_VOID = frozenset({"input", "meta"})


class Html(str):
    """Text that is HTML. Other texts become it by `element` and `joined` alone, which escape them."""

    __slots__ = ()


Child = Html | str | int | None | Iterable["Html | str | int | None"]


def page(picture: Picture) -> str:
    """Return the whole file. Equal pictures give equal files."""
    style, script = (
        (_HERE / name).read_text(encoding="utf-8") for name in ("report_page.css", "report_page.js")
    )
    title = f"Fleet {picture.stack}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", _verbatim(style)),
    )
    parts = dict(_parts(picture))
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#content"),
        element("header", element("h1", title), _tools(), _contents(parts)),
        element("main", *parts.values(), id="content", tabindex="-1"),
        element("footer", element("p", _about(picture))),
        element("script", _verbatim(script)),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _policy(style: str, script: str) -> str:
    """Return the policy: nothing may be loaded or sent, and no other style or script acts.

    https://www.w3.org/TR/CSP3/#grammardef-hash-source, looked up on 2026-11-24.
    """
    styled, scripted = (
        f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src {styled}; script-src {scripted}; base-uri 'none'; form-action 'none'"
    )


def _tools() -> Html:
    """Return what only works with the script, which shows it."""
    return element(
        "div",
        element("label", "Search ", element("kbd", "/"), for_="search"),
        element("input", id="search", type="search", autocomplete="off", spellcheck="false"),
        element("button", "Unfold all", id="fold", type="button", aria_pressed="false"),
        element("button", "Dark theme", id="theme", type="button", aria_pressed="false"),
        element("p", id="matches", role="status"),
        class_="tools",
        role="search",
        hidden=True,
    )


def _contents(parts: dict[str, Html]) -> Html:
    links = (element("li", element("a", name, href=f"#{name.lower()}")) for name in parts)
    return element("nav", element("ul", links), aria_label="Sections")


def _parts(picture: Picture) -> Iterator[tuple[str, Html]]:
    yield "Summary", _section("Summary", _summary(picture))
    if picture.gone:
        items = (element("li", line, data_find=True) for line in picture.gone)
        yield "Changes", _section("Changes", element("ul", items))
    if missing := [model for model in picture.models if model.missing]:
        rows = [(model.name, str(model.wanted - model.placed), model.missing) for model in missing]
        columns = ("model", "replicas", "why, and what would place them")
        yield "Unplaced", _section("Unplaced", _table("Replicas without a place", columns, rows))
    if picture.problems:
        yield "Problems", _section("Problems", _problems(picture))
    yield "Clusters", _section("Clusters", _clusters(picture))
    yield "Models", _section("Models", _models(picture))
    if picture.weights:
        yield "Weights", _section("Weights", _caches(picture))
    yield "Services", _section("Services", _services(picture))
    yield "Cost", _section("Cost", _cost(picture))


def _caches(picture: Picture) -> Html:
    rows = ((each.cache, each.cluster, _phase(each.phase), each.message) for each in picture.weights)
    return _table("Weights of ModelCaches", ("cache", "cluster", "phase", "what"), rows)


def _summary(picture: Picture) -> Html:
    """Return the list of numbers at the head of the page."""
    pools = [pool for cluster in picture.clusters for pool in cluster.pools]
    gpus, held = sum(pool.gpus * pool.size for pool in pools), sum(pool.held for pool in pools)
    silent = [cluster.name for cluster in picture.clusters if cluster.silent]
    facts = [
        ("Clusters", str(len(picture.clusters))),
        ("Pools", str(len(pools))),
        ("GPUs held", f"{held:,} of {gpus:,}"),
        ("Models", str(len(picture.models))),
        ("Replicas placed", f"{sum(model.placed for model in picture.models):,}"),
        (
            "Replicas unplaced",
            f"{sum(max(model.wanted - model.placed, 0) for model in picture.models if model.missing):,}",
        ),
        ("Services", str(len(picture.services))),
        ("Cost an hour", _total(picture)),
    ]
    if picture.live:
        facts += [
            ("Phase", picture.phase),
            ("Clusters that did not answer", ", ".join(silent) or "none"),
        ]
    if picture.head:
        uncommitted = ", with changes that are not committed" if picture.uncommitted else ""
        merged = f"{picture.merges[:12]}, merged as " if picture.merges else ""
        facts.append(("Commit", f"{merged}{picture.head[:12]}{uncommitted}"))
    if picture.base:
        facts.append(("Compared with", picture.base[:12]))
    return element("dl", (element("div", element("dt", name), element("dd", value)) for name, value in facts))


def _total(picture: Picture) -> str:
    texts = [f"{cost} {currency}" for currency, cost in picture.totals]
    if picture.unpriced:
        texts.append(f"{counted(picture.unpriced, 'node')} without a known price")
    return ", ".join(texts) or "nothing"


def _problems(picture: Picture) -> Html:
    new = bool(picture.base)
    rows = [
        (
            joined(problem.severity, _marks(["new"]) if new and problem.new else None),
            element("span", f"{problem.file}:{problem.line}", class_="place") if problem.file else "",
            f"{problem.what}. {problem.step}",
        )
        for problem in picture.problems
    ]
    return _table("Errors, warnings and notices", ("severity", "where", "what, and the next step"), rows)


def _cost(picture: Picture) -> Html:
    rows = [
        (
            joined(paid.class_name, _marks(paid.changes)),
            str(paid.nodes),
            str(paid.gpus),
            f"{paid.cost} {paid.currency}" if paid.cost else "unknown" if paid.nodes else "",
        )
        for paid in picture.paid
    ]
    columns = ("class", "nodes paid for", "GPUs held", "cost an hour")
    return joined(
        _table("Nodes by class", columns, rows),
        element(
            "p", f"In all: {_total(picture)}. Clusters, system pools, disks and traffic are not counted."
        ),
    )


def _about(picture: Picture) -> str:
    source = (
        "Phases were read from the clusters when this file was made."
        if picture.live
        else "Made of documents and placement.lock alone: no cluster was asked."
    )
    return f"Stack {picture.stack}. {source}"


def _clusters(picture: Picture) -> Html:
    """Return all clusters; many are folded, those that change or say something excepted."""
    few = len(picture.clusters) <= _UNFOLDED_CLUSTERS
    patterns = {model.name: number % _PATTERNS for number, model in enumerate(picture.models)}
    return joined(
        element("p", _NOTE, class_="note"),
        element(
            "div", (_cluster(cluster, patterns, few=few) for cluster in picture.clusters), class_="clusters"
        ),
    )


def _cluster(cluster: ClusterPicture, patterns: _Patterns, *, few: bool) -> Html:
    """Return the section of a cluster, which is open where there are few of them or it did not answer."""
    gpus, held = (
        sum(pool.gpus * pool.size for pool in cluster.pools),
        sum(pool.held for pool in cluster.pools),
    )
    changes = bool(cluster.changes or any(pool.changes for pool in cluster.pools))
    about = " ".join(filter(None, (cluster.source, cluster.region)))
    return element(
        "details",
        element(
            "summary",
            element("h3", cluster.name),
            element("span", cluster.state, class_=f"state {cluster.state}"),
            element("span", about, class_="held"),
            element("span", f"{held:,} of {gpus:,} GPUs held", class_="held"),
            element("span", "changes", class_="tag") if changes else None,
            _phase(cluster.phase),
        ),
        element("p", element("b", "did not answer: "), cluster.silent) if cluster.silent else None,
        _marks(cluster.changes),
        (_pool(pool, patterns) for pool in cluster.pools),
        open=few or bool(cluster.silent),
        class_="cluster",
        data_find=True,
    )


def _pool(pool: PoolPicture, patterns: _Patterns) -> Html:
    size = f"up to {counted(pool.size, 'node')}" if pool.autoscaled else counted(pool.size, "node")
    bought = "" if pool.capacity == "OnDemand" else f", {pool.capacity}"
    gpus = f" of {counted(pool.gpus, 'GPU')}" if pool.gpus else " without GPUs"
    return element(
        "div",
        element("h4", pool.name),
        element("p", f"{pool.class_name}: {size}{gpus}{bought}"),
        _marks(pool.changes),
        element("ul", (_nodes(nodes, pool, patterns) for nodes in pool.nodes), class_="nodes")
        if pool.nodes
        else None,
        element("p", f"{counted(pool.overfull, 'pod')} without a node in this drawing")
        if pool.overfull
        else None,
        class_="pool",
    )


def _nodes(nodes: AlikeNodes, pool: PoolPicture, patterns: _Patterns) -> Html:
    words = "; ".join(_words(nodes, pool))
    return element(
        "li",
        element("span", f"{nodes.number:,} \N{MULTIPLICATION SIGN}", class_="times"),
        _grid(nodes, patterns) if 0 < pool.gpus <= _DRAWN else None,
        element("span", words),
    )


def _grid(nodes: AlikeNodes, patterns: _Patterns) -> Html:
    """Return a cell for each GPU, in which a model has its pattern, or the next that is free on the
    node; the words beside say the same.
    """
    taken: dict[str, int] = {}
    for name in dict.fromkeys(seat.deployment for seat in nodes.seats if not seat.kept):
        first = patterns.get(name, 0)
        free = [(first + offset) % _PATTERNS for offset in range(_PATTERNS)]
        taken[name] = next((pattern for pattern in free if pattern not in taken.values()), first)
    cells = [
        element("i", class_="g kept" if seat.kept else f"g k{taken[seat.deployment]}")
        for seat in nodes.seats
        for _ in range(seat.gpus * seat.pods)
    ]
    cells += [element("i", class_="g")] * nodes.free
    return element("span", cells, class_="grid", aria_hidden="true")


def _words(nodes: AlikeNodes, pool: PoolPicture) -> Iterator[str]:
    for seat in nodes.seats:
        gpus = seat.gpus * seat.pods
        size = f"{counted(gpus, 'GPU')} in {counted(seat.pods, 'pod')}" if gpus else counted(seat.pods, "pod")
        role = "" if seat.role == "decode" else f" {seat.role}"
        yield (
            f"{seat.deployment}{role} {size}"
            if not seat.kept
            else f"room for a rollout of {seat.deployment} {size}"
        )
    if not nodes.seats:
        yield "empty, or not started" if pool.autoscaled else "empty"
    elif nodes.free:
        yield f"{counted(nodes.free, 'GPU')} free"


def _models(picture: Picture) -> Html:
    """Return all models; many are folded."""
    few = len(picture.models) <= _UNFOLDED_MODELS
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
            _phase(model.phase),
        ),
        _marks(model.changes),
        element("p", model.missing) if model.missing else None,
        _table(f"Where {model.name} runs", columns, [_row(place, live=live) for place in model.places])
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
            element("li", " ".join(filter(None, (name, pod_phase, node and f"on {node}"))))
            for name, pod_phase, node in place.pods
        ),
    )
    state = joined(
        _phase(place.phase), f" {place.message}" if place.message else None, pods if place.pods else None
    )
    return (*row, state, f"{place.ready} of {place.wanted}")


def _services(picture: Picture) -> Html:
    """Return all routes with their weights."""
    if not picture.services:
        return element("p", "There are none.")
    live = picture.live
    columns = ("service", "cluster", "weights", *(("phase",) if live else ()))
    rows = [row for service in picture.services for row in _routes(service, live=live)]
    return _table("How services split requests", columns, rows)


def _routes(service: ServicePicture, *, live: bool) -> list[tuple[Html | str | None, ...]]:
    name = joined(service.name, _marks(service.changes))
    rows: list[tuple[Html | str | None, ...]] = [
        (
            name if not index else service.name,
            route.cluster,
            _weights(route),
            *((_route_phase(route),) if live else ()),
        )
        for index, route in enumerate(service.routes)
    ]
    return rows or [
        (name, "", "no deployment that it selects has replicas", *((_phase(service.phase),) if live else ()))
    ]


def _route_phase(route: RoutePicture) -> Html:
    return joined(_phase(route.phase), f" {route.message}" if route.message else None)


def _weights(route: RoutePicture) -> str:
    whole = sum(weight for _, weight in route.backends) or 1
    return ", ".join(f"{name} {weight} ({100 * weight / whole:.0f} %)" for name, weight in route.backends)


def _section(name: str, *children: Child) -> Html:
    """Return a section with its heading, to which the contents lead."""
    key = name.lower()
    return element("section", element("h2", name, id=key, tabindex="-1"), *children, aria_labelledby=key)


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Child]]) -> Html:
    """Return a table whose first column heads its rows. Rows can be searched for."""
    numbers = [column in _NUMBERS for column in columns]
    head = element("tr", (element("th", column, scope="col", class_=_class(column)) for column in columns))
    body = (
        element(
            "tr",
            (
                element("td", cell, class_="number" if number else None)
                if index
                else element("th", cell, scope="row")
                for index, (cell, number) in enumerate(zip(row, numbers, strict=True))
            ),
            data_find=True,
        )
        for row in rows
    )
    inner = element("table", element("caption", caption), element("thead", head), element("tbody", body))
    # Wide tables scroll by themselves, which the keyboard must be able to do.
    return element("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def _class(column: str) -> str | None:
    return "number" if column in _NUMBERS else None


def _marks(changes: Iterable[str]) -> Html | None:
    """Return what changes against the base, None for nothing."""
    lines = tuple(changes)
    if not lines:
        return None
    return element("ul", (element("li", element("b", "changes: "), line) for line in lines), class_="marks")


def _phase(name: str) -> Html | None:
    """Return the phase of something, None where nobody asked."""
    if not name:
        return None
    return element(
        "span",
        "✓ " if name == "Ready" else "! ",
        name,
        class_="phase good" if name == "Ready" else "phase bad",
    )


def element(tag: str, *children: Child, **attributes: str | bool | None) -> Html:
    """Return an element. An attribute that is None or False is left out; `_` in its name is `-`, and one at
    the end is dropped (`class_`).
    """
    attribute_text = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(
        f"<{tag}{attribute_text}>" if tag in _VOID else f"<{tag}{attribute_text}>{joined(*children)}</{tag}>"
    )


def joined(*children: Child) -> Html:
    """Return what is in an element: texts escaped, elements as they are, None as nothing."""
    return Html("".join(_children(children)))


def _verbatim(text: str) -> Html:
    """Return the text of a file of ours as it is: a style or a script, in which nothing is escaped."""
    return Html(text)


def _children(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield str(child)
        elif isinstance(child, str | int):
            yield _text(str(child))
        else:
            yield from _children(child)


def _text(text: object) -> str:
    return escape(one_line(str(text)), quote=True)
