"""Selectors over the devices of a class: CEL, compiled once and evaluated once per class.

A selector sees `attributes` and `capacity`, flat maps of all devices of the class under
`<driver domain>/<name>`, and `device`, the accelerator alone, as Dynamic Resource Allocation shows it
(`device.attributes["gpu.nvidia.com"].architecture`). A selector that fails or gives no boolean does not
match, as in Kubernetes.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.wording import listing, shown
from inferfleet.documents.work import take
from inferfleet.fleet.selectors.amounts import SEMVER, SPOKEN, type_of
from inferfleet.fleet.selectors.devices import SIZES, View, view
from inferfleet.fleet.selectors.growth import compiling
from inferfleet.fleet.selectors.source import InvalidSelector, Source

if TYPE_CHECKING:
    from inferfleet.fleet.selectors.program import Program

__all__ = ["FALSE", "InvalidSelector", "Selectors", "Unmet"]

# What is said of a selector that a class does not meet.
FALSE = "nodeSelector is false"
# Steps of an evaluation beside those of its condition.
_EACH = 10
_GUIDE = "docs/guides/selectors.md"
_MISSING = re.compile(r'Key not found in map ?: ?"?(.*?)"?\Z', re.DOTALL)


class Unmet(NamedTuple):
    """A condition that is false on a class, on one line, and the values of what it names there."""

    condition: str
    values: str


class Selectors:
    """Which expressions match which classes, each evaluated once. A plan has one of these."""

    def __init__(self) -> None:
        self._programs: dict[str, Program | InvalidSelector] = {}
        self._views: dict[str, View] = {}
        self._verdicts: dict[tuple[str, str], str | None] = {}
        self._unmet: dict[tuple[str, str], Unmet | None] = {}

    def check(self, expression: str) -> None:
        """Raise InvalidSelector, with line and column, unless `expression` is a selector."""
        self._program(expression)

    def objection(self, expression: str, inference_class: InferenceClass) -> str | None:
        """Return why the selector does not match the class, or None when it does."""
        name = inference_class.metadata.name
        key = (name, expression)
        if key not in self._verdicts:
            compiled = self._program(expression)
            self._verdicts[key] = self._evaluated(compiled, self._view(inference_class))
        return self._verdicts[key]

    def unmet(self, expression: str, inference_class: InferenceClass) -> Unmet | None:
        """Return the first condition of a selector that is false on a class, None if none is by itself."""
        name = inference_class.metadata.name
        key = (name, expression)
        if key not in self._unmet:
            self._unmet[key] = None
            if self.objection(expression, inference_class) == FALSE:
                self._unmet[key] = self._first_false(Source(expression), self._views[name])
        return self._unmet[key]

    def mistyped(self, expression: str, classes: Iterable[InferenceClass]) -> InvalidSelector | None:
        """Return the first comparison of an attribute with a value of another type than it has on every one
        of the classes that has it, or None. Such a comparison has the same result everywhere, or none.
        """
        compared = self._program(expression).compared
        seen = {one.metadata.name: self._view(one).attributes for one in classes} if compared else {}
        for key, kind, place in compared:
            values = {name: attributes[key] for name, attributes in seen.items() if key in attributes}
            kinds = {_kind_of(value) for value in values.values()}
            if kinds and not any(kind in _COMPARABLE[own] for own in kinds):
                own, name = min(kinds), shown(key.rpartition("/")[2])
                where = listing(sorted(values), 3)
                what = f"{name} is {_SPOKEN[own]} on {where}, and compared with {spoken(kind)}"
                return Source(expression).invalid(what, _STEPS[own], place)
        return None

    def _view(self, inference_class: InferenceClass) -> View:
        name = inference_class.metadata.name
        if name not in self._views:
            self._views[name] = view(inference_class)
        return self._views[name]

    def _first_false(self, source: Source, seen: View) -> Unmet | None:
        parts = source.conjuncts()
        for part in parts:
            if len(parts) == 1 or self._evaluated(self._program(part.text), seen) == FALSE:
                return Unmet(" ".join(part.text.split()), seen.named(part.tokens))
        return None

    def _program(self, expression: str) -> "Program":
        if expression not in self._programs:
            take(compiling(expression), "compiling selectors")
            self._programs[expression] = program(expression)
        compiled = self._programs[expression]
        if isinstance(compiled, InvalidSelector):
            raise compiled.with_traceback(None)
        return compiled

    def _evaluated(self, compiled: "Program", seen: View) -> str | None:
        take(_EACH + compiled.steps, "evaluating selectors")
        if seen.objection:
            return f"nodeSelector cannot be evaluated: {seen.objection}"
        result = compiled.result(seen.variables)
        if isinstance(result, bool):
            return None if result else FALSE
        missing = _MISSING.search(result)
        return f"nodeSelector cannot be evaluated: {seen.missing(missing[1]) if missing else result}"


@lru_cache(maxsize=1024)
def program(expression: str) -> "Program | InvalidSelector":
    """Return a selector compiled, or why it is none. Plans, demands and claims ask for the same ones."""
    # The library takes some 30 ms to import; fleets without selectors do not pay them.
    from inferfleet.fleet.selectors.environment import NAMES, environment
    from inferfleet.fleet.selectors.program import Program

    try:
        return Program(expression, environment(), SIZES, names=NAMES, guide=_GUIDE)
    except InvalidSelector as invalid:
        return invalid


# With which types an attribute can be compared, by its own; and how it is told what that is.
_COMPARABLE = {
    "string": {"string"},
    "bool": {"bool"},
    "int": {"int", "uint", "double"},
    SEMVER: {SEMVER},
}
_SPOKEN = {"string": "a text", "bool": "true or false", "int": "a whole number", SEMVER: "a version"}
_STEPS = {
    "string": "Write the value as a text in quotes",
    "bool": "Write true or false without quotes",
    "int": "Write a whole number without quotes",
    SEMVER: 'Write the value as semver("9.0.0")',
}


def _kind_of(value: Any) -> str:
    """Return the type of an attribute's value as the CEL library names it."""
    return type_of(value) or {bool: "bool", int: "int"}.get(type(value), "string")


def spoken(kind: str) -> str:
    """Return the type of a value for messages: `a text`, `int`."""
    return _SPOKEN.get(kind) or SPOKEN.get(kind, kind)
