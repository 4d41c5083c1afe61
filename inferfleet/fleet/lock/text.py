"""The text of placement.lock: split into entries; flow mappings are written in one form and read as YAML."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from re import compile as pattern
from typing import Any

from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import shown
from inferfleet.documents.yaml import Unreadable, conflict, texts

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
        raise ValueError(f"{quoted(text)} is not a mapping: {wrong.what}") from None
    if read.mistakes:
        raise ValueError(f"{quoted(text)} is not a mapping: {read.mistakes[0].what}")
    if not isinstance(read.data, dict):
        raise ValueError(f"{quoted(text)} is not a mapping such as {{source: Existing}}")
    for key, value in read.data.items():
        parts = (
            value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
        )
        if not all(isinstance(part, str | int | float) for part in parts):
            raise ValueError(
                f"{shown(key)} in {quoted(text)} is neither text, a number, a boolean, "
                "nor a list or map of those"
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
# A file with more is no lock that was damaged, but another file: a message for each line helps nobody.
MOST_PROBLEMS = 100
# Each takes a tenth of a millisecond, and a fleet of a thousand deployments has some three thousand.
MOST_ENTRIES = 25_000
_TOP = re.compile(r"^([A-Za-z_-]+):(?:\s+(\S.*))?$")
# Ends a key. The first one counts, so that a line is read in one pass, however many spaces it has.
_COLON = re.compile(r":\s+")
_COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True)
class Entry:
    """One line: `key: value` at the top (section ""), or inside a section."""

    section: str
    key: str
    value: str
    where: Where


def entries(
    text: str,
    file: str,
    *,
    stack: str,
    kind: str = "placement lock",
    verb: str = "plan",
    options: str = "",
) -> tuple[list[Entry], list[Problem]]:
    """Return all entries in the order of the file, without quotes and comments, and the problems. `verb` is
    the one that writes the file, with `options` for a Fleet in somebody's program.
    """
    if unresolved := _conflict(text, file, f"{verb} {options or f'--stack {stack}'}"):
        return [], [unresolved]
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
        elif section and line[0].isspace() and (colon := _COLON.search(inner := line.lstrip(), 1)):
            key, value = unquoted(inner[: colon.start()]), inner[colon.end() :]
            listed.append(Entry(section, key, value, where))
        else:
            damaged = f"{quoted(raw)} is not a line of a {kind}"
            problems.append(Problem(damaged, RESTORE, where=where))
        if len(problems) > MOST_PROBLEMS:
            return [], [*problems, too_many(where)]
    return listed, problems


def too_many(where: Where) -> Problem:
    """Return the problem that ends the reading of a file that is no lock."""
    return Problem("the lock is not read further: too many of its lines have problems", RESTORE, where=where)


def unquoted(text: str) -> str:
    """Return the text without the pair of quotes around it, if there is one."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _conflict(text: str, file: str, verb: str) -> Problem | None:
    """Return the problem of a file in which git left conflicts, at the first of them."""
    if (first := conflict(text)) is None:
        return None
    line, mark = first
    # git's --ours and --theirs are the other way round in a rebase; the name of a branch never is.
    return Problem(
        f"{quoted(mark)} marks an unresolved merge conflict: two branches changed the lock",
        "Take the lock of BASE, the branch that yours goes to, and write it anew: "
        f"git checkout BASE -- {file}, then inferfleet {verb} --write",
        where=Where(file, line),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate((line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")), 1)


def quoted(value: Any) -> str:
    """Return a value of the lock as messages quote it: at most a line of it."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else f"{value[:77]}...")
    return shown(repr(value), 80)
