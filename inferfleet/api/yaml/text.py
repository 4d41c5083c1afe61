"""YAML text to plain JSON-like data, with the line of every field.

Merge keys (`<<`) and aliases are written out, so that no two places share one value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferfleet.api.problems import Mistaken
from inferfleet.api.wording import below, shown
from inferfleet.api.yaml.nodes import MAX_DEPTH, MAX_VALUES, Node, nodes, too_deep, too_many
from inferfleet.api.yaml.scalars import foreign, scalar

_CONTAINERS = {"tag:yaml.org,2002:map": "map", "tag:yaml.org,2002:seq": "list"}


@dataclass(frozen=True)
class Flaw:
    """A part of a document that could not be taken. A value that is `lost` stands as null in the data."""

    path: str
    line: int
    what: str
    next_step: str
    lost: bool = False


@dataclass(frozen=True)
class Text:
    """One YAML document. `lines` has the line of every field by path, "" being the document."""

    data: Any
    lines: dict[str, int]
    flaws: tuple[Flaw, ...]


def texts(source: str) -> Iterator[Text]:
    """Every document that is not empty. Raises Unreadable, after the documents that came before."""
    reader = _Reader()
    for root in nodes(source):
        reader.lines, reader.flaws = {}, []
        data = reader.value(root, "", 0)
        if data is not None or reader.flaws:
            yield Text(data, reader.lines, tuple(reader.flaws))


class _Reader:
    def __init__(self) -> None:
        self.count = 0  # over the whole file
        self.lines: dict[str, int] = {}
        self.flaws: list[Flaw] = []

    def value(self, node: Node, path: str, depth: int) -> Any:
        self.lines.setdefault(path, node.line)
        self._counted(node, depth)
        line, node = node.line, node.alias_of or node
        try:
            if node.shape == "scalar":
                return scalar(node.text, plain=node.plain, tag=node.tag)
            if node.tag not in (None, "!") and _CONTAINERS.get(str(node.tag)) != node.shape:
                raise foreign(str(node.tag))
        except Mistaken as error:
            self.flaws.extend(Flaw(path, line, one.what, one.next_step, lost=True) for one in error.mistakes)
            return None
        if node.shape == "list":
            return [self.value(child, below(path, at), depth + 1) for at, child in enumerate(node.children)]
        return self._map(node, path, depth)

    def _map(self, node: Node, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (line, child) in self._fields(node, path, depth).items():
            inner = below(path, name)
            self.lines[inner] = line
            found[name] = self.value(child, inner, depth + 1)
        return found

    def _fields(self, node: Node, path: str, depth: int) -> dict[str, tuple[int, Node]]:
        """The fields of a map: its own, then those merged into it, the first of each name."""
        own: dict[str, tuple[int, Node]] = {}
        merged: list[Node] = []
        for key, child in zip(node.children[::2], node.children[1::2], strict=True):
            if key.alias_of is None and key.plain and key.tag is None and key.text == "<<":
                merged.append(child)
                continue
            name = self._key(key, path)
            if name is None:
                continue
            if name in own:
                self._flaw(
                    below(path, name),
                    key.line,
                    f"key {shown(name)!r} stands twice in one map, first in line {own[name][0]}",
                    "Keep one of the two",
                )
            else:
                own[name] = (key.line, child)
        for child in merged:
            for name, value in self._merged(child, path, depth + 1).items():
                own.setdefault(name, value)
        return own

    def _merged(self, node: Node, path: str, depth: int) -> dict[str, tuple[int, Node]]:
        self._counted(node, depth)
        line, node = node.line, node.alias_of or node
        if node.shape == "map":
            self.count += len(node.children)
            return self._fields(node, path, depth)
        if node.shape == "list" and all((one.alias_of or one).shape == "map" for one in node.children):
            found: dict[str, tuple[int, Node]] = {}
            for one in node.children:
                for name, value in self._merged(one, path, depth + 1).items():
                    found.setdefault(name, value)
            return found
        self._flaw(path, line, "the merge key << takes a map or a list of maps", "Give it an alias of a map")
        return {}

    def _key(self, node: Node, path: str) -> str | None:
        line, node = node.line, node.alias_of or node
        if node.shape != "scalar":
            self._flaw(path, line, f"a {node.shape} stands where a key is expected", "Write the key as text")
            return None
        try:
            key = scalar(node.text, plain=node.plain, tag=node.tag)
        except Mistaken as error:
            for one in error.mistakes:
                self._flaw(path, line, f"key: {one.what}", one.next_step)
            return None
        if not isinstance(key, str):
            name = shown(node.text) or "(empty)"
            self._flaw(path, line, f"key {name} is not text", f'Quote it: "{shown(node.text)}"')
            return None
        return key

    def _counted(self, node: Node, depth: int) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise too_many(node.line)
        if depth > MAX_DEPTH:
            raise too_deep(node.line)

    def _flaw(self, path: str, line: int, what: str, next_step: str) -> None:
        self.flaws.append(Flaw(path, line, what, next_step))
