"""How far texts and lists can grow in one evaluation of a selector or a policy, worked out before it.

The CEL library ends loops after 10,000 steps, and nothing else: texts double when they are joined, lists when
they are added, and documents may come from people who are not trusted. So there is one bound, `MAX_WORK`, on
all that an evaluation may visit, read and write: a part of the expression counts 1, and 10 characters or
items 1, as often as loops ask for it. A bound of 1,000,000 is that of Kubernetes, whose units these are; an
expression at it takes less than half a second and 200 MiB.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Any

from inferfleet.fleet.selectors.tree import Tree

MAX_WORK = 1_000_000
# Work of an evaluation that a step of a run's budget stands for (api/work.py).
PER_STEP = 3
# More than any limit, and small enough to be multiplied.
_MOST = 10**15
# A call of a function in Python takes some microseconds, a part some fifty nanoseconds; to compile a regular
# expression takes at most a millisecond, which one that is written as a text takes once.
_CALL, _PATTERN = 20, 15_000


@dataclass(frozen=True)
class Size:
    """The most that a value can hold: items or characters, those of all that is in it, and one item, or its
    fields by name.
    """

    length: int
    weight: int
    item: "Size | None" = None
    fields: "Mapping[str, Size]" = field(default_factory=dict)

    def plus(self, other: "Size") -> "Size":
        """Return the size of both values in one."""
        return _size(self.length + other.length, self.weight + other.weight, _larger(self.item, other.item))

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
# Types of which every value is small.
_SMALL = ("bool", "int", "uint", "double", "duration", "timestamp", "type")
_LOOKUPS = ("_[_]", "_[?_]", "_?._")
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
# What gives the value, or a part of it.
_OF_FIRST = frozenset(
    {
        *("dyn", "optional.of", "optional.ofNonZeroValue", "value", "slice", "reverse"),
        *("lowerAscii", "upperAscii", "trim", "substring", "charAt"),
    }
)


def compiling(text: str) -> int:
    """Return the steps of a run's budget that compiling a text takes."""
    return 1_000 + 5 * len(text)


def most(tree: Tree, variables: Mapping[str, Size] = MappingProxyType({})) -> int:
    """Return the most work that an evaluation of the expression is, with variables of these sizes."""
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
        if known := scope.get(self._tree.name(part)):
            return 1, known
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
        return work + sum(own for own, _ in estimates), _size(len(sizes), weight, largest(sizes))

    def _loop(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        loop = part.comprehension_expr
        work, items = self.of(loop.iter_range, scope)
        own, start = self.of(loop.accu_init, scope)
        work += own
        if loop.iter_range.HasField("list_expr") and not loop.iter_range.list_expr.elements:
            # cel.bind: the result with a name for a value.
            own, size = self.of(loop.result, {**scope, loop.accu_var: start})
            return work + own, size
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
        own, size = self.of(loop.result, {**scope, loop.accu_var: total})
        return work + own, size

    def _call(self, part: Any, scope: Mapping[str, Size]) -> tuple[int, Size]:
        call = part.call_expr
        given = [*([call.target] if call.HasField("target") else []), *call.args]
        estimates = [self.of(argument, scope) for argument in given]
        works = [work for work, _ in estimates]
        if call.function == "_?_:_":
            return works[0] + max(works[1:]) + 1, _larger(estimates[1][1], estimates[2][1]) or _ONE
        small = self._tree.type_of(part) in _SMALL
        own, size = _own(call.function, given, [size for _, size in estimates], small=small)
        return sum(works) + own, size


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
