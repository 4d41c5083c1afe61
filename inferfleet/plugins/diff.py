"""What differs between two plain values, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferfleet.api.wording import below


@dataclass(frozen=True)
class FieldChange:
    """One field: `spec.containers[engine].env[HF_HOME].value`. A side without the field is None."""

    path: str
    before: Any
    after: Any


def changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """Return the differences, none for equal values. Lists of named entries are compared by name."""
    return tuple(_walk(before, after, ""))


def _walk(before: Any, after: Any, path: str) -> Iterator[FieldChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _entry(before, after, key, below(path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif type(before) is not type(after) or before != after:
        yield FieldChange(path, before, after)


def _entry(before: dict[Any, Any], after: dict[Any, Any], key: Any, path: str) -> Iterator[FieldChange]:
    if key in before and key in after:
        yield from _walk(before[key], after[key], path)
    else:
        yield FieldChange(path, before.get(key), after.get(key))


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[FieldChange]:
    old, new = _keyed(before), _keyed(after)
    differing = [
        change
        for key in [*old, *(key for key in new if key not in old)]
        for change in _entry(old, new, key, f"{path}[{key}]")
    ]
    # Named entries in another order: no entry differs, but the order matters for `$(VAR)` in env.
    if not differing and list(old) != list(new):
        differing = [FieldChange(path, before, after)]
    yield from differing


def _keyed(items: list[Any]) -> dict[Any, Any]:
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return dict(zip(names, items, strict=True))
    return dict(enumerate(items))
