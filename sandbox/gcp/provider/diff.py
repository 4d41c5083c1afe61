"""What a change of inputs does to a resource: which fields differ, and whether one of them replaces it.

The inputs are compared with the state, as the real provider does it. A field that is absent is compared only
where Google does not fill it in, and an absent value equals a zero one ("", 0, false, nothing).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from inferfleet.cloud.gke.facts.schema import Field, Fields, resource
from sandbox.gcp.provider.wire import UNKNOWN
from sandbox.gcp.rules.names import same_link
from sandbox.gcp.rules.networking import SUBNETWORK, is_widened
from sandbox.gcp.store import CLUSTER

# Labels that Google adds to those of the team; their absence from the inputs is no change.
_GOOGLE_LABELS = ("goog-", "cloud.google.com/", "gke-", "k8s.io/")


@dataclass(frozen=True)
class Change:
    """A field that differs, by its path ("nodeConfig.spot"). `replace`: the change replaces the resource."""

    path: str
    action: Literal["add", "update", "delete"]
    replace: bool


def resource_changes(
    token: str, state: Mapping[str, Any], inputs: Mapping[str, Any], *, ignore: Iterable[str] = ()
) -> tuple[Change, ...]:
    """Return every change of a resource, with the rules that the provider has besides its table of fields."""
    changes = diff(resource(token), state, inputs, ignore=ignore)
    if state.get("ignoreNodeCountChanges") or inputs.get("ignoreNodeCountChanges"):
        changes = tuple(change for change in changes if change.path != "nodeCount")
    return tuple(_with_special_rules(token, change, state, inputs) for change in changes)


def diff(
    fields: Fields, state: Mapping[str, Any], inputs: Mapping[str, Any], *, ignore: Iterable[str] = ()
) -> tuple[Change, ...]:
    """Return every change that the table of fields finds, sorted by path.

    `ignore` holds paths that are not compared, each with everything below it.
    """
    ignored = tuple(ignore)
    changes = (
        change
        for change in _object_changes(fields, state, inputs, "")
        if not _is_ignored(change.path, ignored)
    )
    return tuple(sorted(changes, key=lambda change: change.path))


def _with_special_rules(token: str, change: Change, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    if token == SUBNETWORK and change.path == "ipCidrRange":
        return replace(change, replace=not is_widened(old, new))
    if token == CLUSTER and change.path == "enableL4IlbSubsetting" and old.get(change.path):
        return replace(change, replace=True)
    return change


def _object_changes(
    fields: Fields, old: Mapping[str, Any], new: Mapping[str, Any], prefix: str
) -> Iterator[Change]:
    for name, field in fields.items():
        if not field.output:
            yield from _field_changes(field, old.get(name), new.get(name), f"{prefix}{name}")


def _field_changes(field: Field, old: Any, new: Any, path: str) -> Iterator[Change]:
    if new is None and field.type == "Map" and not field.computed:
        yield from _map_changes(field, old or {}, {}, path)
    elif new is None:
        if not field.computed and field.default is None and not _is_zero(old):
            yield Change(path, "delete", _replaces(field, old))
    elif new == UNKNOWN:
        yield Change(path, "add" if old is None else "update", field.force_new)
    elif _is_zero(old) and _is_zero(new):
        return
    elif field.type == "Map":
        yield from _map_changes(field, old or {}, new, path)
    elif field.single and field.fields:
        if old is None:
            yield Change(path, "add", _replaces(field, new))
        else:
            yield from _object_changes(field.fields, old, new, f"{path}.")
    elif field.type == "Set":
        yield from _set_changes(field, old or [], new, path)
    elif field.type == "List" and not field.single:
        yield from _list_changes(field, old or [], new, path)
    elif old != new and not same_link(path, old, new):
        yield Change(path, "add" if old is None else "update", field.force_new)


def _map_changes(field: Field, old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    for key in sorted({*old, *new}):
        if key not in new:
            if not key.startswith(_GOOGLE_LABELS):
                yield Change(f"{path}.{key}", "delete", field.force_new)
        elif key not in old:
            yield Change(f"{path}.{key}", "add", field.force_new)
        elif old[key] != new[key]:
            yield Change(f"{path}.{key}", "update", field.force_new)


def _list_changes(field: Field, old: list[Any], new: list[Any], path: str) -> Iterator[Change]:
    for number in range(max(len(old), len(new))):
        item = f"{path}[{number}]"
        if number >= len(new):
            yield Change(item, "delete", _replaces(field, old[number]))
        elif number >= len(old):
            yield Change(item, "add", _replaces(field, new[number]))
        elif field.fields and isinstance(new[number], dict):
            yield from _object_changes(field.fields, old[number], new[number], f"{item}.")
        elif old[number] != new[number]:
            yield Change(item, "update", field.force_new)


def _set_changes(field: Field, old: list[Any], new: list[Any], path: str) -> Iterator[Change]:
    """Yield the items that only one of the sets has; their order does not count."""
    for number, item in enumerate(new):
        if not any(_is_same_item(field, old_item, item) for old_item in old):
            yield Change(f"{path}[{number}]", "add", _replaces(field, item))
    for number, item in enumerate(old):
        if not any(_is_same_item(field, item, new_item) for new_item in new):
            yield Change(f"{path}[{len(new) + number}]", "delete", _replaces(field, item))


def _is_same_item(field: Field, old: Any, new: Any) -> bool:
    if field.fields and isinstance(old, dict) and isinstance(new, dict):
        return not any(_object_changes(field.fields, old, new, ""))
    return bool(old == new)


def _replaces(field: Field, value: Any) -> bool:
    """Return True when a block that is added or deleted replaces the resource.

    It does when the block itself, or any field that is set in it, can only be set on a new resource.
    """
    if field.force_new:
        return True
    items = value if isinstance(value, list) else [value]
    return any(
        _replaces(field.fields[name], inner)
        for item in items
        if isinstance(item, dict)
        for name, inner in item.items()
        if name in field.fields and not field.fields[name].output
    )


def _is_zero(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_zero(inner) for inner in value.values())
    return value in (None, "", 0, False, [])


def _is_ignored(path: str, ignored: tuple[str, ...]) -> bool:
    return any(
        pattern == "*" or path == pattern or path.startswith((f"{pattern}.", f"{pattern}["))
        for pattern in ignored
    )
