"""Inputs against the provider's fields: unknown, missing, wrongly typed and conflicting ones are refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.gke.facts.schema import Field, Fields, resource, walk
from sandbox.gcp.provider.wire import UNKNOWN

# Python's types of the JSON values that a field of the type takes; bool is an int to Python, not to us.
_SCALARS: dict[str, tuple[type, ...]] = {
    "String": (str,),
    "Int": (int,),
    "Float": (int, float),
    "Bool": (bool,),
}


@dataclass(frozen=True)
class Failure:
    """A property that cannot be: its path ("nodeConfig.taints[0].key") and why."""

    path: str
    reason: str


def check(token: str, inputs: Mapping[str, Any]) -> tuple[Failure, ...]:
    """Every failure there is, in the order of the inputs. Values that are unknown pass."""
    fields = resource(token)
    found = list(_object(fields, inputs, ""))
    found += _together(fields, inputs)
    if not found and "name" in fields and not fields["name"].output and not inputs.get("name"):
        found.append(Failure("name", "the simulated cloud makes no names: give one"))
    return tuple(found)


def _object(fields: Fields, values: Mapping[str, Any], before: str) -> Iterator[Failure]:
    for name, value in values.items():
        path = f"{before}{name}"
        one = fields.get(name)
        if one is None or one.output:
            yield Failure(path, f"An argument named {name!r} is not expected here")
        elif value is not None:
            yield from _value(one, value, path)
    for name, one in fields.items():
        if one.required and values.get(name) is None:
            yield Failure(f"{before}{name}", f"Missing required argument {name!r}")


def _value(one: Field, value: Any, path: str) -> Iterator[Failure]:
    if value == UNKNOWN:
        return
    if one.type == "Map":
        yield from _map(one, value, path)
    elif one.type in ("List", "Set"):
        items = [value] if one.single else value
        if not isinstance(items, list) or (one.single and isinstance(value, list)):
            what = "one object and not a list of it" if one.single else "a list"
            yield Failure(path, f"expected {what}, got {_kind(value)}")
            return
        yield from _count(one, items, path)
        for number, item in enumerate(items):
            yield from _item(one, item, path if one.single else f"{path}[{number}]")
    else:
        yield from _scalar(one.type, value, path)


def _item(one: Field, item: Any, path: str) -> Iterator[Failure]:
    if item == UNKNOWN:
        return
    if not one.fields:
        yield from _scalar(one.element or "String", item, path)
    elif isinstance(item, dict):
        yield from _object(one.fields, item, f"{path}.")
    else:
        yield Failure(path, f"expected an object, got {_kind(item)}")


def _map(one: Field, value: Any, path: str) -> Iterator[Failure]:
    if not isinstance(value, dict):
        yield Failure(path, f"expected an object, got {_kind(value)}")
        return
    for key, item in value.items():
        if item != UNKNOWN:
            yield from _scalar(one.element or "String", item, f"{path}.{key}")


def _scalar(kind: str, value: Any, path: str) -> Iterator[Failure]:
    fits = isinstance(value, _SCALARS[kind]) and (kind == "Bool" or not isinstance(value, bool))
    if not fits and value != UNKNOWN:
        yield Failure(path, f"expected {kind}, got {_kind(value)} {value!r}")


def _count(one: Field, items: list[Any], path: str) -> Iterator[Failure]:
    if one.max_items is not None and len(items) > one.max_items:
        yield Failure(path, f"Too many items: {len(items)}, at most {one.max_items}")
    if len(items) < one.min_items:
        yield Failure(path, f"Not enough items: {len(items)}, at least {one.min_items}")


def _together(fields: Fields, inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Fields that exclude each other, and groups of which exactly one must be there."""
    seen: set[tuple[str, ...]] = set()
    for path, one in walk(fields):
        if one.conflicts and _at(inputs, path) is not None:
            for other in one.conflicts:
                if other != path and _at(inputs, other) not in (None, UNKNOWN):
                    reason = f"Conflicting configuration arguments: {path!r} conflicts with {other!r}"
                    yield Failure(path, reason)
        if one.exactly_one and one.exactly_one not in seen:
            seen.add(one.exactly_one)
            parent = path.rpartition(".")[0]
            have = [name for name in one.exactly_one if _at(inputs, name) is not None]
            if len(have) != 1 and (not parent or _at(inputs, parent) is not None):
                yield Failure(
                    path,
                    f"Invalid combination of arguments: exactly one of {', '.join(one.exactly_one)} "
                    f"must be given, not {len(have)}",
                )


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _kind(value: Any) -> str:
    names = {str: "String", bool: "Bool", int: "Int", float: "Float", list: "List", dict: "Object"}
    return names.get(type(value), "nothing")
