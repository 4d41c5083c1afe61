"""Paths of fields, written the way people read them: `spec.nodePools[1].className`."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_][-A-Za-z0-9_]{0,62}")


def path_of(steps: Iterable[str | int]) -> str:
    """The path made of these keys and list positions; keys such as `example.com/tier` stand in brackets."""
    path = ""
    for step in steps:
        path = below(path, step)
    return path


def below(path: str, step: str | int) -> str:
    """The path of one key or list position below `path`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if not _PLAIN.fullmatch(step):
        return f'{path}["{shown(step)}"]'
    return f"{path}.{step}" if path else step


def shown(text: str, limit: int = 60) -> str:
    """The text on one line, shortened, fit for a message."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"
