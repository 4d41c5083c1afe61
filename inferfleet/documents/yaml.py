"""YAML text to plain data with the line of every field, within limits that hostile text cannot exceed.

What the data means is decided in `kinds` and `loading`. Merge keys (`<<`) and aliases are written out, so
that no two fields share one value. The trees are built on the parser's events instead of PyYAML's composer,
because that one recurses as deep as the text nests and leaves no place to count.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from inferfleet.documents.problems import Mistaken, mistaken
from inferfleet.documents.wording import below, shown

# How much one loading may hold in all its files together, so that no input takes more than seconds. The
# limits are far above any fleet, and low enough that five MiB of whatever text end within five seconds and
# one GiB: a value costs some ten microseconds to read and to check, and each of its lines is kept by its
# path.
MAX_DEPTH = 64
# A fleet of a few hundred documents has some ten thousand values.
MAX_VALUES = 200_000
# The same with keys, and as they are written: each alias is one.
MAX_WRITTEN = 300_000
# Characters of keys, texts and paths of fields. Aliases repeat texts, and a path repeats the keys above it.
MAX_CHARACTERS = 40_000_000
MAX_DOCUMENTS = 5_000
MAX_BYTES = 10 * 1024 * 1024


class Unreadable(Exception):  # noqa: N818 (it says what the text is)
    """The text cannot be read past `line`."""

    def __init__(self, line: int, what: str, next_step: str) -> None:
        super().__init__(f"line {line}: {what}. {next_step}")
        self.line, self.what, self.next_step = line, what, next_step


@dataclass
class Budget:
    """What has been read so far of what may be; `spent` once something was refused for it."""

    written: int = 0
    values: int = 0
    characters: int = 0
    documents: int = 0
    bytes: int = 0
    spent: bool = False

    @property
    def steps(self) -> int:
        """Return the steps of work that reading and checking has taken, for the budget of a whole run."""
        return self.written * 10 + self.values * 20 + (self.characters + self.bytes) // 20

    def file(self, size: int) -> None:
        """Count the bytes of a file. Raises Unreadable when there are too many."""
        self.bytes += size
        if self.bytes > MAX_BYTES:
            self._refuse(1, f"{MAX_BYTES // 1024 // 1024} MiB", "Use several stacks")

    def document(self, line: int) -> None:
        """Count a document. Raises Unreadable when there are too many."""
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            self._refuse(line, f"{MAX_DOCUMENTS:,} documents", "Use several stacks")

    def node(self, line: int) -> None:
        """Count a key or value as it is written. Raises Unreadable when there are too many."""
        self.written += 1
        if self.written > MAX_WRITTEN:
            self._refuse(line, f"{MAX_WRITTEN:,} values and keys", "Write less, or use several stacks")

    def value(self, line: int, depth: int, characters: int) -> None:
        """Count a value, and the characters that it takes. Raises Unreadable when there are too many."""
        self.values += 1
        self.characters += characters
        if depth > MAX_DEPTH:
            raise _too_deep(line)
        if self.values > MAX_VALUES:
            what = f"{MAX_VALUES:,} values, counting what aliases repeat"
            self._refuse(line, what, "Use fewer aliases, or several stacks")
        if self.characters > MAX_CHARACTERS:
            what = f"{MAX_CHARACTERS:,} characters, counting what aliases repeat and the paths of fields"
            self._refuse(line, what, "Use fewer aliases and shorter texts")

    def merged(self, line: int, depth: int, fields: int) -> None:
        """Count the fields that a merge key goes through. Raises Unreadable when there are too many."""
        self.values += fields
        self.value(line, depth, 0)

    def _refuse(self, line: int, limit: str, next_step: str) -> None:
        self.spent = True
        raise Unreadable(line, f"the files read so far have more than {limit}", next_step)


def _too_deep(line: int) -> Unreadable:
    """Return the exception for values inside of too many others."""
    return Unreadable(line, f"values are nested more than {MAX_DEPTH} levels deep", "Use fewer levels")


def _no_anchor(line: int, name: str) -> Unreadable:
    """Return the exception for an alias of nothing."""
    what = f"alias *{shown(name)} has no anchor &{shown(name)} before it"
    step = f"Put &{shown(name)} before the value that it repeats, or write the value out"
    return Unreadable(line, what, step)


@dataclass(frozen=True)
class YamlMistake:
    """What is wrong with a part of a document, so that it could not be read, and what to do."""

    path: str
    line: int
    what: str
    next_step: str
    missing: bool = False
    """Whether the value is null in the data in place of what is written."""
    repeats: bool = False
    """Whether it is a key that the map has already."""


@dataclass(frozen=True)
class Text:
    """One YAML document."""

    data: Any
    lines: dict[str, int]
    """The line of every field by path; "" is the document itself."""
    mistakes: tuple[YamlMistake, ...]
    written: dict[str, str] = field(default_factory=dict)
    """Expressions by path as they stand in the file, from the beginning of the field's line on, with white
    space in place of what is before them.
    """


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value as it is written. The children of a map are key, value, key, value, ..."""

    shape: Literal["scalar", "list", "map"]
    line: int
    tag: str | None = None
    text: str = ""
    plain: bool = False
    """Whether a scalar is written without quotes."""
    children: list["YamlNode"] = field(default_factory=list)
    alias_of: "YamlNode | None" = None
    column: int = 1
    ends: tuple[int, int] = (0, 0)
    """Where in the text a scalar begins and ends."""


# Fields whose values have mistakes in the middle, whose line and column are told.
_EXPRESSIONS = (".cel",)
_KEY = "Write the key as text; where {{ ... }} is a template, render it first"
_CONTAINERS = {"tag:yaml.org,2002:map": "map", "tag:yaml.org,2002:seq": "list"}


def texts(source: str, budget: Budget | None = None) -> Iterator[Text]:
    """Yield every document that is not empty. Raises Unreadable after the documents that could be read.

    Texts that are read with the same budget share it.
    """
    budget = budget or Budget()
    reader = _Reader(source, budget)
    for root in _nodes(source, budget):
        budget.document(root.line)
        reader.lines, reader.mistakes, reader.written = {}, [], {}
        data = reader.value(root, "", 0)
        if data is not None or reader.mistakes:
            yield Text(data, reader.lines, tuple(reader.mistakes), reader.written)


class _Reader:
    def __init__(self, source: str, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.written: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.mistakes: list[YamlMistake] = []

    def value(self, node: YamlNode, path: str, depth: int) -> Any:
        self.lines.setdefault(path, node.line)
        line, aliased, node = node.line, node.alias_of is not None, node.alias_of or node
        self.budget.value(line, depth, len(path) + len(node.text))
        try:
            if node.shape == "scalar":
                if path.endswith(_EXPRESSIONS) and not aliased:
                    begin, end = node.ends
                    before = "\n" * (line - self.lines[path]) + " " * (node.column - 1)
                    self.written[path] = before + self.source[begin:end]
                return _scalar(node.text, plain=node.plain, tag=node.tag)
            if node.tag not in (None, "!") and _CONTAINERS.get(str(node.tag)) != node.shape:
                raise _unsupported(str(node.tag))
        except Mistaken as error:
            for mistake in error.mistakes:
                self.mistakes.append(YamlMistake(path, line, mistake.what, mistake.next_step, missing=True))
            return None
        if node.shape == "list":
            return [self.value(child, below(path, at), depth + 1) for at, child in enumerate(node.children)]
        return self._map(node, path, depth)

    def _map(self, node: YamlNode, path: str, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, (line, child) in self._fields(node, path, depth).items():
            inner = below(path, name)
            self.lines[inner] = line
            fields[name] = self.value(child, inner, depth + 1)
        return fields

    def _fields(self, node: YamlNode, path: str, depth: int) -> dict[str, tuple[int, YamlNode]]:
        """Return the fields of a map: its own, then those merged into it, the first of each name."""
        fields: dict[str, tuple[int, YamlNode]] = {}
        merged: list[YamlNode] = []
        for key, child in zip(node.children[::2], node.children[1::2], strict=True):
            if key.alias_of is None and key.plain and key.tag is None and key.text == "<<":
                merged.append(child)
                continue
            name = self._key(key, path)
            if name is None:
                continue
            if name in fields:
                what = f"key {shown(name)!r} is set twice in one map, first on line {fields[name][0]}"
                self.mistakes.append(
                    YamlMistake(below(path, name), key.line, what, "Remove one of the two", repeats=True)
                )
            else:
                fields[name] = (key.line, child)
        for child in merged:
            for name, value in self._merged(child, path, depth + 1).items():
                fields.setdefault(name, value)
        return fields

    def _merged(self, node: YamlNode, path: str, depth: int) -> dict[str, tuple[int, YamlNode]]:
        line, node = node.line, node.alias_of or node
        self.budget.merged(line, depth, len(node.children))
        if node.shape == "map":
            return self._fields(node, path, depth)
        if node.shape == "list" and all((child.alias_of or child).shape == "map" for child in node.children):
            fields: dict[str, tuple[int, YamlNode]] = {}
            for child in node.children:
                for name, value in self._merged(child, path, depth + 1).items():
                    fields.setdefault(name, value)
            return fields
        self._mistake(
            path, line, "the merge key << takes a map or a list of maps", "Give it an alias of a map"
        )
        return {}

    def _key(self, node: YamlNode, path: str) -> str | None:
        line, node = node.line, node.alias_of or node
        if node.shape != "scalar":
            self._mistake(path, line, f"a {node.shape} is used as a key", _KEY)
            return None
        try:
            key = _scalar(node.text, plain=node.plain, tag=node.tag)
        except Mistaken as error:
            for mistake in error.mistakes:
                self._mistake(path, line, f"key: {mistake.what}", mistake.next_step)
            return None
        if not isinstance(key, str):
            name = shown(node.text) or "(empty)"
            self._mistake(path, line, f"key {name} must be text", f'Quote it: "{shown(node.text)}"')
            return None
        return key

    def _mistake(self, path: str, line: int, what: str, next_step: str) -> None:
        self.mistakes.append(YamlMistake(path, line, what, next_step))


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _nodes(text: str, budget: Budget) -> Iterator[YamlNode]:
    """Yield the root of every document. Raises Unreadable after the documents that could be read."""
    numbers = _line_numbers(text)
    try:
        yield from _compose(text, budget, numbers)
    except yaml.MarkedYAMLError as error:
        if unresolved := conflict(text):
            what = f"{shown(unresolved[1])} marks an unresolved merge conflict"
            raise Unreadable(
                unresolved[0], what, "Keep one side or both, and remove the lines with marks"
            ) from None
        mark = error.problem_mark or error.context_mark
        line = _line(mark, numbers)
        line = min(line, text.rstrip().count("\n") + 1)  # what is missing at the end is reported on the last
        character = text[mark.index : mark.index + 1] if mark else ""
        what, next_step = _parser_words(str(error.problem or error.context or ""), character)
        raise Unreadable(line, f"not valid YAML: {what}", next_step) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character[:1] or "\0")
        raise Unreadable(
            line,
            f"YAML does not allow the character U+{code:04X}",
            "Remove it, or save the file as plain text",
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        what, next_step = _parser_words(str(error), "")
        raise Unreadable(1, f"not valid YAML: {what}", next_step) from None


def _line_numbers(text: str) -> list[int] | None:
    """Return the line of an editor for each line of the parser, or None where they are the same.

    The parser begins a line after NEL, LS and PS too (YAML 1.1), and two after CR CR LF; editors and version
    control do not.
    """
    if "\r\r" not in text and (text.isascii() or not re.search("[\x85\u2028\u2029]", text)):
        return None
    numbers = [1]
    for end in re.finditer("\r+\n?|[\n\x85\u2028\u2029]", text):
        ends = end[0]
        if ends[0] == "\r" and ends[-1] == "\n":
            numbers += [numbers[-1]] * (len(ends) - 2)
        elif ends[0] == "\r":
            numbers += range(numbers[-1] + 1, numbers[-1] + len(ends))
        numbers.append(numbers[-1] + (ends[0] not in "\x85\u2028\u2029"))
    return numbers


def _line(mark: Any, numbers: list[int] | None) -> int:
    line = mark.line if mark else 0
    return numbers[min(line, len(numbers) - 1)] if numbers else line + 1


def _compose(text: str, budget: Budget, numbers: list[int] | None) -> Iterator[YamlNode]:
    """Yield the root of each document in the text, with every node counted against the budget."""
    anchors: dict[str, YamlNode] = {}
    parents: list[YamlNode] = []
    root: YamlNode | None = None
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors, root = {}, None
            continue
        if isinstance(event, yaml.DocumentEndEvent):
            if root is not None:
                yield root
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            parents.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = _node(event, _line(event.start_mark, numbers), anchors, parents)
        budget.node(node.line)
        if parents:
            parents[-1].children.append(node)
        else:
            root = node
        if event.anchor and node.alias_of is None:
            anchors[event.anchor] = node
        if isinstance(event, yaml.CollectionStartEvent):
            parents.append(node)
            if len(parents) > MAX_DEPTH:
                raise _too_deep(node.line)


def _node(
    event: yaml.NodeEvent, line: int, anchors: dict[str, YamlNode], parents: list[YamlNode]
) -> YamlNode:
    if isinstance(event, yaml.ScalarEvent):
        node = YamlNode("scalar", line, event.tag, event.value, plain=bool(event.implicit[0]))
        if event.start_mark and event.end_mark:
            node.column = event.start_mark.column + 1
            node.ends = (event.start_mark.index, event.end_mark.index)
        return node
    if isinstance(event, yaml.SequenceStartEvent):
        return YamlNode("list", line, event.tag)
    if isinstance(event, yaml.MappingStartEvent):
        return YamlNode("map", line, event.tag)
    name = event.anchor or ""
    target = anchors.get(name)
    if target is None:
        raise _no_anchor(line, name)
    if any(node is target for node in parents):
        raise Unreadable(line, f"alias *{shown(name)} is inside its own anchor", "Write the value out")
    return YamlNode(target.shape, line, alias_of=target)


# Words to null, booleans, numbers and text, by the core schema of YAML 1.2, so that `on`, `yes` and
# `2026-04-14` are text. Source: https://yaml.org/spec/1.2.2/#103-core-schema
Scalar = str | int | float | bool | None


class Float(float):
    """A number that remembers how it is `written`: the version 1.30 is the number 1.3."""

    written: str


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0(?:o([0-7]+)|x([0-9a-fA-F]+))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float", "str", "timestamp")}


def _scalar(text: str, *, plain: bool, tag: str | None) -> Scalar:
    """Return the value of a scalar. Raises Mistaken for unsupported tags and numbers that JSON lacks."""
    if tag == "!" or (tag is None and not plain):
        return _text(text)
    if tag is None:
        return _plain(text)
    name = _TAGS.get(tag)
    if name is None:
        raise _unsupported(tag)
    # Tools that write YAML 1.1 tag dates that they quote.
    if name in ("str", "timestamp"):
        return _text(text)
    value = _plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    kind = "null" if value is None else {bool: "bool", int: "int", float: "float", str: "str"}[type(value)]
    if kind != name:
        raise mistaken(f"{text[:40]!r} is tagged !!{name} but is !!{kind}", "Remove the tag")
    return value


def _unsupported(tag: str) -> Mistaken:
    """Return the exception for a tag that is not one of YAML's core schema."""
    short = tag.replace("tag:yaml.org,2002:", "!!")[:60]
    return mistaken(f"tag {short} is not supported", "Remove the tag and write plain data")


def _plain(text: str) -> Scalar:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return _whole(text)
    if based := _BASED.fullmatch(text):
        digits, base = (based[1], 8) if based[1] else (based[2], 16)
        return _bounded(int(digits[:30], base), text)
    if _FLOAT.fullmatch(text):
        number = Float(text)
        if math.isfinite(number):
            number.written = text[:40]
            return number
    elif not _NOT_FINITE.fullmatch(text):
        return _text(text)
    raise mistaken(f"{text[:40]} is not a finite number", "Write a finite number, or quote it as text")


def _whole(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0":
        # 0644 is 420 to YAML 1.1 (and so to kubectl) and 644 to YAML 1.2.
        bare = digits.lstrip("0")[:20] or "0"
        octal = f"0o{bare} for an octal number such as a file mode, {bare} for a decimal one"
        raise mistaken(
            f"{text[:40]} starts with 0, which some YAML parsers read as octal and others as decimal",
            f"Write {bare if set(bare) & {'8', '9'} else octal}, or quote it as text",
        )
    return _bounded(int(text[:30]), text)


def _bounded(number: int, text: str) -> int:
    # Kubernetes holds whole numbers in 64 bits.
    if len(text) > 24 or not -(2**63) <= number < 2**63:
        raise mistaken(
            f"{text[:24]}{'…' if len(text) > 24 else ''} does not fit into 64 bits",
            "Write a smaller number, or quote it as text",
        )
    return number


def _text(text: str) -> str:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise mistaken("the text contains half of a surrogate pair", "Write the whole character")
    return text


# What the parser says about a text that is no YAML, in words of what a person writes.
# What git leaves where two branches changed the same lines.
_CONFLICT = re.compile("^<<<<<<<( .*)?\r?$", re.MULTILINE)

_FIX = "Fix the syntax on this line or just before it"
_INDENT = "Indent it like the lines around it; a text with ': ' in it needs quotes"
_QUOTE = "Put the text in quotes"
_CLOSE = "Close it, or put text that begins so in quotes"
# A part of what the parser says to what is wrong and the next step. The first that fits counts.
# The parser: https://github.com/yaml/libyaml, src/scanner.c and src/parser.c
_WORDS: tuple[tuple[str, str, str], ...] = (
    ("tab character", "a line is indented with a tab", "Indent with spaces, not tabs"),
    ("mapping values are not allowed", "a field stands where none can be", _INDENT),
    ("mapping keys are not allowed", "a key stands where none can be", _INDENT),
    ("sequence entries are not allowed", "an entry of a list (-) stands where none can be", _INDENT),
    ("expected '-' indicator", "an entry of a list, which begins with '- ', is expected here", _INDENT),
    ("did not find expected key", "a field of a map, such as name: value, is expected here", _INDENT),
    ("could not find expected ':'", "a key has no ':' after it", "Write it like name: value"),
    ("',' or ']'", "a list in brackets is not closed, or lacks a comma", _CLOSE),
    ("',' or '}'", "a map in braces is not closed, or lacks a comma", _CLOSE),
    ("did not find expected node content", "a value is expected here", _FIX),
    ("cannot start any token", "a text cannot begin with this character", _QUOTE),
    ("found unexpected end of stream", "a text in quotes is not closed", "Close the quotes"),
    ("unexpected document indicator", "a text in quotes is not closed", "Close the quotes"),
    ("escape", "a text in double quotes has a \\ that begins nothing known", "Write \\\\ for a backslash"),
    ("hexdecimal", "a text in double quotes has a \\x or \\u without its digits", "Write all digits"),
    ("<document start>", "a document is expected to begin here", "Write --- before each document"),
    ("tag", "a tag (!) is not written as YAML asks for", "Remove the tag, or put the text in quotes"),
    ("anchor", "an anchor (&) or alias (*) is not written as YAML asks for", _QUOTE),
    ("alphabetic or numeric", "an anchor (&) or alias (*) has no name", _QUOTE),
    ("block scalar", "a text of several lines is not written as YAML asks for", "Write | alone on its line"),
    ("indentation indicator", "a text of several lines has a wrong number after | or >", "Write | alone"),
    ("comment or line break", "something stands after | or > on the same line", "Write | alone on its line"),
    ("incompatible YAML document", "this is another version of YAML", "Remove the line with %YAML"),
    ("directive", "a line beginning with % is not written as YAML asks for", "Remove it, or quote the text"),
    ("%", "a line beginning with % is not written as YAML asks for", "Remove it, or quote the text"),
    ("key", "a key is longer than YAML allows, or spans lines", "Shorten it"),
)


def conflict(text: str) -> tuple[int, str] | None:
    """Return the first mark of a merge conflict that git left in a file, with its line, None without any."""
    mark = _CONFLICT.search(text.removeprefix("\ufeff"))
    return (mark.string.count("\n", 0, mark.start()) + 1, mark[0].rstrip("\r")) if mark else None


def _parser_words(error: str, character: str) -> tuple[str, str]:
    """Return what is wrong by what the parser said, and the next step; `character` is where it stopped."""
    if character == "\t":
        return "a line is indented with a tab", "Indent with spaces, not tabs"
    for part, what, next_step in _WORDS:
        if part in error:
            character_text = (
                f" ({shown(character)})" if part == "cannot start any token" and character.strip() else ""
            )
            return what + character_text, next_step
    return "this is not written as YAML asks for", _FIX
