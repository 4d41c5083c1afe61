"""Writes docs/cluster-toolkit.md: what we render beside what Google's Cluster Toolkit sets.

python bench/toolkit/page.py > docs/cluster-toolkit.md
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.toolkit.cases import CAPACITIES, MODULE, RECIPES, cases
from bench.toolkit.compare import DEFAULTS, Comparison, Row, comparison
from bench.toolkit.fact import COMMIT, DATE, REPOSITORY
from bench.toolkit.reason import GIVEN

_SECTIONS = (
    ("Node pools", ("NodePool", "ResourcePolicy")),
    ("Clusters", ("Cluster", "SystemPool", "IAMMembers")),
    ("The network of a cluster", ("Network", "Subnetwork", "Firewall", "RouterNat")),
    ("Networks of further interfaces", ("Networks", "Subnetworks", "Firewalls", "RouterNats")),
)
_ALL = tuple(recipe.label for recipe in RECIPES)


def page(compared: Comparison) -> str:
    """Return the page as Markdown. Raises ValueError where the tables are not complete."""
    if compared.problems:
        raise ValueError("\n".join(compared.problems))
    lines = [*_head(), "", *_recipes(), "", *_counts(compared), "", *_settings(compared), "", *_given(), ""]
    lines += [*_defaults(), "", *_links(compared), ""]
    return "\n".join(lines)


def _head() -> Iterator[str]:
    yield from f"""# Settings beside those of Google's Cluster Toolkit

What the recipes of the catalogue render for GKE, setting by setting, beside what blueprints and modules of
[Cluster Toolkit]({REPOSITORY}/tree/{COMMIT})
set for the same machines: equal, or differs because. Its facts were read by hand in the commit of {DATE}
(after v1.95.0), each with the file that decides it; nothing of it is copied. Made by `make docs` from
`bench/toolkit`. A test fails where a setting is rendered that has no fact, where one differs without a
reason, and where an entry is about nothing.

Cluster Toolkit sets up clusters for training and HPC, with one blueprint for a kind of machine. inferfleet
serves models, on clusters with pools of several kinds. So a difference is no mistake by itself, and equal is
no proof: where Google's own pages say something, they decide (`inferfleet/cloud/gke/facts`).

Compared are the inputs of Google's API, under their names in Pulumi's provider. A setting that one side
leaves out counts as what Google takes it for, where that is
[known](#what-a-setting-that-nobody-writes-counts-as). What is installed inside clusters is not compared.
""".splitlines()


def _recipes() -> Iterator[str]:
    yield "## Recipes"
    yield ""
    yield (
        "One class stands for its machine family; a test holds that others of the catalogue differ from it "
        "in machine type, number of GPUs and local SSDs alone. Where Cluster Toolkit has no blueprint of a "
        "machine, its node pool module with its defaults is taken. That of A2 is for a test of theirs. Spot "
        "is in tests alone, which add compact placement to A3 and A4. Flex-start and queued provisioning "
        "have blueprints for A3 Ultra; other machines get what the module sets and demands for them. A3 High "
        "on demand is that of their inference gateway."
    )
    yield ""
    yield "| recipe | class | compared with |"
    yield "|---|---|---|"
    for recipe in RECIPES:
        theirs = "the module" if recipe.blueprint == MODULE else recipe.blueprint.rpartition("/")[2]
        yield f"| {recipe.label} | `{recipe.class_name}` | [{theirs}]({_link(recipe.blueprint)}) |"


def _counts(compared: Comparison) -> Iterator[str]:
    yield "## How many"
    yield ""
    yield "Settings that are equal and that differ. `-`: we make no such pool, because Google offers none."
    yield ""
    yield f"| recipe | {' | '.join(CAPACITIES)} |"
    yield f"|---|{'---|' * len(CAPACITIES)}"
    found: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in compared.rows:
        found[row.case.recipe.label, row.case.capacity].append(row.reason is None)
    for label in _ALL:
        verdicts = [found.get((label, capacity)) for capacity in CAPACITIES]
        cells = [f"{sum(each)}, {len(each) - sum(each)}" if each else "-" for each in verdicts]
        yield f"| {label} | {' | '.join(cells)} |"


def _settings(compared: Comparison) -> Iterator[str]:
    for title, kinds in _SECTIONS:
        rows = [row for row in compared.rows if row.field.split(".")[0].split(",")[0] in kinds]
        yield f"## {title}"
        yield ""
        yield "| setting | Cluster Toolkit | inferfleet | |"
        yield "|---|---|---|---|"
        for field, verdict, group in _groups(rows):
            theirs = _cell(group, ours=False)
            same = all(row.theirs == row.ours for row in group)
            ours = "the same" if same else _cell(group, ours=True)
            yield f"| `{field}` | {theirs} | {ours} | {verdict} |"
        yield ""


def _given() -> Iterator[str]:
    yield "## Not compared"
    yield ""
    why: defaultdict[str, list[str]] = defaultdict(list)
    for given in GIVEN:
        why[given.why].append(f"`{given.ending.removeprefix('.')}`")
    yield from (f"* {', '.join(endings)}: {text}." for text, endings in why.items())


def _defaults() -> Iterator[str]:
    yield "## What a setting that nobody writes counts as"
    yield ""
    yield "| setting | counts as | source |"
    yield "|---|---|---|"
    for default in DEFAULTS.values():
        yield f"| `{default.field}` | {_value(default.value)} | {default.source} |"


def _groups(rows: Iterable[Row]) -> list[tuple[str, str, list[Row]]]:
    """Return the rows of each field by what is said of them, sorted by field; those that are equal first."""
    groups: defaultdict[tuple[str, bool, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.field, row.reason is not None, _verdict(row)].append(row)
    return [(field, verdict, groups[field, differs, verdict]) for field, differs, verdict in sorted(groups)]


def _cell(group: list[Row], ours: bool) -> str:
    """Return each value with the recipes that have it, where they are not all, and for theirs the files."""
    having: defaultdict[str, list[Row]] = defaultdict(list)
    for row in group:
        having[_value(row.ours if ours else row.theirs)].append(row)
    texts = []
    for value, rows in having.items():
        files = dict.fromkeys(f"[{_name(row.source)}][]" for row in rows)
        place = _where(rows)
        alone = place == "all" or (ours and len(having) == 1)
        text = value if alone else f"{value} ({place})"
        texts.append(text if ours else f"{text} {' '.join(files)}")
    return "<br>".join(texts)


def _where(group: list[Row]) -> str:
    """Return the recipes of some rows, with their capacity models where these are not all that they have."""
    having: dict[str, list[str]] = {}
    for row in group:
        having.setdefault(row.case.recipe.label, []).append(row.case.capacity)
    offered = _offered()
    union = [name for name in CAPACITIES if any(name in each for each in having.values())]
    within = {label: [name for name in union if name in offered[label]] for label in _ALL}
    whole = [label for label, capacities in having.items() if capacities == offered[label]]
    if len(whole) == len(having):
        return _labels(whole)
    if all(having.get(label) == capacities for label, capacities in within.items() if capacities):
        return _models(union)
    if all(capacities == within[label] for label, capacities in having.items()):
        return f"{_labels(list(having))}: {_models(union)}"
    by_models: dict[str, list[str]] = {}
    for label, capacities in having.items():
        if label not in whole:
            by_models.setdefault(_models(capacities), []).append(label)
    parts = [f"{_labels(labels)}: {models}" for models, labels in by_models.items()]
    return ". ".join([*([_labels(whole)] if whole else []), *parts])


def _offered() -> dict[str, list[str]]:
    offered: defaultdict[str, list[str]] = defaultdict(list)
    for case in cases():
        if not case.refused:
            offered[case.recipe.label].append(case.capacity)
    return offered


def _models(capacities: list[str]) -> str:
    """Return capacity models shorter where all of Reservation are among them."""
    reserved = [name for name in CAPACITIES if name.startswith("Reservation")]
    others = [name for name in capacities if name not in reserved]
    whole = len(capacities) - len(others) == len(reserved)
    return "; ".join([*others, "Reservation"] if whole else capacities)


def _labels(labels: list[str]) -> str:
    others = [label for label in _ALL if label not in labels]
    if not others:
        return "all"
    return f"all but {', '.join(others)}" if len(others) < len(labels) / 2 else ", ".join(labels)


def _verdict(row: Row) -> str:
    if row.reason is None:
        return "equal"
    text = row.reason.text + (f" ([source]({row.reason.source}))" if row.reason.source else "")
    return f"**differs**: {text}" if text.startswith("no reason") else f"**differs** because {text}"


def _value(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def _name(path: str) -> str:
    """Return the name of a link to a file of theirs: that of its folder too where others have the same."""
    folder, _, file = path.rpartition("/")
    return f"{folder.rpartition('/')[2]}/{file}"


def _links(compared: Comparison) -> Iterator[str]:
    files = {_name(row.source): row.source for row in compared.rows}
    yield from (f"[{name}]: {_link(files[name])}" for name in sorted(files))


def _link(path: str) -> str:
    return f"{REPOSITORY}/blob/{COMMIT}/{path}"


if __name__ == "__main__":
    print(page(comparison()), end="")
