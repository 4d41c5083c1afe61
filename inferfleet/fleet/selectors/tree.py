"""The checked tree of an expression, as the CEL library serializes it: cel.expr.CheckedExpr.

The messages are declared here because no Python package of theirs is on PyPI for the names that the library
uses: https://github.com/google/cel-spec/tree/master/proto/cel/expr (syntax.proto and checked.proto).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from inferfleet.fleet.selectors.amounts import SPOKEN

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
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_TYPED = frozenset({"string", "bytes", "bool", "int", "uint", "double", *SPOKEN})


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
        """Let a part that is a call mean this form of its function."""
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
            held, key = part.select_expr.operand, new(id=self._new_id())
            key.const_expr.string_value = part.select_expr.field
        else:
            held, key = part.call_expr.args
        lookup, empty = new(id=self._new_id()), new(id=self._new_id())
        lookup.call_expr.function = "_[?_]"
        lookup.call_expr.args.extend([held, key])
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
    left = [tree.root]
    while left:
        part = left.pop(0)
        yield part
        left += parts(part)


def compared(tree: Tree) -> Iterator[tuple[str, str, int]]:
    """Yield the attributes that are compared with a value of a known type: key, type, and where. They are
    those of a tree without defaults.
    """
    for part in every(tree):
        if part.HasField("call_expr") and part.call_expr.function in _COMPARISONS:
            first, second = part.call_expr.args
            for attribute, other in ((first, second), (second, first)):
                key, kind = _attribute_key(tree, attribute), tree.type_of(other)
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
    held, key = part.call_expr.args
    return str(key.const_expr.string_value) if tree.name(held) == variable else ""
