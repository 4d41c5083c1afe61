"""What differs between the settings of the lock and those of the documents, by the names of their fields."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from inferfleet.cloud.gke.facts.change_table import fields_of
from inferfleet.cloud.gke.facts.create_only import ZONES, forcing, leaves, recreates, without_places
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.values import CloudResource, Comparison, Difference, in_words

# Where a pool takes reservations before and after, another one is no other capacity model.
# Zones of a pool that lose nodes are a change in the cloud, and told as one.
_IN_PLACE = "changes in place"
_MODEL = "capacity.model"
_CONSUMES = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVING = {"ANY_RESERVATION_THEN_FAIL", "SPECIFIC_RESERVATION"}


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


def compared(before: CloudResource, after: CloudResource) -> Comparison | None:
    """Return what becomes of a resource whose inputs change, as the engine finds it by its state."""
    token = after.token
    changed = tuple(_changed(before, after))
    if not changed:
        return None
    forced = _differing(forcing(token, before.inputs), forcing(token, after.inputs))
    if forced or "name" in changed:
        return Comparison(True, _once(path for path in forced if path != "name"), "")
    kind: Literal["Cluster", "NodePool"] = "Cluster" if token == CLUSTER else "NodePool"
    every = differences(kind, leaves(token, before.inputs), leaves(token, after.inputs))
    fields = _once(changed)
    return Comparison(
        False,
        fields,
        in_words(difference for difference in every if difference.path in changed),
        _IN_PLACE
        if token != NODE_POOL or not any(map(recreates, set(fields) - {ZONES}))
        else f"{_IN_PLACE}, and GKE replaces its nodes, some at a time",
    )


def _changed(before: CloudResource, after: CloudResource) -> Iterator[str]:
    """Yield the paths of settings that differ and that the engine is not told to ignore."""
    for path in _differing(leaves(after.token, before.inputs), leaves(after.token, after.inputs)):
        if not any(f"{without_places(path)}.".startswith(f"{ignored}.") for ignored in after.ignore):
            yield path


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(without_places(path) for path in paths))
