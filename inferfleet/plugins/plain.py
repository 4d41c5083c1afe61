"""Plain values: what JSON can say, in a copy that shares nothing with the original."""

import math
from typing import Any

from inferfleet.api.paths import below

# Deeper than any pod template; a value that contains itself ends here too.
_DEEPEST = 100


class NotPlain(Exception):  # noqa: N818 (it says what the value is)
    """A value that JSON cannot say; the text names its place."""


def plain(value: Any, path: str = "") -> Any:
    """A deep copy of dicts, lists, strings, numbers, booleans and None; NotPlain for anything else."""
    return _copy(value, path, 0)


def _copy(value: Any, path: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotPlain(f"{path[:80]}... is nested deeper than {_DEEPEST} levels, or contains itself")
    if value is None or isinstance(value, bool):
        return value
    # Enums and other subclasses become what they stand for: the YAML writer refuses them otherwise.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_copy(one, below(path, index), depth + 1) for index, one in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise NotPlain(f"{path or 'it'} has the key {key!r}, and keys are text")
        return {str.__str__(key): _copy(one, below(path, key), depth + 1) for key, one in value.items()}
    raise NotPlain(f"{path or 'it'} is {value!r:.60} ({type(value).__name__}), which JSON cannot say")
