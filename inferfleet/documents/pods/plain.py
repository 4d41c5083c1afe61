"""Plain values: what JSON has a form for, copied, checked and packed into bytes."""

import marshal
import math
from typing import Any

from inferfleet.documents.wording import below

# Deeper than any pod template; a value that contains itself ends here too.
_DEEPEST = 100
# JSON has longer numbers, Kubernetes none.
_LARGEST = 2**63 - 1


class NotPlain(Exception):  # noqa: N818 (it says what the value is)
    """Raised for a value that JSON has no form for; the text names its field."""


def plain(value: Any, path: str = "") -> Any:
    """Return a deep copy of dicts, lists, strings, numbers, booleans and None.

    Raises NotPlain for anything else.
    """
    return _copy(value, path, 0)


def _copy(value: Any, path: str, depth: int) -> Any:
    """Return a copy of JSON's own types. Raises NotPlain for anything else."""
    if depth > _DEEPEST:
        raise NotPlain(f"{path[:80]}... is nested deeper than {_DEEPEST} levels, or contains itself")
    if value is None or isinstance(value, bool):
        return value
    # Enums and other subclasses become plain strings, because the YAML writer refuses them.
    if isinstance(value, str):
        if not _is_text(value):
            raise NotPlain(f"{path or 'it'} is {value!r:.60}, which is no text of Unicode")
        return str.__str__(value)
    if isinstance(value, int):
        if abs(value) > _LARGEST:
            raise NotPlain(f"{path or 'it'} is a whole number of more than 64 bits")
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_copy(item, below(path, index), depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not _is_text(key):
                raise NotPlain(f"{path or 'it'} has the key {key!r:.60}, and keys are text")
        return {str.__str__(key): _copy(item, below(path, key), depth + 1) for key, item in value.items()}
    raise NotPlain(f"{path or 'it'} is {value!r:.60} ({type(value).__name__}), which is no JSON value")


def is_plain(value: Any, *, nulls: bool = True) -> bool:
    """Return whether a value needs no conversion to be one of JSON, with or without nulls."""
    kind = type(value)
    if kind is dict:
        return all(
            type(key) is str and _is_text(key) and is_plain(inner, nulls=nulls)
            for key, inner in value.items()
        )
    if kind is list:
        return all(is_plain(inner, nulls=nulls) for inner in value)
    if kind is float:
        return math.isfinite(value)
    if kind is str:
        return _is_text(value)
    if kind is int:
        return bool(abs(value) <= _LARGEST)
    return kind is bool or (nulls and value is None)


def _is_text(text: str) -> bool:
    """Return whether a text can be written in UTF-8, as half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def packed(value: Any) -> bytes:
    """Return the bytes of a plain value: equal for equal types, values and order, and quick to copy from.

    Raises ValueError for types that JSON has no form for, but not for all of them.
    """
    return marshal.dumps(value, 2)  # later versions write what is one object in memory in another way


def unpacked(data: bytes) -> Any:
    """Return the value, which shares nothing with any other."""
    return marshal.loads(data)
