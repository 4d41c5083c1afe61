"""Inputs of a resource as the real provider makes them: with defaults, of an import and after a refresh."""

from collections.abc import Callable, Mapping
from typing import Any

from inferfleet.cloud.gke.facts.schema import Field, Fields
from sandbox.gcp.provider.wire import UNKNOWN

Values = dict[str, Any]


def with_defaults(fields: Fields, inputs: Mapping[str, Any]) -> Values:
    """Return the inputs without nulls, and with the provider's default of each field that is absent."""
    completed: Values = {}
    for name, value in inputs.items():
        if value is not None:
            completed[name] = _in_blocks(fields[name], value, with_defaults) if name in fields else value
    for name, field in fields.items():
        if field.default is not None and name not in completed:
            completed[name] = field.default
    return completed


def preview_state(fields: Fields, inputs: Mapping[str, Any]) -> Values:
    """Return what is known of a resource before it is made: its inputs; the rest is UNKNOWN."""
    unknown = {name: UNKNOWN for name, field in fields.items() if field.output or field.computed}
    return {**unknown, **inputs}


def imported_inputs(fields: Fields, state: Mapping[str, Any]) -> Values:
    """Return inputs that lead to the state, without what Google or a default would fill in."""
    inputs: Values = {}
    for name, value in state.items():
        field = fields.get(name)
        if field is None or field.output or value in (None, "", [], {}) or value == field.default:
            continue
        if field.required or not field.computed:
            inputs[name] = _in_blocks(field, value, imported_inputs)
    return inputs


def refreshed_inputs(fields: Fields, old: Mapping[str, Any], state: Mapping[str, Any]) -> Values:
    """Return the same inputs as before, each with the value that it has in the state."""
    inputs: Values = {}
    for name, value in old.items():
        field = fields.get(name)
        if field is None:
            inputs[name] = value
        elif field.type == "Map":
            current = state.get(name) or {}
            inputs[name] = {key: current[key] for key in value if key in current}
        elif field.single and field.fields and isinstance(state.get(name), dict):
            inputs[name] = refreshed_inputs(field.fields, value, state[name])
        elif name in state:
            inputs[name] = _refreshed_list(field, value, state[name])
    return inputs


def _refreshed_list(field: Field, old: Any, current: Any) -> Any:
    """Return the current value. Of blocks only the fields that they had are taken; Google fills in more."""
    if field.fields and isinstance(old, list) and isinstance(current, list) and len(old) == len(current):
        return [
            refreshed_inputs(field.fields, old_block, block)
            for old_block, block in zip(old, current, strict=True)
        ]
    return current


def _in_blocks(field: Field, value: Any, convert: Callable[[Fields, Mapping[str, Any]], Values]) -> Any:
    """Return the value with each of its blocks converted; a value without blocks is returned unchanged."""
    if not field.fields:
        return value
    if isinstance(value, dict):
        return convert(field.fields, value)
    return [convert(field.fields, item) for item in value] if isinstance(value, list) else value
