"""The text of placement.lock: split into entries; flow mappings are written in one form and read as YAML."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from re import compile as pattern
from typing import Any

from inferfleet.api.problems import Problem, Where
from inferfleet.api.yaml.nodes import Unreadable
from inferfleet.api.yaml.text import texts

# Words that YAML parsers read as something else than text (YAML 1.1 and 1.2 together).
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_PLAIN = pattern("[A-Za-z][-A-Za-z0-9._/]*")
# A UID such as 6e0c0d4e-... begins with a digit and is text for its hyphens.
_UID = pattern("[0-9][A-Za-z0-9]*(-[A-Za-z0-9]+){3,}")


def scalar(text: str) -> str:
    """Return a text so that every YAML parser reads it as that text, on one line and without a `#`."""
    if (_PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT) or _UID.fullmatch(text):
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def flow(mapping: Mapping[str, Any]) -> str:
    """Return the mapping on one line, in its own order."""
    return "{" + ", ".join(f"{scalar(key)}: {_value(value)}" for key, value in mapping.items()) + "}"


def read_flow(text: str) -> dict[str, Any]:
    """Return the mapping that `flow` or a person wrote. Raises ValueError for anything else."""
    try:
        (read,) = texts(text)
    except Unreadable as wrong:
        raise ValueError(f"{text!r} is not a mapping: {wrong.what}") from None
    if read.flaws:
        raise ValueError(f"{text!r} is not a mapping: {read.flaws[0].what}")
    if not isinstance(read.data, dict):
        raise ValueError(f"{text!r} is not a mapping such as {{source: Existing}}")
    for key, value in read.data.items():
        parts = (
            value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
        )
        if not all(isinstance(part, str | int | float) for part in parts):
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


RESTORE = "Restore the file from version control, or fix the line by hand"
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_TOP = re.compile(r"^([A-Za-z_-]+):(?:\s+(\S.*))?$")
_ENTRY = re.compile(r"^\s+(.+?):\s+(\S.*)$")
_COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True)
class Entry:
    """One line: `key: value` at the top (section ""), or inside a section."""

    section: str
    key: str
    value: str
    where: Where


def entries(text: str, file: str) -> tuple[list[Entry], list[Problem]]:
    """Return all entries in the order of the file, without quotes and comments, and the problems."""
    conflicts = list(_conflicts(text, file))
    if conflicts:
        return [], conflicts
    if not text.strip():
        empty = "the lock is empty, so every running replica would be placed as if it were new"
        next_step = "Restore the file from version control, or delete it if that is intended"
        return [], [Problem(empty, next_step, where=Where(file, 1))]
    listed: list[Entry] = []
    problems: list[Problem] = []
    section = ""
    for number, raw in _lines(text):
        line = _COMMENT.sub("", raw).rstrip()
        where = Where(file, number)
        if not line:
            continue
        if top := _TOP.match(line):
            section = "" if top[2] else top[1]
            listed.append(Entry("", top[1], unquoted(top[2] or ""), where))
        elif section and (inner := _ENTRY.match(line)):
            listed.append(Entry(section, unquoted(inner[1]), inner[2], where))
        else:
            damaged = f"{_short(raw)} is not a line of a placement lock"
            problems.append(Problem(damaged, RESTORE, where=where))
    return listed, problems


def unquoted(text: str) -> str:
    """Return the text without the pair of quotes around it, if there is one."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _conflicts(text: str, file: str) -> Iterator[Problem]:
    for number, line in _lines(text):
        if line.startswith("<<<<<<<") and line[7:8] in ("", " "):
            yield Problem(
                f"{_short(line)} marks an unresolved merge conflict: two branches changed the lock",
                f"Keep the right lines, remove the markers {' '.join(_MARKERS)}, then run inferfleet plan",
                where=Where(file, number),
            )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate((line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")), 1)


def _short(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
