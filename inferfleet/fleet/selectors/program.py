"""A condition in CEL that is compiled: what selectors and policies have in common.

A text passes four stages: its length, the CEL library with its types, texts that functions could read on no
class, and how far an evaluation can go (growth.py). What the library says of it is passed on as it is, with
the line and the column.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from inferfleet.documents.wording import nearest, shown
from inferfleet.fleet.selectors import amounts, growth, patterns
from inferfleet.fleet.selectors.amounts import SPOKEN, Unusable
from inferfleet.fleet.selectors.growth import MAX_WORK, PER_STEP, Size
from inferfleet.fleet.selectors.source import InvalidSelector, Source
from inferfleet.fleet.selectors.tree import Tree, compared, every

# As in Kubernetes (CELSelectorExpressionMaxLength of k8s.io/api/resource).
MAX_BYTES = 10 * 1024
# By domain; looking one up that a device lacks gives an empty map.
_DOMAINS = ("device.attributes", "device.capacity")
_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?=\n \||\nERROR: |\s\[[A-Z_]+\]\Z|\Z)", re.DOTALL)
_UNKNOWN = re.compile(r"(?:undeclared reference to|undefined field) '\.?([\w.]+)'")
# Codes of errors, packages of types, and what the grammar would take in place of what stands there, which is
# all that a condition can begin with.
_BESIDE = re.compile(
    r"\A[A-Z_]+: |\s\[[A-Z_]+\]\Z|\b(google\.protobuf|kubernetes)\.(?=[A-Z])| \(in container ''\)"
    r"| expecting .*",
    re.DOTALL,
)
_TOO_DEEP = ("the expression is nested too deeply", "Use fewer brackets, or shorter chains")


class Program:
    """A compiled condition. Raises InvalidSelector, with line and column, for a text that is none.

    `names` are the variables, functions and fields that it may have meant, `guide` the page that has
    examples. `steps` are those that an evaluation takes at most with variables of these `sizes`, `checked` is
    the expression as the library serializes it.
    """

    def __init__(
        self, text: str, environment: Any, sizes: Mapping[str, Size], *, names: Iterable[str], guide: str
    ) -> None:
        try:
            length = len(text.encode())
        except UnicodeEncodeError:
            what = "the expression has half of a character in it"
            raise InvalidSelector(what, "Remove escapes such as \\ud800") from None
        if length > MAX_BYTES:
            what = f"the expression is longer than {MAX_BYTES:,} bytes, the limit of Kubernetes"
            raise InvalidSelector(what, "Make it shorter")
        if not text.strip():
            raise InvalidSelector("the expression is empty", f"Write a condition as in {guide}")
        from google.protobuf.message import DecodeError

        source = Source(text)
        try:
            self.checked = bytes(environment.compile(text).serialize())
            tree = Tree(self.checked)
        except DecodeError:
            raise InvalidSelector(*_TOO_DEEP) from None
        except (RuntimeError, ValueError) as error:
            raise _refused(str(error), source, names, guide) from None
        kind = tree.type_of(tree.root)
        if kind not in ("bool", "dyn"):
            what = f"the expression gives {SPOKEN.get(kind, kind)}, not true or false"
            raise InvalidSelector(what, "Compare it with something, such as with ==")
        self.compared = tuple(compared(tree))
        work = growth.most(tree, sizes)
        self.steps = work // PER_STEP
        if work > MAX_WORK:
            what = f"the expression can grow to more than {MAX_WORK:,} units of work"
            raise InvalidSelector(what, "Use shorter lists and texts, and fewer loops in loops")
        _prepare(tree, source)
        self._compiled = environment.deserialize(tree.serialized())

    def result(self, variables: Mapping[str, Any]) -> bool | str:
        """Return what the condition gives, or in words why it gives neither true nor false."""
        try:
            value = self._compiled.eval(data=variables)
            kind, result = value.type().name(), value.value()
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            kind, result = "ERROR", error
        if kind == "BOOL":
            return bool(result)
        if kind == "ERROR":
            return _words(str(result))
        return f"it gives {SPOKEN.get(kind, kind.lower())}, not true or false"


def _prepare(tree: Tree, source: Source) -> None:
    """Make the tree one that can be evaluated. Raises InvalidSelector for a text that a function cannot read:
    it would be false on every class, silently.
    """
    # Inner parts first: outer ones are copied.
    for part in reversed(list(every(tree))):
        if part.HasField("select_expr") and tree.name(part.select_expr.operand) in _DOMAINS:
            if part.select_expr.test_only:
                raise _always_there(tree, source, part)
            tree.with_default(part)
        elif part.HasField("call_expr"):
            call = part.call_expr
            if call.function in ("_[?_]", "_?._") and tree.name(call.args[0]) in _DOMAINS:
                raise _always_there(tree, source, part)
            if call.function == "_[_]" and tree.name(call.args[0]) in _DOMAINS:
                tree.with_default(part)
            elif call.args and call.args[-1].HasField("const_expr"):
                literal = call.args[-1]
                if why := _unreadable(call, literal.const_expr.string_value):
                    raise source.invalid(why, "Write another text there", tree.place(literal))
            if call.function == "matches":
                call.function = patterns.MATCHES
                tree.refer(part, patterns.OF_TEXT if call.HasField("target") else patterns.CALLED)


def _always_there(tree: Tree, source: Source, part: Any) -> InvalidSelector:
    what = "every domain is there, as an empty map where the device has none of it"
    return source.invalid(what, 'Ask for a name of it, as in has(device.attributes["x"].y)', tree.place(part))


def _unreadable(call: Any, text: str) -> str:
    """Return why a function cannot read the text that it is given, "" where it can."""
    if call.function in ("matches", "find"):
        read: Callable[[str], Any] | None = patterns.compiled
    else:
        known = {"quantity": amounts.quantity, "semver": amounts.semver}
        read = known.get(call.function) if len(call.args) == 1 else None
    try:
        if read:
            read(text)
    except Unusable as problem:
        return str(problem)
    return ""


def _words(said: str) -> str:
    """Return what the library says, without what means nothing to whoever wrote the text."""
    return shown(_BESIDE.sub("", said), 200)


def _refused(said: str, source: Source, names: Iterable[str], guide: str) -> InvalidSelector:
    """Return the error for what the library says when it does not take a text."""
    entry = _ERROR.search(said)
    if not entry:
        return InvalidSelector(_words(said), f"Write it as the examples in {guide}")
    text = _words(entry[3])
    at, step = source.offset(int(entry[1]), int(entry[2])), f"Write it as the examples in {guide}"
    if unknown := _UNKNOWN.search(text):
        known = {word for name in names for word in name.split(".")}
        word = next((word for word in unknown[1].split(".") if word not in known), unknown[1])
        if word not in known and (close := nearest(word, known)):
            step = f"Did you mean {close}?"
        at = next((token.start for token in source.tokens if token.text == word), at)
    return source.invalid(text, step, at)
