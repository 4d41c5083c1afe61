"""What an expression may cost at most, worked out before it is evaluated, as the API server does.

The units are those of Kubernetes (a visit of a variable is 1, a new list 10, ten characters 1), for the sizes
that Kubernetes allows. Where the CEL library here takes more than the API server's, because it copies lists
and calls Python, the estimate is higher: an expression that passes has bounds of time and memory too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Any

from inferfleet.fleet.selectors.environment import FUNCTIONS, HIDDEN
from inferfleet.fleet.selectors.tree import Tree

# More than any limit, and small enough to be multiplied.
_MOST = 10**15
_OWN = {*FUNCTIONS, *HIDDEN}
# A call of a function in Python takes some microseconds, a visit some fifty nanoseconds.
_CALL = 20


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
_KEY = Size(128, 128)
_ATTRIBUTE = Size(253, 253)
_INNER = Size(32, 32 * 381, _ATTRIBUTE)
_FLAT = Size(512, 65_536, _ATTRIBUTE)
_VARIABLES = {
    "device.driver": _ATTRIBUTE,
    "device.attributes": Size(32, 65_536, _INNER),
    "device.capacity": Size(32, 65_536, _INNER),
    "device": Size(4, 65_536, Size(32, 65_536, _INNER)),
    "attributes": _FLAT,
    "capacity": _FLAT,
}
_SMALL = ("bool", "int", "uint", "double", "duration", "timestamp", "type")


def most(tree: Tree, variables: Mapping[str, Size] = MappingProxyType({})) -> int:
    """Return the most that an evaluation of the expression costs, with variables of these sizes."""
    return _Estimate(tree).of(tree.root, dict(variables))[0]


class _Estimate:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def of(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        """Return the cost of a part and the size of its value."""
        cost, size = self._of(part, scope)
        if self._tree.type_of(part) in _SMALL:
            size = _ONE
        return min(cost, _MOST), size

    def _of(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        which = next(descriptor.name for descriptor, _ in part.ListFields() if descriptor.name != "id")
        if which == "const_expr":
            constant = part.const_expr
            length = len(constant.string_value) or len(constant.bytes_value)
            return 0, Size(length, length) if length else _ONE
        if which == "ident_expr":
            name = part.ident_expr.name
            full = self._tree.name(part) or name
            return 1, scope.get(name) or _VARIABLES.get(full, _ONE)
        if which == "select_expr":
            if full := _VARIABLES.get(self._tree.name(part)):
                return 2, full
            cost, size = self.of(part.select_expr.operand, scope)
            return cost + 1, size.fields.get(part.select_expr.field) or size.of_item()
        if which == "list_expr":
            return self._list(part, scope)
        if which == "struct_expr":
            return self._map(part, scope)
        return self._loop(part, scope) if which == "comprehension_expr" else self._call(part, scope)

    def _list(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        cost, weight, item = 10, 0, None
        for element in part.list_expr.elements:
            own, size = self.of(element, scope)
            cost, weight, item = cost + own, weight + size.weight + 1, _larger(item, size)
        return cost, _size(len(part.list_expr.elements), weight, item)

    def _map(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        cost, weight, item = 30, 0, None
        for entry in part.struct_expr.entries:
            for own, size in (self.of(entry.map_key, scope), self.of(entry.value, scope)):
                # A key counts as an item, as loops over a map see it.
                cost, weight, item = cost + own, weight + size.weight + 1, _larger(item, size)
        return cost, _size(len(part.struct_expr.entries), weight, item)

    def _loop(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        loop = part.comprehension_expr
        cost, items = self.of(loop.iter_range, scope)
        own, start = self.of(loop.accu_init, scope)
        cost += own
        if loop.iter_range.HasField("list_expr") and not loop.iter_range.list_expr.elements:
            # cel.bind: the result with a name for a value.
            own, size = self.of(loop.result, {**scope, loop.accu_var: start})
            return cost + own, size
        item = _larger(items.of_item(), _KEY) or _KEY
        if not self._tree.type_of(loop.iter_range).startswith("map"):
            item = items.of_item()
        inner = {**scope, loop.iter_var: item, loop.accu_var: Size(0, 0)}
        if loop.iter_var2:
            inner[loop.iter_var2] = items.of_item()
        condition, _ = self.of(loop.loop_condition, inner)
        step, added = self.of(loop.loop_step, inner)
        total = start.plus(_size(items.length * added.length, items.length * added.weight, added.item))
        cost += items.length * (condition + step + 1)
        if self._tree.type_of(loop.loop_step).startswith("list"):
            # Each step copies what the steps before it have made.
            cost += items.length * items.length * added.length // 2
        own, size = self.of(loop.result, {**scope, loop.accu_var: total})
        return cost + own, size

    def _call(self, part: Any, scope: dict[str, Size]) -> tuple[int, Size]:
        call = part.call_expr
        given = [*([call.target] if call.HasField("target") else []), *call.args]
        estimates = [self.of(argument, scope) for argument in given]
        sizes = [size for _, size in estimates]
        costs = [cost for cost, _ in estimates]
        own, size = self._function(call.function, given, sizes)
        if call.function in ("_&&_", "_||_"):
            own = 0
        elif call.function == "_?_:_":
            return costs[0] + max(costs[1:]), size
        if call.function in _OWN:
            own += _CALL
        return sum(costs) + own, size

    def _function(self, name: str, given: list[Any], sizes: list[Size]) -> tuple[int, Size]:
        """Return the cost of a call without its arguments, and the size of the result."""
        weight = sum(size.weight for size in sizes)
        first = sizes[0] if sizes else _ONE
        second = sizes[1] if len(sizes) > 1 else _ONE
        read = 1 + weight // 10
        if name == "_+_":
            total = first.plus(second)
            return 1 + (total.length if first.item or second.item else total.length // 10), total
        if name in ("_?_:_", "orValue", "or"):
            return 1, _larger(sizes[-1], sizes[-2] if len(sizes) > 1 else None) or _ONE
        if name in ("dyn", "optional.of", "optional.ofNonZeroValue", "value"):
            return 1, first
        if name in ("_[_]", "_[?_]", "_?._"):
            return 1, first.of_item()
        if name in ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"):
            return 1 + min(first.weight, second.weight) // 10, _ONE
        if name == "@in":  # the library's name of the operator
            return 1 + second.length + weight // 10, _ONE
        if name in ("@matches", "matches", "find", "findAll"):
            found = _size(first.length, 2 * first.length, _size(first.length, first.length))
            return 1 + (1 + first.length // 10) * (1 + second.length // 4), found
        if name == "contains":
            return 1 + (first.length // 10 + 1) * (second.length // 10 + 1), _ONE
        if name.startswith("sets."):
            each = 1 + min(first.of_item().weight, second.of_item().weight) // 10
            return 1 + 2 * (first.length + 1) * (second.length + 1) * each, _ONE
        if name == "lists.range":
            constant = given[0].const_expr if given[0].HasField("const_expr") else None
            length = max(0, constant.int64_value) if constant is not None else _MOST
            return 11 + length, _size(length, length, _ONE)
        if name in ("sort", "distinct", "@sortByAssociatedKeys"):
            keys = second if name[0] == "@" else first
            return 11 + 2 * first.length * first.length * (1 + keys.of_item().weight // 10), first
        if name == "flatten":
            return 11 + first.weight, _size(first.weight, first.weight, _size(first.weight, first.weight))
        if name in ("slice", "reverse"):
            return 11 + first.length, first
        return self._text(name, read, sizes, weight)

    def _text(self, name: str, read: int, sizes: list[Size], weight: int) -> tuple[int, Size]:
        first = sizes[0] if sizes else _ONE
        if name == "replace":
            length = first.length + (first.length + 1) * sizes[2].length
            return read + length // 5, _size(length, length)
        if name == "split":
            return 2 * read, _size(first.length, 2 * first.length, _size(first.length, first.length))
        if name == "join":
            each = first.of_item().length + (sizes[1].length if len(sizes) > 1 else 0)
            length = min(first.length * each, first.weight + first.length * each)
            return read + length // 5, _size(length, length)
        if name == "format":
            # A clause such as %.100f writes up to 420 characters.
            length = first.length * 210 + 2 * weight
            return read + length // 5, _size(length, length)
        if name in ("charAt", "lowerAscii", "upperAscii", "trim", "substring"):
            return read, first
        if name.startswith("@"):
            # Each item of a list becomes a value of Python.
            return 1 + 5 * weight, first.of_item()
        # Texts of other values (numbers, times, addresses), escapes and bytes.
        return read, _size(64 + 4 * weight, 64 + 4 * weight)
