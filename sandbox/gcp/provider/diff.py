"""What a change of inputs does to a resource: which fields differ, and whether one of them replaces it.

As the real provider compares: the inputs against the state. A field that is absent is compared only where
Google does not fill it in, and an absent value equals a zero one ("", 0, false, nothing).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from inferfleet.gke.facts.schema import Field, Fields
from sandbox.gcp.provider.wire import UNKNOWN
from sandbox.gcp.rules.names import same_link
from sandbox.gcp.rules.networking import SUBNETWORK, grows
from sandbox.gcp.store import CLUSTER

# Labels that Google adds to those of the team, and does not call a change.
GOOGLES = ("goog-", "cloud.google.com/", "gke-", "k8s.io/")


@dataclass(frozen=True)
class Change:
    """One field that differs: "nodeConfig.spot". `replace`: the resource must be made anew for it."""

    path: str
    kind: Literal["add", "update", "delete"]
    replace: bool


def diff(
    fields: Fields, state: Mapping[str, Any], inputs: Mapping[str, Any], *, ignore: Iterable[str] = ()
) -> tuple[Change, ...]:
    """Every change, sorted by path. `ignore` holds paths, each with everything below it."""
    ignored = tuple(ignore)
    changes = (one for one in _fields(fields, state, inputs, "") if not _is_ignored(one.path, ignored))
    return tuple(sorted(changes, key=lambda one: one.path))


def adjusted(
    token: str, changes: tuple[Change, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[Change, ...]:
    """The changes with the rules the provider has besides its table of fields."""
    return tuple(_adjusted(token, one, old, new) for one in changes)


def _adjusted(token: str, change: Change, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    field = change.path
    if token == SUBNETWORK and field == "ipCidrRange":
        return Change(field, change.kind, replace=not grows(old, new))
    if token == CLUSTER and field == "enableL4IlbSubsetting" and old.get(field):
        return Change(field, change.kind, replace=True)
    return change


def _fields(fields: Fields, old: Mapping[str, Any], new: Mapping[str, Any], before: str) -> Iterator[Change]:
    for name, one in fields.items():
        if not one.output:
            yield from _field(one, old.get(name), new.get(name), f"{before}{name}")


def _field(one: Field, old: Any, new: Any, path: str) -> Iterator[Change]:
    if new is None and one.type == "Map" and not one.computed:
        yield from _map(one, old or {}, {}, path)
    elif new is None:
        if not one.computed and one.default is None and not _zero(old):
            yield Change(path, "delete", _replaces(one, old))
    elif new == UNKNOWN:
        yield Change(path, "add" if old is None else "update", one.force_new)
    elif _zero(old) and _zero(new):
        return
    elif one.type == "Map":
        yield from _map(one, old or {}, new, path)
    elif one.single and one.fields:
        if old is None:
            yield Change(path, "add", _replaces(one, new))
        else:
            yield from _fields(one.fields, old, new, f"{path}.")
    elif one.type == "Set":
        yield from _set(one, old or [], new, path)
    elif one.type == "List" and not one.single:
        yield from _list(one, old or [], new, path)
    elif old != new and not same_link(path, old, new):
        yield Change(path, "add" if old is None else "update", one.force_new)


def _map(one: Field, old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Change]:
    for key in sorted({*old, *new}):
        if key not in new:
            if not key.startswith(GOOGLES):
                yield Change(f"{path}.{key}", "delete", one.force_new)
        elif key not in old:
            yield Change(f"{path}.{key}", "add", one.force_new)
        elif old[key] != new[key]:
            yield Change(f"{path}.{key}", "update", one.force_new)


def _list(one: Field, old: list[Any], new: list[Any], path: str) -> Iterator[Change]:
    for number in range(max(len(old), len(new))):
        item = f"{path}[{number}]"
        if number >= len(new):
            yield Change(item, "delete", _replaces(one, old[number]))
        elif number >= len(old):
            yield Change(item, "add", _replaces(one, new[number]))
        elif one.fields and isinstance(new[number], dict):
            yield from _fields(one.fields, old[number], new[number], f"{item}.")
        elif old[number] != new[number]:
            yield Change(item, "update", one.force_new)


def _set(one: Field, old: list[Any], new: list[Any], path: str) -> Iterator[Change]:
    """A set has no order: items of the one that the other lacks."""
    for number, item in enumerate(new):
        if not any(_same_item(one, other, item) for other in old):
            yield Change(f"{path}[{number}]", "add", _replaces(one, item))
    for number, item in enumerate(old):
        if not any(_same_item(one, item, other) for other in new):
            yield Change(f"{path}[{len(new) + number}]", "delete", _replaces(one, item))


def _same_item(one: Field, old: Any, new: Any) -> bool:
    if one.fields and isinstance(old, dict) and isinstance(new, dict):
        return not any(_fields(one.fields, old, new, ""))
    return bool(old == new)


def _replaces(one: Field, value: Any) -> bool:
    """A block that comes or goes replaces when it, or a field set in it, does."""
    if one.force_new:
        return True
    items = value if isinstance(value, list) else [value]
    return any(
        _replaces(one.fields[name], inner)
        for item in items
        if isinstance(item, dict)
        for name, inner in item.items()
        if name in one.fields and not one.fields[name].output
    )


def _zero(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_zero(one) for one in value.values())
    return value in (None, "", 0, False, [])


def _is_ignored(path: str, ignored: tuple[str, ...]) -> bool:
    return any(one == "*" or path == one or path.startswith((f"{one}.", f"{one}[")) for one in ignored)
