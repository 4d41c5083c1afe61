"""How messages name things: paths of fields, shortened text, the known name nearest to a mistyped one."""

import re
from collections.abc import Container, Iterable
from difflib import get_close_matches
from typing import Any

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


def named(value: Any) -> str:
    """The value as it is shown in a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return repr(shown(value))
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"{value!r:.60}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most like the word, whatever the case, or None."""
    folded: dict[str, str] = {}
    for name in sorted(known):
        folded.setdefault(_fold(name), name)
    found = get_close_matches(_fold(word[:100]), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def one_of(word: str, known: Iterable[str], introduction: str) -> str:
    """The next step for a mistyped name: the nearest known one, or all of them after the introduction."""
    names = sorted(known)
    if (close := nearest(word, names)) is not None:
        return f"Did you mean {close}?"
    return f"{introduction}: {', '.join(names)}" if names else "Remove it"


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def nearest_parent(path: str, known: Container[str]) -> str:
    """The path itself or its nearest parent that is known, "" where none is."""
    while path and path not in known:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return path
