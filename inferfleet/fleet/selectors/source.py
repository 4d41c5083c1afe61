"""The text of an expression: its tokens, positions in it, and mistakes that are seen without a grammar."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.wording import shown

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\n\f\r]+|//[^\n]*)
    |(?P<text>[bB]?[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+
        |\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||[-+*/%!<>=?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\?\"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
)
DEVICE_FIELDS = ("driver", "allowMultipleAllocations", "attributes", "capacity")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_WORDS = {
    "and": "Write && instead of and",
    "or": "Write || instead of or",
    "not": "Write ! before the condition instead of not",
    "is": "Write == instead of is",
    "None": "Use has(...) to ask whether something is there",
    "True": "Write true",
    "False": "Write false",
    "TRUE": "Write true",
    "FALSE": "Write false",
    "AND": "Write && instead of AND",
    "OR": "Write || instead of OR",
    "NOT": "Write ! before the condition instead of NOT",
}
_MARKS = {
    "=": ("= is no comparison", "Write == instead of ="),
    "===": ("there is no ===", "Write == instead of ==="),
    "!==": ("there is no !==", "Write != instead of !=="),
}
_CHARACTERS = {
    "&": "Write && to join two conditions",
    "|": "Write || to join two conditions",
    "“": 'Write straight quotes: "',
    "”": 'Write straight quotes: "',
    "\N{LEFT SINGLE QUOTATION MARK}": "Write straight quotes: '",
    "\N{RIGHT SINGLE QUOTATION MARK}": "Write straight quotes: '",
    "≥": "Write >=",
    "≤": "Write <=",
    "≠": "Write !=",
}


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
    """An expression with its tokens. Raises InvalidSelector for mistakes that need no grammar to be seen."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.tokens = tuple(self._tokens())
        self._check()

    def compiled(self) -> str:
        """Return the text for the CEL library, as long as the text and with the same places.

        To the library `device.driver` is one variable, and has(...) of a variable is no question.
        """
        text, tokens = self.text, self.tokens
        for index, token in enumerate(tokens[:-5]):
            words = [other.text for other in tokens[index : index + 6]]
            if words[:4] == ["has", "(", "device", "."] and words[5] == ")" and words[4] in DEVICE_FIELDS:
                if index and tokens[index - 1].text == ".":
                    continue
                end = tokens[index + 5].start + 1
                inside = text[token.start + 4 : end]
                blank = "".join(char if char == "\n" else " " for char in inside)
                text = text[: token.start] + "true" + blank + text[end:]
        return text

    def invalid(self, what: str, next_step: str, at: int) -> InvalidSelector:
        """Return the error for the character at `at`."""
        line = bisect_right(self._starts, at)
        return InvalidSelector(what, next_step, line, at - self._starts[line - 1] + 1, at)

    def offset(self, line: int, column: int) -> int:
        """Return the number of characters before a place, which is counted from 1."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1] + max(column, 1) - 1

    def index(self, at: int) -> int:
        """Return which token is at a character, or begins after it."""
        return next(
            (index for index, token in enumerate(self.tokens) if token.start + len(token.text) > at),
            len(self.tokens),
        )

    def operand_after(self, index: int) -> str:
        """Return the text after the sign `index` up to where its right side ends."""
        depth, end = 0, len(self.text)
        for token in self.tokens[index + 1 :]:
            if token.kind == "mark":
                depth += (token.text in _CLOSING) - (token.text in _CLOSING.values())
                if depth < 0 or (depth == 0 and token.text in ("&&", "||", ",", "?", ":")):
                    end = token.start
                    break
        start = self.tokens[index].start + len(self.tokens[index].text)
        return self.text[start:end].strip()

    def conjuncts(self) -> list["Source"]:
        """Return the conditions that && joins at the top of the expression, the expression alone if none."""
        tokens = self.tokens
        depth, depths = 0, []
        for token in tokens:
            depth -= token.kind == "mark" and token.text in _CLOSING.values()
            depths.append(depth)
            depth += token.kind == "mark" and token.text in _CLOSING
        if tokens[0].text == "(" and 0 not in depths[1:-1] and tokens[-1].text == ")":
            return Source(self.text[tokens[0].start + 1 : tokens[-1].start]).conjuncts()
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
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if not found:
                raise self._unreadable(at)
            if found.lastgroup != "space":
                yield Token(str(found.lastgroup), found[0], at)
            at = found.end()

    def _unreadable(self, at: int) -> InvalidSelector:
        char = self.text[at]
        if char in "\"'":
            return self.invalid(f"the text that begins with {char} has no end", f"Add the missing {char}", at)
        if char == "`":
            return self.invalid("` quotes nothing", 'Write the name in brackets: ["name"]', at)
        next_step = _CHARACTERS.get(char, "Remove it, or put it into quotes")
        return self.invalid(f"the character {shown(char)!r} has no meaning here", next_step, at)

    def _check(self) -> None:
        if not self.tokens:
            raise InvalidSelector("the expression is empty", "Write a condition, or remove nodeSelector")
        open_: list[Token] = []
        before: Token | None = None
        for token in self.tokens:
            adjacent = before is not None and before.start + len(before.text) == token.start
            if token.kind == "name":
                if before and before.kind == "number" and adjacent:
                    amount = before.text + token.text
                    what = f"{shown(amount)} is no number"
                    raise self.invalid(what, f'Write amounts as quantity("{shown(amount)}")', before.start)
                if token.text in _WORDS and not (before and before.text in (".", ",", "(")):
                    what = f"there is no word {token.text}"
                    raise self.invalid(what, _WORDS[token.text], token.start)
                if token.text.startswith("__") and token.text.endswith("__"):
                    what = f"names such as {shown(token.text)} are reserved"
                    raise self.invalid(what, "Use another name", token.start)
            elif token.kind == "text":
                self._escapes(token)
            elif token.kind == "mark":
                if token.text in _MARKS:
                    raise self.invalid(*_MARKS[token.text], token.start)
                if token.text in _CLOSING:
                    open_.append(token)
                elif token.text in _CLOSING.values():
                    self._close(open_, token)
            before = token
        if open_:
            what = f"this {open_[-1].text} is never closed"
            raise self.invalid(what, f"Add the missing {_CLOSING[open_[-1].text]}", open_[-1].start)

    def _escapes(self, token: Token) -> None:
        prefix = token.text[: min(token.text.find(quote) % 9 for quote in "\"'")].lower()
        if "r" in prefix:
            return
        for found in re.finditer(r"\\(?:.|\n)", token.text):
            if not _ESCAPE.match(token.text, found.start()):
                what = f"there is no escape {shown(found[0])}"
                raise self.invalid(
                    what, r"Write \\ for a backslash, or r before the quotes", token.start + found.start()
                )

    def _close(self, open_: list[Token], token: Token) -> None:
        if not open_:
            raise self.invalid(f"this {token.text} closes nothing", "Remove it", token.start)
        wanted = _CLOSING[open_[-1].text]
        if token.text != wanted:
            what = f"{token.text} cannot close {open_[-1].text}"
            raise self.invalid(what, f"Write {wanted} before it", token.start)
        open_.pop()
