"""Conditions of policies: CEL, compiled once with the types of what they are asked of, and evaluated.

What an evaluation can cost is bounded before, as for selectors, by the sizes of what it is asked of.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from inferfleet.documents.wording import shown
from inferfleet.fleet.selectors.amounts import Unusable
from inferfleet.fleet.selectors.program import Program
from inferfleet.fleet.selectors.source import Source
from inferfleet.review.policy.facts import TYPES, Stack
from inferfleet.review.policy.typed import field_names, full_name, pool

if TYPE_CHECKING:
    from inferfleet.fleet.selectors.growth import Size

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
_GUIDE = "docs/guides/rules.md"
# What an evaluation fails with, by what the library says.
_NO_KEY = 'a map in it lacks a key; ask for it as in labels[?"tier"].orValue("")'


class Rule:
    """A condition about one kind of thing. Raises InvalidSelector where it cannot be asked of any."""

    def __init__(self, each: str, cel: str, sizes: "Mapping[str, Size]") -> None:
        """Compile the condition, for variables of these sizes."""
        self._each = each
        self._paths = _paths(Source(cel), each)
        names = (each, "stack", "sum", *field_names())
        self._program = Program(cel, _environment(each), sizes, names=names, guide=_GUIDE)
        self.steps = self._program.steps

    def objection(self, variables: Mapping[str, Any]) -> str | None:
        """Return why the condition has no value, "" where it is false, and None where it is true."""
        result = self._program.result(variables)
        if isinstance(result, bool):
            return None if result else ""
        why = _NO_KEY if "Key not found" in result else result
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

    from inferfleet.fleet.selectors.patterns import matching

    of_any = cel.Type.List(cel.Type.DYN)
    total = cel.Overload(
        "sum_of_list", return_type=cel.Type.DYN, parameters=[of_any], is_member=True, impl=_total
    )
    return cel.NewEnv(
        descriptor_pool=pool(),
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        variables={each: cel.Type(full_name(TYPES[each])), "stack": cel.Type(full_name(Stack))},
        functions=[cel.FunctionDecl("sum", [total]), matching()],
    )


def _total(values: Sequence[Any]) -> Any:
    try:
        return sum(values)
    except TypeError:
        raise Unusable("sum adds numbers alone") from None
