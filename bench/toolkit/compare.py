"""Holds every setting of every case against the facts: equal, or why not, and what neither table knows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from bench.toolkit import cluster_facts, cluster_reasons, network_facts, pool_facts, reasons
from bench.toolkit.cases import Case, cases
from bench.toolkit.fact import CHOICE, Fact, holds
from bench.toolkit.reason import GIVEN, Default, Given, Reason

FACTS: tuple[Fact, ...] = (*pool_facts.FACTS, *cluster_facts.FACTS, *network_facts.FACTS)
REASONS: tuple[Reason, ...] = (*reasons.POOLS, *cluster_reasons.CLUSTERS, *reasons.NETWORKS)
DEFAULTS: Mapping[str, Default] = {default.field: default for default in cluster_reasons.DEFAULTS}
# The label by which pods find the pool is a name.
_OWN_LABEL = "inferfleet.dev/pool"


@dataclass(frozen=True)
class Row:
    """One setting of one case, theirs and ours; None where nothing sets it. No `reason` means equal."""

    case: Case
    field: str
    theirs: Any
    ours: Any
    source: str
    reason: Reason | None = None


@dataclass(frozen=True)
class Comparison:
    """All rows, and what is wrong with the tables: settings without a fact, differences without a reason,
    and entries that are about nothing.
    """

    rows: tuple[Row, ...]
    problems: tuple[str, ...]


@cache
def comparison() -> Comparison:
    """Return what came of all cases that we make."""
    return compare(cases(), FACTS, REASONS, GIVEN, DEFAULTS)


def compare(
    compared: tuple[Case, ...],
    facts: tuple[Fact, ...],
    why: tuple[Reason, ...],
    given: tuple[Given, ...],
    defaults: Mapping[str, Default],
) -> Comparison:
    """Return the rows of these cases by these tables."""
    rows: list[Row] = []
    problems: list[str] = []
    used: set[int] = set()
    for case in compared:
        settings = {field: value for field, value in _plain(case.settings) if not case.refused}
        fields = dict.fromkeys([*settings, *(_named(facts) if settings else ())])
        for field in fields:
            if entry := next((entry for entry in given if field.endswith(entry.ending)), None):
                used.add(id(entry))
                continue
            ours, place = settings.get(field), f"{field} of {case.recipe.label}, {case.capacity}"
            fact = _first(facts, field, case)
            if fact is None:
                if ours is not None:
                    problems.append(f"{place} is {ours!r}, and no fact says what theirs is")
                continue
            used.add(id(fact))
            if fact.value is None and ours is None:
                continue
            row = Row(case, field, fact.value, ours, fact.source)
            if not _equal(row, defaults, used):
                reason = _first(why, field, case)
                if reason is None:
                    problems.append(f"{place} is {ours!r}, theirs is {fact.value!r}, and no reason says why")
                    continue
                used.add(id(reason))
                row = Row(case, field, fact.value, ours, fact.source, reason)
            rows.append(row)
    for table in (facts, why, given, tuple(defaults.values())):
        problems += [f"applies to nothing: {entry}" for entry in table if id(entry) not in used]
    return Comparison(tuple(rows), tuple(dict.fromkeys(problems)))


def _plain(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings without names of ours."""
    for field, value in settings.items():
        if field.endswith(".labels"):
            labels = {key: label for key, label in value.items() if key != _OWN_LABEL}
            if labels:
                yield field, labels
        elif field.endswith(".networkProfile"):
            yield field, value.rpartition("/")[2]
        else:
            yield field, value


def _named(facts: tuple[Fact, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.field for fact in facts if not fact.field.endswith("*")))


_Entry = TypeVar("_Entry", Fact, Reason)


def _first(table: tuple[_Entry, ...], field: str, case: Case) -> _Entry | None:
    label, capacity = case.recipe.label, case.capacity
    return next((entry for entry in table if holds(entry, field, label, capacity)), None)


def _equal(row: Row, defaults: Mapping[str, Default], used: set[int]) -> bool:
    if row.theirs is CHOICE:
        return True
    default = defaults.get(row.field)
    if default and (row.theirs is None) != (row.ours is None):
        said = row.ours if row.theirs is None else row.theirs
        if said == default.value:
            used.add(id(default))
            return True
    return bool(row.theirs == row.ours)
