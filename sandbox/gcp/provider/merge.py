"""From inputs to the state of a resource and back: defaults, what Google keeps, what a preview knows."""

from collections.abc import Mapping
from typing import Any

from inferfleet.gke.facts.schema import Field, Fields
from sandbox.gcp.provider.wire import UNKNOWN

Values = dict[str, Any]


def with_defaults(fields: Fields, inputs: Mapping[str, Any]) -> Values:
    """The inputs, nulls left out, and the provider's defaults where a field or its whole block is absent."""
    filled: Values = {}
    for name, value in inputs.items():
        if value is not None:
            filled[name] = _each(fields[name], value, with_defaults) if name in fields else value
    for name, one in fields.items():
        if one.default is not None and name not in filled:
            filled[name] = one.default
    return filled


def preview_state(fields: Fields, inputs: Mapping[str, Any]) -> Values:
    """What is known of a resource before it is made: its inputs, and unknowns for what Google fills in."""
    unknown = {name: UNKNOWN for name, one in fields.items() if one.output or one.computed}
    return {**unknown, **inputs}


def inputs_of(fields: Fields, state: Mapping[str, Any]) -> Values:
    """Inputs that would lead to the state, for an import: without what Google or a default would fill in."""
    found: Values = {}
    for name, value in state.items():
        one = fields.get(name)
        if one is None or one.output or value in (None, "", [], {}) or value == one.default:
            continue
        if one.required or not one.computed:
            found[name] = _each(one, value, inputs_of)
    return found


def seen_inputs(fields: Fields, old: Mapping[str, Any], state: Mapping[str, Any]) -> Values:
    """The inputs after a refresh: each that was there, with the value it has in the cloud now."""
    found: Values = {}
    for name, value in old.items():
        one = fields.get(name)
        if one is None:
            found[name] = value
        elif one.type == "Map":
            now = state.get(name) or {}
            found[name] = {key: now[key] for key in value if key in now}
        elif one.single and one.fields and isinstance(state.get(name), dict):
            found[name] = seen_inputs(one.fields, value, state[name])
        elif name in state:
            found[name] = _again(one, value, state[name])
    return found


def _again(one: Field, old: Any, now: Any) -> Any:
    """Of a list of blocks, each block with the fields it had; Google fills in more."""
    if one.fields and isinstance(old, list) and isinstance(now, list) and len(old) == len(now):
        pairs = zip(old, now, strict=True)
        return [seen_inputs(one.fields, was, is_) for was, is_ in pairs]
    return now


def _each(one: Field, value: Any, done: Any) -> Any:
    if not one.fields:
        return value
    if isinstance(value, dict):
        return done(one.fields, value)
    return [done(one.fields, item) for item in value] if isinstance(value, list) else value
