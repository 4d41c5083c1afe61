"""Selectors over the devices of a class: CEL, compiled once and evaluated once per class.

A selector sees `attributes` and `capacity`, flat maps of all devices of the class under
`<driver domain>/<name>`, and `device`, the accelerator alone, as Dynamic Resource Allocation shows it
(`device.attributes["gpu.nvidia.com"].architecture`). A selector that fails or gives no boolean does not
match, as in Kubernetes.

An expression passes five stages: its length, its tokens (source.py), the types of the CEL library in
Kubernetes' environment (environment.py), rules over its tree (rules.py), and what it can cost (cost.py).
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.wording import listing, shown
from inferfleet.api.work import take
from inferfleet.fleet.selectors.devices import View, view
from inferfleet.fleet.selectors.limits import (
    BUDGET,
    MAX_BYTES,
    MAX_COST,
    MAX_DIFFERENT,
    MAX_EVALUATIONS,
    MAX_TOTAL_BYTES,
    MAX_TOTAL_COST,
)
from inferfleet.fleet.selectors.source import InvalidSelector, Source
from inferfleet.fleet.selectors.values import SEMVER, SPOKEN, type_of

__all__ = ["FALSE", "InvalidSelector", "Selectors", "Unmet"]

# What is said of a selector that a class does not meet.
FALSE = "nodeSelector is false"


class Unmet(NamedTuple):
    """A condition that is false on a class, on one line, and the values of what it names there."""

    condition: str
    values: str


class Selectors:
    """Which expressions match which classes, each evaluated once. A plan has one of these."""

    def __init__(self) -> None:
        self._programs: dict[str, _Program | InvalidSelector] = {}
        self._views: dict[str, View] = {}
        self._verdicts: dict[tuple[str, str], str | None] = {}
        self._unmet: dict[tuple[str, str], Unmet | None] = {}
        self._parts: dict[str, _Program] = {}
        self._cost = self._bytes = 0

    def check(self, expression: str) -> None:
        """Raise InvalidSelector, with line and column, unless `expression` is a selector."""
        self._program(expression)

    def objection(self, expression: str, inference_class: InferenceClass) -> str | None:
        """Return why the selector does not match the class, or None when it does.

        Raises InvalidSelector also where the stack has more of them than are evaluated: what is not known
        must not move replicas that run.
        """
        name = inference_class.metadata.name
        key = (name, expression)
        if key not in self._verdicts:
            program = self._program(expression)
            self._verdicts[key] = self._evaluated(program, self._view(inference_class))
        return self._verdicts[key]

    def unmet(self, expression: str, inference_class: InferenceClass) -> Unmet | None:
        """Return the first condition of a selector that is false on a class, or None where none is by itself.

        What it takes is bounded as the evaluation of the whole is: its conditions are evaluated once more.
        """
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
            if len(parts) == 1 or self._part(part.text).objection(seen) == FALSE:
                return Unmet(" ".join(part.text.split()), seen.named(part.tokens))
        return None

    def _part(self, text: str) -> "_Program":
        if text not in self._parts:
            self._parts[text] = _Program(text)
        return self._parts[text]

    def _program(self, expression: str) -> "_Program":
        if expression not in self._programs:
            self._bytes += len(expression)
            if len(self._programs) >= MAX_DIFFERENT or self._bytes > MAX_TOTAL_BYTES:
                many = f"{MAX_DIFFERENT:,} different selectors, or {MAX_TOTAL_BYTES:,} bytes of them"
                what = f"the stack has more than {many}"
                raise InvalidSelector(what, "Use the same selectors in more deployments")
            try:
                self._programs[expression] = _Program(expression)
            except InvalidSelector as invalid:
                self._programs[expression] = invalid
        program = self._programs[expression]
        if isinstance(program, InvalidSelector):
            raise program.with_traceback(None)
        return program

    def _evaluated(self, program: "_Program", seen: View) -> str | None:
        self._cost += program.cost + 1
        take(program.cost // 3 + 10, "evaluating selectors")
        if len(self._verdicts) >= MAX_EVALUATIONS or self._cost > MAX_TOTAL_COST:
            what = "the stack has more different selectors than are evaluated on its classes"
            raise InvalidSelector(what, "Use the same selectors in more deployments")
        if seen.objection:
            return f"nodeSelector cannot be evaluated: {seen.objection}"
        return program.objection(seen)


@cache
def environment() -> Any:
    """Return the one environment that compiles selectors."""
    # The library takes some 30 ms to import; fleets without selectors do not pay them.
    from inferfleet.fleet.selectors.environment import new

    return new()


class _Program:
    """An expression that passed all stages. Raises InvalidSelector for one that does not."""

    def __init__(self, expression: str) -> None:
        try:
            length = len(expression.encode())
        except UnicodeEncodeError:
            what = "the expression has half of a character in it"
            raise InvalidSelector(what, "Remove escapes such as \\ud800") from None
        if length > MAX_BYTES:
            what = f"the expression is longer than {MAX_BYTES:,} bytes, the limit of Kubernetes"
            raise InvalidSelector(what, "Make it shorter")
        source = Source(expression)
        from google.protobuf.message import DecodeError

        from inferfleet.fleet.selectors import cost, rules, wording
        from inferfleet.fleet.selectors.tree import Tree, compared

        try:
            tree = Tree(environment().compile(source.compiled()).serialize())
        except DecodeError:
            raise InvalidSelector(*wording.TOO_DEEP) from None
        except (RuntimeError, ValueError) as error:
            raise wording.refused(str(error), source) from None
        self.compared = tuple(compared(tree))
        rules.prepared(tree, source)
        self.cost = cost.most(tree)
        if self.cost > MAX_COST:
            what = f"the expression can cost more than {MAX_COST:,} units, the limit of Kubernetes"
            raise InvalidSelector(what, "Use shorter lists and texts, and fewer loops in loops")
        self._compiled = environment().deserialize(tree.serialized())

    def objection(self, seen: View) -> str | None:
        """Return why the expression is not true on a class, or None when it is."""
        from inferfleet.fleet.selectors.wording import failure

        BUDGET.refill()
        try:
            value = self._compiled.eval(data=seen.variables)
            kind = value.type().name()
            result = value.value() if kind in ("BOOL", "ERROR") else None
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            return f"nodeSelector cannot be evaluated: {failure(str(error), seen)}"
        if kind == "ERROR":
            return f"nodeSelector cannot be evaluated: {failure(str(result), seen)}"
        if not isinstance(result, bool):
            spoken = _KINDS.get(kind) or _AFTER.sub("", kind.lower()) or "no value"
            return f"nodeSelector gives {spoken}, not true or false"
        return None if result else FALSE


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


_AFTER = re.compile(r"[^a-z].*")
_KINDS = {"STRING": "a text", **{full: f"a value of {spoken}" for full, spoken in SPOKEN.items()}}
