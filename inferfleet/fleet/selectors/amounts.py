"""The typed values of selectors that CEL itself does not have: quantities and semantic versions.

Each is a message with one text in a normal form, so that equal values are equal messages. The field is named
`in`, a reserved word of CEL: no expression can read it.
Rules: https://kubernetes.io/docs/reference/using-api/cel/ (kubernetes quantity library, semver library).
"""

import re
from decimal import ROUND_UP, Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from inferfleet.documents.kinds.quantity import parse_quantity
from inferfleet.documents.wording import shown

if TYPE_CHECKING:
    from semver import Version

QUANTITY, SEMVER = "kubernetes.Quantity", "kubernetes.Semver"
# As messages name them.
SPOKEN = {QUANTITY: "quantity", SEMVER: "semver"}
_FIELD = "in"
_INTEGERS = range(-(2**63), 2**63)
_NANO = Decimal("1e-9")
_LONGEST = 256


class Unusable(ValueError):  # noqa: N818 (it says what the value is)
    """Raised by a function for a value that it cannot read; the text says why."""


@cache
def pool() -> Any:
    """Return the descriptor pool that has the types, and no others."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", package="kubernetes", syntax="proto3")
    for name in SPOKEN:
        message = file.message_type.add(name=name.partition(".")[2])
        message.field.add(name=_FIELD, number=1, type=9, label=1)
    own = descriptor_pool.DescriptorPool()
    own.Add(file)
    return own


@cache
def _message(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def _made(name: str, text: str) -> Any:
    value = _message(name)()
    setattr(value, _FIELD, text)
    return value


def text_of(value: Any) -> str:
    """Return the text of a value in its normal form."""
    return str(getattr(value, _FIELD))


def type_of(value: Any) -> str:
    """Return the full name of the type of a value, "" when it is none of these."""
    descriptor = getattr(value, "DESCRIPTOR", None)
    return str(descriptor.full_name) if descriptor is not None else ""


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


def of_amount(amount: Decimal) -> Any:
    """Return the quantity of an amount."""
    with localcontext() as context:
        context.prec = 200
        rounded = amount.quantize(_NANO, rounding=ROUND_UP)
        return _made(QUANTITY, f"{rounded.normalize():f}" if rounded else "0")


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


def _amount(value: Any) -> Decimal:
    if isinstance(value, int):
        return Decimal(value)
    if type_of(value) != QUANTITY:
        raise Unusable("a quantity was expected")
    return Decimal(text_of(value))


def semver(text: str, normalize: bool = False) -> Any:
    """Return the version of a text such as `9.0.0`.

    With `normalize` a leading v and zeros before numbers are removed, and missing numbers are 0.
    """
    from semver import Version

    text = _normalized(text) if normalize else text
    try:
        if len(text) > _LONGEST or not text.isascii():
            raise ValueError
        # Build metadata does not take part in comparisons.
        return _made(SEMVER, str(Version.parse(text).replace(build=None)))
    except ValueError:
        raise Unusable(f"{shown(text)!r} is not a semantic version (such as 9.0.0)") from None


def is_semver(text: str, normalize: bool = False) -> bool:
    """Return whether `semver` can read the text."""
    try:
        semver(text, normalize)
    except Unusable:
        return False
    return True


def _normalized(text: str) -> str:
    text = text.removeprefix("v")
    numbers, mark, rest = re.match(r"([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    parts = numbers.split(".")
    if len(parts) < 3 and mark:
        return text
    parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in parts]
    return ".".join([*parts, *["0"] * (3 - len(parts))]) + mark + rest


def number(value: Any, part: str) -> int:
    """Return the `major`, `minor` or `patch` number of a version."""
    return int(getattr(_version(value), part))


def _version(value: Any) -> "Version":
    from semver import Version

    if type_of(value) != SEMVER:
        raise Unusable("a semver was expected")
    return Version.parse(text_of(value))


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for two quantities, or for two versions by precedence (https://semver.org, 11)."""
    kinds = {type_of(left), type_of(right)}
    if kinds == {QUANTITY}:
        first, second = _amount(left), _amount(right)
        return int(first > second) - int(first < second)
    if kinds == {SEMVER}:
        return _version(left).compare(_version(right))
    raise Unusable("a quantity is compared with a quantity, and a semver with a semver")
