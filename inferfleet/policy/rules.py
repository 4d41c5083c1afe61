"""Conditions of policies: CEL, compiled once with the types of what they are asked of, and evaluated.

The library bounds the loops of one evaluation to 10,000 steps, and its regular expressions take time in
proportion to their text. What texts can grow to is bounded before, as for selectors.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from inferfleet.api.wording import nearest, shown
from inferfleet.fleet.selectors.limits import MAX_BYTES, MAX_COST, Unusable
from inferfleet.fleet.selectors.source import InvalidSelector, Source
from inferfleet.policy.facts import TYPES, Stack
from inferfleet.policy.typed import field_names, full_name, message, pool

_EXTENSIONS = """
name: inferfleet
extensions:
  - {name: bindings, version: 0}
  - {name: lists, version: 2}
  - {name: math}
  - {name: optional}
  - {name: sets}
  - {name: strings}
  - {name: two-var-comprehensions}
"""
_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?=\n \||\nERROR: |\s\[[A-Z_]+\]\Z|\Z)", re.DOTALL)
_VARIABLE = re.compile(r"undeclared reference to '\.?(\w+)")
_FIELD = re.compile(r"undefined field '(\w+)'")
_NUMBERS = re.compile(r"applied to '\((double, int|int, double)\)'")
_GUIDE = "Write it like the examples in docs/guides/rules.md"
# What an evaluation fails with, by what the library says.
_NO_KEY = 'a map in it lacks a key; ask for it as in labels[?"tier"].orValue("")'


class Rule:
    """A condition about one kind of thing. Raises InvalidSelector where it cannot be asked of any."""

    def __init__(self, each: str, cel: str) -> None:
        if len(cel.encode(errors="replace")) > MAX_BYTES:
            raise InvalidSelector(f"the condition is longer than {MAX_BYTES:,} bytes", "Make it shorter")
        if not cel.strip():
            raise InvalidSelector("the condition is empty", _GUIDE)
        source = Source(cel)
        self._each = each
        self._paths = _paths(source, each)
        try:
            self._program = _environment(each).compile(cel)
        except (RuntimeError, ValueError) as error:
            raise _refused(str(error), source, each) from None
        self.cost = _cost(self._program)
        if self.cost > MAX_COST:
            what = f"the condition can cost more than {MAX_COST:,} units"
            raise InvalidSelector(what, "Use shorter lists and texts, and fewer loops in loops")
        kind = str(self._program.return_type().name())
        if kind not in ("BOOL", "DYN"):
            what = f"the condition gives {kind.lower()}, not true or false"
            raise InvalidSelector(what, "Compare it with something, such as with ==")

    def objection(self, fact: Any, stack: Stack) -> str | None:
        """Return why the condition does not hold of a fact, with the values of what it names, or None."""
        try:
            value = self._program.eval(data={self._each: message(fact), "stack": message(stack)})
            kind, result = value.type().name(), value.value()
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            kind, result = "ERROR", error
        if kind == "BOOL":
            return None if result else self._values(fact, stack)
        why = "it gives no true or false"
        if kind == "ERROR":
            said = str(result)
            # Lazily, as all that the CEL library is for.
            from inferfleet.fleet.selectors.wording import failed

            why = Unusable.said(said) or (_NO_KEY if "Key not found" in said else failed(said))
        return f"the condition cannot be evaluated: {why}"

    def _values(self, fact: Any, stack: Stack) -> str:
        told = []
        for path in self._paths:
            value: Any = {self._each: fact, "stack": stack}
            for name in path:
                value = value.get(name) if isinstance(value, dict) else getattr(value, _snake(name), None)
            if isinstance(value, float):
                value = f"{value:.2f}"
            if isinstance(value, str | int):
                told.append(f"{'.'.join(path)} is {shown(str(value)) or 'empty'}")
            elif isinstance(value, tuple) and all(isinstance(entry, str) for entry in value):
                told.append(f"{'.'.join(path)} is {shown(', '.join(value), 80) or 'empty'}")
        return ", ".join(told)


def _cost(program: Any) -> int:
    """Return what a condition can cost: the library bounds loops, and texts double when they are joined."""
    from google.protobuf.message import DecodeError

    from inferfleet.fleet.selectors import cost
    from inferfleet.fleet.selectors.tree import Tree
    from inferfleet.fleet.selectors.wording import TOO_DEEP

    try:
        return cost.most(Tree(program.serialize()))
    except DecodeError:
        raise InvalidSelector(*TOO_DEEP) from None


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _paths(source: Source, each: str) -> tuple[tuple[str, ...], ...]:
    """Return the fields that a condition names, each once: `(model, gpus)`."""
    words: Sequence[str] = [token.text for token in source.tokens]
    paths: dict[tuple[str, ...], None] = {}
    for place, word in enumerate(words):
        if word not in (each, "stack") or (place and words[place - 1] == "."):
            continue
        path = [word]
        while words[place + 1 : place + 2] == ["."] and words[place + 2] in field_names():
            path.append(words[place + 2])
            place += 2
        paths[tuple(path)] = None
    return tuple(paths)


@cache
def _environment(each: str) -> Any:
    """Return the environment that compiles conditions of one kind."""
    from cel_expr_python import cel

    of_any = cel.Type.List(cel.Type.DYN)
    total = cel.Overload(
        "sum_of_list", return_type=cel.Type.DYN, parameters=[of_any], is_member=True, impl=_total
    )
    return cel.NewEnv(
        descriptor_pool=pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables={each: cel.Type(full_name(TYPES[each])), "stack": cel.Type(full_name(Stack))},
        functions=[cel.FunctionDecl("sum", [total])],
    )


def _total(values: Sequence[Any]) -> Any:
    try:
        return sum(values)
    except TypeError:
        raise Unusable("sum adds numbers alone") from None


def _refused(said: str, source: Source, each: str) -> InvalidSelector:
    """Return the error for what the library says when it does not take a condition."""
    entry = _ERROR.search(said)
    if not entry:
        return InvalidSelector("this is not a valid condition", _GUIDE)
    at, text = source.offset(int(entry[1]), int(entry[2])), entry[3]
    if unknown := _FIELD.search(text):
        close = nearest(unknown[1], field_names())
        step = f"Did you mean {close}?" if close else "docs/reference/policy.md has all fields"
        return source.invalid(
            f"there is no field {shown(unknown[1])!r}", step, _named(source, unknown[1], at)
        )
    if unknown := _VARIABLE.search(text):
        what = f"there is no variable or function {shown(unknown[1])!r}"
        step = f"With each: {each} the variables are {each} and stack"
        return source.invalid(what, step, _named(source, unknown[1], 0))
    if compared := _NUMBERS.search(text):
        what = f"{compared[1].replace(', ', ' and ')} are not compared with each other"
        return source.invalid(
            what, "Write amounts of money with a point, such as 3.0, and others without", at
        )
    from inferfleet.fleet.selectors import wording

    return wording.refused(said, source)


def _named(source: Source, name: str, at: int) -> int:
    """Return where a name stands from a character on: the library tells the point behind or before it."""
    return next((token.start for token in source.tokens if token.text == name and token.start >= at), at)
