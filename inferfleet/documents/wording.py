"""How messages name things: paths of fields, shortened text, the known name closest to a mistyped one."""

import re
from collections import Counter
from collections.abc import Container, Iterable
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][-A-Za-z0-9_]{0,62}")
# What a CI system takes for a command in what a job prints: `::set-output ...` at the beginning of a line on
# GitHub, `##[...]` on GitHub and `##vso[...]` on Azure anywhere.
_COMMAND = re.compile(r"^( *)::|##(?=\[|vso\[)")

# Names that a mistyped one is compared with letter by letter, and those that are counted to find them.
_COMPARED, _LOOKED_UP = 30, 3_000


def one_line(text: str) -> str:
    """Return the text as everything is printed: on one line, and with nothing that does more than appear.

    Characters that control a terminal, end a line, change the direction of text or cannot be seen are
    written as escapes (`\\x1b`, `\\n`, `\\u202e`), and so is the beginning of a command to a CI system.
    """
    if not text.isprintable():
        text = "".join(
            char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
        )
    return _COMMAND.sub(lambda command: f"{command[1]}\\x3a:" if command[0][-1] == ":" else "\\x23#", text)


def commands(text: str) -> bool:
    """Return True when a line of the text would be a command to a CI system."""
    return any(_COMMAND.search(line.lstrip()) for line in text.split("\n"))


def path_of(steps: Iterable[str | int]) -> str:
    """Return the path made of keys and list positions; keys such as `example.com/tier` are in brackets."""
    path = ""
    for step in steps:
        path = below(path, step)
    return path


def below(path: str, step: str | int) -> str:
    """Return the path of a key or list position below `path`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if not _PLAIN.fullmatch(step):
        return f'{path}["{shown(step)}"]'
    return f"{path}.{step}" if path else step


def shown(text: str, limit: int = 60) -> str:
    """Return the text on one line and shortened, for a message."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def named(value: Any) -> str:
    """The value as it is shown in a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        # Numbers of documents know how they are written (`yaml.Float`).
        return str(getattr(value, "written", value))
    if isinstance(value, str):
        return repr(shown(value))
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"{value!r:.60}"


def nearest(word: str, words: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name closest to the word, in upper or lower case, or None.

    `cutoff` is how much they have in common, from 0 to 1: with 0.8 only what is mistyped.
    """
    folded, by_pair = _index(frozenset(words))
    typed = _fold(word)
    likely: Iterable[str] = folded
    if len(folded) > _COMPARED:
        # The rarest pairs of letters say most, and those that many names have would take too long.
        lists = sorted((by_pair[pair] for pair in _pairs(typed) if pair in by_pair), key=len)
        shared = Counter(islice(chain.from_iterable(lists), _LOOKED_UP))
        likely = [name for name, _ in shared.most_common(_COMPARED)]
    close = get_close_matches(typed, likely, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


@lru_cache(maxsize=16)
def _index(words: frozenset[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return names by how they are compared, and these by the pairs of letters that they have."""
    folded: dict[str, str] = {}
    for name in sorted(words):
        folded.setdefault(_fold(name), name)
    by_pair: dict[str, list[str]] = {}
    for name in folded if len(folded) > _COMPARED else ():
        for pair in sorted(_pairs(name)):
            by_pair.setdefault(pair, []).append(name)
    return folded, by_pair


def _pairs(name: str) -> set[str]:
    ends = f" {name} "
    return {ends[at : at + 2] for at in range(len(ends) - 1)}


def one_of(word: str, choices: Iterable[str], introduction: str) -> str:
    """Return the next step for a mistyped name: the closest known one, or all after `introduction`."""
    choices = frozenset(choices)
    if (near := nearest(word, choices)) is not None:
        return f"Did you mean {shown(near)}?"
    names = sorted(choices)
    return f"{introduction}: {listing(names)}" if names else "Remove it"


def listing(names: Iterable[str], most: int = 30) -> str:
    """Return the first names with commas between them, and how many there are besides."""
    all_names = list(names)
    rest = f", and {len(all_names) - most:,} more" if len(all_names) > most else ""
    return ", ".join(map(shown, all_names[:most])) + rest


def _fold(name: str) -> str:
    return name[:100].lower().replace("_", "").replace("-", "")


def nearest_parent(path: str, paths: Container[str]) -> str:
    """Return the path itself if it is known, else its nearest parent that is, else ""."""
    while path and path not in paths:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return path
