"""Facts as messages of CEL: a message type for each dataclass, whose fields are in camelCase.

So a condition that names a field which is not there, or compares it with another type, is refused before it
is evaluated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from inferfleet.fleet.selectors.growth import Size, largest
from inferfleet.review.policy.facts import TYPES, Stack

_PACKAGE = "inferfleet"
# Types of fields in descriptor.proto, and the label of those that are there once or repeat.
_SCALARS: Mapping[type, int] = {str: 9, int: 3, float: 1, bool: 8}
_MESSAGE, _ONCE, _REPEATED = 11, 1, 3


def full_name(fact: type) -> str:
    """Return the name of a type in the environment."""
    return f"{_PACKAGE}.{fact.__name__}"


@cache
def field_names() -> frozenset[str]:
    """Return the fields of all types, as conditions write them."""
    return frozenset(to_camel(field.name) for fact in _types() for field in fields(fact))


@cache
def pool() -> Any:
    """Return the descriptor pool that has the types, and no others."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="policy.proto", package=_PACKAGE, syntax="proto3")
    for fact in _types():
        message = file.message_type.add(name=fact.__name__)
        hints = get_type_hints(fact)
        for number, field in enumerate(fields(fact), start=1):
            _declare(message, to_camel(field.name), number, hints[field.name])
    own = descriptor_pool.DescriptorPool()
    own.Add(file)
    return own


def message(fact: Any) -> Any:
    """Return the message of a fact."""
    kind: Any = type(fact)
    made = _class(full_name(kind))()
    for field, name in _named(kind):
        value = getattr(fact, field)
        if is_dataclass(value):
            getattr(made, name).CopyFrom(message(value))
        elif isinstance(value, Mapping):
            getattr(made, name).update(value)
        elif isinstance(value, tuple):
            getattr(made, name).extend([message(entry) if is_dataclass(entry) else entry for entry in value])
        else:
            setattr(made, name, value)
    return made


def size(value: Any) -> Size:
    """Return how large a fact or a value of one is, with its fields."""
    if isinstance(value, str):
        return Size(len(value), len(value))
    if isinstance(value, Mapping):
        entries = [size(text) for entry in value.items() for text in entry]
    elif isinstance(value, tuple):
        entries = [size(entry) for entry in value]
    elif is_dataclass(value):
        kind: Any = type(value)
        of = {name: size(getattr(value, field)) for field, name in _named(kind)}
        return Size(len(of), sum(field.weight for field in of.values()), fields=of)
    else:
        return Size(1, 1)
    weight = len(entries) + sum(entry.weight for entry in entries)
    return Size(len(entries), weight, largest(entries))


@cache
def _named(fact: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields of a type, each with its name in conditions."""
    return tuple((field.name, to_camel(field.name)) for field in fields(fact))


@cache
def _class(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def _types() -> Iterator[type]:
    yield Stack
    yield from TYPES.values()


def _declare(message: Any, name: str, number: int, hint: Any) -> None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is not None and issubclass(origin, Mapping):
        entry = message.nested_type.add(name=f"{name[:1].upper()}{name[1:]}Entry")
        entry.options.map_entry = True
        for place, part in enumerate(("key", "value"), start=1):
            entry.field.add(name=part, number=place, type=_SCALARS[str], label=_ONCE)
        type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
        message.field.add(name=name, number=number, type=_MESSAGE, label=_REPEATED, type_name=type_name)
        return
    inner, label = (arguments[0], _REPEATED) if origin is tuple else (hint, _ONCE)
    if inner in _SCALARS:
        message.field.add(name=name, number=number, type=_SCALARS[inner], label=label)
    else:
        type_name = f".{full_name(inner)}"
        message.field.add(name=name, number=number, type=_MESSAGE, label=label, type_name=type_name)
