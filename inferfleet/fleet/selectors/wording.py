"""What the CEL library says, in the words of the rule and with the next step. Its own words stay inside."""

import re
from collections.abc import Callable, Iterable

from inferfleet.api.wording import nearest, shown
from inferfleet.fleet.selectors.devices import View
from inferfleet.fleet.selectors.environment import BUILT_IN, FUNCTIONS, VARIABLES, forms_of
from inferfleet.fleet.selectors.limits import Unusable
from inferfleet.fleet.selectors.rules import spoken_type
from inferfleet.fleet.selectors.source import InvalidSelector, Source

_ENTRY = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*?)(?=\n \||\nERROR: |\s\[[A-Z_]+\]\Z|\Z)", re.DOTALL)
_UNDECLARED = re.compile(r"undeclared reference to '(.*)' \(in container", re.DOTALL)
_OVERLOAD = re.compile(r"found no matching overload for '(.*?)' applied to '\((.*)\)'", re.DOTALL)
_EXPECTED = re.compile(r"expected type '(.*?)' but found '(.*?)'", re.DOTALL)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_OPERATOR = re.compile(r"_?(==|!=|<=|>=|<|>|&&|\|\||!|\+|-|\*|/|%|@in|in)_?")
_OURS = ("quantity", "semver")
_LOOPS = ("all", "exists", "exists_one", "existsOne", "filter", "map", "transformList", "transformMap")
_VARIABLE_NAMES = tuple(name for name in VARIABLES if "." not in name)
TOO_DEEP = ("the expression is nested more than 32 levels deep", "Use fewer brackets, or shorter chains")


def refused(message: str, source: Source) -> InvalidSelector:
    """Return the error for what the library says when it does not take an expression."""
    entry = _ENTRY.search(message)
    if "recursion" in message and ("exceeded" in message or "Exceeded" in message):
        return InvalidSelector(*TOO_DEEP)
    if not entry:
        return InvalidSelector("this is not a valid expression", "Write it like the examples in the guide")
    at = source.offset(int(entry[1]), int(entry[2]))
    text = entry[3]
    for pattern, rule in _RULES:
        if found := pattern.search(text):
            return rule(source, at, found)
    return source.invalid("this is not valid here", "Write it like the examples in the guide", at)


def _undeclared(source: Source, at: int, found: re.Match[str]) -> InvalidSelector:
    name = found[1]
    index = source.index(at)
    tokens = source.tokens
    called = index < len(tokens) and tokens[index].text == "(" and tokens[index].start == at
    place = tokens[index - 1].start if called and index else at
    if called and (forms := forms_of(name)):
        what = f"{name} is called in another way"
        return source.invalid(what, f"Write {' or '.join(forms[:4])}", place)
    if called and name in (*_LOOPS, "has"):
        return _macro(source, place, found)
    if called and name in BUILT_IN:
        what = f"{name} does not take this number of arguments, or takes them as x.{name}(...)"
        return source.invalid(what, "The guide lists all functions", place)
    if called:
        close = nearest(name, {*FUNCTIONS, *BUILT_IN})
        next_step = f"Did you mean {close}?" if close else "The guide lists all functions"
        return source.invalid(f"there is no function {shown(name)!r}", next_step, place)
    name = name.partition(".")[0]
    start = next((token.start for token in tokens if token.kind == "name" and token.text == name), place)
    following = source.text[start : start + 40]
    if re.match(rf"{re.escape(name)}\s*\.\s*\w+\s*\(", following) and name in ("math", "base64", "json"):
        return source.invalid(f"there are no functions of {name}", "The guide lists all functions", start)
    close = nearest(name, _VARIABLE_NAMES)
    next_step = (
        f"Did you mean {close}?" if close else f"The variables are {', '.join(_VARIABLE_NAMES)}; quote texts"
    )
    return source.invalid(f"there is no variable {shown(name)!r}", next_step, start)


def _overload(source: Source, at: int, found: re.Match[str]) -> InvalidSelector:
    name, kinds = found[1], _kinds(found[2])
    spoken = [spoken_type(kind) for kind in kinds]
    operator = _OPERATOR.fullmatch(name)
    if operator and len(kinds) == 2 and (sign := operator[1]) in _COMPARISONS:
        return _comparison(source, at, sign, spoken)
    if operator and operator[1] in ("&&", "||", "!"):
        wrong = next(
            (kind for kind in spoken if kind not in ("bool", "an attribute", "any")), "something else"
        )
        if not source.text.startswith(operator[1], at):
            what = f"a condition that is true or false is needed here, not {wrong}"
            return source.invalid(what, "Compare the value with something, such as with ==", at)
        what = f"{operator[1]} takes conditions that are true or false, not {wrong}"
        return source.invalid(what, "Compare the value with something, such as with ==", at)
    if operator and operator[1] in ("in", "@in"):
        what = f"in asks whether a list or map has something, not {' in '.join(spoken)}"
        return source.invalid(what, 'Write it like "x" in ["x", "y"]', at)
    if operator:
        joined = f" {operator[1]} ".join(spoken) if len(spoken) == 2 else f"{operator[1]}{spoken[0]}"
        next_step = "Both sides must be numbers of one kind, texts or lists"
        if "quantity" in spoken:
            next_step = "Use .add(...) and .sub(...) with quantities"
        return source.invalid(f"{joined} cannot be computed", next_step, at)
    if name == "_?_:_":
        what = f"the two results of ? : are {' and '.join(spoken[1:])}"
        return source.invalid(what, "Both must be of one kind, and the part before ? a condition", at)
    if name == "_[_]":
        what = f"{spoken[0]} has no part that [{spoken[-1]}] could name"
        return source.invalid(what, "Look up keys of maps and positions of lists", at)
    return _call(source, at, name, spoken)


def _call(source: Source, at: int, name: str, spoken: list[str]) -> InvalidSelector:
    index = source.index(at)
    place = source.tokens[index - 1].start if 0 < index < len(source.tokens) else at
    given = ", ".join(spoken) or "nothing"
    forms = forms_of(name)
    shown_name = name if re.fullmatch(r"[\w.]+", name) else "this function"
    if forms:
        next_step = f"Write {' or '.join(forms[:4])}"
    elif name == "string":
        next_step = "Compare the value itself"
    else:
        next_step = "Check the number and the kinds of its arguments"
    return source.invalid(f"{shown_name} does not take ({given})", next_step, place)


def _comparison(source: Source, at: int, sign: str, spoken: list[str]) -> InvalidSelector:
    ours = next((kind for kind in spoken if kind in _OURS), None)
    if ours is None:
        what = f"{spoken[0]} {sign} {spoken[1]} is never asked, because they are of different kinds"
        next_step = "Write both sides as the same kind"
        if set(spoken) == {"int", "double"}:
            next_step = "Write both numbers with a point, or none: 1.0 instead of 1"
        return source.invalid(what, next_step, at)
    right = source.operand_after(source.index(at))
    if len(right) > 60 or "\n" in right or not right:
        right = f'{ours}("{"75Gi" if ours == "quantity" else "9.0.0"}")'
    elif spoken[1] in ("int", "double", "string"):
        quoted = right if right[:1] in "\"'" else f'"{right}"'
        right = f"{ours}({quoted})"
    plural = "quantities are" if ours == "quantity" else "versions are"
    what = f"{plural} compared with compareTo, not with {sign}"
    if sign in ("==", "!=") and spoken[0] != spoken[1]:
        what = f"a {ours} cannot be compared with {spoken[1] if spoken[0] == ours else spoken[0]}"
        return source.invalid(what, f"Write {sign} {right}" if spoken[0] == ours else f"Write a {ours}", at)
    return source.invalid(what, f"Write .compareTo({right}) {sign} 0", at)


def _expected(source: Source, at: int, found: re.Match[str]) -> InvalidSelector:
    what = f"{spoken_type(found[2])} stands where {spoken_type(found[1])} is needed"
    return source.invalid(what, "Compare it, or write it as the kind that is needed", at)


def _syntax(source: Source, at: int, found: re.Match[str]) -> InvalidSelector:
    index = source.index(at)
    if index >= len(source.tokens):
        last = source.tokens[-1]
        return source.invalid(
            f"something is missing after {shown(last.text)}", "Write the rest of the condition", last.start
        )
    token = source.tokens[index]
    what = f"{shown(token.text)!r} cannot stand here"
    return source.invalid(what, "Check the part before it, such as a missing sign or comma", token.start)


def _macro(source: Source, at: int, found: re.Match[str]) -> InvalidSelector:
    index = source.index(at)
    name = next(
        (token for token in reversed(source.tokens[: index + 1]) if token.text in (*_LOOPS, "has", "bind")),
        None,
    )
    if name is not None and name.text == "has":
        return source.invalid(
            "has takes a field", 'Write it like has(device.attributes["gpu.nvidia.com"].memory)', name.start
        )
    if name is not None and name.text in _LOOPS:
        what = f"{name.text} takes a name and an expression"
        return source.invalid(what, f"Write it like .{name.text}(x, x > 1)", name.start)
    return source.invalid("the first argument must be a name", "Write a name such as x", at)


def _function(what: str, next_step: str) -> Callable[[Source, int, re.Match[str]], InvalidSelector]:
    return lambda source, at, found: source.invalid(what, next_step, at)


_RULES: tuple[tuple[re.Pattern[str], Callable[[Source, int, re.Match[str]], InvalidSelector]], ...] = (
    (re.compile(r"argument|macro|variable name|must be a simple|simple name|identifier$"), _macro),
    (_UNDECLARED, _undeclared),
    (_OVERLOAD, _overload),
    (_EXPECTED, _expected),
    (re.compile("reserved identifier"), _function("this word is reserved", 'Put it into brackets: ["..."]')),
    (
        re.compile("invalid (u?int|double|float)"),
        _function(
            "this number has more than 64 bits",
            'Write attributes as numbers up to 9223372036854775807, amounts of capacity as quantity("80Gi")',
        ),
    ),
    (
        re.compile("Invalid (string|bytes) literal|escape"),
        _function("an escape in this text is not valid", r"Write \\ for a backslash"),
    ),
    (re.compile("Syntax error|token recognition|mismatched|extraneous|viable"), _syntax),
    (re.compile("field selection"), _function("this value has no fields", "Compare the value itself")),
    (re.compile("undefined field"), _function("there is no such field", "Check its name")),
)


def _kinds(written: str) -> list[str]:
    parts, depth = [""], 0
    for char in written:
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


# What an evaluation fails with, by what the library says.
_FAILURES: Iterable[tuple[re.Pattern[str], str]] = (
    (re.compile("Iteration budget exceeded"), "its loops take more than 10,000 steps"),
    (re.compile("divi(de|sion) by zero|modulus by zero"), "it divides by zero"),
    (re.compile("overflow|out of range", re.IGNORECASE), "a number in it is too large"),
    (re.compile("Index error|index out of bounds|outofbounds"), "a list in it has no such position"),
    (re.compile("duplicate key|already exists", re.IGNORECASE), "a map in it has a key twice"),
    (re.compile("conversion|cannot convert|convert"), "a value in it cannot be converted"),
    (re.compile("regular expression"), "a text in it is not a regular expression"),
    (re.compile("optional"), "an optional value in it is empty"),
)
_KEY = re.compile(r'Key not found in map ?: ?"?(.*?)"?\Z', re.DOTALL)
_NO_OVERLOAD = re.compile(r"No matching overloads found : (.*)\Z", re.DOTALL)
_RUNTIME_KINDS = {
    "int64": "int",
    "uint64": "uint",
    "struct": "a quantity or semver",
    "null_type": "null",
    "message": "a quantity or semver",
}


def failure(message: str, view: View) -> str:
    """Return why an expression has no value on a class, from what the library says."""
    message = re.sub(r"\A[A-Z_]+: | \[[A-Z_]+\]\Z", "", message)
    if own := Unusable.said(message):
        return own
    if key := _KEY.search(message):
        return view.missing(key[1])
    if found := _NO_OVERLOAD.search(message):
        return _mismatch(found[1])
    return failed(message)


def failed(message: str) -> str:
    """Return why an expression has no value, whatever it is of."""
    return next((what for pattern, what in _FAILURES if pattern.search(message)), "a part of it has no value")


def _mismatch(call: str) -> str:
    operator = re.match(r"_?(.+?)_?\((.*)\)\Z", call, re.DOTALL)
    member = re.match(r"\((.*?)\)\.([\w@]+)\((.*)\)\Z", call, re.DOTALL)
    if member:
        kinds = [member[1], *_kinds(member[3])]
        name = member[2].lstrip("@").partition("_")[0]
    elif operator:
        kinds, name = _kinds(operator[2]), operator[1].strip("@_")
    else:
        return "a value in it is of the wrong kind"
    spoken = [_RUNTIME_KINDS.get(kind, kind) for kind in kinds]
    if not all(re.fullmatch(r"[\w ]+", kind) for kind in spoken) or len(name) > 30:
        return "a value in it is of the wrong kind"
    return f"{name} does not take {' and '.join(spoken)}"
