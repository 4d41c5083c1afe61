"""A digest as Markdown, as one comment of a pull request: at most MOST bytes, folded, what weighs most first.

Texts of documents and messages must not act as markup, mention or link: `plain` and `code` see to that.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from inferfleet.documents.problems import Severity
from inferfleet.documents.wording import one_line
from inferfleet.review.digest.values import (
    Digest,
    DocumentChange,
    DoorChange,
    FieldChange,
    FileChange,
    FileKind,
    ListedProblem,
    ModelChange,
    PoolChange,
    Presence,
    ResourceChange,
    StackDigest,
    StackState,
    WaiverChange,
)

# GitHub takes 65,536 characters for a comment; workflows put a few lines around it.
MOST = 60 * 1024
# By this first line a workflow finds the comment that it wrote before.
MARK = "<!-- inferfleet digest -->"
_STATES: dict[StackState, str] = {
    "refused": "refused",
    "not compared": "not compared: the base has errors",
    "removed": "removed",
    "added": "new",
    "changed": "changes",
    "unchanged": "no resource changes",
}
# Rules of an update itself, which somebody must see.
_OPENED = ("Settings", "Lock", "Policy", "InferenceCluster")
# What a UID in placement.lock does: the next update asks the cluster for its own.
_OF_UID = {
    "added": "the next update is refused unless the cluster that answers has it",
    "removed": "the next update takes whatever cluster answers",
    "changed": "the next update is refused unless the cluster that answers has the new one",
}
# Fields of one document that are listed one by one.
_MOST_FIELDS = 12
_KINDS = ("replaced", "nodes replaced", "removed", "created", "added", "changed")
# Files of a kind, and characters of a name: all of it is less than half of a comment.
_MOST_FILES, _LONGEST_PATH = 10, 100
_FILE_TITLES: dict[FileKind, str] = {
    "program": "programs",
    "packages": "packages",
    "plugin": "plugins",
    "policy": "policies and waivers",
    "workflow": "workflows and other hidden files",
    "submodule": "submodules",
    "stack": "files of stacks that are no documents",
}
_FILES_TITLE = "Files that may change what an update runs, with which access, and by which rules"
_FILE_PREFIXES: dict[Presence, str] = {"added": "new: ", "removed": "gone: ", "changed": ""}
# Longest line of a message; `--json` has all of it.
LONGEST = 600
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#&])")
# What GitHub and GitLab make links and pictures of in the text that Markdown has become: people, issues,
# addresses and `:emoji:`. A comment in between stops that.
_LINKS = re.compile(r"(@|://|www\.|\bGH-|[!#$%~&](?=\d)|:(?=[\w+\\-]+:))")
# Of so many digits may be the name of a commit.
_COMMIT = re.compile(r"\b[0-9a-fA-F]{7,40}\b")
_STOP = "<!-- -->"


@dataclass(frozen=True)
class Section:
    """A part of the digest that is folded, but for an `opened` one.

    `head` stands before the entries: the head of a table, whose rows they are then.
    """

    title: str
    entries: tuple[str, ...]
    opened: bool = False
    head: str = ""


_Parts = list[tuple[StackDigest, tuple[Section, ...]]]


def markdown(digest: Digest) -> str:
    """Return the digest in Markdown, with as many entries of each section as fit, so that none hides another.

    What is left out is counted where it would stand. Where not even the titles of sections fit, there is the
    table of stacks alone.
    """
    ordered = sorted(digest.stacks, key=_weight)
    parts = [(stack, sections(stack)) for stack in ordered]
    most = max((len(section.entries) for _, of_stack in parts for section in of_stack), default=0)
    whole = _text(digest, parts, most)
    if len(whole.encode()) <= MOST:
        return whole
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(digest, parts, middle) else (low, middle - 1)
    text = _text(digest, parts, low)
    return text if len(text.encode()) <= MOST else _overview_alone(digest, ordered)


def _fits(digest: Digest, parts: _Parts, most: int) -> bool:
    return len(_text(digest, parts, most).encode()) <= MOST


def _text(digest: Digest, parts: _Parts, most: int) -> str:
    lines = [*_head(digest), *_overview([stack for stack, _ in parts])]
    for stack, of_stack in parts:
        if of_stack:
            lines += ["", f"### {code(stack.stack)}"]
            for section in of_stack:
                lines += _section(section, most)
    return "\n".join(lines) + "\n"


def _overview_alone(digest: Digest, stacks: list[StackDigest]) -> str:
    number = len(stacks)
    while True:
        and_others = f"\nand {len(stacks) - number} more stacks." if number < len(stacks) else ""
        text = "\n".join([*_head(digest), *_overview(stacks[:number])]) + f"\n{and_others}\n"
        if len(text.encode()) <= MOST or not number:
            return text
        number = number * 9 // 10


def _head(digest: Digest) -> Iterator[str]:
    yield MARK
    yield "## What changes in the fleet"
    yield ""
    yield f"{_compared(digest)}, by documents and locks alone: no cluster was asked."
    if digest.files or digest.others:
        yield from _files(digest.files, digest.others)
    for remark in digest.remarks:
        yield ""
        yield f"> {plain(remark.what)}. {plain(remark.step)}"
    yield ""


def _compared(digest: Digest) -> str:
    base = code(digest.base[:12])
    if not digest.head:
        return f"Compared with {base}"
    uncommitted = " with changes that are not committed," if digest.uncommitted else ""
    return f"Commit {_head_of(digest)}{uncommitted} compared with {base}"


def _head_of(digest: Digest) -> str:
    """Return the commit as people know it; of a merge that a host made, nobody knows the hash."""
    head = code(digest.head[:12])
    return f"{code(digest.merges[:12])}, merged as {head}," if digest.merges else head


def _overview(stacks: list[StackDigest]) -> Iterator[str]:
    if not stacks:
        yield "There is no stack."
        return
    yield (
        "| stack | | models | gaps | no longer served | GPUs that start, end or restart | cost | problems | "
        "new warnings |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for stack in stacks:
        errors = sum(problem.severity == "error" for problem in stack.problems)
        cells = (
            code(stack.stack).replace("|", "\\|"),
            _STATES[stack.state],
            len(stack.models) or "",
            sum(model.gap for model in stack.models) or "",
            sum(model.ends for model in stack.models) + len(_ending_services(stack)) or "",
            sum(model.gpus for model in stack.models) or "",
            ", ".join(map(_difference, differences(stack))),
            errors or "",
            len(_new_problems(stack, "warning")) or "",
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _section(section: Section, most: int) -> Iterator[str]:
    yield ""
    number = len(section.entries)
    yield f"<details{' open' if section.opened else ''}><summary>{section.title} ({number})</summary>"
    yield ""
    if section.head and most:
        yield section.head
    yield from section.entries[:most]
    if number > most:
        yield ""
        yield f"and {number - most} more, which `inferfleet digest --json` has."
    yield ""
    yield "</details>"


def _weight(stack: StackDigest) -> tuple[bool, bool, int, str]:
    """Refused ones come first, unchanged ones last, and the others by the GPUs that start, end or restart."""
    return (
        stack.state != "refused",
        stack.state == "unchanged",
        -sum(model.gpus for model in stack.models),
        stack.stack,
    )


def sections(stack: StackDigest) -> tuple[Section, ...]:
    """Return the sections of a stack that have entries, the most important first."""
    errors = [problem for problem in stack.problems if problem.severity == "error"]
    warnings, notices = _new_problems(stack, "warning"), _new_problems(stack, "notice")
    gaps, ends = sum(model.gap for model in stack.models), sum(model.ends for model in stack.models)
    of_models = [f"{gaps} with a gap"] if gaps else []
    of_models += [f"{ends} no longer served"] if ends else []
    ending = len(_ending_services(stack))
    every = (
        Section("Problems", _problem_lines(errors), opened=True),
        Section("Waivers of policies", tuple(map(_waiver, stack.waivers)), opened=True),
        Section(", ".join(["Models", *of_models]), _models(stack), opened=bool(of_models)),
        Section(
            "Without a place",
            tuple(
                f"- {code(missing.deployment)}: {plain(missing.summary)}"
                for missing in sorted(stack.missing, key=lambda missing: -missing.replicas)
            ),
            opened=True,
        ),
        Section("Clusters that replicas should leave", _drains(stack)),
        Section("Clusters", tuple(f"- {plain(cluster.summary)}" for cluster in stack.clusters)),
        Section(
            "Pools",
            tuple(f"- {plain(pool.summary)}" for pool in sorted(stack.pools, key=_size)),
            opened=any(pool.change == "replaced" for pool in stack.pools),
        ),
        _costs(stack),
        Section("Quotas and reservations", tuple(_needs(stack))),
        Section(
            f"Services{f', {ending} no longer served' if ending else ''}",
            _services(stack),
            opened=bool(ending),
        ),
        Section("Behind InferenceGateways", tuple(map(_door, stack.doors))),
        Section("Plugins with other output", _plugins(stack)),
        Section(
            "Settings, policies and connections",
            tuple("\n".join(_written(entry)) for entry in stack.written),
            opened=any(entry.kind in _OPENED for entry in stack.written),
        ),
        Section("New warnings", _problem_lines(warnings), opened=bool(warnings)),
        Section("New notices", _problem_lines(notices)),
        Section(
            "What the base says" if stack.state == "not compared" else "Warnings and notices that go",
            _problem_lines(stack.gone),
        ),
        Section("Every resource", tuple(_resources(stack.resources))),
    )
    return tuple(section for section in every if section.entries)


def _new_problems(stack: StackDigest, severity: Severity) -> list[ListedProblem]:
    """Return what the base does not say, without replicas that have no place: they have their own section."""
    return [
        problem
        for problem in stack.problems
        if problem.severity == severity and problem.new and not problem.missing
    ]


def _ending_services(stack: StackDigest) -> set[str]:
    """Return the services that have no route on any cluster any more."""
    return {route.service for route in stack.services if route.ends}


def _problem_lines(problems: Iterable[ListedProblem]) -> tuple[str, ...]:
    return tuple(f"- {_place(problem)}{plain(problem.what)}. {plain(problem.step)}" for problem in problems)


def _place(problem: ListedProblem) -> str:
    """Return file, line and field as code, with a space behind them; nothing where there is none."""
    names = [
        *([f"{problem.file}:{problem.line}"] if problem.file else []),
        *([f"catalogue: {problem.catalogue}"] if problem.catalogue else []),
        *([problem.path] if problem.path else []),
    ]
    return "".join(f"{code(name)} " for name in names)


def _models(stack: StackDigest) -> tuple[str, ...]:
    return tuple("\n".join(_model(model)) for model in stack.models)


def _model(model: ModelChange) -> Iterator[str]:
    number = f"{model.before}" if model.before == model.after else f"{model.before} -> {model.after}"
    facts = [f"{number} replica{'' if number == '1' else 's'}"]
    facts += [model.change] if model.change != "changed" else []
    gpus = f"{model.gpus} GPU{' starts, ends or restarts' if model.gpus == 1 else 's start, end or restart'}"
    facts += [gpus] if model.gpus else []
    facts += ["**gap**"] if model.gap else []
    facts += ["**no longer served**"] if model.ends else []
    yield f"- **{code(model.deployment)}**: {', '.join(facts)}"
    for line in model.lines:
        yield f"  {'  ' if line.startswith(' ') else ''}- {plain(line.strip())}"
    for command in model.commands:
        before = f", and ran {code(command.before)}" if command.before and command.after else ""
        runs = f"runs {code(command.after)}{before}" if command.after else "runs a command of its own"
        yield f"  - {plain(command.role)} {runs}"
    ends = [place.grace for place in model.places] + [restart.grace for restart in model.restarts]
    if seconds := max(ends, default=0):
        yield f"  - requests in hand have {seconds} s when a pod ends"


def _waiver(waiver: WaiverChange) -> str:
    place = f"{code(f'{waiver.file}:{waiver.line}')} " if waiver.file else ""
    of = code(waiver.of) if waiver.of else "**whatever breaks it**"
    return (
        f"- {place}{code(waiver.waiver)} is {waiver.change}: it lets off {of} of policy "
        f"{code(waiver.policy)} until {waiver.until}: {plain(waiver.reason)}"
    )


def _written(entry: DocumentChange) -> Iterator[str]:
    yield f"- {entry.kind} **{code(entry.name)}** is {entry.change}"
    for field in entry.fields[:_MOST_FIELDS]:
        of_uid = entry.kind == "Lock" and field.path.endswith(".uid")
        follows = f": {_OF_UID[field.change]}" if of_uid else ""
        yield f"  - {code(field.path)} {_values(field)}{follows}"
    if (not_shown := len(entry.fields) - _MOST_FIELDS) > 0:
        yield f"  - and {not_shown} more"


def _values(field: FieldChange) -> str:
    if not field.shown:
        return {"added": "is new", "removed": "is gone", "changed": "has another value"}[field.change]
    if field.change == "changed":
        return f"is {plain(field.after)}, and was {plain(field.before)}"
    return (
        f"is new: {plain(field.after)}"
        if field.change == "added"
        else f"is gone, and was {plain(field.before)}"
    )


def _drains(stack: StackDigest) -> tuple[str, ...]:
    return tuple(
        f"- {code(drain.cluster)} ({drain.state}): {drain.before} -> {drain.after} replicas"
        + (f"; these stay: {plain(', '.join(drain.stays))}" if drain.stays else "")
        for drain in sorted(stack.drains, key=lambda drain: -drain.before)
    )


def _size(pool: PoolChange) -> tuple[int, int, str, str]:
    return _KINDS.index(pool.change), -max(pool.before, pool.after), pool.cluster, pool.pool


def _costs(stack: StackDigest) -> Section:
    rows = [
        (
            code(use.name),
            _change(*use.gpus),
            _change(*use.nodes),
            _change(*map(_cost, use.cost, use.nodes)) if any(use.cost) else "unknown",
            f"{use.currency}{f' (prices of {use.region})' if use.region else ''}",
        )
        for use in sorted(stack.uses, key=lambda use: (-abs(use.nodes[1] - use.nodes[0]), use.name))
    ]
    rows += [
        ("**all with a price**", "", "", f"**{_change(cost.before, cost.after)}**", cost.currency)
        for cost in stack.costs
    ]
    if stack.unpriced[0] != stack.unpriced[1] or (rows and any(stack.unpriced)):
        rows.append(("nodes without a known price", "", _change(*stack.unpriced), "unknown", ""))
    head = "| class | GPUs of replicas | nodes | cost per hour | currency |\n|---|---|---|---|---|"
    return Section(
        f"GPUs and cost{', '.join(['', *map(_difference, differences(stack))])}",
        tuple(f"| {' | '.join(row)} |" for row in rows),
        head=head,
    )


def _cost(cost: str, nodes: int) -> str:
    """Return a cost as it is shown: nobody knows that of nodes without a price, and no nodes cost nothing."""
    return cost or ("unknown" if nodes else "0")


def _change(before: object, after: object) -> str:
    return f"{before or 0}" if before == after else f"{before or 0} -> {after or 0}"


def differences(stack: StackDigest) -> tuple[tuple[Decimal, str], ...]:
    """Return by how much an hour costs more, and the currency."""
    return tuple((Decimal(cost.after) - Decimal(cost.before), cost.currency) for cost in stack.costs)


def _difference(more: tuple[Decimal, str]) -> str:
    """Return `+1.20 USD/h`."""
    return f"{more[0]:+} {more[1]}/h"


def _needs(stack: StackDigest) -> Iterator[str]:
    for quota in stack.quotas:
        region = f"{quota.project} {quota.region}".strip()
        peak = f", {quota.peak} while the update runs" if quota.peak > quota.after else ""
        yield f"- quota {code(quota.metric)} of {code(region)}: {_change(quota.before, quota.after)}{peak}"
    for reservation in stack.reservations:
        yield (
            f"- reservation {code(reservation.name)} of {code(reservation.project)}: {reservation.nodes} "
            f"machine{'' if reservation.nodes == 1 else 's'} for pool {code(reservation.pool)}"
        )


def _services(stack: StackDigest) -> tuple[str, ...]:
    return tuple(
        f"- {code(route.service)} on {code(route.cluster)}: "
        + (
            f"{plain(', '.join(route.before)) or 'no route'} -> {plain(', '.join(route.after)) or 'no route'}"
            if route.before != route.after
            else f"{', '.join(map(code, route.fields))}"
        )
        + (", **no longer served**" if route.ends else "")
        for route in sorted(stack.services, key=lambda route: not route.ends)
    )


def _door(door: DoorChange) -> str:
    """Return what changes of a service behind a gateway: clusters with weights, names, and callers."""
    parts = []
    if door.before != door.after:
        before, after = (plain(", ".join(led)) or "nowhere" for led in (door.before, door.after))
        parts.append(f"{before} -> {after}")
    for what, (old, new) in (("names", door.names), ("keys", door.callers)):
        came, went = sorted({*new} - {*old}), sorted({*old} - {*new})
        if came or went:
            changes = [*(f"+{code(name)}" for name in came), *(f"**-{code(name)}**" for name in went)]
            parts.append(f"{what} {', '.join(changes)}")
    return f"- {code(door.service)} at {code(door.gateway)} on {code(door.cluster)}: {'; '.join(parts)}"


def _plugins(stack: StackDigest) -> tuple[str, ...]:
    return tuple(
        f"- {code(plugin.plugin)} "
        f"{_change(plugin.before or 'did nothing', plugin.after or 'does nothing')}: "
        f"{', '.join(map(code, plugin.workloads))}"
        for plugin in sorted(stack.plugins, key=lambda plugin: (-len(plugin.workloads), plugin.plugin))
    )


def _resources(resources: Iterable[ResourceChange]) -> Iterator[str]:
    ordered = sorted(resources, key=lambda change: (change.operation, change.resource))
    for operation, group in groupby(ordered, key=lambda change: change.operation):
        for change in group:
            fields = f": {', '.join(map(code, change.fields))}" if change.fields else ""
            yield f"- {operation} {code(change.resource)}{fields}"


def _files(files: tuple[FileChange, ...], others: int) -> Iterator[str]:
    """Yield the lines about files that a digest does not read: those that may change what an update runs by
    name, and how many others differ.

    There is a bound for each kind, so that neither files with other names nor large stacks hide any.
    """
    if files:
        yield ""
        yield f"<details open><summary>{_FILES_TITLE} ({len(files):,})</summary>"
        yield ""
        for kind, of_kind in groupby(files, key=lambda file: file.kind):
            yield f"- {_FILE_TITLES[kind]}: {_names(of_kind)}"
        yield ""
        yield "Read their diff: a digest tells the outcome of some of them, and nothing of the others."
        yield ""
        yield "</details>"
    if others:
        yield ""
        yield f"{others:,} other {'file differs' if others == 1 else 'files differ'}, which no digest reads."


def _names(files: Iterable[FileChange]) -> str:
    every = list(files)
    shown_names = [
        f"{_FILE_PREFIXES[file.change]}{code(_short_path(one_line(file.path)))}"
        for file in every[:_MOST_FILES]
    ]
    and_others = [f"and {len(every) - _MOST_FILES:,} more"] if len(every) > _MOST_FILES else []
    return ", ".join([*shown_names, *and_others])


def _short_path(path: str) -> str:
    half = _LONGEST_PATH // 2
    return path if len(path) <= _LONGEST_PATH else f"{path[: half - 1]}…{path[-half:]}"


def plain(text: str) -> str:
    """Return the text on one line, shortened, as Markdown shows it character by character."""
    escaped = _MARKUP.sub(r"\\\1", _short(one_line(text)))
    parted = _COMMIT.sub(lambda name: re.sub("(.{6})(?=.)", rf"\1{_STOP}", name[0]), escaped)
    # A formula may begin with a dollar, also behind a backslash.
    return _LINKS.sub(rf"\1{_STOP}", parted).replace("$", "&#36;")


def code(text: str) -> str:
    """Return a name as code, shortened, without backticks: no name of Kubernetes and no field has one."""
    return f"`{_short(one_line(text).replace('`', ''))}`"


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
