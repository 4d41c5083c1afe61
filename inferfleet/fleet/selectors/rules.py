"""Rules over the tree of an expression that the CEL library does not know, and what it cannot compute.

`prepared` finds what Kubernetes refuses and the library takes, and puts in what the library lacks: an unknown
domain is an empty map, and functions on lists are those of lists.py.
"""

import re
from typing import Any

from inferfleet.api.wording import nearest, shown
from inferfleet.fleet.selectors import amounts, lists, texts
from inferfleet.fleet.selectors.environment import HIDDEN, overload_id
from inferfleet.fleet.selectors.limits import Unusable
from inferfleet.fleet.selectors.source import DEVICE_FIELDS, InvalidSelector, Source
from inferfleet.fleet.selectors.tree import Tree, parts
from inferfleet.fleet.selectors.values import SPOKEN

# By domain; looking one up that no attribute has gives an empty map.
_DOMAINS = ("device.attributes", "device.capacity")
_SPOKEN: tuple[tuple[str, Any], ...] = (
    (r"google\.protobuf\.(Timestamp|Duration)", lambda found: found[1].lower()),
    (r"optional_type(\(.*\))?", "an optional value"),
    (r"wrapper\((\w+)\)", r"\1"),
)
_FACTS = "map(string, dyn)"  # the type of attributes of a domain
_PATTERNS = ("matches", "find", "findAll")


def prepared(tree: Tree, source: Source) -> None:
    """Raise InvalidSelector for what no selector may have, and make the tree one that can be evaluated."""
    _visit(tree, source, tree.root)
    kind = tree.type_of(tree.root)
    if kind not in ("bool", "dyn"):
        spoken = spoken_type(kind)
        next_step = "Compare it with something, such as with ==" if kind != "type" else "Write a condition"
        raise InvalidSelector(f"the expression gives {spoken}, not true or false", next_step)


def spoken_type(kind: str) -> str:
    """Return the name of a type as messages have it: `quantity`, `list(string)`, `any`."""
    for full, spoken in SPOKEN.items():
        kind = kind.replace(full, spoken)
    for written, spoken in _SPOKEN:
        kind = re.sub(written, spoken, kind)
    return kind.replace("dyn", "an attribute") if kind == "dyn" else kind.replace("dyn", "any")


def _visit(tree: Tree, source: Source, part: Any) -> None:
    for rule in (_constants, _objects, _device, _fields, _attributes, _optionals, _mixtures, _literals):
        rule(tree, source, part)
    for inner in parts(part):
        _visit(tree, source, inner)
    _domains(tree, part)
    _functions(tree, source, part)


def _constants(tree: Tree, source: Source, part: Any) -> None:
    compared = part.HasField("call_expr") and part.call_expr.function in ("_==_", "_!=_")
    for inner in () if compared else parts(part):
        if inner.HasField("const_expr") and inner.const_expr.HasField("null_value"):
            what = "null can only be compared with == and !="
            raise source.invalid(what, "Use has(...) to ask whether there is a value", tree.place(inner))


def _objects(tree: Tree, source: Source, part: Any) -> None:
    if part.HasField("struct_expr") and part.struct_expr.message_name:
        what = f"{shown(part.struct_expr.message_name)} cannot be written as an object"
        raise source.invalid(what, 'Use functions such as quantity("80Gi")', tree.place(part))


def _device(tree: Tree, source: Source, part: Any) -> None:
    """The library takes `device` for a map, so it knows no wrong fields of it."""
    of_device = "Its fields are " + ", ".join(DEVICE_FIELDS)
    if part.HasField("select_expr") and _is_device(part.select_expr.operand):
        field = part.select_expr.field
        if field not in DEVICE_FIELDS:
            close = nearest(field, DEVICE_FIELDS)
            next_step = f"Did you mean device.{close}?" if close else of_device
            raise source.invalid(f"device has no field {shown(field)!r}", next_step, tree.place(part))
    if part.HasField("call_expr"):
        for inner in parts(part):
            kind = tree.type_of(inner)
            if part.call_expr.function in ("includes", "indexOf", "lastIndexOf") and kind == "optional_type":
                what = f"{part.call_expr.function} takes no optional value"
                raise source.invalid(what, "Write .orValue(...) after it", tree.place(inner))
            if _is_device(inner) and part.call_expr.function not in ("_==_", "_!=_"):
                raise source.invalid("device is no map", of_device, tree.place(inner))
    if part.HasField("comprehension_expr") and _is_device(part.comprehension_expr.iter_range):
        place = tree.place(part.comprehension_expr.iter_range)
        raise source.invalid("device is no map", of_device, place)


def _is_device(part: Any) -> bool:
    return bool(part.HasField("ident_expr") and part.ident_expr.name == "device")


def _fields(tree: Tree, source: Source, part: Any) -> None:
    if part.HasField("select_expr"):
        kind = tree.type_of(part.select_expr.operand)
        if kind in SPOKEN:
            what = f"a {SPOKEN[kind]} has no field {shown(part.select_expr.field)!r}"
            next_step = "Use its functions, such as compareTo"
            raise source.invalid(what, next_step, tree.place(part))


def _attributes(tree: Tree, source: Source, part: Any) -> None:
    """An attribute is one text, number, boolean or version, which is known only on a class.

    Kubernetes 1.36 refuses loops over it, and `format` of it or of a value that format cannot write.
    """
    if part.HasField("comprehension_expr") and _is_attribute(tree, part.comprehension_expr.iter_range):
        what = "an attribute is one value, and nothing can go through the items of it"
        raise source.invalid(what, "Compare it with ==", tree.place(part.comprehension_expr.iter_range))
    if part.HasField("call_expr") and part.call_expr.function == "format" and part.call_expr.args:
        text, values = part.call_expr.target, part.call_expr.args[0].list_expr.elements
        kinds = [tree.type_of(inner) for inner in values]
        known = text.HasField("const_expr") and part.call_expr.args[0].HasField("list_expr")
        if known and (why := lists.format_problem(text.const_expr.string_value, kinds)):
            raise source.invalid(why, "Write a clause for each value, of its kind", tree.place(text))
        for inner in values:
            kind = tree.type_of(inner)
            if kind in SPOKEN or _is_attribute(tree, inner):
                what = f"format cannot write {spoken_type(kind)}"
                raise source.invalid(what, "Compare it without format", tree.place(inner))


def _is_attribute(tree: Tree, part: Any) -> bool:
    if part.HasField("select_expr"):
        return not part.select_expr.test_only and tree.type_of(part.select_expr.operand) == _FACTS
    call = part.call_expr if part.HasField("call_expr") else None
    return call is not None and call.function == "_[_]" and tree.type_of(call.args[0]) == _FACTS


def _optionals(tree: Tree, source: Source, part: Any) -> None:
    """An optional value inside of another one cannot be handed to functions that are not the library's."""
    held: list[Any] = []
    if part.HasField("list_expr"):
        left_out = set(part.list_expr.optional_indices)
        held = [inner for at, inner in enumerate(part.list_expr.elements) if at not in left_out]
    elif part.HasField("struct_expr"):
        held = [entry.value for entry in part.struct_expr.entries if not entry.optional_entry]
    elif part.HasField("call_expr") and part.call_expr.function == "dyn":
        held = list(part.call_expr.args)
    for inner in held:
        if tree.type_of(inner) == "optional_type":
            what = "an optional value cannot be put into a list, a map or dyn"
            raise source.invalid(what, "Write .orValue(...) after it", tree.place(inner))


def _mixtures(tree: Tree, source: Source, part: Any) -> None:
    """Lists and maps that are written out have values of one kind, in Kubernetes."""
    called = part.HasField("call_expr") and part.call_expr.function == "format"
    for inner in () if called else parts(part):
        groups: list[list[Any]] = []
        if inner.HasField("list_expr") and not inner.list_expr.optional_indices:
            groups = [list(inner.list_expr.elements)]
        elif inner.HasField("struct_expr"):
            entries = [entry for entry in inner.struct_expr.entries if not entry.optional_entry]
            groups = [[entry.map_key for entry in entries], [entry.value for entry in entries]]
        for group in groups:
            kinds = [tree.type_of(value) for value in group]
            for value, kind in zip(group, kinds, strict=True):
                if kind.partition("(")[0] != kinds[0].partition("(")[0]:
                    what = f"a list or map has values of one kind, not {spoken_type(kinds[0])}"
                    what = f"{what} and {spoken_type(kind)}"
                    raise source.invalid(what, "Write dyn(...) around each of them", tree.place(value))


def _literals(tree: Tree, source: Source, part: Any) -> None:
    """A text that a function cannot read would be false on every class, silently."""
    if not part.HasField("call_expr"):
        return
    call = part.call_expr
    if not call.args or not call.args[0].HasField("const_expr"):
        return
    literal, text = call.args[0], call.args[0].const_expr.string_value
    if not literal.const_expr.HasField("string_value"):
        return
    if call.function in ("quantity", "semver") and len(call.args) == 1:
        try:
            amounts.quantity(text) if call.function == "quantity" else amounts.semver(text)
        except Unusable as problem:
            example = "80Gi" if call.function == "quantity" else "9.0.0"
            next_step = f'Write {call.function}("{example}") with your own value'
            raise source.invalid(problem.why, next_step, tree.place(literal)) from None
    if call.function in _PATTERNS and call.HasField("target") and (why := texts.pattern_problem(text)):
        raise source.invalid(why, "Fix the regular expression", tree.place(literal))


def _domains(tree: Tree, part: Any) -> None:
    if part.HasField("select_expr"):
        if tree.name(part.select_expr.operand) in _DOMAINS:
            if part.select_expr.test_only:
                place = part.id
                part.Clear()
                part.id, part.const_expr.bool_value = place, True
                return
            _with_default(tree, part, _looked_up(part.select_expr.operand, part.select_expr.field, tree))
    elif part.HasField("call_expr") and part.call_expr.function in ("_[_]", "_[?_]", "_?._"):
        call = part.call_expr
        if len(call.args) == 2 and tree.name(call.args[0]) in _DOMAINS:
            optional = call.function != "_[_]"
            lookup = type(part)()
            lookup.call_expr.args.extend(call.args)
            lookup.call_expr.function = "_[?_]"
            _with_default(tree, part, lookup)
            if optional:
                inner = type(part)()
                inner.CopyFrom(part)
                inner.id = tree.new_id()
                tree.same(inner, part)
                part.call_expr.Clear()
                part.call_expr.function = "optional.of"
                part.call_expr.args.append(inner)
                tree.refer(part, "optional_of")


def _looked_up(operand: Any, field: str, tree: Tree) -> Any:
    key = type(operand)(id=tree.new_id())
    key.const_expr.string_value = field
    lookup = type(operand)()
    lookup.call_expr.function = "_[?_]"
    lookup.call_expr.args.append(operand)
    lookup.call_expr.args.append(key)
    return lookup


def _with_default(tree: Tree, part: Any, lookup: Any) -> None:
    """Turn a lookup in a map of domains into `lookup.orValue({})`."""
    lookup.id = tree.new_id()
    tree.refer(lookup, "map_optindex_optional_value")
    place = part.id
    part.Clear()
    part.id = place
    part.call_expr.target.CopyFrom(lookup)
    part.call_expr.function = "orValue"
    part.call_expr.args.append(tree.empty_map())
    tree.refer(part, "optional_orValue_value")


def _functions(tree: Tree, source: Source, part: Any) -> None:
    if not part.HasField("call_expr"):
        return
    name, ids = part.call_expr.function, tree.overloads(part)
    if name == "cel.@mapInsert":
        what = "transformMap and transformMapEntry are not available here"
        raise source.invalid(what, "Use transformList, map or filter", tree.place(part))
    hidden = f"@{name}"
    if name in ("min", "max", "sum") and len(ids) == 1:
        kind = ids[0].partition("(")[2].partition(")")[0]
        hidden = f"{hidden}_{kind}" if f"{hidden}_{kind}" in HIDDEN else hidden
    if hidden not in HIDDEN:
        return
    if name in ("indexOf", "lastIndexOf") and not any(":list" in overload for overload in ids):
        return
    part.call_expr.function = hidden
    form = HIDDEN[hidden][0 if part.call_expr.HasField("target") else 1][0]
    tree.refer(part, overload_id(hidden, form))
