"""A condition in CEL that is compiled: what selectors and policies have in common.

A text passes four stages: its length, the CEL library with its types, texts that functions could read on no
class, and how far an evaluation can go. What the library says of it is passed on as it is, with the line and
the column. Below stand what is needed for that: the text with its tokens (`Source`), the tree that the
library has made of it (`Tree`), and the most work that an evaluation can be (`most_work`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from types import MappingProxyType
from typing import Any

from inferfleet.documents.wording import nearest, shown
from inferfleet.fleet.selectors.library import (
    CALLED,
    MATCHES,
    OF_TEXT,
    SPOKEN,
    Unusable,
    compiled,
    quantity,
    semver,
)

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


# The text of an expression: its tokens, positions in it, and the conditions that it joins.

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
        """Return the error for the character at this place in the text."""
        line = bisect_right(self._starts, at)
        return InvalidSelector(what, next_step, line, at - self._starts[line - 1] + 1, at)

    def offset(self, line: int, column: int) -> int:
        """Return the number of characters before a line and column, which count from 1."""
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


# The checked tree of an expression, as the CEL library serializes it: cel.expr.CheckedExpr. The messages are
# declared here because no Python package of theirs is on PyPI for the names that the library uses:
# https://github.com/google/cel-spec/tree/master/proto/cel/expr (syntax.proto and checked.proto).

_INT64, _INT32, _BOOL, _STRING, _MESSAGE, _BYTES, _UINT64, _DOUBLE = 3, 5, 8, 9, 11, 12, 4, 1
# Fields by message: name, number, type or message of the type; "*" repeats. What nothing here reads is left
# out, and kept as it is by protobuf all the same.
_FIELDS: dict[str, tuple[tuple[str, int, int | str], ...]] = {
    "Expr": (
        ("id", 2, _INT64),
        ("const_expr", 3, "Constant"),
        ("ident_expr", 4, "Ident"),
        ("select_expr", 5, "Select"),
        ("call_expr", 6, "Call"),
        ("list_expr", 7, "CreateList"),
        ("struct_expr", 8, "CreateStruct"),
        ("comprehension_expr", 9, "Comprehension"),
    ),
    "Ident": (("name", 1, _STRING),),
    "Select": (("operand", 1, "Expr"), ("field", 2, _STRING), ("test_only", 3, _BOOL)),
    "Call": (("target", 1, "Expr"), ("function", 2, _STRING), ("args", 3, "*Expr")),
    "CreateList": (("elements", 1, "*Expr"), ("optional_indices", 2, "*int32")),
    "CreateStruct": (("message_name", 1, _STRING), ("entries", 2, "*Entry")),
    "Entry": (
        ("id", 1, _INT64),
        ("map_key", 3, "Expr"),
        ("value", 4, "Expr"),
        ("optional_entry", 5, _BOOL),
    ),
    "Comprehension": (
        ("iter_var", 1, _STRING),
        ("iter_range", 2, "Expr"),
        ("accu_var", 3, _STRING),
        ("accu_init", 4, "Expr"),
        ("loop_condition", 5, "Expr"),
        ("loop_step", 6, "Expr"),
        ("result", 7, "Expr"),
        ("iter_var2", 8, _STRING),
    ),
    "Constant": (
        ("null_value", 1, _INT32),
        ("bool_value", 2, _BOOL),
        ("int64_value", 3, _INT64),
        ("uint64_value", 4, _UINT64),
        ("double_value", 5, _DOUBLE),
        ("string_value", 6, _STRING),
        ("bytes_value", 7, _BYTES),
    ),
    "Place": (("key", 1, _INT64), ("value", 2, _INT32)),
    "SourceInfo": (("positions", 4, "*Place"),),
    "Reference": (("name", 1, _STRING), ("overload_id", 3, "*string")),
    "NamedReference": (("key", 1, _INT64), ("value", 2, "Reference")),
    "Empty": (),
    "ListType": (("elem_type", 1, "Type"),),
    "MapType": (("key_type", 1, "Type"), ("value_type", 2, "Type")),
    "AbstractType": (("name", 1, _STRING), ("parameter_types", 2, "*Type")),
    "Type": (
        ("dyn", 1, "Empty"),
        ("primitive", 3, _INT32),
        ("well_known", 5, _INT32),
        ("list_type", 6, "ListType"),
        ("map_type", 7, "MapType"),
        ("message_type", 9, _STRING),
        ("type", 11, "Type"),
        ("abstract_type", 14, "AbstractType"),
    ),
    "NamedType": (("key", 1, _INT64), ("value", 2, "Type")),
    "CheckedExpr": (
        ("reference_map", 2, "*NamedReference"),
        ("type_map", 3, "*NamedType"),
        ("expr", 4, "Expr"),
        ("source_info", 5, "SourceInfo"),
    ),
}
# Only one field of these messages is set, and a 0 of it counts.
_ONE_OF = ("Constant", "Type")
_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {2: "timestamp", 3: "duration"}
_TYPED = frozenset({"string", "bytes", "bool", "int", "uint", "double", *SPOKEN})
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


class Tree:
    """A checked expression that can be read and changed. Raises DecodeError when it nests too deeply."""

    def __init__(self, serialized: bytes) -> None:
        from google.protobuf import any_pb2

        self._any = any_pb2.Any.FromString(serialized)
        self._checked = _messages().FromString(self._any.value)
        self.root = self._checked.expr
        self._types = {entry.key: entry.value for entry in self._checked.type_map}
        self._references = {entry.key: entry.value for entry in self._checked.reference_map}
        self._places = {entry.key: entry.value for entry in self._checked.source_info.positions}
        self._next = max((*self._types, *self._places, *self._references, 0)) + 1

    def serialized(self) -> bytes:
        """Return the expression with its changes, for the CEL library."""
        self._any.value = self._checked.SerializeToString()
        return bytes(self._any.SerializeToString())

    def place(self, part: Any) -> int:
        """Return where in the text the part is: of a call its sign or bracket."""
        return int(self._places.get(part.id, 0))

    def type_of(self, part: Any) -> str:
        """Return the type of a part as messages name it, such as `list(string)`."""
        kind = self._types.get(part.id)
        return "dyn" if kind is None else _named(kind)

    def name(self, part: Any) -> str:
        """Return the full name of a variable: `device.driver` is one, though written as a field."""
        reference = self._references.get(part.id)
        return str(reference.name) if reference is not None else ""

    def refer(self, part: Any, overload: str) -> None:
        """Let a call mean this overload of its function."""
        if part.id not in self._references:
            self._references[part.id] = self._checked.reference_map.add(key=part.id).value
        del self._references[part.id].overload_id[:]
        self._references[part.id].overload_id.append(overload)

    def with_default(self, part: Any) -> None:
        """Turn a part that looks something up in a map of maps into one that gives an empty map for a key
        that is not there: `x[key]` into `x[?key].orValue({})`, and `x.name` likewise.
        """
        new = type(part)
        if part.HasField("select_expr"):
            lookup_in, key = part.select_expr.operand, new(id=self._new_id())
            key.const_expr.string_value = part.select_expr.field
        else:
            lookup_in, key = part.call_expr.args
        lookup, empty = new(id=self._new_id()), new(id=self._new_id())
        lookup.call_expr.function = "_[?_]"
        lookup.call_expr.args.extend([lookup_in, key])
        empty.struct_expr.SetInParent()
        place = part.id
        part.Clear()
        part.id, part.call_expr.function = place, "orValue"
        part.call_expr.target.CopyFrom(lookup)
        part.call_expr.args.append(empty)
        self.refer(lookup, "map_optindex_optional_value")
        self.refer(part, "optional_orValue_value")

    def _new_id(self) -> int:
        self._next += 1
        return int(self._next) - 1


@cache
def _messages() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(name="cel.proto", package="cel.expr", syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name="kind")
        for field_name, number, kind in fields:
            field = message.field.add(name=field_name, number=number, label=1)
            if isinstance(kind, str) and kind.startswith("*"):
                field.label, kind = 3, kind[1:]
            kind = {"string": _STRING, "int32": _INT32}.get(str(kind), kind)
            if isinstance(kind, str):
                field.type, field.type_name = _MESSAGE, f".cel.expr.{kind}"
            else:
                field.type = kind
            if name in _ONE_OF:
                field.oneof_index = 0
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("cel.expr.CheckedExpr"))


def _named(kind: Any) -> str:
    which = kind.WhichOneof("kind")
    if which == "primitive":
        return _PRIMITIVES.get(kind.primitive, "dyn")
    if which == "well_known":
        return _WELL_KNOWN.get(kind.well_known, "dyn")
    if which == "message_type":
        return str(kind.message_type)
    if which == "list_type":
        return f"list({_named(kind.list_type.elem_type)})"
    if which == "map_type":
        return f"map({_named(kind.map_type.key_type)}, {_named(kind.map_type.value_type)})"
    if which == "abstract_type":
        return str(kind.abstract_type.name)
    return "type" if which == "type" else "dyn"


def parts(part: Any) -> Iterator[Any]:
    """Yield the parts that a part is directly made of."""
    if part.HasField("select_expr"):
        yield part.select_expr.operand
    elif part.HasField("call_expr"):
        if part.call_expr.HasField("target"):
            yield part.call_expr.target
        yield from part.call_expr.args
    elif part.HasField("list_expr"):
        yield from part.list_expr.elements
    elif part.HasField("struct_expr"):
        for entry in part.struct_expr.entries:
            yield entry.map_key
            yield entry.value
    elif part.HasField("comprehension_expr"):
        loop = part.comprehension_expr
        yield from (loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result)


def every(tree: Tree) -> Iterator[Any]:
    """Yield all parts of an expression, those that hold others before these."""
    parts_to_visit = [tree.root]
    while parts_to_visit:
        part = parts_to_visit.pop(0)
        yield part
        parts_to_visit += parts(part)


def compared(tree: Tree) -> Iterator[tuple[str, str, int]]:
    """Yield the attributes that are compared with a value of a known type: key, type, and where. They are
    those of a tree without defaults.
    """
    for part in every(tree):
        if part.HasField("call_expr") and part.call_expr.function in _COMPARISONS:
            first, second = part.call_expr.args
            for attribute, operand in ((first, second), (second, first)):
                key, kind = _attribute_key(tree, attribute), tree.type_of(operand)
                if key and kind in _TYPED:
                    yield key, kind, tree.place(part)


def _attribute_key(tree: Tree, part: Any) -> str:
    """Return `<domain>/<name>` of an attribute that is named in full, "" for anything else."""
    if part.HasField("select_expr") and not part.select_expr.test_only:
        domain = _entry(tree, part.select_expr.operand, "device.attributes")
        return f"{domain}/{part.select_expr.field}" if domain else ""
    if not part.HasField("call_expr") or part.call_expr.function != "_[_]":
        return ""
    if whole := _entry(tree, part, "attributes"):
        return whole
    inner, name = part.call_expr.args
    domain = _entry(tree, inner, "device.attributes")
    return f"{domain}/{name.const_expr.string_value}" if domain and name.HasField("const_expr") else ""


def _entry(tree: Tree, part: Any, variable: str) -> str:
    """Return the text by which an entry of a variable that is a map is looked up, or ""."""
    if not part.HasField("call_expr") or part.call_expr.function != "_[_]":
        return ""
    lookup_in, key = part.call_expr.args
    return str(key.const_expr.string_value) if tree.name(lookup_in) == variable else ""


# How far texts and lists can grow in one evaluation, worked out before it. The CEL library ends loops after
# 10,000 steps, and nothing else: texts double when they are joined, lists when they are added, and documents
# may come from people who are not trusted. So there is one bound, `MAX_WORK`, on all that an evaluation may
# visit, read and write: a part of the expression counts 1, and 10 characters or items 1, as often as loops
# ask for it. A bound of 1,000,000 is that of Kubernetes, whose units these are; an expression at it takes
# less than half a second and 200 MiB.

MAX_WORK = 1_000_000
# Work of an evaluation that a step of a run's budget stands for (api/work.py).
PER_STEP = 3
# More than any limit, and small enough to be multiplied.
_MOST = 10**15
# A call of a function in Python takes some microseconds, a part some fifty nanoseconds; to compile a regular
# expression takes at most a millisecond, which one that is written as a text takes once.
_CALL, _PATTERN = 20, 15_000
# Types of which every value is small.
_SMALL = ("bool", "int", "uint", "double", "duration", "timestamp", "type")
_LOOKUPS = ("_[_]", "_[?_]", "_?._")
# What gives the value, or a part of it.
_OF_FIRST = frozenset(
    {
        *("dyn", "optional.of", "optional.ofNonZeroValue", "value", "slice", "reverse"),
        *("lowerAscii", "upperAscii", "trim", "substring", "charAt"),
    }
)


@dataclass(frozen=True)
class Size:
    """The most that a value can hold: items or characters, those of all that is in it, and one item, or its
    fields by name.
    """

    length: int
    weight: int
    item: "Size | None" = None
    fields: "Mapping[str, Size]" = field(default_factory=dict)

    def plus(self, addend: "Size") -> "Size":
        """Return the size of both values in one."""
        return _size(
            self.length + addend.length, self.weight + addend.weight, _larger(self.item, addend.item)
        )

    def of_item(self) -> "Size":
        """Return the size of an item: at most all that there is."""
        return self.item or _size(self.weight, self.weight)


def _size(length: int, weight: int, item: Size | None = None) -> Size:
    return Size(min(length, _MOST), min(weight, _MOST), item)


def largest(sizes: Iterable[Size]) -> Size | None:
    """Return a size that holds any of these, None for none."""
    return reduce(_larger, sizes, None)


def _larger(left: Size | None, right: Size | None) -> Size | None:
    if left is None or right is None:
        return left or right
    item = _larger(left.item, right.item)
    fields = {
        name: _larger(left.fields.get(name), right.fields.get(name)) or _ONE
        for name in {**left.fields, **right.fields}
    }
    return Size(max(left.length, right.length), max(left.weight, right.weight), item, fields)


_ONE = Size(1, 1)


def compiling(text: str) -> int:
    """Return how many steps of a run's budget it takes to compile a text."""
    return 1_000 + 5 * len(text)


def most_work(tree: Tree, variables: Mapping[str, Size] = MappingProxyType({})) -> int:
    """Return the most work that one evaluation can be, with variables of these sizes."""
    return _Estimate(tree).of(tree.root, variables)[0]


class _Estimate:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def of(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        """Return the work of a part and the size of its value."""
        work, size = self._of(part, scope)
        if self._tree.type_of(part) in _SMALL:
            size = _ONE
        return min(work, _MOST), size

    def _of(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        if size_in_scope := scope.get(self._tree.name(part)):
            return 1, size_in_scope
        if part.HasField("const_expr"):
            length = len(part.const_expr.string_value) or len(part.const_expr.bytes_value) or 1
            return 0, Size(length, length)
        if part.HasField("ident_expr"):
            return 1, scope.get(part.ident_expr.name, _ONE)
        if part.HasField("select_expr"):
            work, size = self.of(part.select_expr.operand, scope)
            return work + 1, size.fields.get(part.select_expr.field) or size.of_item()
        if part.HasField("list_expr"):
            return self._literal(10, part.list_expr.elements, scope)
        if part.HasField("struct_expr"):
            # A key counts as an item, as loops over a map see it.
            entries = [inner for entry in part.struct_expr.entries for inner in (entry.map_key, entry.value)]
            return self._literal(30, entries, scope)
        return self._loop(part, scope) if part.HasField("comprehension_expr") else self._call(part, scope)

    def _literal(self, work: int, parts: Iterable[Any], scope: Mapping[str, Size]) -> tuple[int, Size]:
        estimates = [self.of(inner, scope) for inner in parts]
        sizes = [size for _, size in estimates]
        weight = sum(size.weight + 1 for size in sizes)
        return work + sum(part_work for part_work, _ in estimates), _size(len(sizes), weight, largest(sizes))

    def _loop(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        loop = part.comprehension_expr
        work, items = self.of(loop.iter_range, scope)
        part_work, start = self.of(loop.accu_init, scope)
        work += part_work
        if loop.iter_range.HasField("list_expr") and not loop.iter_range.list_expr.elements:
            # cel.bind: the result with a name for a value.
            part_work, size = self.of(loop.result, {**scope, loop.accu_var: start})
            return work + part_work, size
        inner = {**scope, loop.iter_var: items.of_item(), loop.accu_var: Size(0, 0)}
        if loop.iter_var2:
            inner[loop.iter_var2] = items.of_item()
        condition, _ = self.of(loop.loop_condition, inner)
        step, added = self.of(loop.loop_step, inner)
        total = start.plus(_size(items.length * added.length, items.length * added.weight, added.item))
        work += items.length * (condition + step + 1)
        if self._tree.type_of(loop.loop_step).startswith("list"):
            # Each step copies what the steps before it have made.
            work += items.length * items.length * added.length // 2
        part_work, size = self.of(loop.result, {**scope, loop.accu_var: total})
        return work + part_work, size

    def _call(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        call = part.call_expr
        given = [*([call.target] if call.HasField("target") else []), *call.args]
        estimates = [self.of(argument, scope) for argument in given]
        works = [work for work, _ in estimates]
        if call.function == "_?_:_":
            return works[0] + max(works[1:]) + 1, _larger(estimates[1][1], estimates[2][1]) or _ONE
        small = self._tree.type_of(part) in _SMALL
        call_work, size = _own(call.function, given, [size for _, size in estimates], small=small)
        return sum(works) + call_work, size


def _own(name: str, given: list[Any], sizes: list[Size], *, small: bool) -> tuple[int, Size]:
    """Return the work of a call without that of its arguments, and the size of the result, which may be
    `small` by its type.
    """
    first, second = (*sizes, _ONE, _ONE)[:2]
    weight = sum(size.weight for size in sizes)
    if name in ("_&&_", "_||_"):
        return 0, _ONE
    if name == "size":
        return 1, _ONE
    if name in _LOOKUPS:
        return 1, first.of_item()
    if name in ("orValue", "or"):
        return 1, _larger(first, second) or _ONE
    if name in _OF_FIRST:
        return 1 + first.length // 10, first
    if name in _COMPARISONS:
        return 1 + min(first.weight, second.weight) // 10, _ONE
    if name == "_+_":
        total = first.plus(second)
        return 1 + (total.length if total.item else total.length // 10), total
    if name == "@in":
        return 1 + second.length + weight // 10, _ONE
    if name == "contains":
        return 1 + (first.length // 10 + 1) * (second.length // 10 + 1), _ONE
    if name in ("matches", "find", "findAll"):
        pattern = 0 if given[1].HasField("const_expr") else _PATTERN
        found = _size(first.length, 2 * first.length, _size(first.length, first.length))
        return _CALL + pattern + (1 + first.length // 10) * (1 + second.length // 4), found
    if name.startswith("sets."):
        each = 1 + min(first.of_item().weight, second.of_item().weight) // 10
        return 1 + 2 * (first.length + 1) * (second.length + 1) * each, _ONE
    if name in ("sort", "distinct", "@sortByAssociatedKeys"):
        keys = second if name[0] == "@" else first
        return 11 + 2 * first.length * first.length * (1 + keys.of_item().weight // 10), first
    if name == "lists.range":
        length = max(0, given[0].const_expr.int64_value) if given[0].HasField("const_expr") else _MOST
        return 11 + length, _size(length, length, _ONE)
    if name == "split":
        return _CALL + weight // 5, _size(first.length, 2 * first.length, _size(first.length, first.length))
    length = 0 if small else _longest(name, sizes, weight)
    return _CALL + (weight + length) // 10, _size(length, length)


def _longest(name: str, sizes: list[Size], weight: int) -> int:
    """Return how many characters or items the result of a function has at most."""
    if name == "replace":
        return sizes[0].length + (sizes[0].length + 1) * sizes[2].length
    if name == "join":
        between = sizes[1].length if len(sizes) > 1 else 0
        return sizes[0].weight + sizes[0].length * between
    if name == "format":
        # A clause such as %.100f writes up to 420 characters.
        return sizes[0].length * 210 + 2 * weight
    # Texts of other values (numbers, times), escapes, bytes, and lists without the lists in them.
    return 64 + 4 * weight


# The condition itself.


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
        work = most_work(tree, sizes)
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
            return _in_words(str(result))
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
                call.function = MATCHES
                tree.refer(part, OF_TEXT if call.HasField("target") else CALLED)


def _always_there(tree: Tree, source: Source, part: Any) -> InvalidSelector:
    what = "every domain is there, as an empty map where the device has none of it"
    return source.invalid(what, 'Ask for a name of it, as in has(device.attributes["x"].y)', tree.place(part))


def _unreadable(call: Any, text: str) -> str:
    """Return why a function cannot read the text that it is given, "" where it can."""
    if call.function in ("matches", "find"):
        read: Callable[[str], Any] | None = compiled
    else:
        readers = {"quantity": quantity, "semver": semver}
        read = readers.get(call.function) if len(call.args) == 1 else None
    try:
        if read:
            read(text)
    except Unusable as problem:
        return str(problem)
    return ""


def _in_words(said: str) -> str:
    """Return what the library says, without what means nothing to whoever wrote the text."""
    return shown(_BESIDE.sub("", said), 200)


def _refused(said: str, source: Source, names: Iterable[str], guide: str) -> InvalidSelector:
    """Return the error for what the library says when it does not take a text."""
    entry = _ERROR.search(said)
    if not entry:
        return InvalidSelector(_in_words(said), f"Write it as the examples in {guide}")
    text = _in_words(entry[3])
    at, step = source.offset(int(entry[1]), int(entry[2])), f"Write it as the examples in {guide}"
    if unknown := _UNKNOWN.search(text):
        known_words = {word for name in names for word in name.split(".")}
        word = next((word for word in unknown[1].split(".") if word not in known_words), unknown[1])
        if word not in known_words and (close := nearest(word, known_words)):
            step = f"Did you mean {close}?"
        at = next((token.start for token in source.tokens if token.text == word), at)
    return source.invalid(text, step, at)
