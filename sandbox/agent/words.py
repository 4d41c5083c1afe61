"""The one line of a program's last words that says why it ended."""

import json
import re

LONGEST = 500
_BAD = re.compile(r"error|invalid|fail|panic|fatal|forbidden|refused|cannot|unknown", re.IGNORECASE)
_ALARMING = ("error", "dpanic", "panic", "fatal")


def telling(words: str) -> str:
    """The last line logged as an error, else the last that reads like one, else the last; "" of none."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    read = [_record(line) for line in lines]
    for record in reversed(read):
        if record and record.get("level") in _ALARMING:
            return _said(record)
    plain = [_said(record) if record else line for line, record in zip(lines, read, strict=True)]
    bad = [line for line in plain if _BAD.search(line)]
    return (bad or plain or [""])[-1][:LONGEST]


def _record(line: str) -> dict[str, object] | None:
    """A line of structured logging, None for another one."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _said(record: dict[str, object]) -> str:
    parts = [str(record[key]) for key in ("msg", "error") if record.get(key)]
    return ": ".join(parts)[:LONGEST]
