"""Inputs against the provider's fields: unknown, missing, wrongly typed and conflicting ones are refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.facts.schema import Field, Fields, resource, walk
from sandbox.gcp.provider.wire import UNKNOWN

# The Python types of the values that each scalar type takes. To Python a bool is also an int; here it is not.
_SCALARS: dict[str, tuple[type, ...]] = {
    "String": (str,),
    "Int": (int,),
    "Float": (int, float),
    "Bool": (bool,),
}


@dataclass(frozen=True)
class Failure:
    """An input that is refused: its path ("nodeConfig.taints[0].key") and the reason."""

    path: str
    reason: str


def check(token: str, inputs: Mapping[str, Any]) -> tuple[Failure, ...]:
    """Return every failure of the inputs of a resource type, in the order of the inputs.

    Values that are not known yet are accepted.
    """
    fields = resource(token)
    failures = [*_check_object(fields, inputs, ""), *_check_combinations(fields, inputs)]
    if not failures and "name" in fields and not fields["name"].output and not inputs.get("name"):
        failures.append(Failure("name", "the simulated cloud generates no names: give one"))
    return tuple(failures)


def _check_object(fields: Fields, values: Mapping[str, Any], prefix: str) -> Iterator[Failure]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        known = fields.get(name)
        if known is None or known.output:
            yield Failure(path, f"An argument named {name!r} is not expected here")
        elif value is not None:
            yield from _check_value(known, value, path)
    for name, field in fields.items():
        if field.required and values.get(name) is None:
            yield Failure(f"{prefix}{name}", f"Missing required argument {name!r}")


def _check_value(field: Field, value: Any, path: str) -> Iterator[Failure]:
    if value == UNKNOWN:
        return
    if field.type == "Map":
        yield from _check_map(field, value, path)
    elif field.type in ("List", "Set"):
        items = [value] if field.single else value
        if not isinstance(items, list) or (field.single and isinstance(value, list)):
            expected = "one object and not a list of it" if field.single else "a list"
            yield Failure(path, f"expected {expected}, got {_type_name(value)}")
            return
        yield from _check_count(field, items, path)
        for number, item in enumerate(items):
            yield from _check_item(field, item, path if field.single else f"{path}[{number}]")
    else:
        yield from _check_scalar(field.type, value, path)


def _check_item(field: Field, item: Any, path: str) -> Iterator[Failure]:
    if item == UNKNOWN:
        return
    if not field.fields:
        yield from _check_scalar(field.element or "String", item, path)
    elif isinstance(item, dict):
        yield from _check_object(field.fields, item, f"{path}.")
    else:
        yield Failure(path, f"expected an object, got {_type_name(item)}")


def _check_map(field: Field, value: Any, path: str) -> Iterator[Failure]:
    if not isinstance(value, dict):
        yield Failure(path, f"expected an object, got {_type_name(value)}")
        return
    for key, item in value.items():
        if item != UNKNOWN:
            yield from _check_scalar(field.element or "String", item, f"{path}.{key}")


def _check_scalar(expected: str, value: Any, path: str) -> Iterator[Failure]:
    fits = isinstance(value, _SCALARS[expected]) and (expected == "Bool" or not isinstance(value, bool))
    if not fits and value != UNKNOWN:
        yield Failure(path, f"expected {expected}, got {_type_name(value)} {value!r}")


def _check_count(field: Field, items: list[Any], path: str) -> Iterator[Failure]:
    if field.max_items is not None and len(items) > field.max_items:
        yield Failure(path, f"Too many items: {len(items)}, at most {field.max_items}")
    if len(items) < field.min_items:
        yield Failure(path, f"Not enough items: {len(items)}, at least {field.min_items}")


def _check_combinations(fields: Fields, inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Check fields that exclude each other, and groups of which exactly one must be given."""
    checked_groups: set[tuple[str, ...]] = set()
    for path, field in walk(fields):
        if field.conflicts and _value_at(inputs, path) is not None:
            for other in field.conflicts:
                if other != path and _value_at(inputs, other) not in (None, UNKNOWN):
                    reason = f"Conflicting configuration arguments: {path!r} conflicts with {other!r}"
                    yield Failure(path, reason)
        if field.exactly_one and field.exactly_one not in checked_groups:
            checked_groups.add(field.exactly_one)
            parent = path.rpartition(".")[0]
            given = [name for name in field.exactly_one if _value_at(inputs, name) is not None]
            if len(given) != 1 and (not parent or _value_at(inputs, parent) is not None):
                yield Failure(
                    path,
                    f"Invalid combination of arguments: exactly one of {', '.join(field.exactly_one)} "
                    f"must be given, not {len(given)}",
                )


def _value_at(values: Mapping[str, Any], path: str) -> Any:
    value: Any = values
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _type_name(value: Any) -> str:
    names = {str: "String", bool: "Bool", int: "Int", float: "Float", list: "List", dict: "Object"}
    return names.get(type(value), "nothing")
