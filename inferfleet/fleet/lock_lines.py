"""Splits the text of placement.lock into its entries, and says where it is damaged.

The file is YAML, but in one form only, so it is read line by line: every problem has its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.problems import Problem, Where

RESTORE = "Restore the file from version control, or mend the line by hand"
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
    """All entries in the order of the file. Keys and values are as written, but for quotes and comments."""
    conflicts = list(_conflicts(text, file))
    if conflicts:
        return [], conflicts
    if not text.strip():
        empty = "the lock is empty, which would place every running replica anew"
        return [], [
            Problem(empty, "Restore the file from version control, or delete it", where=Where(file, 1))
        ]
    found: list[Entry] = []
    problems: list[Problem] = []
    section = ""
    for number, raw in _lines(text):
        line = _COMMENT.sub("", raw).rstrip()
        where = Where(file, number)
        if not line:
            continue
        if top := _TOP.match(line):
            section = "" if top[2] else top[1]
            found.append(Entry("", top[1], unquoted(top[2] or ""), where))
        elif section and (inner := _ENTRY.match(line)):
            found.append(Entry(section, unquoted(inner[1]), inner[2], where))
        else:
            damaged = f"{_short(raw)} is not a line of a placement lock"
            problems.append(Problem(damaged, RESTORE, where=where))
    return found, problems


def unquoted(text: str) -> str:
    """`text` without the one pair of quotes around it, if there is one."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _conflicts(text: str, file: str) -> Iterator[Problem]:
    for number, line in _lines(text):
        if line.startswith("<<<<<<<") and line[7:8] in ("", " "):
            yield Problem(
                f"{_short(line)} is left from a merge: two branches changed the lock",
                f"Keep the right lines, remove the markers {' '.join(_MARKERS)}, then run inferfleet plan",
                where=Where(file, number),
            )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate((line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")), 1)


def _short(line: str) -> str:
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
