"""YAML text to trees of nodes with lines, within limits that keep hostile or broken text harmless.

Built on the parser's events instead of PyYAML's composer, because that one recurses as deep as the text
nests and leaves no place to count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from inferfleet.api.wording import shown

MAX_DEPTH = 64
# A fleet of a few hundred documents has some ten thousand values.
MAX_VALUES = 200_000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(Exception):  # noqa: N818 (it says what the text is)
    """The text cannot be read past `line`."""

    def __init__(self, line: int, what: str, next_step: str) -> None:
        super().__init__(f"line {line}: {what}. {next_step}")
        self.line, self.what, self.next_step = line, what, next_step


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value as it is written. The children of a map are key, value, key, value, ..."""

    shape: Literal["scalar", "list", "map"]
    line: int
    tag: str | None = None
    text: str = ""
    plain: bool = False  # written without quotes
    children: list["YamlNode"] = field(default_factory=list)
    alias_of: "YamlNode | None" = None
    column: int = 1
    ends: tuple[int, int] = (0, 0)  # of a scalar: where in the text it begins and ends


def nodes(text: str) -> Iterator[YamlNode]:
    """Yield the root of every document. Raises Unreadable after the documents that could be read."""
    try:
        yield from _compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        line = min(line, text.rstrip().count("\n"))  # what is missing at the end is reported on the last line
        what = shown(str(error.problem or error.context or "unknown error"), 200)
        tab = "tab " in what or _character(text, line, column) == "\t"
        hint = "Indent with spaces, not tabs" if tab else "Fix the syntax on this line or just before it"
        raise Unreadable(line + 1, f"not valid YAML: {what}", hint) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character[:1] or "\0")
        raise Unreadable(
            line,
            f"YAML does not allow the character U+{code:04X}",
            "Remove it, or save the file as plain text",
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise Unreadable(1, f"not valid YAML: {shown(str(error), 200)}", "Fix the syntax") from None


def _character(text: str, line: int, column: int) -> str:
    lines = text.split("\n", line + 1)
    return lines[line][column : column + 1] if line < len(lines) else ""


def _compose(text: str) -> Iterator[YamlNode]:
    anchors: dict[str, YamlNode] = {}
    open_: list[YamlNode] = []
    root: YamlNode | None = None
    count = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors, root = {}, None
            continue
        if isinstance(event, yaml.DocumentEndEvent):
            if root is not None:
                yield root
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            open_.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = _node(event, anchors, open_)
        count += 1
        if count > MAX_VALUES:
            raise too_many(node.line)
        if open_:
            open_[-1].children.append(node)
        else:
            root = node
        if event.anchor and node.alias_of is None:
            anchors[event.anchor] = node
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append(node)
            if len(open_) > MAX_DEPTH:
                raise too_deep(node.line)


def _node(event: yaml.NodeEvent, anchors: dict[str, YamlNode], open_: list[YamlNode]) -> YamlNode:
    line = event.start_mark.line + 1 if event.start_mark else 1
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
    target, name = anchors.get(event.anchor or ""), shown(event.anchor or "")
    if target is None:
        what = f"alias *{name} has no anchor &{name} before it"
        raise Unreadable(line, what, f"Put &{name} before the value that it repeats, or write the value out")
    if any(node is target for node in open_):
        raise Unreadable(line, f"alias *{name} is inside its own anchor", "Write the value out")
    return YamlNode(target.shape, line, alias_of=target)


def too_many(line: int) -> Unreadable:
    return Unreadable(
        line,
        f"the file has more than {MAX_VALUES:,} values, counting what aliases repeat",
        "Split the file, or use fewer aliases",
    )


def too_deep(line: int) -> Unreadable:
    return Unreadable(line, f"values are nested more than {MAX_DEPTH} levels deep", "Use fewer levels")
