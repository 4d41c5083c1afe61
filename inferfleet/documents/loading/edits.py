"""Edits of documents while they are loaded, as somebody asks for them who wants to know what would be.

An edit is written `<kind>/<name>.<path>=<value>`, such as
`InferenceCluster/west.spec.nodePools[h100].nodeCount=4`. Brackets hold the name of an entry of a list, its
position, or a key of a map; the value is YAML, and `null` removes the field. No file changes.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.documents.loading.files import Source
from inferfleet.documents.problems import Problem, part_of
from inferfleet.documents.wording import listing, one_of, path_of, shown
from inferfleet.documents.yaml import Unreadable, texts

_EDIT = re.compile(
    r"(?P<kind>[A-Za-z]+)/(?P<key>[a-z0-9-]+(?:/[a-z0-9-]+)?)(?P<path>(?:\.[\w-]+|\[[^\[\]=]+\])+)="
    r"(?P<value>.*)",
    re.DOTALL,
)
_STEP = re.compile(r"\.([\w-]+)|\[([^\[\]=]+)\]")
# Fields by which an edit finds its document.
_IDENTITY = (("metadata",), ("metadata", "name"), ("metadata", "namespace"))
_FORM = "Write <kind>/<name>.<path>=<value>, such as ModelDeployment/ml/qwen.spec.replicas=4"


@dataclass(frozen=True)
class Edit:
    """A value for a field of a document."""

    kind: str
    key: str
    steps: tuple[str, ...]
    value: Any
    """The value, or None to remove the field."""
    written: str
    """The edit as somebody wrote it."""
    needs: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Parts of the document without which the edit leads nowhere, each with what to do then."""


class NoSuchField(ValueError):  # noqa: N818 (it says what is not there)
    """Raised where an edit leads to no field; the text says which part of it does not."""


def parse_edit(edit_text: str, kinds: Collection[str], namespaced: Collection[str]) -> Edit | Problem:
    """Return the edit, or why it cannot be read. Names without a namespace are in `default`."""
    match = _EDIT.fullmatch(edit_text)
    if not match:
        return Problem(f"{shown(edit_text)!r} is no edit of a document", _FORM)
    kind, key = match["kind"], match["key"]
    if kind not in kinds:
        return Problem(f"there is no kind {shown(kind)!r}", one_of(kind, kinds, "Known kinds"))
    if kind in namespaced and "/" not in key:
        key = f"default/{key}"
    try:
        values = list(texts(match["value"]))
    except Unreadable as error:
        return Problem(f"the value of {shown(edit_text)!r} is no YAML: {error.what}", error.next_step)
    mistakes = [mistake for value in values for mistake in value.mistakes]
    if mistakes or (len(values) != 1 and match["value"].strip() != "null"):
        why = mistakes[0].what if mistakes else "it is not one value"
        return Problem(f"the value of {shown(edit_text)!r} cannot be read: {why}", _FORM)
    steps = tuple(name or inner for name, inner in _STEP.findall(match["path"]))
    if steps[0] in ("apiVersion", "kind") or steps in _IDENTITY:
        what = f"{shown(edit_text)!r} would make it another document: kind, name and namespace cannot be set"
        return Problem(what, "Set another field, or add that document to the folder of the stack")
    return Edit(kind, key, steps, values[0].data if values else None, edit_text)


def apply_edits(source: Source, edits: Iterable[Edit]) -> tuple[Source, list[Problem]]:
    """Return the document with the edits of it, and why some of them lead nowhere."""
    data, problems = source.text.data, []
    for edit in edits:
        lacking = [(part, step) for part, step in edit.needs if not isinstance(part_of(data, part), dict)]
        if lacking:
            part, step = lacking[0]
            what = f"{shown(edit.written)!r} leads to no field: the document has no {path_of(part)}"
            problems.append(Problem(what, step))
            continue
        try:
            data = _with(data, edit.steps, edit.value)
        except NoSuchField as wrong:
            problems.append(Problem(f"{shown(edit.written)!r} leads to no field: {wrong}", _FORM))
    return replace(source, text=replace(source.text, data=data)), problems


def unknown_document_problems(edits: Iterable[Edit], names: Iterable[tuple[str, str]]) -> Iterable[Problem]:
    """Yield a problem for each edit of a document that there is not."""
    keys = sorted(names)
    for edit in edits:
        if (edit.kind, edit.key) not in keys:
            of_kind = [key for kind, key in keys if kind == edit.kind]
            what = f"there is no {edit.kind} {shown(edit.key)!r} for {shown(edit.written)!r}"
            yield Problem(what, one_of(edit.key, of_kind, "There are") if of_kind else "There is none at all")


def _with(data: Any, steps: tuple[str, ...], value: Any) -> Any:
    step, rest = steps[0], steps[1:]
    removed = value is None and not rest
    if isinstance(data, list):
        index = _index_of(data, step)
        entry = _with(data[index], rest, value) if rest else value
        return [*data[:index], *([] if removed else [entry]), *data[index + 1 :]]
    if data is not None and not isinstance(data, dict):
        raise NoSuchField(f"{shown(str(data))!r} has no field {shown(step)}")
    fields = dict(data or {})
    if value is None and step not in fields:
        return data
    if removed:
        return {name: field for name, field in fields.items() if name != step}
    return {**fields, step: _with(fields.get(step), rest, value) if rest else value}


def _index_of(entries: list[Any], step: str) -> int:
    """Return the position of an entry by its name, or by its position."""
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    if step in names:
        return names.index(step)
    if step.isdecimal() and int(step) < len(entries):
        return int(step)
    texts = [name for name in names if isinstance(name, str)]
    raise NoSuchField(f"the list has no entry {shown(step)}, but {listing(texts) or len(entries)}")
