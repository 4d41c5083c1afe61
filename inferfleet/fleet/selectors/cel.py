"""Selectors over the devices of a class: CEL, compiled once and evaluated once per class.

A selector sees `attributes` and `capacity`, flat maps of all devices of the class under
`<driver domain>/<name>`, and `device`, the accelerator alone, as Dynamic Resource Allocation shows it
(`device.attributes["gpu.nvidia.com"].architecture`). A selector that fails or gives no boolean does not
match, as in Kubernetes.
"""

import logging
from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.inference_class import AttributeValue, Device, InferenceClass
from inferfleet.api.wording import shown
from inferfleet.fleet.shapes import accelerator

_VARIABLES = ("attributes", "capacity", "device")
_MACROS = ("all", "exists", "exists_one", "filter", "map", "has", "dyn")


class InvalidSelector(ValueError):  # noqa: N818 (it says what the selector is)
    """Raised for an expression that cannot be evaluated on any class; the text says where and why."""


class Selectors:
    """Which expressions match which classes, each evaluated once. A plan has one of these."""

    def __init__(self) -> None:
        self._programs: dict[str, Any] = {}
        self._verdicts: dict[tuple[str, str], str | None] = {}

    def check(self, expression: str) -> None:
        """Raise InvalidSelector, with line and column, unless `expression` is a selector."""
        self._program(expression)

    def objection(self, expression: str, inference_class: InferenceClass) -> str | None:
        """Return why the selector does not match the class, or None when it does."""
        key = (inference_class.metadata.name, expression)
        if key not in self._verdicts:
            self._verdicts[key] = _objection(self._program(expression), inference_class)
        return self._verdicts[key]

    def _program(self, expression: str) -> Any:
        if expression not in self._programs:
            self._programs[expression] = _compile(expression)
        return self._programs[expression]


def _compile(expression: str) -> Any:
    # celpy takes a quarter of a second to import; fleets without selectors do not pay it.
    import celpy
    from celpy.celparser import CELParseError
    from celpy.evaluation import base_functions

    from inferfleet.fleet.selectors.library import FUNCTIONS
    from inferfleet.fleet.selectors.limits import MAX_BYTES, LimitedRunner, macro_problems

    _keep_quiet()
    if len(expression.encode(errors="surrogatepass")) > MAX_BYTES:
        raise InvalidSelector(f"the expression is longer than {MAX_BYTES:,} bytes, the limit of Kubernetes")
    environment = celpy.Environment(runner_class=LimitedRunner)
    try:
        tree = environment.compile(expression)
        names = {*base_functions, *FUNCTIONS, *_MACROS}
        for problem in (*_undeclared(tree, names), *macro_problems(tree)):
            raise InvalidSelector(problem)
        return environment.program(tree, functions=dict(FUNCTIONS))
    except InvalidSelector:
        raise
    except CELParseError as error:
        place = f"line {error.line}, column {error.column}: " if error.line else ""
        raise InvalidSelector(f"{place}this is not valid CEL") from None
    except RecursionError:
        raise InvalidSelector("the expression is nested too deeply") from None
    except Exception as error:  # noqa: BLE001 (celpy raises nearly everything on odd expressions)
        raise InvalidSelector(f"this is not valid CEL ({type(error).__name__})") from None


def _keep_quiet() -> None:
    """Keep celpy's own log of failed evaluations from standard error: the objection says the same."""
    logger = logging.getLogger("celpy")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def _undeclared(tree: Any, functions: set[str]) -> Iterator[str]:
    """Names that no class defines: celpy itself would report them only while evaluating."""
    known = {*_VARIABLES, *functions}
    for call in tree.find_data("member_dot_arg"):
        if call.children[1] in _MACROS and len(call.children) > 2:
            known |= {str(name.children[0]) for name in call.children[2].find_data("ident")}
    for node in tree.iter_subtrees_topdown():
        if (
            node.data in ("ident", "ident_arg", "dot_ident", "dot_ident_arg")
            and node.children[0] not in known
        ):
            name = node.children[0]
            kind = "function" if node.data.endswith("_arg") else "variable"
            offered = "" if kind == "function" else f"; the variables are {', '.join(_VARIABLES)}"
            yield f"line {name.line}, column {name.column}: there is no {kind} {shown(name)!r}{offered}"
        if node.data == "ident_arg":
            yield from _unreadable(node)
        if node.data == "member_dot_arg" and node.children[1] not in functions:
            name = node.children[1]
            yield f"line {name.line}, column {name.column}: there is no function {shown(name)!r}"


def _unreadable(call: Any) -> Iterator[str]:
    """A literal that `quantity` or `semver` cannot read would be false on every class, silently."""
    from inferfleet.fleet.selectors.library import FUNCTIONS

    tokens = list(call.scan_values(lambda token: True))
    if len(tokens) == 2 and tokens[0] in ("quantity", "semver") and tokens[1].type == "STRING_LIT":
        try:
            FUNCTIONS[tokens[0]](tokens[1][1:-1])
        except ValueError as wrong:
            yield f"line {tokens[1].line}, column {tokens[1].column}: {wrong}"


def _objection(program: Any, inference_class: InferenceClass) -> str | None:
    from celpy import celtypes
    from celpy.evaluation import CELEvalError

    from inferfleet.fleet.selectors.limits import MAX_STEPS, TooManySteps

    try:
        value = program.evaluate(_variables(inference_class))
    except CELEvalError as failed:
        return f"nodeSelector cannot be evaluated: {_short(failed)}"
    except RecursionError:
        return "nodeSelector is nested too deeply to be evaluated"
    except TooManySteps:
        return f"nodeSelector takes more than {MAX_STEPS:,} steps to evaluate"
    except Exception as failed:  # noqa: BLE001 (celpy lets errors of its own code through as they are)
        return f"nodeSelector cannot be evaluated: {_told(shown(str(failed), 200))}"
    if not isinstance(value, celtypes.BoolType):
        return f"nodeSelector gives {type(value).__name__.removesuffix('Type').lower()}, not true or false"
    return None if value else "nodeSelector is false"


def _short(failed: Any) -> str:
    """The short form of celpy's error: what happened, and to which value."""
    what = str(failed.args[0]).partition(" (in activation")[0].partition(" applied to ")[0]
    if len(failed.args) > 2 and failed.args[2]:
        detail = str(failed.args[2][0])
        what = f"{what} {detail!r}" if failed.args[1] is KeyError else detail
    return _told(what if len(what) <= 200 else f"{what[:197]}...")


def _told(said: str) -> str:
    """What the library says, unless it is about the library."""
    return "its parts do not fit together" if not said or "CELEvalError" in said or "celpy" in said else said


def _variables(inference_class: InferenceClass) -> dict[str, Any]:
    from celpy import celtypes

    first = accelerator(inference_class)
    devices = sorted(inference_class.spec.all_devices, key=lambda device: device is not first)
    flat: dict[str, dict[str, Any]] = {"attributes": {}, "capacity": {}}
    for device in devices:
        for part, domain, name, value in _facts(device):
            flat[part].setdefault(f"{domain}/{name}", value)
    nested: dict[str, dict[str, dict[str, Any]]] = {"attributes": {}, "capacity": {}}
    for part, domain, name, value in _facts(first) if first else ():
        nested[part].setdefault(domain, {})[name] = value
    driver = celtypes.StringType(first.driver if first else "")
    return {**_cel(flat), "device": _cel({"driver": driver, **nested})}


def _facts(device: Device) -> Iterator[tuple[str, str, str, Any]]:
    """(part, domain, name, CEL value); a key without a domain is under the driver's own."""
    from inferfleet.fleet.selectors.library import quantity

    for key, attribute in device.attributes.items():
        yield "attributes", *_qualified(key, device.driver), _scalar(attribute)
    for key, capacity in device.capacity.items():
        yield "capacity", *_qualified(key, device.driver), quantity(capacity.value)


def _qualified(key: str, driver: str) -> tuple[str, str]:
    domain, slash, name = key.rpartition("/")
    return (domain, name) if slash else (driver, key)


def _scalar(attribute: AttributeValue) -> Any:
    from celpy import celtypes

    from inferfleet.fleet.selectors.library import semver

    if attribute.version is not None:
        return semver(attribute.version)
    if attribute.bool_ is not None:
        return celtypes.BoolType(attribute.bool_)
    if attribute.int_ is not None:
        return celtypes.IntType(attribute.int_)
    return celtypes.StringType(attribute.string or "")


def _cel(value: dict[str, Any]) -> Any:
    from celpy import celtypes

    return celtypes.MapType(
        {
            celtypes.StringType(key): _cel(inner) if isinstance(inner, dict) else inner
            for key, inner in value.items()
        }
    )
