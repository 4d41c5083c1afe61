"""Reads fields as a picker's decoders do: encoding/json for parameters of plugins, sigs.k8s.io/json else.

The first takes names in any case, and unknown ones unless it is told not to; the second knows one spelling.
Both take null for a field that is not there, and a whole number for one with a fraction. YAML becomes JSON
before (sigs.k8s.io/yaml), which has no infinite numbers, and sorts keys: of two spellings the last counts.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Mistake, Mistaken
from inferfleet.api.wording import listing, named, one_of, shown
from inferfleet.profiles.pickers.tables import Field

At = tuple[str | int, ...]

_RULE = {
    "text": "text",
    "bool": "true or false",
    "int": "a whole number",
    "number": "a number",
    "duration": "a duration such as 200ms",
    "quantity": "a quantity such as 1Gi",
    "list": "a list",
    "object": "a map",
}
_GO_DURATION = re.compile(r"([-+]?)(0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9.]+)([^0-9.]+)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
# Nanoseconds in 64 bits: ParseDuration in time/format.go.
_MOST_SECONDS = 2**63 / 1e9
_MATCHER = r"[A-Za-z_][A-Za-z0-9_]*\s*(?:=~|!~|!=|=)\s*(?:\"[^\"]*\"|'[^']*'|`[^`]*`|[^\",}\s]+)"
# A vector selector of PromQL (promql/parser of Prometheus); quotes may be missing (addQuotesToLabelValues).
_METRIC = re.compile(
    r"\s*(?!(?i:nan|inf)\b)[A-Za-z_:][A-Za-z0-9_:]*\s*"
    rf"(?:\{{\s*(?:{_MATCHER}(?:\s*,\s*{_MATCHER})*\s*,?)?\s*\}})?\s*(?:(?:offset|@)\s*\S.*)?\s*"
)
_FORMS = {
    "metric": "a metric's name, with labels such as requests{state=waiting}",
    "duration": _RULE["duration"],
    "interval": "a duration such as 5s, not a negative one",
}


def mappings(above: object, name: str) -> list[Mapping[str, Any]]:
    """Return the entries of a list at their places, an empty one for what is no map; [] without a list."""
    written = above.get(name) if isinstance(above, Mapping) else None
    entries = written if isinstance(written, list) else []
    return [entry if isinstance(entry, Mapping) else {} for entry in entries]


@dataclass(frozen=True)
class Reader:
    """Who reads, as messages call it, and how."""

    who: str
    strict: bool
    any_case: bool


@dataclass(frozen=True)
class Finding:
    """What the program refuses to start with, or else (`refused` is False) reads over; with what is `deadly`
    it starts, and ends once it has pods or requests.
    """

    mistake: Mistake
    refused: bool = True
    deadly: bool = False


def read(value: Any, field: Field, reader: Reader, found: list[Finding], at: At = ()) -> Any:
    """Return the value as the program has it, under the names of the table; None where it is not given.

    What is wrong with it is added to `found`, at its place below the value that `at` leads to.
    """
    if value is None or field.type == "any":
        return value
    if field.type == "object":
        return _object(value, field, reader, found, at)
    if field.type == "list":
        if not isinstance(value, list):
            return _wrong(value, field, reader, found, at)
        assert field.items is not None
        empty: Any = {} if field.items.type == "object" else None
        return [
            read(empty if item is None else item, field.items, reader, found, (*at, place))
            for place, item in enumerate(value)
        ]
    if not _is(value, field.type):
        return _wrong(value, field, reader, found, at)
    found += (Finding(mistake) for mistake in _beyond(value, field, at))
    return value


def unfinite(value: Any, at: At = ()) -> Iterator[Mistake]:
    """Yield numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Mistake(f"it is {value}, a number that JSON does not have", "Write a finite number", at)
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from unfinite(child, (*at, key))


def seconds(duration: str) -> float | None:
    """Return a duration of Go in seconds, None where it is none, or more than 292 years, which Go refuses."""
    written = _GO_DURATION.fullmatch(duration)
    if written is None:
        return None
    parts = _PART.findall(written[2])
    total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if total >= _MOST_SECONDS:
        return None
    return -total if written[1] == "-" else total


def _object(value: Any, field: Field, reader: Reader, found: list[Finding], at: At) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        _wrong(value, field, reader, found, at)
        return None
    fields = field.fields
    result: dict[str, Any] = {}
    given: dict[str, str] = {}
    for key in sorted(value, key=str):
        name = _spelled(str(key), field, reader)
        wanted = fields.get(name or "*")
        if wanted is None:
            found.append(_unknown(str(key), field, reader, at))
            continue
        name = name or str(key)
        if value[key] is not None:
            given[name] = key
            result[name] = read(value[key], wanted, reader, found, (*at, key))
    for name, wanted in fields.items():
        if name in given:
            if result[name] in ("", []) and (wanted.needed or wanted.filled):
                what = f"{name} is empty, and {reader.who} needs it"
                found.append(Finding(Mistake(what, f"Write a value for {name}", (*at, given[name]))))
        elif wanted.needed and wanted.type == "object":
            read({}, wanted, reader, found, at)
        elif wanted.needed:
            what = f"there is no {name}, and {reader.who} needs it"
            found.append(Finding(Mistake(what, f"Add {name}", at)))
    return result


def _spelled(key: str, field: Field, reader: Reader) -> str | None:
    if key in field.fields and key != "*":
        return key
    folded = (name for name in field.fields if name.casefold() == key.casefold() and name != "*")
    return next(folded, None) if reader.any_case else None


def _unknown(key: str, field: Field, reader: Reader, at: At) -> Finding:
    known = [name for name in field.fields if name != "*"]
    what = f"{reader.who} has no field {shown(key)!r}"
    step = one_of(key, known, "Known fields") if known else "Remove it"
    if reader.strict:
        return Finding(Mistake(what, step, (*at, key)))
    return Finding(Mistake(f"{what} and reads over it", step, (*at, key)), refused=False)


def _wrong(value: Any, field: Field, reader: Reader, found: list[Finding], at: At) -> None:
    what = f"it is {named(value)}, and {reader.who} reads {_RULE[field.type]} here"
    found.append(Finding(Mistake(what, f"Write {_RULE[field.type]}", at)))


def _is(value: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "duration":
        return isinstance(value, str) and seconds(value) is not None
    if kind == "quantity":
        return _is(value, "number") or (isinstance(value, str) and _is_quantity(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return kind == "number" or (value == value // 1 and -(2**63) <= value < 2**63)


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except Mistaken:
        return False
    return True


def _beyond(value: Any, field: Field, at: At) -> Iterator[Mistake]:
    """Yield which rule of its field the value breaks."""
    amount: float = (seconds(value) or 0) if field.type == "duration" else value
    for sign, limit in field.limits:
        if not within(amount, sign, limit):
            rule = f"{sign} {limit:g}"
            yield Mistake(f"it is {shown(str(value))}, and must be {rule}", f"Write a value {rule}", at)
    if field.choices and value not in field.choices:
        choices = [choice for choice in field.choices if choice]
        what = f"it is {shown(value)!r}, which is none of {listing(choices)}"
        yield Mistake(what, one_of(value, choices, "Known values"), at)
    if field.form in _FORMS and not _has_form(value, field.form):
        yield Mistake(f"{shown(value)!r} is not {_FORMS[field.form]}", f"Write {_FORMS[field.form]}", at)


def within(amount: float, sign: str, limit: float) -> bool:
    """Return whether an amount keeps to a limit such as `>=` and 1."""
    if sign == ">":
        return amount > limit
    if sign == ">=":
        return amount >= limit
    return amount < limit if sign == "<" else amount <= limit


def _has_form(text: str, form: str) -> bool:
    if text == "":
        return True
    if form == "metric":
        return _METRIC.fullmatch(text) is not None
    duration = seconds(text)
    return duration is not None and (form == "duration" or duration >= 0)
