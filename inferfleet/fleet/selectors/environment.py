"""The environment of Kubernetes' selectors for Dynamic Resource Allocation, on the CEL library of Google.

Reference: k8s.io/dynamic-resource-allocation/cel of Kubernetes 1.36. docs/guides/selectors.md says what
cannot be had here. The module is imported with the first selector.
"""

from collections.abc import Callable, Iterable
from typing import Any

from cel_expr_python import cel

from inferfleet.fleet.selectors import amounts, lists, networks, texts
from inferfleet.fleet.selectors.limits import Unusable
from inferfleet.fleet.selectors.values import SPOKEN, pool

# From the flat maps of all devices of a class, which are inferfleet's own, and Kubernetes' `device`.
VARIABLES = {
    "attributes": "map(string, dyn)",
    "capacity": "map(string, quantity)",
    "device": "map(string, dyn)",
    "device.driver": "string",
    "device.allowMultipleAllocations": "bool",
    "device.attributes": "map(string, map(string, dyn))",
    "device.capacity": "map(string, map(string, quantity))",
}
_EXTENSIONS = """
name: inferfleet
extensions:
  - {name: bindings, version: 0}
  - {name: lists, version: 2}
  - {name: optional}
  - {name: sets}
  - {name: two-var-comprehensions}
"""
_SCALARS = ("int", "uint", "double", "bool", "string", "bytes", "duration", "timestamp")


def _of_url(name: str) -> Callable[[Any], Any]:
    return lambda value: networks.url_part(value, name)


def _of_version(index: int) -> Callable[[Any], int]:
    return lambda value: amounts.number(value, index)


# By name: forms `receiver.(arguments) result`, and what computes them, None where another form of the same
# shape does. Two types of our own have one shape to the CEL library, and so have lists of anything.
FUNCTIONS: dict[str, tuple[tuple[str, Callable[..., Any] | None], ...]] = {
    "quantity": (("(string) quantity", amounts.quantity),),
    "isQuantity": (("(string) bool", amounts.is_quantity),),
    "sign": (("(quantity) int", amounts.sign),),
    "isInteger": (("quantity.() bool", amounts.is_integer),),
    "asInteger": (("quantity.() int", amounts.as_integer),),
    "asApproximateFloat": (("quantity.() double", amounts.as_approximate_float),),
    "add": (("quantity.(quantity) quantity", amounts.add), ("quantity.(int) quantity", amounts.add)),
    "sub": (("quantity.(quantity) quantity", amounts.sub), ("quantity.(int) quantity", amounts.sub)),
    "compareTo": (("quantity.(quantity) int", amounts.compare), ("semver.(semver) int", None)),
    "isGreaterThan": (
        ("quantity.(quantity) bool", lambda left, right: amounts.compare(left, right) > 0),
        ("semver.(semver) bool", None),
    ),
    "isLessThan": (
        ("quantity.(quantity) bool", lambda left, right: amounts.compare(left, right) < 0),
        ("semver.(semver) bool", None),
    ),
    "semver": (("(string) semver", amounts.semver), ("(string, bool) semver", amounts.semver)),
    "isSemver": (("(string) bool", amounts.is_semver), ("(string, bool) bool", amounts.is_semver)),
    "major": (("semver.() int", _of_version(0)),),
    "minor": (("semver.() int", _of_version(1)),),
    "patch": (("semver.() int", _of_version(2)),),
    "charAt": (("string.(int) string", texts.char_at),),
    "lowerAscii": (("string.() string", texts.lower_ascii),),
    "upperAscii": (("string.() string", texts.upper_ascii),),
    "trim": (("string.() string", texts.trim),),
    "replace": (
        ("string.(string, string) string", texts.replace),
        ("string.(string, string, int) string", texts.replace),
    ),
    "split": (
        ("string.(string) list(string)", texts.split),
        ("string.(string, int) list(string)", texts.split),
    ),
    "join": (("list(string).() string", texts.join), ("list(string).(string) string", texts.join)),
    "substring": (("string.(int) string", texts.substring), ("string.(int, int) string", texts.substring)),
    "strings.quote": (("(string) string", texts.quote),),
    "format": (("string.(list(dyn)) string", lists.formatted),),
    "find": (("string.(string) string", texts.find),),
    "findAll": (
        ("string.(string) list(string)", texts.find_all),
        ("string.(string, int) list(string)", texts.find_all),
    ),
    "indexOf": (
        ("string.(string) int", lists.index_of),
        ("string.(string, int) int", lists.index_of),
        ("list(dyn).(dyn) int", None),
    ),
    "lastIndexOf": (
        ("string.(string) int", lists.last_index_of),
        ("string.(string, int) int", lists.last_index_of),
        ("list(dyn).(dyn) int", None),
    ),
    "includes": (("dyn.(dyn) bool", None),),
    "isSorted": tuple((f"list({kind}).() bool", None) for kind in _SCALARS),
    "min": tuple((f"list({kind}).() {kind}", None) for kind in _SCALARS),
    "max": tuple((f"list({kind}).() {kind}", None) for kind in _SCALARS),
    "sum": tuple((f"list({kind}).() {kind}", None) for kind in ("int", "uint", "double", "duration")),
    "ip": (("(string) ip", networks.ip), ("cidr.() ip", networks.ip)),
    "isIP": (("(string) bool", networks.is_ip),),
    "ip.isCanonical": (("(string) bool", networks.is_canonical),),
    "family": (("ip.() int", networks.family),),
    "isUnspecified": (("ip.() bool", networks.is_unspecified),),
    "isLoopback": (("ip.() bool", networks.is_loopback),),
    "isLinkLocalMulticast": (("ip.() bool", networks.is_link_local_multicast),),
    "isLinkLocalUnicast": (("ip.() bool", networks.is_link_local_unicast),),
    "isGlobalUnicast": (("ip.() bool", networks.is_global_unicast),),
    "cidr": (("(string) cidr", networks.cidr),),
    "isCIDR": (("(string) bool", networks.is_cidr),),
    "containsIP": (("cidr.(string) bool", networks.contains_ip), ("cidr.(ip) bool", networks.contains_ip)),
    "containsCIDR": (
        ("cidr.(string) bool", networks.contains_cidr),
        ("cidr.(cidr) bool", networks.contains_cidr),
    ),
    "masked": (("cidr.() cidr", networks.masked),),
    "prefixLength": (("cidr.() int", networks.prefix_length),),
    "url": (("(string) url", networks.url),),
    "isURL": (("(string) bool", networks.is_url),),
    "getScheme": (("url.() string", _of_url("scheme")),),
    "getHost": (("url.() string", _of_url("host")),),
    "getHostname": (("url.() string", _of_url("hostname")),),
    "getPort": (("url.() string", _of_url("port")),),
    "getEscapedPath": (("url.() string", _of_url("path")),),
    "getQuery": (("url.() map(string, list(string))", _of_url("query")),),
}
# What computes in place of a function, by a name that nobody can write; rules.py puts it there.
HIDDEN: dict[str, tuple[tuple[str, Callable[..., Any]], ...]] = {
    "@includes": (("any.(any) bool", lists.includes),),
    "@isSorted": (("list(dyn).() bool", lists.is_sorted),),
    "@min": (("list(dyn).() dyn", lists.smallest),),
    "@max": (("list(dyn).() dyn", lists.largest),),
    "@sum": (("list(dyn).() dyn", lists.total),),
    **{
        f"@{name}_{kind}": ((f"list(dyn).() {kind}", impl),)
        for name, impl in (("min", lists.smallest), ("max", lists.largest), ("sum", lists.total))
        for kind in ("uint", "bytes", "duration", "timestamp")
    },
    "@indexOf": (
        ("list(dyn).(any) int", lists.index_of),
        ("string.(any) int", lists.index_of),
    ),
    "@lastIndexOf": (
        ("list(dyn).(any) int", lists.last_index_of),
        ("string.(any) int", lists.last_index_of),
    ),
    "@matches": (("string.(string) bool", texts.matches), ("(string, string) bool", texts.matches)),
}
# Functions and macros of the library itself, for the name nearest to a mistyped one.
_LIBRARY = """
all exists exists_one existsOne filter map has size contains startsWith endsWith matches in int uint
double string bytes bool dyn type duration timestamp getFullYear getMonth getDate getHours
getMinutes getSeconds getDayOfWeek optMap optFlatMap orValue or value hasValue optional.of
optional.none optional.ofNonZeroValue cel.bind sets.contains sets.equivalent sets.intersects
lists.range flatten slice sort sortBy distinct reverse transformList
"""
BUILT_IN = tuple(_LIBRARY.split())


def new() -> Any:
    """Return a new environment that compiles selectors."""
    functions = [
        cel.FunctionDecl(name, [_overload(name, form, impl) for form, impl in forms])
        for name, forms in {**FUNCTIONS, **HIDDEN}.items()
    ]
    return cel.NewEnv(
        descriptor_pool=pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables={name: _type(written) for name, written in VARIABLES.items()},
        functions=functions,
    )


def forms_of(name: str) -> tuple[str, ...]:
    """Return how a function is called, such as `quantity.compareTo(quantity)`; empty for built-in ones."""
    return tuple(dict.fromkeys(_call(name, form) for form, _ in FUNCTIONS.get(name, ())))


def overload_id(name: str, form: str) -> str:
    """Return the name under which the library knows a form of a function."""
    return f"{name}:{form}"


def _call(name: str, form: str) -> str:
    receiver, arguments, _ = _parts(form)
    return f"{receiver}.{name}({', '.join(arguments)})" if receiver else f"{name}({', '.join(arguments)})"


def _overload(name: str, form: str, impl: Callable[..., Any] | None) -> Any:
    receiver, arguments, result = _parts(form)
    parameters = [receiver, *arguments] if receiver else arguments
    return cel.Overload(
        overload_id(name, form),
        return_type=_type(result),
        parameters=list(map(_type, parameters)),
        is_member=bool(receiver),
        impl=None if impl is None else _guarded(impl),
    )


def _guarded(impl: Callable[..., Any]) -> Callable[..., Any]:
    """Let errors of a function become errors of the evaluation, whatever the values are.

    The library prints an exception that it does not expect, and a value that it cannot convert.
    """

    def call(*arguments: Any) -> Any:
        try:
            return impl(*arguments)
        except (TypeError, ArithmeticError, AttributeError):
            raise Unusable("a function was given a value of a kind that it does not take") from None

    return call


def _parts(form: str) -> tuple[str, list[str], str]:
    """Split `receiver.(arguments) result`."""
    head, _, rest = form.rpartition(".(") if ".(" in form else ("", "", form[1:])
    depth = 0
    for at, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return head, _split(rest[:at]), rest[at + 1 :].strip()
    raise AssertionError(form)


def _split(written: str) -> list[str]:
    parts, depth = [""], 0
    for char in written:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _type(written: str) -> Any:
    name, _, inner = written.partition("(")
    if not inner:
        full = {spoken: full for full, spoken in SPOKEN.items()}.get(name)
        if full or name == "any":
            return cel.Type(full or "any")
        return getattr(cel.Type, name.upper())
    arguments: Iterable[Any] = map(_type, _split(inner[:-1]))
    return (cel.Type.List if name == "list" else cel.Type.Map)(*arguments)
