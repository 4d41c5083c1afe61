"""YAML text to plain JSON-like data, with the line of every field.

Merge keys (`<<`) and aliases are written out, so that no two fields share one value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from inferfleet.documents.problems import Mistaken
from inferfleet.documents.wording import below, shown
from inferfleet.documents.yaml.budget import Budget
from inferfleet.documents.yaml.nodes import YamlNode, nodes
from inferfleet.documents.yaml.scalars import scalar, unsupported

# Fields whose values have mistakes in the middle.
_EXPRESSIONS = (".cel",)
_KEY = "Write the key as text; where {{ ... }} is a template, render it first"
_CONTAINERS = {"tag:yaml.org,2002:map": "map", "tag:yaml.org,2002:seq": "list"}


@dataclass(frozen=True)
class Flaw:
    """A part of a document that could not be read. A value that is `missing` is null in the data."""

    path: str
    line: int
    what: str
    next_step: str
    missing: bool = False
    repeats: bool = False  # a key that the map has already


@dataclass(frozen=True)
class Text:
    """One YAML document. `lines` has the line of every field by path; "" is the document itself.

    `written` has expressions by path as they stand in the file, from the beginning of the field's line on,
    with white space in place of what is before them.
    """

    data: Any
    lines: dict[str, int]
    flaws: tuple[Flaw, ...]
    written: dict[str, str] = field(default_factory=dict)


def texts(source: str, budget: Budget | None = None) -> Iterator[Text]:
    """Yield every document that is not empty. Raises Unreadable after the documents that could be read.

    Texts that are read with the same budget share it.
    """
    budget = budget or Budget()
    reader = _Reader(source, budget)
    for root in nodes(source, budget):
        budget.document(root.line)
        reader.lines, reader.flaws, reader.written = {}, [], {}
        data = reader.value(root, "", 0)
        if data is not None or reader.flaws:
            yield Text(data, reader.lines, tuple(reader.flaws), reader.written)


class _Reader:
    def __init__(self, source: str, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.written: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.flaws: list[Flaw] = []

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
                return scalar(node.text, plain=node.plain, tag=node.tag)
            if node.tag not in (None, "!") and _CONTAINERS.get(str(node.tag)) != node.shape:
                raise unsupported(str(node.tag))
        except Mistaken as error:
            for mistake in error.mistakes:
                self.flaws.append(Flaw(path, line, mistake.what, mistake.next_step, missing=True))
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
        own: dict[str, tuple[int, YamlNode]] = {}
        merged: list[YamlNode] = []
        for key, child in zip(node.children[::2], node.children[1::2], strict=True):
            if key.alias_of is None and key.plain and key.tag is None and key.text == "<<":
                merged.append(child)
                continue
            name = self._key(key, path)
            if name is None:
                continue
            if name in own:
                what = f"key {shown(name)!r} is set twice in one map, first on line {own[name][0]}"
                self.flaws.append(
                    Flaw(below(path, name), key.line, what, "Remove one of the two", repeats=True)
                )
            else:
                own[name] = (key.line, child)
        for child in merged:
            for name, value in self._merged(child, path, depth + 1).items():
                own.setdefault(name, value)
        return own

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
        self._flaw(path, line, "the merge key << takes a map or a list of maps", "Give it an alias of a map")
        return {}

    def _key(self, node: YamlNode, path: str) -> str | None:
        line, node = node.line, node.alias_of or node
        if node.shape != "scalar":
            self._flaw(path, line, f"a {node.shape} is used as a key", _KEY)
            return None
        try:
            key = scalar(node.text, plain=node.plain, tag=node.tag)
        except Mistaken as error:
            for mistake in error.mistakes:
                self._flaw(path, line, f"key: {mistake.what}", mistake.next_step)
            return None
        if not isinstance(key, str):
            name = shown(node.text) or "(empty)"
            self._flaw(path, line, f"key {name} must be text", f'Quote it: "{shown(node.text)}"')
            return None
        return key

    def _flaw(self, path: str, line: int, what: str, next_step: str) -> None:
        self.flaws.append(Flaw(path, line, what, next_step))
