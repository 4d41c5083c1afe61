"""The text of an expression: its tokens, positions in it, and the conditions that it joins."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\n\f\r]+|//[^\n]*)
    |(?P<text>[bB]?[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+
        |\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>==|!=|<=|>=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class InvalidSelector(ValueError):  # noqa: N818 (it says what the selector is)
    """Raised for an expression that cannot be evaluated on any class.

    `what` says what is wrong and `next_step` what to write instead, neither with a full stop; `line` and
    `column` are the place in the expression, from 1, or 0 when it is the whole expression that is wrong;
    `at` is the same place in characters, from 0.
    """

    def __init__(self, what: str, next_step: str, line: int = 0, column: int = 0, at: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{what}. {next_step}")
        self.what, self.next_step, self.line, self.column, self.at = what, next_step, line, column, at


@dataclass(frozen=True)
class Token:
    """A word, text, number or sign of an expression; `start` counts its characters from 0."""

    kind: str
    text: str
    start: int


class Source:
    """An expression, a valid one or not, with its tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.tokens = tuple(self._tokens())

    def invalid(self, what: str, next_step: str, at: int) -> InvalidSelector:
        """Return the error for the character at `at`."""
        line = bisect_right(self._starts, at)
        return InvalidSelector(what, next_step, line, at - self._starts[line - 1] + 1, at)

    def offset(self, line: int, column: int) -> int:
        """Return the number of characters before a place, which is counted from 1."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1] + max(column, 1) - 1

    def conjuncts(self) -> list["Source"]:
        """Return the conditions that && joins at the top of the expression, the expression alone if none.

        A choice (`||`, `?:`) keeps its brackets: && joins the conditions to the same expression again.
        """
        tokens = self.tokens
        depth, depths = 0, []
        for token in tokens:
            depth -= token.kind == "mark" and token.text in _CLOSING.values()
            depths.append(depth)
            depth += token.kind == "mark" and token.text in _CLOSING
        if tokens[0].text == "(" and 0 not in depths[1:-1] and tokens[-1].text == ")":
            inside = Source(self.text[tokens[0].start + 1 : tokens[-1].start]).conjuncts()
            return inside if len(inside) > 1 else [self]
        signs = [
            token
            for before, token, level in zip((None, *tokens), tokens, depths, strict=False)
            if level == 0
            and token.kind == "mark"
            and token.text in ("&&", "||", "?")
            # `.?name` is an optional field.
            and not (before and before.text == ".")
        ]
        if not signs or any(sign.text != "&&" for sign in signs):
            return [self]
        starts = [0, *(sign.start + 2 for sign in signs)]
        ends = [*(sign.start for sign in signs), len(self.text)]
        parts = (Source(self.text[start:end].strip()) for start, end in zip(starts, ends, strict=True))
        return [conjunct for part in parts for conjunct in part.conjuncts()]

    def _tokens(self) -> Iterator[Token]:
        for found in _TOKEN.finditer(self.text):
            if found.lastgroup != "space":
                yield Token(str(found.lastgroup), found[0], found.start())
