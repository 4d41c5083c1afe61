"""The environment of Kubernetes' selectors for Dynamic Resource Allocation, on the CEL library of Google.

Reference: k8s.io/dynamic-resource-allocation/cel of Kubernetes 1.36; docs/guides/selectors.md says what is
not offered. What CEL's own extensions have, texts and lists among it, is theirs. The module is imported with
the first selector.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from cel_expr_python import cel

from inferfleet.fleet.selectors import amounts, patterns
from inferfleet.fleet.selectors.amounts import QUANTITY, SEMVER, Unusable, pool

_BOOL, _INT, _STRING = cel.Type.BOOL, cel.Type.INT, cel.Type.STRING
_Q, _V = cel.Type(QUANTITY), cel.Type(SEMVER)
_DYN_MAP, _AMOUNTS = cel.Type.Map(_STRING, cel.Type.DYN), cel.Type.Map(_STRING, _Q)
# The flat maps of all devices of a class, which are inferfleet's own, and Kubernetes' `device`.
VARIABLES = {
    "attributes": _DYN_MAP,
    "capacity": _AMOUNTS,
    "device.driver": _STRING,
    "device.allowMultipleAllocations": _BOOL,
    "device.attributes": cel.Type.Map(_STRING, _DYN_MAP),
    "device.capacity": cel.Type.Map(_STRING, _AMOUNTS),
}
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
_FORMS: tuple[_Form, ...] = (
    ("quantity", False, [_STRING], _Q, amounts.quantity),
    ("isQuantity", False, [_STRING], _BOOL, amounts.is_quantity),
    ("sign", False, [_Q], _INT, amounts.sign),
    ("isInteger", True, [_Q], _BOOL, amounts.is_integer),
    ("asInteger", True, [_Q], _INT, amounts.as_integer),
    ("asApproximateFloat", True, [_Q], cel.Type.DOUBLE, amounts.as_approximate_float),
    ("add", True, [_Q, _Q], _Q, amounts.add),
    ("add", True, [_Q, _INT], _Q, amounts.add),
    ("sub", True, [_Q, _Q], _Q, amounts.sub),
    ("sub", True, [_Q, _INT], _Q, amounts.sub),
    ("compareTo", True, [_Q, _Q], _INT, amounts.compare),
    ("compareTo", True, [_V, _V], _INT, None),
    ("isGreaterThan", True, [_Q, _Q], _BOOL, lambda left, right: amounts.compare(left, right) > 0),
    ("isGreaterThan", True, [_V, _V], _BOOL, None),
    ("isLessThan", True, [_Q, _Q], _BOOL, lambda left, right: amounts.compare(left, right) < 0),
    ("isLessThan", True, [_V, _V], _BOOL, None),
    ("semver", False, [_STRING], _V, amounts.semver),
    ("semver", False, [_STRING, _BOOL], _V, amounts.semver),
    ("isSemver", False, [_STRING], _BOOL, amounts.is_semver),
    ("isSemver", False, [_STRING, _BOOL], _BOOL, amounts.is_semver),
    *((part, True, [_V], _INT, partial(amounts.number, part=part)) for part in ("major", "minor", "patch")),
    ("find", True, [_STRING, _STRING], _STRING, patterns.find),
    ("findAll", True, [_STRING, _STRING], cel.Type.List(_STRING), patterns.find_all),
    ("findAll", True, [_STRING, _STRING, _INT], cel.Type.List(_STRING), patterns.find_all),
)
NAMES = (*VARIABLES, *dict.fromkeys(name for name, *_ in _FORMS))


@cache
def environment() -> Any:
    """Return the one environment that compiles selectors."""
    overloads: dict[str, list[Any]] = {}
    for name, is_member, parameters, result, compute in _FORMS:
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
        descriptor_pool=pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables=VARIABLES,
        functions=[
            *(cel.FunctionDecl(name, of_name) for name, of_name in overloads.items()),
            patterns.matching(),
        ],
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
