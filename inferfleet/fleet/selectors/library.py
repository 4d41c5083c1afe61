"""The library of Kubernetes' selectors for Dynamic Resource Allocation: what expressions see and call, on the
CEL library of Google.

Reference: k8s.io/dynamic-resource-allocation/cel of Kubernetes 1.36; docs/guides/selectors.md says what is
not offered. What CEL's own extensions have, texts and lists among it, is theirs. The library, which takes
some 30 ms to import, is imported with the first selector.
"""

import re
from collections.abc import Callable
from decimal import ROUND_UP, Decimal, localcontext
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import shown

if TYPE_CHECKING:
    from semver import Version


# The second version of texts is what Kubernetes has.
_EXTENSIONS = """
name: inferfleet
extensions:
  - {name: bindings, version: 0}
  - {name: lists, version: 2}
  - {name: optional}
  - {name: sets}
  - {name: strings, version: 2}
  - {name: two-var-comprehensions}
"""
# (name, whether it is called as x.name(...), types of x and the arguments, type of the result, what computes
# it). Two types of our own have one shape to the CEL library, so one form of a function computes both.
_Form = tuple[str, bool, list[Any], Any, Callable[..., Any] | None]


@cache
def environment() -> Any:
    """Return the one environment that compiles selectors."""
    from cel_expr_python import cel

    overloads: dict[str, list[Any]] = {}
    for name, is_member, parameters, result, compute in _forms():
        of_name = overloads.setdefault(name, [])
        of_name.append(
            cel.Overload(
                f"{name}:{len(of_name)}",
                return_type=result,
                parameters=parameters,
                is_member=is_member,
                impl=None if compute is None else _guarded(compute),
            )
        )
    return cel.NewEnv(
        descriptor_pool=value_types(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables=_variables(),
        functions=[
            *(cel.FunctionDecl(name, of_name) for name, of_name in overloads.items()),
            matching(),
        ],
    )


def known_names() -> tuple[str, ...]:
    """Return the variables and functions that an expression may have meant."""
    return (*_variables(), *dict.fromkeys(name for name, *_ in _forms()))


@cache
def _variables() -> dict[str, Any]:
    """Return the types of what an expression sees: the flat maps of all devices of a class, which are
    inferfleet's own, and Kubernetes' `device`.
    """
    from cel_expr_python import cel

    text, any_map = cel.Type.STRING, cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    quantities = cel.Type.Map(text, cel.Type(QUANTITY))
    return {
        "attributes": any_map,
        "capacity": quantities,
        "device.driver": text,
        "device.allowMultipleAllocations": cel.Type.BOOL,
        "device.attributes": cel.Type.Map(text, any_map),
        "device.capacity": cel.Type.Map(text, quantities),
    }


@cache
def _forms() -> tuple[_Form, ...]:
    """Return the functions that CEL itself does not have."""
    from cel_expr_python import cel

    boolean, integer, text = cel.Type.BOOL, cel.Type.INT, cel.Type.STRING
    amount, version = cel.Type(QUANTITY), cel.Type(SEMVER)
    return (
        ("quantity", False, [text], amount, quantity),
        ("isQuantity", False, [text], boolean, is_quantity),
        ("sign", False, [amount], integer, sign),
        ("isInteger", True, [amount], boolean, is_integer),
        ("asInteger", True, [amount], integer, as_integer),
        ("asApproximateFloat", True, [amount], cel.Type.DOUBLE, as_approximate_float),
        ("add", True, [amount, amount], amount, add),
        ("add", True, [amount, integer], amount, add),
        ("sub", True, [amount, amount], amount, sub),
        ("sub", True, [amount, integer], amount, sub),
        ("compareTo", True, [amount, amount], integer, compare),
        ("compareTo", True, [version, version], integer, None),
        ("isGreaterThan", True, [amount, amount], boolean, lambda left, right: compare(left, right) > 0),
        ("isGreaterThan", True, [version, version], boolean, None),
        ("isLessThan", True, [amount, amount], boolean, lambda left, right: compare(left, right) < 0),
        ("isLessThan", True, [version, version], boolean, None),
        ("semver", False, [text], version, semver),
        ("semver", False, [text, boolean], version, semver),
        ("isSemver", False, [text], boolean, is_semver),
        ("isSemver", False, [text, boolean], boolean, is_semver),
        *(
            (part, True, [version], integer, partial(number, part=part))
            for part in ("major", "minor", "patch")
        ),
        ("find", True, [text, text], text, find),
        ("findAll", True, [text, text], cel.Type.List(text), find_all),
        ("findAll", True, [text, text, integer], cel.Type.List(text), find_all),
    )


def _guarded(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let errors of a function become errors of the evaluation, whatever the values are.

    The library prints an exception that it does not expect, and a value that it cannot convert.
    """

    def call(*arguments: Any) -> Any:
        try:
            return compute(*arguments)
        except (TypeError, ArithmeticError, AttributeError):
            raise Unusable("a function was given a value of a kind that it does not take") from None

    return call


# The typed values that CEL itself does not have: quantities and semantic versions. Each is a message with one
# text in a normal form, so that equal values are equal messages. The field is named `in`, a reserved word of
# CEL: no expression can read it. Rules: https://kubernetes.io/docs/reference/using-api/cel/ (kubernetes
# quantity library, semver library).

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
def value_types() -> Any:
    """Return the descriptor pool that has the types, and no others."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", package="kubernetes", syntax="proto3")
    for name in SPOKEN:
        message = file.message_type.add(name=name.partition(".")[2])
        message.field.add(name=_FIELD, number=1, type=9, label=1)
    types = descriptor_pool.DescriptorPool()
    types.Add(file)
    return types


@cache
def _message(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(value_types().FindMessageTypeByName(name))


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
    """Return 1, 0 or -1, as a quantity is above, at or below zero."""
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


# Regular expressions: RE2, in linear time, compiled once and of bounded size. The CEL library's own `matches`
# is RE2 too, but compiles a pattern of whatever size each time that it is asked.

# Memory of one compiled pattern, which bounds the time to compile it too.
_BYTES = 1 << 18
# What matches in place of the library's function: a name that nobody can write, and its forms.
MATCHES, OF_TEXT, CALLED = "@matches", "@matches_of_text", "@matches_called"


def matching() -> Any:
    """Return the declaration of what matches in place of the library's function."""
    from cel_expr_python import cel

    texts = [cel.Type.STRING, cel.Type.STRING]
    forms = [
        cel.Overload(name, return_type=cel.Type.BOOL, parameters=texts, is_member=is_member, impl=_matches)
        for name, is_member in ((OF_TEXT, True), (CALLED, False))
    ]
    return cel.FunctionDecl(MATCHES, forms)


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def find(text: str, pattern: str) -> str:
    """Return the first part that the regular expression matches, or ""."""
    match = compiled(pattern).search(text)
    return str(match.group(0)) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return all parts, or the first `limit`, that the regular expression matches."""
    parts = [str(match.group(0)) for match in compiled(pattern).finditer(text)]
    return parts if limit < 0 else parts[:limit]


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Return the compiled pattern. Raises Unusable for one that is none, or too large."""
    import re2

    options = re2.Options()
    # Else the C++ library writes about a wrong pattern to standard error.
    options.log_errors = False
    options.max_mem = _BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise Unusable(f"{shown(pattern)!r} is not a regular expression (RE2), or it is too large") from None
