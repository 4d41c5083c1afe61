"""Kubernetes' functions on lists, and `format`: https://kubernetes.io/docs/reference/using-api/cel/."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

from inferfleet.fleet.selectors import texts
from inferfleet.fleet.selectors.limits import BUDGET, Unusable
from inferfleet.fleet.selectors.values import QUANTITY, SEMVER, text_of, type_of

_KINDS: tuple[tuple[type, ...], ...] = (
    (bool,),
    (int, float),
    (str,),
    (bytes, bytearray),
    (timedelta,),
    (datetime,),
)
# Exponents as Go prints them in English: https://pkg.go.dev/golang.org/x/text/message.
_RAISED = str.maketrans("0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_TAKES = {
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "o": ("int", "uint"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
}
_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]{1,3}))?([sdfexXob]))|%")


def includes(value: Any, item: Any) -> bool:
    """Return whether an attribute is the item, or a list of at most 64 items has it."""
    if not isinstance(value, list):
        return _equal(value, item)
    if len(value) > 64:
        raise Unusable("includes looks through lists of at most 64 items")
    return any(_equal(candidate, item) for candidate in value)


def is_sorted(items: list[Any]) -> bool:
    """Return whether no item is smaller than the one before it."""
    return all(not after < before for before, after in pairwise(_ordered(items)))


def smallest(items: list[Any]) -> Any:
    """Return the smallest item."""
    return min(_some(items, "min"))


def largest(items: list[Any]) -> Any:
    """Return the largest item."""
    return max(_some(items, "max"))


def total(items: list[Any]) -> Any:
    """Return the sum of numbers or durations, 0 for no items."""
    ordered = _ordered(items)
    if any(isinstance(item, bool | str | bytes | bytearray | datetime) for item in ordered):
        raise Unusable("sum takes numbers or durations")
    result = reduce(add, ordered) if ordered else 0
    if isinstance(result, int) and not -(2**63) <= result < 2**64:
        raise Unusable("the sum is too large")
    return result


def index_of(items: list[Any] | str, item: Any, start: int | None = None) -> int:
    """Return the position of the first such item of a list or part of a text, or -1."""
    BUDGET.take(len(items) + 1)
    if isinstance(items, str):
        if item == "":
            return start or 0
        return items.find(item, _position(item, start)) if (start or 0) < len(items) else -1
    return next((at for at, candidate in enumerate(items) if _equal(candidate, item)), -1)


def last_index_of(items: list[Any] | str, item: Any, start: int | None = None) -> int:
    """Return the position of the last such item of a list or part of a text, or -1."""
    BUDGET.take(len(items) + 1)
    if isinstance(items, str):
        if item == "":
            return len(items) if start is None else start
        if start is None:
            return items.rfind(item)
        return items.rfind(item, 0, _position(item, start) + len(item)) if start < len(items) else -1
    return next((at for at in range(len(items) - 1, -1, -1) if _equal(items[at], item)), -1)


def _position(item: Any, start: int | None) -> int:
    if not isinstance(item, str) or (start or 0) < 0:
        raise Unusable("indexOf takes a text, and a position from 0 on")
    return start or 0


def formatted(text: str, values: list[Any]) -> str:
    """Return the text with its clauses (%s %d %f %e %x %X %o %b) filled with the values."""
    left = iter(values)
    if problem := format_problem(text, ["dyn"] * len(values)):
        raise Unusable(problem)

    def clause(found: re.Match[str]) -> str:
        part = "%" if found[0] == "%%" else _clause(found[2], next(left), int(found[1] or 6))
        BUDGET.take(len(part))
        return part

    BUDGET.take(len(text))
    return _CLAUSE.sub(clause, text)


def format_problem(text: str, kinds: Sequence[str]) -> str | None:
    """Return why the clauses of a text cannot write values of these types, or None when they can."""
    clauses = [found[2] for found in _CLAUSE.finditer(text) if found[0] != "%%"]
    if not all(clauses):
        return "format knows %s %d %f %e %x %X %o %b and %%"
    if len(clauses) != len(kinds):
        more = "clauses than values" if len(clauses) > len(kinds) else "values than clauses"
        return f"format has more {more}"
    for clause, kind in zip(clauses, kinds, strict=True):
        if clause in _TAKES and kind not in (*_TAKES[clause], "dyn"):
            return f"format writes {' or '.join(_TAKES[clause])} with %{clause}, not {kind.partition('(')[0]}"
    return None


def _clause(kind: str, value: Any, precision: int) -> str:
    try:
        if kind == "s":
            return _spoken(value)
        if kind in "fe" and (isinstance(value, float) or value in _NO_NUMBERS):
            return _decimal(kind, float(value), min(precision, 100))
        if kind == "d" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if kind == "b" and isinstance(value, bool):
            return str(int(value))
        if kind in "xXob" and isinstance(value, int) and not isinstance(value, bool):
            return f"{value:{kind}}"
        if kind in "xX" and isinstance(value, str | bytes | bytearray):
            raw = value.encode() if isinstance(value, str) else bytes(value)
            return raw.hex().upper() if kind == "X" else raw.hex()
    except (ValueError, OverflowError):
        pass
    raise Unusable(f"format cannot write this kind of value with %{kind}")


def _decimal(kind: str, value: float, precision: int) -> str:
    """Return the number as Kubernetes has it: in English, and with a precision that is a width for %e."""
    if kind == "f":
        return f"{value:,.{precision}f}".replace("nan", "NaN").replace("inf", "\u221e")
    digits, raised, power = f"{value:.6e}".partition("e")
    sign = f"\u00d710{power.replace('+', '').translate(_RAISED)}" if raised else ""
    return f"{digits}{sign}".replace("nan", "NaN").replace("inf", "\u221e").rjust(precision)


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        pairs = sorted((_written(key), _written(inner)) for key, inner in value.items())
        return "{" + ", ".join(f"{key}:{inner}" for key, inner in pairs) + "}"
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, str | int | float) else text_of(value)


def _written(value: Any) -> str:
    """Return a value inside of a list or map as an expression would have it."""
    if isinstance(value, str):
        return texts.quote(value)
    if isinstance(value, bytes | bytearray):
        return f"b{texts.quote(_spoken(value))}"
    if isinstance(value, timedelta | datetime):
        name = "duration" if isinstance(value, timedelta) else "timestamp"
        return f"{name}({texts.quote(_spoken(value))})"
    return f"{value:.6f}" if isinstance(value, float) else _spoken(value)


def _some(items: list[Any], name: str) -> list[Any]:
    if not items:
        raise Unusable(f"{name} needs a list that is not empty")
    return _ordered(items)


def _ordered(items: list[Any]) -> list[Any]:
    BUDGET.take(sum(len(item) if isinstance(item, str | bytes | bytearray) else 1 for item in items))
    for kinds in _KINDS:
        if all(
            isinstance(item, kinds) and (kinds != (int, float) or not isinstance(item, bool))
            for item in items
        ):
            return items
    raise Unusable("the items of the list are not of one kind that has an order")


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if {type_of(left), type_of(right)} & {QUANTITY, SEMVER} and type_of(left) != type_of(right):
        return False
    return bool(left == right)
