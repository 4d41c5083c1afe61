"""The page: its head with the policy of what may act, its landmarks, and the summary at its top."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from inferfleet.cli.show.picture.clusters import clusters_section
from inferfleet.cli.show.picture.markup import Html, element, joined, verbatim
from inferfleet.cli.show.picture.models import models_section, services_section
from inferfleet.cli.show.picture.parts import marks, section, table
from inferfleet.fleet.shapes import counted
from inferfleet.review.picture import Picture

_HERE = Path(__file__).parent


def page(picture: Picture) -> str:
    """Return the whole file. Equal pictures give equal files."""
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    title = f"Fleet {picture.stack}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", verbatim(style)),
    )
    parts = dict(_parts(picture))
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#content"),
        element("header", element("h1", title), _tools(), _contents(parts)),
        element("main", *parts.values(), id="content", tabindex="-1"),
        element("footer", element("p", _about(picture))),
        element("script", verbatim(script)),
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
    yield "Summary", section("Summary", _summary(picture))
    if picture.gone:
        items = (element("li", line, data_find=True) for line in picture.gone)
        yield "Changes", section("Changes", element("ul", items))
    if missing := [model for model in picture.models if model.missing]:
        rows = [(model.name, str(model.wanted - model.placed), model.missing) for model in missing]
        columns = ("model", "replicas", "why, and what would place them")
        yield "Unplaced", section("Unplaced", table("Replicas without a place", columns, rows))
    if picture.problems:
        yield "Problems", section("Problems", _problems(picture))
    yield "Clusters", section("Clusters", clusters_section(picture))
    yield "Models", section("Models", models_section(picture))
    yield "Services", section("Services", services_section(picture))
    yield "Cost", section("Cost", _cost(picture))


def _summary(picture: Picture) -> Html:
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
    told = [f"{cost} {currency}" for currency, cost in picture.totals]
    if picture.unpriced:
        told.append(f"{counted(picture.unpriced, 'node')} without a known price")
    return ", ".join(told) or "nothing"


def _problems(picture: Picture) -> Html:
    new = bool(picture.base)
    rows = [
        (
            joined(problem.severity, marks(["new"]) if new and problem.new else None),
            element("span", f"{problem.file}:{problem.line}", class_="place") if problem.file else "",
            f"{problem.what}. {problem.step}",
        )
        for problem in picture.problems
    ]
    return table("Errors, warnings and notices", ("severity", "where", "what, and the next step"), rows)


def _cost(picture: Picture) -> Html:
    rows = [
        (
            joined(paid.class_name, marks(paid.changes)),
            str(paid.nodes),
            str(paid.gpus),
            f"{paid.cost} {paid.currency}" if paid.cost else "unknown" if paid.nodes else "",
        )
        for paid in picture.paid
    ]
    columns = ("class", "nodes paid for", "GPUs held", "cost an hour")
    return joined(
        table("Nodes by class", columns, rows),
        element(
            "p", f"In all: {_total(picture)}. Clusters, system pools, disks and traffic are not counted."
        ),
    )


def _about(picture: Picture) -> str:
    told = (
        "Phases were read from the clusters when this file was made."
        if picture.live
        else ("Made of documents and placement.lock alone: no cluster was asked.")
    )
    return f"Stack {picture.stack}. {told}"
