"""YAML text to trees of nodes with lines, within limits that keep hostile or broken text harmless.

Built on the parser's events instead of PyYAML's composer, because that one recurses as deep as the text
nests and leaves no place to count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from inferfleet.documents.wording import shown
from inferfleet.documents.yaml.budget import MAX_DEPTH, Budget, Unreadable, no_anchor, too_deep
from inferfleet.documents.yaml.syntax import conflict, mistake_of

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


def nodes(text: str, budget: Budget) -> Iterator[YamlNode]:
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
        what, next_step = mistake_of(str(error.problem or error.context or ""), character)
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
        what, next_step = mistake_of(str(error), "")
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
    anchors: dict[str, YamlNode] = {}
    open_: list[YamlNode] = []
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
            open_.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        node = _node(event, _line(event.start_mark, numbers), anchors, open_)
        budget.node(node.line)
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


def _node(event: yaml.NodeEvent, line: int, anchors: dict[str, YamlNode], open_: list[YamlNode]) -> YamlNode:
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
        raise no_anchor(line, name)
    if any(node is target for node in open_):
        raise Unreadable(line, f"alias *{shown(name)} is inside its own anchor", "Write the value out")
    return YamlNode(target.shape, line, alias_of=target)
