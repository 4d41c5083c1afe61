"""Conditions of policies: CEL, compiled once with the types of what they are asked of, and evaluated.

Each fact is a message of CEL, of a type that is made of its dataclass, with fields in camelCase. So a
condition that names a field which is not there, or compares it with another type, is refused before it is
evaluated. What an evaluation can cost is bounded before, as for selectors, by the sizes of its variables.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from inferfleet.documents.wording import shown
from inferfleet.fleet.selectors.expressions import Program, Size, Source, largest
from inferfleet.fleet.selectors.library import Unusable
from inferfleet.review.policy.facts import TYPES, Stack

_EXTENSIONS = """
name: inferfleet
extensions:
  - {name: bindings, version: 0}
  - {name: lists, version: 2}
  - {name: math}
  - {name: optional}
  - {name: sets}
  - {name: strings}
  - {name: two-var-comprehensions}
"""
_GUIDE = "docs/guides/rules.md"
# What an evaluation fails with, by what the library says.
_NO_KEY = 'a map in it lacks a key; ask for it as in labels[?"tier"].orValue("")'
_PACKAGE = "inferfleet"
# Types of fields in descriptor.proto, and the label of those that are there once or repeat.
_SCALARS: Mapping[type, int] = {str: 9, int: 3, float: 1, bool: 8}
_MESSAGE, _ONCE, _REPEATED = 11, 1, 3


class Condition:
    """A condition about one kind of thing. Raises InvalidSelector where it cannot be asked of any."""

    def __init__(self, each: str, cel: str, sizes: Mapping[str, Size]) -> None:
        """Compile the condition, for variables of these sizes."""
        self._each = each
        self._paths = _paths(Source(cel), each)
        names = (each, "stack", "sum", *_field_names())
        self._program = Program(cel, _environment(each), sizes, names=names, guide=_GUIDE)
        self.steps = self._program.steps

    def breach(self, variables: Mapping[str, Any]) -> str | None:
        """Return None where the condition is true, "" where it is false, and else why it has no value."""
        result = self._program.result(variables)
        if isinstance(result, bool):
            return None if result else ""
        why = _NO_KEY if "Key not found" in result else result
        return f"the condition cannot be evaluated: {why}"

    def values(self, fact: Any, stack: Stack) -> str:
        """Return the values of what the condition names, for a message."""
        texts = []
        for path in self._paths:
            value: Any = {self._each: fact, "stack": stack}
            for name in path:
                value = value.get(name) if isinstance(value, dict) else getattr(value, _snake(name), None)
            if isinstance(value, float):
                value = f"{value:.2f}"
            if isinstance(value, str | int):
                texts.append(f"{'.'.join(path)} is {shown(str(value)) or 'empty'}")
            elif isinstance(value, tuple) and all(isinstance(entry, str) for entry in value):
                texts.append(f"{'.'.join(path)} is {shown(', '.join(value[:80]), 80) or 'empty'}")
        return ", ".join(texts)


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _paths(source: Source, each: str) -> tuple[tuple[str, ...], ...]:
    """Return the fields that a condition names, each once: `(model, gpus)`."""
    words: Sequence[str] = [token.text for token in source.tokens]
    paths: dict[tuple[str, ...], None] = {}
    for index, word in enumerate(words):
        if word not in (each, "stack") or (index and words[index - 1] == "."):
            continue
        path = [word]
        while words[index + 1 : index + 2] == ["."] and words[index + 2] in _field_names():
            path.append(words[index + 2])
            index += 2
        paths[tuple(path)] = None
    return tuple(paths)


@cache
def _environment(each: str) -> Any:
    """Return the environment that compiles conditions of one kind."""
    from cel_expr_python import cel

    from inferfleet.fleet.selectors.library import matching

    any_list = cel.Type.List(cel.Type.DYN)
    total = cel.Overload(
        "sum_of_list", return_type=cel.Type.DYN, parameters=[any_list], is_member=True, impl=_total
    )
    return cel.NewEnv(
        descriptor_pool=_descriptor_pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables={each: cel.Type(_type_name(TYPES[each])), "stack": cel.Type(_type_name(Stack))},
        functions=[cel.FunctionDecl("sum", [total]), matching()],
    )


def _total(values: Sequence[Any]) -> Any:
    """Return the sum of numbers. Raises Unusable for other values."""
    try:
        return sum(values)
    except TypeError:
        raise Unusable("sum adds numbers alone") from None


def _type_name(fact: type) -> str:
    """Return the name of a type in the environment."""
    return f"{_PACKAGE}.{fact.__name__}"


@cache
def _field_names() -> frozenset[str]:
    """Return the fields of all types, as conditions write them."""
    return frozenset(to_camel(field.name) for fact in _types() for field in fields(fact))


@cache
def _descriptor_pool() -> Any:
    """Return the descriptor pool that has the types, and no others."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="policy.proto", package=_PACKAGE, syntax="proto3")
    for fact in _types():
        message = file.message_type.add(name=fact.__name__)
        hints = get_type_hints(fact)
        for number, field in enumerate(fields(fact), start=1):
            _declare(message, to_camel(field.name), number, hints[field.name])
    types = descriptor_pool.DescriptorPool()
    types.Add(file)
    return types


def message(fact: Any) -> Any:
    """Return the message of a fact."""
    kind: Any = type(fact)
    result = _message_class(_type_name(kind))()
    for field, name in _named(kind):
        value = getattr(fact, field)
        if is_dataclass(value):
            getattr(result, name).CopyFrom(message(value))
        elif isinstance(value, Mapping):
            getattr(result, name).update(value)
        elif isinstance(value, tuple):
            getattr(result, name).extend(
                [message(entry) if is_dataclass(entry) else entry for entry in value]
            )
        else:
            setattr(result, name, value)
    return result


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
        sizes = {name: size(getattr(value, field)) for field, name in _named(kind)}
        return Size(len(sizes), sum(field.weight for field in sizes.values()), fields=sizes)
    else:
        return Size(1, 1)
    weight = len(entries) + sum(entry.weight for entry in entries)
    return Size(len(entries), weight, largest(entries))


@cache
def _named(fact: Any) -> tuple[tuple[str, str], ...]:
    """Return the fields of a type, each with its name in conditions."""
    return tuple((field.name, to_camel(field.name)) for field in fields(fact))


@cache
def _message_class(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_descriptor_pool().FindMessageTypeByName(name))


def _types() -> Iterator[type]:
    yield Stack
    yield from TYPES.values()


def _declare(message: Any, name: str, number: int, hint: Any) -> None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is not None and issubclass(origin, Mapping):
        entry = message.nested_type.add(name=f"{name[:1].upper()}{name[1:]}Entry")
        entry.options.map_entry = True
        for index, part in enumerate(("key", "value"), start=1):
            entry.field.add(name=part, number=index, type=_SCALARS[str], label=_ONCE)
        type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
        message.field.add(name=name, number=number, type=_MESSAGE, label=_REPEATED, type_name=type_name)
        return
    inner, label = (arguments[0], _REPEATED) if origin is tuple else (hint, _ONCE)
    if inner in _SCALARS:
        message.field.add(name=name, number=number, type=_SCALARS[inner], label=label)
    else:
        type_name = f".{_type_name(inner)}"
        message.field.add(name=name, number=number, type=_MESSAGE, label=label, type_name=type_name)
