"""Reads words of a command line as an engine's own parser does, by the table of its flags.

The engines read with argparse, and so does this: abbreviations, numbers of values and `--flag=value` are as
argparse takes them. Words are read flag by flag, so that all faults are found, where an engine ends with the
first. What one flag asks of another is not known here, and neither is what is inside of JSON, but for the
keys of objects.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from inferfleet.tables.flags import Flag, FlagTable

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([A-Za-z]+)")
# The name of a flag, up to the first dot: only there underscores are dashes.
_NAME = re.compile(r"(?<=--)[^.]*")


@dataclass(frozen=True)
class Fault:
    """What the parser refuses: the word `at` this place. `why` is said in the parser's own words.

    `flag` and `value` are there where a flag is known and its value is wrong; for a flag that is not known,
    and a word that belongs to none, `unknown` holds that word.
    """

    at: int
    why: str
    flag: Flag | None = None
    value: str = ""
    unknown: str = ""


def faults(table: FlagTable, words: Sequence[str]) -> tuple[Fault, ...]:
    """Return what the engine refuses of words that stand behind its program and model, in their order."""
    found: list[Fault] = []
    placed = list(enumerate(words))
    try:
        placed, entries = rewritten(table, words)
    except Refused as refused:
        found.append(Fault(len(words) - 1, str(refused)))
    else:
        placed += [(entry.at, word) for entry in entries for word in (entry.flag, json.dumps(entry.value))]
    parser = _parser(table)
    for piece in _pieces(placed):
        found += _refused(parser, piece)
    return tuple(sorted(found, key=lambda fault: fault.at))


Placed = tuple[int, str]


@dataclass(frozen=True)
class Entry:
    """Entries of a flag's JSON that were given by their path, in an object. They stand behind all words."""

    at: int
    flag: str
    value: dict[str, Any]


def rewritten(table: FlagTable, words: Iterable[str]) -> tuple[list[Placed], list[Entry]]:
    """Return the words with their places as the engine hands them to argparse, and entries of JSON.

    Raises Refused for an entry without a value.
    """
    placed = list(enumerate(words))
    if table.underscores:
        placed = [(at, _dashed(word)) for at, word in placed]
    if table.joined_level:
        placed = list(_apart(placed))
    return _nested(placed) if table.dotted else (placed, [])


def _dashed(word: str) -> str:
    name, equals, value = word.partition("=")
    return _NAME.sub(lambda found: found[0].replace("_", "-"), name, count=1) + equals + value


def _apart(words: Sequence[Placed]) -> Iterator[Placed]:
    """Yield `--optimization-level 1` for `-O1`, `-O=1` and `-O 1`."""
    for index, (at, word) in enumerate(words):
        following = words[index + 1][1] if index + 1 < len(words) else ""
        if word.startswith("-O") and word != "-O":
            yield at, "--optimization-level"
            yield at, word[2:].removeprefix("=")
        elif word == "-O" and following in {"0", "1", "2", "3"}:
            yield at, "--optimization-level"
        else:
            yield at, word


def _nested(words: Sequence[Placed]) -> tuple[list[Placed], list[Entry]]:
    """Return `{"a": {"b": 1}}` as an entry of `--x` for `--x.a.b 1` and `--x.a.b=1`.

    With a plus, as in `--x.a+ b,c`, the value is a list.
    """
    kept: list[Placed] = []
    entries: list[Entry] = []
    rest = iter(words)
    for at, word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or "." not in name:
            kept.append((at, word))
            continue
        if not equals:
            try:
                _, value = next(rest)
            except StopIteration:
                raise Refused(f"argument {name}: expected one argument") from None
        if name.endswith("+"):
            name, value = name[:-1], json.dumps(value.split(","))
        name, *keys = name.split(".")
        nested = _plain(value)
        for key in reversed(keys):
            nested = {key: nested}
        entries.append(Entry(at, name, nested))
    return kept, entries


def _plain(text: str) -> Any:
    try:
        return json_of(text)
    except ValueError:
        return text


def _pieces(words: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Yield each flag with the words behind it; what is before the first one, and behind `--`, by itself."""
    piece: list[Placed] = []
    for at, word in words:
        if piece and _begins(word) and piece[0][1] != "--":
            yield piece
            piece = []
        piece.append((at, word))
    if piece:
        yield piece


def _begins(word: str) -> bool:
    """Return whether argparse takes the word for a flag, known or not."""
    name = word.partition("=")[0]
    return len(word) > 1 and word.startswith("-") and " " not in name and not _NEGATIVE.fullmatch(word)


def _refused(parser: argparse.ArgumentParser, piece: Sequence[Placed]) -> Iterator[Fault]:
    first = piece[0][0]
    try:
        _, extra = parser.parse_known_args([word for _, word in piece])
    except WrongValue as wrong:
        at = next((at for at, word in piece if word == wrong.value), first)
        yield Fault(at, str(wrong), wrong.flag, wrong.value)
    except Refused as refused:
        yield Fault(first, str(refused))
    else:
        if extra:
            at = next(at for at, word in piece if word == extra[0])
            yield Fault(at, f"unrecognized arguments: {' '.join(extra)}", unknown=extra[0])


class Refused(Exception):  # noqa: N818 (a command line is)
    """What the engine refuses, in the words of its parser."""


class WrongValue(Refused):
    """A value that a flag does not take."""

    def __init__(self, flag: Flag, value: str, why: str) -> None:
        super().__init__(f"argument {'/'.join(flag.options)}: {why}")
        self.flag, self.value = flag, value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


@cache
def _parser(table: FlagTable) -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=table.abbreviations)
    for flag in table.flags:
        if flag.values == 0:
            parser.add_argument(*flag.options, action="store_true")
        else:
            parser.add_argument(*flag.options, nargs=flag.values, type=taker(table, flag))
    return parser


def taker(table: FlagTable, flag: Flag) -> Callable[[str], str]:
    """Return the type of a flag for argparse: it takes what the engine takes, and raises WrongValue else."""

    def take(value: str) -> str:
        if flag.none and value in ("", "None"):
            return value
        try:
            taken = _taken(table, flag, value)
        except ValueError:
            raise WrongValue(flag, value, _complaint(table, flag, value)) from None
        choices = flag.choices
        if choices and taken not in choices and not (flag.folded and _folded(taken) in map(_folded, choices)):
            raise WrongValue(
                flag, value, f"invalid choice: {value!r} (choose from {', '.join(map(repr, choices))})"
            )
        return value

    return take


def _complaint(table: FlagTable, flag: Flag, value: str) -> str:
    """Return what parsers say of a value of another kind. vLLM's classes of JSON objects are pydantic's."""
    size = _SIZE.fullmatch(value.strip()) if flag.kind.startswith("size") else None
    if size is not None and size[2] in table.suffixes:
        return (
            f"Decimals are not allowed with binary suffixes like {size[2]}. Did you mean to use "
            f"{size[1]}{size[2].lower()} instead?"
        )
    if "JSON" in flag.kind:
        return f"Value {value} cannot be converted to JSON."
    if flag.kind != "object":
        return f"invalid {flag.kind} value: {value!r}"
    try:
        found = json_of(_sizes_written_out(value))
    except ValueError as error:
        return f"1 validation error\n  Invalid JSON: {error}"
    if not isinstance(found, dict):
        return "1 validation error\n  Input should be an object"
    unknown = [key for key in found if key not in flag.keys]
    each = (f"{key}\n  Unexpected keyword argument" for key in unknown)
    return "\n".join((f"{len(unknown)} validation error{'s' if unknown[1:] else ''}", *each))


def json_of(text: str) -> Any:
    """Read JSON. Raises ValueError for what is none, and for what is too deep to be one."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _folded(choice: str) -> str:
    return choice.lower().replace("-", "_")


def _taken(table: FlagTable, flag: Flag, value: str) -> str:
    """Return the value as text, as the engine has it. Raises ValueError for another kind than the flag's."""
    match flag.kind:
        case "int":
            return str(int(value))
        case "float":
            return str(float(value))
        case "size" | "size or auto":
            if flag.kind == "size or auto" and value.strip().lower() == "auto":
                return value
            size = _SIZE.fullmatch(value.strip())
            if size is None or size[2] not in table.suffixes:
                return str(int(value))
            if "." in size[1] and not table.suffixes[size[2]]:
                raise ValueError(value)
        case "JSON":
            json_of(value)
        case "text or JSON":
            if value.strip().startswith("{") and value.strip().endswith("}"):
                json_of(value)
        case "object":
            # Numbers in objects may have suffixes as well: `{"cpu_bytes_to_use": 80m}`.
            found = json_of(_sizes_written_out(value))
            if not isinstance(found, dict) or (flag.keys and not flag.keys.issuperset(found)):
                raise ValueError(value)
    return value


def _sizes_written_out(text: str) -> str:
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(
        part if inside else re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", "0", part)
        for part, inside in zip(parts, [False, True] * len(parts), strict=False)
    )
