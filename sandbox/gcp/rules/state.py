"""The state of any resource after inputs are applied to it."""

from collections.abc import Mapping
from typing import Any

from inferfleet.cloud.gke.facts.schema import Field, Fields

Values = dict[str, Any]


def next_state(fields: Fields, old: Mapping[str, Any], inputs: Mapping[str, Any]) -> Values:
    """Return the state after the inputs are applied.

    A field that the inputs leave out keeps its value if Google fills it in, and is removed otherwise.
    """
    state: Values = {}
    for name, field in fields.items():
        if name not in inputs:
            if name in old and (field.computed or field.output):
                state[name] = old[name]
        elif field.fields:
            state[name] = _next_blocks(field, old.get(name), inputs[name])
        else:
            state[name] = inputs[name]
    return state


def _next_blocks(field: Field, old: Any, new: Any) -> Any:
    """Return the new blocks, each with what Google filled into the old one at its place."""
    if isinstance(new, dict):
        return next_state(field.fields, old if isinstance(old, dict) else {}, new)
    if isinstance(new, list):
        before = old if isinstance(old, list) and field.type == "List" else []
        return [
            next_state(field.fields, before[number] if number < len(before) else {}, block)
            for number, block in enumerate(new)
        ]
    return new
