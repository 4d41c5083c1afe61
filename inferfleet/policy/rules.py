"""Conditions of policies: CEL, compiled once with the types of what they are asked of, and evaluated.

The library bounds the loops of one evaluation to 10,000 steps. What an evaluation can cost is bounded before,
as for selectors, by the sizes of what it is asked of.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from inferfleet.api.wording import nearest, shown
from inferfleet.fleet.selectors.limits import BUDGET, MAX_BYTES, MAX_COST, Unusable
from inferfleet.fleet.selectors.source import InvalidSelector, Source
from inferfleet.policy.facts import TYPES, Stack
from inferfleet.policy.typed import field_names, full_name, pool

if TYPE_CHECKING:
    from inferfleet.fleet.selectors.cost import Size

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
# What matches in place of the library's function, by names that nobody can write.
_MATCHES, _OF_TEXT, _CALLED = "@matches", "@matches_of_text", "@matches_called"
_GUIDE = "Write it like the examples in docs/guides/rules.md"
# What an evaluation fails with, by what the library says.
_NO_KEY = 'a map in it lacks a key; ask for it as in labels[?"tier"].orValue("")'


class Rule:
    """A condition about one kind of thing. Raises InvalidSelector where it cannot be asked of any."""

    def __init__(self, each: str, cel: str, sizes: "Mapping[str, Size]") -> None:
        """Compile the condition, for variables of these sizes."""
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
        self.cost, self._program = _counted(self._program, each, sizes)
        if self.cost > MAX_COST:
            what = f"the condition can cost more than {MAX_COST:,} units"
            raise InvalidSelector(what, "Use shorter lists and texts, and fewer loops in loops")
        kind = str(self._program.return_type().name())
        if kind not in ("BOOL", "DYN"):
            what = f"the condition gives {kind.lower()}, not true or false"
            raise InvalidSelector(what, "Compare it with something, such as with ==")

    def objection(self, variables: Mapping[str, Any]) -> str | None:
        """Return why the condition has no value, "" where it is false, and None where it is true."""
        BUDGET.refill()
        try:
            value = self._program.eval(data=variables)
            kind, result = value.type().name(), value.value()
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            kind, result = "ERROR", error
        if kind == "BOOL":
            return None if result else ""
        why = "it gives no true or false"
        if kind == "ERROR":
            said = str(result)
            # Lazily, as all that the CEL library is for.
            from inferfleet.fleet.selectors.wording import failed

            why = Unusable.said(said) or (_NO_KEY if "Key not found" in said else failed(said))
        return f"the condition cannot be evaluated: {why}"

    def values(self, fact: Any, stack: Stack) -> str:
        """Return the values of what the condition names, for a message."""
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
                told.append(f"{'.'.join(path)} is {shown(', '.join(value[:80]), 80) or 'empty'}")
        return ", ".join(told)


def _counted(program: Any, each: str, sizes: "Mapping[str, Size]") -> tuple[int, Any]:
    """Return what a condition can cost, and a program of it whose regular expressions are compiled once.

    The library bounds loops, but texts double when they are joined, and it compiles a regular expression of
    whatever size each time that it is asked.
    """
    from google.protobuf.message import DecodeError

    from inferfleet.fleet.selectors import cost
    from inferfleet.fleet.selectors.tree import Tree, parts
    from inferfleet.fleet.selectors.wording import TOO_DEEP

    try:
        tree = Tree(program.serialize())
    except DecodeError:
        raise InvalidSelector(*TOO_DEEP) from None
    most = cost.most(tree, sizes)
    inside = [tree.root]
    while inside:
        part = inside.pop()
        inside += parts(part)
        if part.HasField("call_expr") and part.call_expr.function == "matches":
            part.call_expr.function = _MATCHES
            tree.refer(part, _OF_TEXT if part.call_expr.HasField("target") else _CALLED)
    return most, _environment(each).deserialize(tree.serialized())


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

    from inferfleet.fleet.selectors.texts import matches

    of_any = cel.Type.List(cel.Type.DYN)
    total = cel.Overload(
        "sum_of_list", return_type=cel.Type.DYN, parameters=[of_any], is_member=True, impl=_total
    )
    texts = [cel.Type.STRING, cel.Type.STRING]
    matching = [
        cel.Overload(name, return_type=cel.Type.BOOL, parameters=texts, is_member=member, impl=matches)
        for name, member in ((_OF_TEXT, True), (_CALLED, False))
    ]
    return cel.NewEnv(
        descriptor_pool=pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables={each: cel.Type(full_name(TYPES[each])), "stack": cel.Type(full_name(Stack))},
        functions=[cel.FunctionDecl("sum", [total]), cel.FunctionDecl(_MATCHES, matching)],
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
