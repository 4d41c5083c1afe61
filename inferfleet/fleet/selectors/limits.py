"""What a selector may cost: the steps of one evaluation, and the macros and length of an expression.

Documents may come from people who are not trusted, and celpy itself has no limit: seven nested
`[0..9].all(...)` would run for minutes.
"""

from collections.abc import Iterator
from typing import Any

import celpy
from celpy.evaluation import Evaluator

# The same as in Kubernetes (CELSelectorExpressionMaxLength of k8s.io/api/resource), in bytes.
MAX_BYTES = 10 * 1024
# A selector looks through one list, or compares two.
MAX_MACROS = 8
MAX_DEPTH = 2
# Visits of parts of the expression; ["a", "b"].exists(x, x == y) makes 59, and 30,000 take a second.
MAX_STEPS = 10_000
# Macros that evaluate an expression once per element of a list.
LOOPS = ("all", "exists", "exists_one", "filter", "map")


class TooManySteps(Exception):  # noqa: N818 (it says what the evaluation takes)
    """Raised when an evaluation is given up. No base class that celpy itself would catch."""


class LimitedRunner(celpy.InterpretedRunner):
    """Evaluates as celpy does, and raises TooManySteps after MAX_STEPS steps."""

    def evaluate(self, context: Any) -> Any:
        """Return the value of the expression."""
        return _Evaluator(self.ast, self.new_activation(), [MAX_STEPS]).evaluate(context)


class _Evaluator(Evaluator):
    def __init__(self, ast: Any, activation: Any, left: list[int]) -> None:
        super().__init__(ast, activation)
        self._left = left  # shared with the evaluators of macros

    def sub_evaluator(self, ast: Any) -> "_Evaluator":
        return _Evaluator(ast, self.activation, self._left)

    def visit_children(self, tree: Any) -> Any:
        self._left[0] -= 1
        if self._left[0] < 0:
            raise TooManySteps
        return super().visit_children(tree)


def macro_problems(tree: Any) -> Iterator[str]:
    """Yield macros without the arguments they take, and say when there are too many of them."""
    loops = [call for call in tree.find_data("member_dot_arg") if call.children[1] in LOOPS]
    for loop in loops:
        arguments = loop.children[2].children if len(loop.children) > 2 else []
        if len(arguments) != 2 or _only(arguments[0]).data != "ident":
            yield f"{_place(loop.children[1])}: {loop.children[1]} takes a name and an expression"
    for call in tree.find_data("ident_arg"):
        if call.children[0] == "has":
            arguments = call.children[1].children if len(call.children) > 1 else []
            if len(arguments) != 1 or _only(arguments[0]).data != "member_dot":
                yield f"{_place(call.children[0])}: has takes a field, such as has(device.attributes)"
    if len(loops) > MAX_MACROS:
        yield f"it has {len(loops)} of the macros {', '.join(LOOPS)}, and at most {MAX_MACROS} are allowed"
    if _depth(tree) > MAX_DEPTH:
        yield f"the macros {', '.join(LOOPS)} are nested more than {MAX_DEPTH} deep"


def _only(tree: Any) -> Any:
    """Return the first part of an expression that has more than one part, or is a word."""
    while len(tree.children) == 1 and hasattr(tree.children[0], "children"):
        tree = tree.children[0]
    return tree


def _depth(tree: Any) -> int:
    deepest = 0
    open_ = [(tree, 0)]
    while open_:
        part, depth = open_.pop()
        deepest = max(deepest, depth)
        loops = part.data == "member_dot_arg" and part.children[1] in LOOPS
        for index, child in enumerate(part.children):
            if hasattr(child, "children"):
                open_.append((child, depth + 1 if loops and index == 2 else depth))
    return deepest


def _place(token: Any) -> str:
    return f"line {token.line}, column {token.column}"
