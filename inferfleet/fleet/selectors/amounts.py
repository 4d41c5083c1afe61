"""Quantities and versions as selectors compute with them.

Rules: https://kubernetes.io/docs/reference/using-api/cel/ (kubernetes quantity library, semver library).
"""

import re
from decimal import ROUND_UP, Decimal, localcontext
from functools import lru_cache
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.wording import shown
from inferfleet.fleet.selectors.limits import Unusable
from inferfleet.fleet.selectors.values import QUANTITY, SEMVER, made, text_of, type_of

_NUMBER = r"(0|[1-9][0-9]{0,18})"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_INTEGERS = range(-(2**63), 2**63)
_NANO = Decimal("1e-9")
Precedence = tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=1024)
def quantity(text: str) -> Any:
    """Return the quantity of a text such as `80Gi`; smaller parts than a billionth are rounded up."""
    try:
        return of_amount(parse_quantity(text))
    except ValueError:
        raise Unusable(f"{shown(text)!r} is not a Kubernetes quantity (such as 80Gi)") from None


def is_quantity(text: str) -> bool:
    """Return whether `quantity` can read the text."""
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def add(left: Any, right: Any) -> Any:
    """Return the sum of a quantity and a quantity or whole number."""
    return of_amount(_amount(left) + _amount(right))


def sub(left: Any, right: Any) -> Any:
    """Return the difference of a quantity and a quantity or whole number."""
    return of_amount(_amount(left) - _amount(right))


def sign(value: Any) -> int:
    """Return 1, 0 or -1."""
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def is_integer(value: Any) -> bool:
    """Return whether the quantity is a whole number of 64 bits."""
    amount = _amount(value)
    return amount == amount.to_integral_value() and int(amount) in _INTEGERS


def as_integer(value: Any) -> int:
    """Return the quantity as a whole number."""
    if not is_integer(value):
        raise Unusable(f"the quantity {text_of(value)[:60]} is not a whole number")
    return int(_amount(value))


def as_approximate_float(value: Any) -> float:
    """Return the quantity as a floating-point number."""
    return float(_amount(value))


def semver(text: str, normalize: bool = False) -> Any:
    """Return the version of a text such as `9.0.0`.

    With `normalize` a leading v and zeros before numbers are removed, and missing numbers are 0.
    """
    text = _normalized(text) if normalize else text
    if len(text) > 256 or _precedence(text) is None:
        raise Unusable(f"{shown(text)!r} is not a semantic version (such as 9.0.0)")
    # Build metadata does not take part in comparisons.
    return made(SEMVER, text.partition("+")[0])


def is_semver(text: str, normalize: bool = False) -> bool:
    """Return whether `semver` can read the text."""
    try:
        semver(text, normalize)
    except Unusable:
        return False
    return True


def number(value: Any, index: int) -> int:
    """Return the major (0), minor (1) or patch number (2) of a version."""
    if type_of(value) != SEMVER:
        raise Unusable("major, minor and patch are parts of a semver")
    return _precedence_of(value)[0][index]


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for two quantities, or for two versions by precedence (https://semver.org, 11)."""
    kinds = {type_of(left), type_of(right)}
    first: Any
    second: Any
    if kinds == {QUANTITY}:
        first, second = _amount(left), _amount(right)
    elif kinds == {SEMVER}:
        first, second = _precedence_of(left), _precedence_of(right)
    else:
        raise Unusable("a quantity is compared with a quantity, and a semver with a semver")
    return int(first > second) - int(first < second)


def of_amount(amount: Decimal) -> Any:
    """Return the quantity of an amount."""
    with localcontext() as context:
        context.prec = 200
        rounded = amount.quantize(_NANO, rounding=ROUND_UP)
        return made(QUANTITY, f"{rounded.normalize():f}" if rounded else "0")


def _amount(value: Any) -> Decimal:
    if isinstance(value, int):
        return Decimal(value)
    if type_of(value) != QUANTITY:
        raise Unusable("a quantity was expected")
    return _decimal(text_of(value))


@lru_cache(maxsize=1024)
def _decimal(text: str) -> Decimal:
    return Decimal(text)


def _normalized(text: str) -> str:
    text = text.removeprefix("v")
    numbers, mark, rest = re.match(r"([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    parts = numbers.split(".")
    if len(parts) < 3 and mark:
        return text
    parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in parts]
    return ".".join([*parts, *["0"] * (3 - len(parts))]) + mark + rest


@lru_cache(maxsize=1024)
def _precedence(text: str) -> Precedence | None:
    version = _SEMVER.fullmatch(text)
    if not version:
        return None
    parts = version[4].split(".") if version[4] else []
    if any(part.isdigit() and part != "0" and part[0] == "0" for part in parts):
        return None
    ranks = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return (int(version[1]), int(version[2]), int(version[3])), not ranks, ranks


def _precedence_of(value: Any) -> Precedence:
    precedence = _precedence(text_of(value))
    if precedence is None:
        raise Unusable("a semver was expected")
    return precedence
