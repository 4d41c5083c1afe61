"""Compares inputs with the provider's field table: names, types, what is required, what excludes what."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.facts.schema import Field, Fields, Type, resource
from inferfleet.cloud.values import CloudResource

_PYTHON: Mapping[Type, type] = {"String": str, "Int": int, "Float": float, "Bool": bool}


def mistakes(one: CloudResource) -> list[str]:
    """What the provider would refuse, as `<key>: <path>: <why>`; also paths to ignore that are not there."""
    fields = resource(one.token)
    found = list(_of_block(fields, one.inputs, ""))
    found += _excluded(fields, one.inputs, "", one.inputs)
    found += [f"{path}: ignored, and no field" for path in one.ignore if not _is_field(fields, path)]
    return [f"{one.key}: {said}" for said in found]


def _of_block(fields: Fields, inputs: Any, at: str) -> Iterator[str]:
    if not isinstance(inputs, dict):
        yield f"{at}: {inputs!r} is no block"
        return
    for name, value in inputs.items():
        path = f"{at}{name}"
        if name not in fields:
            yield f"{path}: no such field"
        elif fields[name].output:
            yield f"{path}: is an output"
        else:
            yield from _of_field(fields[name], value, path)
    for name, field in fields.items():
        if field.required and name not in inputs:
            yield f"{at}{name}: is required"


def _of_field(field: Field, value: Any, path: str) -> Iterator[str]:
    if field.single and field.fields:
        yield from _of_block(field.fields, value, f"{path}.")
    elif field.type == "Map":
        yield from _of_items(field, value, path, dict)
    elif field.type in ("List", "Set"):
        yield from _of_items(field, value, path, list)
    elif type(value) is not _PYTHON[field.type]:
        yield f"{path}: {value!r} is not of type {field.type}"


def _of_items(field: Field, value: Any, path: str, shape: type) -> Iterator[str]:
    if type(value) is not shape:
        yield f"{path}: {value!r} is not of type {field.type}"
        return
    if len(value) < field.min_items or (field.max_items is not None and len(value) > field.max_items):
        yield f"{path}: has {len(value)} items"
    if field.type == "Set" and len({repr(item) for item in value}) < len(value):
        yield f"{path}: says something twice"
    for place, item in enumerate(value.values() if shape is dict else value):
        if field.fields:
            yield from _of_block(field.fields, item, f"{path}[{place}].")
        elif type(item) is not _PYTHON[field.element or "String"]:
            yield f"{path}[{place}]: {item!r} is not of type {field.element}"


def _excluded(fields: Fields, inputs: Mapping[str, Any], at: str, whole: Mapping[str, Any]) -> Iterator[str]:
    for name, field in fields.items():
        path = f"{at}{name}"
        there = name in inputs
        if there:
            yield from (f"{path}: excludes {other}" for other in field.conflicts if _there(whole, other))
            if field.single and field.fields:
                yield from _excluded(field.fields, inputs[name], f"{path}.", whole)
        if field.exactly_one and sum(_there(whole, one) for one in field.exactly_one) != 1:
            yield f"{path}: not exactly one of {', '.join(field.exactly_one)}"


def _there(inputs: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(inputs, dict) or part not in inputs:
            return False
        inputs = inputs[part]
    return True


def _is_field(fields: Fields, path: str) -> bool:
    for part in path.split("."):
        if part not in fields:
            return False
        fields = fields[part].fields
    return True
