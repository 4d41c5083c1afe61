"""The sections of a stack in Markdown, each with its entries, the largest first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from inferfleet.cli.show.digest.words import code, plain
from inferfleet.documents.problems import ALSO, Severity
from inferfleet.review.digest.values import (
    DocumentChange,
    FieldChange,
    ListedProblem,
    ModelChange,
    PoolChange,
    ResourceChange,
    StackDigest,
    WaiverChange,
)

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


@dataclass(frozen=True)
class Section:
    """A part of the digest that is folded, but for an `opened` one.

    `head` stands before the entries: the head of a table, whose rows they are then.
    """

    title: str
    entries: tuple[str, ...]
    opened: bool = False
    head: str = ""


def sections(stack: StackDigest) -> tuple[Section, ...]:
    """Return the sections of a stack that have entries, the most important first."""
    errors = [told for told in stack.problems if told.severity == "error"]
    warnings, notices = new_of(stack, "warning"), new_of(stack, "notice")
    gaps, ends = sum(model.gap for model in stack.models), sum(model.ends for model in stack.models)
    of_models = [f"{gaps} with a gap"] if gaps else []
    of_models += [f"{ends} no longer served"] if ends else []
    ended = len(services_that_end(stack))
    every = (
        Section("Problems", _told(errors), opened=True),
        Section("Waivers of policies", tuple(map(_waiver, stack.waivers)), opened=True),
        Section(", ".join(["Models", *of_models]), _models(stack), opened=bool(of_models)),
        Section(
            "Without a place",
            tuple(
                f"- {code(missing.deployment)}: {plain(missing.told)}"
                for missing in sorted(stack.missing, key=lambda missing: -missing.replicas)
            ),
            opened=True,
        ),
        Section("Clusters that replicas should leave", _drains(stack)),
        Section("Clusters", tuple(f"- {plain(cluster.told)}" for cluster in stack.clusters)),
        Section(
            "Pools",
            tuple(f"- {plain(pool.told)}" for pool in sorted(stack.pools, key=_size)),
            opened=any(pool.change == "replaced" for pool in stack.pools),
        ),
        _costs(stack),
        Section("Quotas and reservations", tuple(_needs(stack))),
        Section(
            f"Services{f', {ended} no longer served' if ended else ''}",
            _services(stack),
            opened=bool(ended),
        ),
        Section("Plugins with other output", _plugins(stack)),
        Section(
            "Settings, policies and connections",
            tuple("\n".join(_written(entry)) for entry in stack.written),
            opened=any(entry.kind in _OPENED for entry in stack.written),
        ),
        Section("New warnings", _told(warnings), opened=bool(warnings)),
        Section("New notices", _told(notices)),
        Section(
            "What the base says" if stack.state == "not compared" else "Warnings and notices that go",
            _told(stack.gone),
        ),
        Section("Every resource", tuple(_resources(stack.resources))),
    )
    return tuple(section for section in every if section.entries)


def new_of(stack: StackDigest, severity: Severity) -> list[ListedProblem]:
    """Return what the base does not say, without replicas that have no place: they have their own section."""
    missing = {missing.told for missing in stack.missing}
    return [
        told
        for told in stack.problems
        if told.severity == severity
        and told.new
        and f"{told.what.partition(ALSO)[0]}. {told.step}" not in missing
    ]


def services_that_end(stack: StackDigest) -> set[str]:
    """Return the services that have no route on any cluster any more."""
    return {route.service for route in stack.services if route.ends}


def _told(problems: Iterable[ListedProblem]) -> tuple[str, ...]:
    return tuple(f"- {_place(told)}{plain(told.what)}. {plain(told.step)}" for told in problems)


def _place(told: ListedProblem) -> str:
    """Return file, line and field as code, with a space behind them; nothing where there is none."""
    names = [
        *([f"{told.file}:{told.line}"] if told.file else []),
        *([f"catalogue: {told.catalogue}"] if told.catalogue else []),
        *([told.path] if told.path else []),
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
    for line in model.told:
        yield f"  {'  ' if line.startswith(' ') else ''}- {plain(line.strip())}"
    for command in model.commands:
        was = f", and ran {code(command.before)}" if command.before and command.after else ""
        runs = f"runs {code(command.after)}{was}" if command.after else "runs a command of its own"
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
    if (more := len(entry.fields) - _MOST_FIELDS) > 0:
        yield f"  - and {more} more"


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
        f"GPUs and cost{', '.join(['', *map(difference, differences(stack))])}",
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


def difference(more: tuple[Decimal, str]) -> str:
    """Return `+1.20 USD/h`."""
    return f"{more[0]:+} {more[1]}/h"


def _needs(stack: StackDigest) -> Iterator[str]:
    for quota in stack.quotas:
        where = f"{quota.project} {quota.region}".strip()
        peak = f", {quota.peak} while the update runs" if quota.peak > quota.after else ""
        yield f"- quota {code(quota.metric)} of {code(where)}: {_change(quota.before, quota.after)}{peak}"
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


def _plugins(stack: StackDigest) -> tuple[str, ...]:
    return tuple(
        f"- {code(plugin.plugin)} "
        f"{_change(plugin.before or 'did nothing', plugin.after or 'does nothing')}: "
        f"{', '.join(map(code, plugin.workloads))}"
        for plugin in sorted(stack.plugins, key=lambda plugin: (-len(plugin.workloads), plugin.plugin))
    )


def _resources(resources: Iterable[ResourceChange]) -> Iterator[str]:
    ordered = sorted(resources, key=lambda made: (made.operation, made.resource))
    for operation, group in groupby(ordered, key=lambda made: made.operation):
        for made in group:
            fields = f": {', '.join(map(code, made.fields))}" if made.fields else ""
            yield f"- {operation} {code(made.resource)}{fields}"
