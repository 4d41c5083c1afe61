"""Flow mappings of placement.lock, `{source: GKE, project: acme}`: written in exactly one form, read as YAML.

Values are text, numbers and booleans, and lists and maps of those, no deeper.
"""

import json
from collections.abc import Mapping
from re import compile as pattern
from typing import Any

from inferfleet.api.yaml_nodes import Unreadable
from inferfleet.api.yaml_text import texts

# Names that YAML readers take for something else than text (YAML 1.1 and 1.2 together).
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_PLAIN = pattern("[A-Za-z][-A-Za-z0-9._/]*")
# A UID such as 6e0c0d4e-... begins with a digit and is text for its hyphens.
_UID = pattern("[0-9][A-Za-z0-9]*(-[A-Za-z0-9]+){3,}")


def scalar(text: str) -> str:
    """A text as every YAML reader takes it for that text, on one line and without a `#`."""
    if (_PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT) or _UID.fullmatch(text):
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def flow(mapping: Mapping[str, Any]) -> str:
    """The mapping on one line, in its own order."""
    return "{" + ", ".join(f"{scalar(key)}: {_value(value)}" for key, value in mapping.items()) + "}"


def read_flow(text: str) -> dict[str, Any]:
    """The mapping that `flow` wrote, or a person. Raises ValueError for anything else."""
    try:
        (read,) = texts(text)
    except Unreadable as wrong:
        raise ValueError(f"{text!r} is not a mapping: {wrong.what}") from None
    if read.flaws:
        raise ValueError(f"{text!r} is not a mapping: {read.flaws[0].what}")
    if not isinstance(read.data, dict):
        raise ValueError(f"{text!r} is not a mapping such as {{source: Existing}}")
    for key, value in read.data.items():
        inner = (
            value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
        )
        if not all(isinstance(one, str | int | float) for one in inner):
            raise ValueError(
                f"{key} in {text!r} is neither text, a number, a boolean, nor a list or map of those"
            )
    return read.data


def _value(value: Any) -> str:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        return flow(dict(sorted(value.items())))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    # The lines of the lock are stripped of comments before their mappings are read.
    if " " <= letter <= "~" and letter != "#":
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
