"""Flags of engines by type and version, as the engines themselves say them.

The tables beside this module are written by `make tables`. A kind of values is one of

    text, int, float, JSON
    size            a whole number with a suffix, such as 32k; `size or auto` takes -1 and auto, too
    object          a JSON object; with `keys` it may hold no others
    text or JSON    JSON where it is in braces, else any text
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

_FOLDER = Path(__file__).parent
_FILES = {"vLLM": ("vLLM-0.32.json",), "SGLang": ("SGLang-0.5.23.json",)}

Kind = Literal["text", "int", "float", "size", "size or auto", "JSON", "object", "text or JSON"]
Values = Literal["?", "*", "+"] | int | None


@dataclass(frozen=True)
class Flag:
    """A flag of an engine's command line."""

    options: tuple[str, ...]
    """All names of it."""
    values: Values = None
    """The `nargs` of argparse: None for one value, 0 for a switch."""
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    folded: bool = False
    """Whether choices may be in upper or lower case, with dashes for underscores."""
    keys: frozenset[str] = frozenset()
    none: bool = False
    """Whether empty text and `None` stand for no value."""


@dataclass(frozen=True, eq=False)
class FlagTable:
    """The flags of one version of an engine, and how its parser reads them."""

    engine: str
    version: str
    flags: tuple[Flag, ...]
    underscores: bool
    """Whether underscores in names are read as dashes."""
    dotted: bool
    """Whether `--x.a.b 1` is read as `--x '{"a": {"b": 1}}'`."""
    abbreviations: bool
    """Whether the beginning of a name is read as the name."""
    joined_level: bool
    """Whether `-O1` is read as `--optimization-level 1`."""
    suffixes: Mapping[str, bool]
    """Suffixes of sizes, each with whether decimals may stand before it."""
    removed: Mapping[str, str]
    """Flags of former versions, each with the last version that is known to have it."""

    def options_of(self, word: str) -> tuple[str, ...]:
        """Return all names of the flag that a word such as `-tp=8` gives, () for none."""
        name = word.partition("=")[0]
        if self.underscores and name.startswith("--"):
            name = name.replace("_", "-")
        if self.dotted and name.startswith("--"):
            name = name.partition(".")[0]
        for flag in self.flags:
            if name in flag.options:
                return flag.options
        close = [flag for flag in self.flags if any(option.startswith(name) for option in flag.options)]
        return close[0].options if self.abbreviations and len(close) == 1 and name.startswith("--") else ()


def flags(engine_type: str, version: str) -> FlagTable | None:
    """Return the table of an engine in this version, such as 0.32 or 0.32.0, None where there is none."""
    for name in _FILES.get(engine_type, ()):
        table = _table(name)
        if f"{table.version}.".startswith(f"{version}."):
            return table
    return None


@cache
def _table(name: str) -> FlagTable:
    raw = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    reading = raw["reading"]
    return FlagTable(
        engine=raw["engine"],
        version=raw["version"],
        flags=tuple(map(_flag, raw["flags"])),
        underscores="underscores" in reading,
        dotted="dotted" in reading,
        abbreviations="abbreviations" in reading,
        joined_level="-O" in reading,
        suffixes=raw["suffixes"],
        removed=raw["removed"],
    )


def _flag(row: Mapping[str, Any]) -> Flag:
    return Flag(
        options=tuple(row["options"]),
        values=row.get("values"),
        kind=row.get("kind", "text"),
        choices=tuple(row.get("choices", ())),
        folded=row.get("folded", False),
        keys=frozenset(row.get("keys", ())),
        none=row.get("none", False),
    )
