"""The parts of Kubernetes' CEL library that selectors use: `quantity` and `semver`.

Rules: https://kubernetes.io/docs/reference/using-api/cel/ (kubernetes quantity library, semver library).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import total_ordering
from typing import Any

import re2
from celpy import celtypes

from inferfleet.api.kinds.quantity import parse_quantity

_SEMVER = re.compile(r"^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$")


@dataclass(frozen=True)
class Quantity:
    """An amount, comparable to other quantities only."""

    value: Decimal


@total_ordering
@dataclass(frozen=True, eq=False)
class Semver:
    """A version, ordered by precedence (https://semver.org, rule 11); build metadata is not kept."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...]

    def _rank(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease)
        return (self.numbers, not parts, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._rank() == other._rank()

    def __lt__(self, other: "Semver") -> bool:
        return self._rank() < other._rank()

    def __hash__(self) -> int:
        return hash(self._rank())


def quantity(text: Any) -> Quantity:
    """Return the quantity of a text such as `80Gi`. Raises ValueError, or TypeError when it is no text."""
    return Quantity(parse_quantity(_text(text)))


def semver(text: Any) -> Semver:
    """Return the version of a text such as `9.0.0`. Raises ValueError, or TypeError when it is no text."""
    read = _SEMVER.match(_text(text))
    if not read:
        raise ValueError(f"{str(text)!r} is not a semantic version (such as 9.0.0)")
    return Semver((int(read[1]), int(read[2]), int(read[3])), tuple(read[4].split(".")) if read[4] else ())


def _compare_to(left: Any, right: Any) -> celtypes.IntType:
    first, second = _comparable(left, right)
    return celtypes.IntType((first > second) - (first < second))


def _is_greater_than(left: Any, right: Any) -> celtypes.BoolType:
    first, second = _comparable(left, right)
    return celtypes.BoolType(first > second)


def _is_less_than(left: Any, right: Any) -> celtypes.BoolType:
    first, second = _comparable(left, right)
    return celtypes.BoolType(first < second)


def _add(left: Any, right: Any) -> Quantity:
    return Quantity(_amount(left) + _amount(right))


def _sub(left: Any, right: Any) -> Quantity:
    return Quantity(_amount(left) - _amount(right))


def _sign(value: Any) -> celtypes.IntType:
    amount = _amount(value)
    return celtypes.IntType((amount > 0) - (amount < 0))


def _is_integer(value: Any) -> celtypes.BoolType:
    amount = _amount(value)
    return celtypes.BoolType(amount == amount.to_integral_value() and abs(amount) < 2**63)


def _as_integer(value: Any) -> celtypes.IntType:
    if not _is_integer(value):
        raise ValueError(f"{_amount(value)} is not a whole number")
    return celtypes.IntType(int(_amount(value)))


def _as_approximate_float(value: Any) -> celtypes.DoubleType:
    return celtypes.DoubleType(float(_amount(value)))


def _is(read: Callable[[Any], Any]) -> Callable[[Any], celtypes.BoolType]:
    def readable(text: Any) -> celtypes.BoolType:
        try:
            read(text)
        except ValueError:
            return celtypes.BoolType(False)
        return celtypes.BoolType(True)

    return readable


def _number(index: int) -> Callable[[Any], celtypes.IntType]:
    def number(version: Any) -> celtypes.IntType:
        if not isinstance(version, Semver):
            raise TypeError("major, minor and patch take a semver")
        return celtypes.IntType(version.numbers[index])

    return number


def _multiply(left: Any, right: Any) -> Any:
    # Python multiplies texts and lists too, and true is a number to it: ("a" * bool(4000000000)) has 4 GB.
    numbers = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)
    if not (isinstance(left, numbers) and type(left) is type(right)):
        raise TypeError(f"{type(left).__name__} and {type(right).__name__} cannot be multiplied")
    return left * right


def _matches(text: Any, pattern: Any) -> celtypes.BoolType:
    options = re2.Options()
    # Else the C++ library writes about a wrong pattern to standard error.
    options.log_errors = False
    try:
        return celtypes.BoolType(re2.compile(_text(pattern), options).search(_text(text)) is not None)
    except re2.error:
        raise ValueError(f"{_text(pattern)[:60]!r} is not a regular expression") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, got {type(value).__name__}")
    return str(value)


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return left.value, right.value
    if isinstance(left, Semver) and isinstance(right, Semver):
        return left, right
    raise TypeError(f"{type(left).__name__} and {type(right).__name__} cannot be compared")


def _amount(value: Any) -> Decimal:
    if isinstance(value, Quantity):
        return value.value
    if isinstance(value, celtypes.IntType):
        return Decimal(int(value))
    raise TypeError(f"a quantity was expected, got {type(value).__name__}")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": quantity,
    "isQuantity": _is(quantity),
    "semver": semver,
    "isSemver": _is(semver),
    "compareTo": _compare_to,
    "isGreaterThan": _is_greater_than,
    "isLessThan": _is_less_than,
    "add": _add,
    "sub": _sub,
    "sign": _sign,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": _as_approximate_float,
    "major": _number(0),
    "minor": _number(1),
    "patch": _number(2),
    # Instead of celpy's own.
    "matches": _matches,
    "_*_": _multiply,
}
