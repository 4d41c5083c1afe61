"""What differs between the settings of the lock and those of the documents, by the names of their fields."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from inferfleet.cloud.gke.facts.change_table import fields_of
from inferfleet.cloud.gke.facts.create_only import without_places

ChangeKind = Literal["created", "replaced", "nodes replaced", "removed"]
_SHOWN = 3
# Where a pool takes reservations before and after, another one is no other capacity model.
_MODEL = "capacity.model"
_CONSUMES = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVING = {"ANY_RESERVATION_THEN_FAIL", "SPECIFIC_RESERVATION"}


@dataclass(frozen=True)
class Difference:
    """One setting that differs: its path on the wire, its old and its new value (None: not set).

    `names` are the fields of documents that may have caused it, as `replace.allow` has them; none for
    settings that no document decides.
    """

    path: str
    before: Any
    after: Any
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class CloudChange:
    """What an update does to one cluster (`pool` is "") or to one pool of it.

    `note` says in which order, and which replicas are affected.
    """

    cluster: str
    pool: str
    kind: ChangeKind
    differences: tuple[Difference, ...] = ()
    note: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """Return what forces it: fields of documents, or settings that no document has."""
        named = [name for difference in self.differences for name in difference.names or (difference.path,)]
        return tuple(dict.fromkeys(named))

    def __str__(self) -> str:
        """Return `pool east/h100 is replaced: accelerator.count 4 -> 8; new nodes first`."""
        thing = f"pool {self.cluster}/{self.pool}" if self.pool else f"cluster {self.cluster}"
        verb = "has its nodes replaced" if self.kind == "nodes replaced" else f"is {self.kind}"
        why = f": {in_words(self.differences)}" if self.differences else ""
        return f"{thing} {verb}{why}{f'; {self.note}' if self.note else ''}"


def differences(
    resource: Literal["Cluster", "NodePool"], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Difference, ...]:
    """Return the settings that differ, sorted by path.

    A setting that several fields may have changed is put down to the one that another difference names
    with certainty, if there is one.
    """
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    stays = {_MODEL} if {before.get(_CONSUMES), after.get(_CONSUMES)} <= _RESERVING else set()
    causes = {
        path: tuple(name for name in _names(f"{resource}.{without_places(path)}") if name not in stays)
        for path in changed
    }
    certain = {names[0] for names in causes.values() if len(names) == 1}
    return tuple(
        Difference(
            path,
            before.get(path),
            after.get(path),
            tuple(name for name in names if name in certain) or names,
        )
        for path, names in causes.items()
    )


def _names(wire: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for row in fields_of(wire)))


def in_words(changed: Iterable[Difference]) -> str:
    """Return the differences by field: `accelerator.count 4 -> 8, capacity.model (spot unset -> true)`."""
    by_field: dict[str, list[Difference]] = {}
    for difference in changed:
        by_field.setdefault(" or ".join(difference.names) or difference.path, []).append(difference)
    return ", ".join(_field(name, group) for name, group in by_field.items())


def _field(name: str, group: list[Difference]) -> str:
    if len(group) == 1 and name.rpartition(".")[2] == group[0].path.rpartition(".")[2]:
        return f"{name} {_values(group[0])}"
    parts = [f"{each.path.rpartition('.')[2]} {_values(each)}" for each in group[:_SHOWN]]
    more = [f"{len(group) - _SHOWN} more"] if len(group) > _SHOWN else []
    return f"{name} ({', '.join(parts + more)})"


def _values(difference: Difference) -> str:
    return f"{_shown(difference.before)} -> {_shown(difference.after)}"


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
