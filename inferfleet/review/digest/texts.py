"""Fields that differ, with their values as short texts, but for those that may hold a secret."""

import json
import re
import shlex
from typing import Any

from inferfleet.documents.pods.diff import compared
from inferfleet.review.digest.values import FieldChange, Presence
from inferfleet.serving.comparison import differences
from inferfleet.serving.engines.command_line import WorkerPod, command_line
from inferfleet.serving.pod.plain_secrets import in_arguments

# Characters of a value, and of what stands before the first difference of two.
_LONGEST, _BEFORE = 200, 60
# Blocks that documents hold for others: pods, plugins. Messages may quote them, and a digest does not.
_NOT_SHOWN = ("annotations", "config", "template")
# What stands for such a block inside of a value.
_OMITTED = "(not shown)"
# User and password in a URL, such as the endpoint that traces are sent to.
_CREDENTIALS = re.compile(r"://[^/@\s\"]+@")
_HIDDEN = re.compile(rf"(^|\.)({'|'.join(_NOT_SHOWN)})($|[.\[])")


def field_changes(before: Any, after: Any, *, below: str = "") -> tuple[FieldChange, ...]:
    """Return the fields that differ between two plain values, by their paths, sorted."""
    every = [
        field_change(_joined(below, change.path), change.before, change.after)
        for change in compared(before, after).changes
        # An amount in another form is no difference.
        if any(differences(change.after, change.before, f".{change.path}"))
    ]
    return tuple(sorted(every, key=lambda field: field.path))


def _joined(parent: str, path: str) -> str:
    return f"{parent}.{path}" if parent and path and not path.startswith("[") else f"{parent}{path}"


def field_change(path: str, before: Any, after: Any, *, shown: bool = True) -> FieldChange:
    """Return one field that differs; None is one that is not there."""
    change: Presence = "changed"
    if before is None or after is None:
        change = "added" if before is None else "removed"
    if not shown or _HIDDEN.search(path):
        return FieldChange(path, change, "", "", shown=False)
    old, new = ("" if value is None else _text(value) for value in (before, after))
    if old == new:
        return FieldChange(path, change, "", "", shown=False)
    return FieldChange(path, change, *_cut(old, new), shown=True)


def _text(value: Any) -> str:
    text = json.dumps(_scrubbed(value), ensure_ascii=False, sort_keys=True)
    return _CREDENTIALS.sub(f"://{_OMITTED}@", text)


def command_text(pod: WorkerPod) -> str:
    """Return the written command line of a pod as a shell takes it, without words that look like secrets; ""
    where none is written.
    """
    line = command_line(pod)
    return shlex.join(_scrubbed([*line.command, *line.args])) if line else ""


def _scrubbed(value: Any) -> Any:
    """Return the value without blocks that are not shown, and without words that look like secrets, which
    args of engines may hold.
    """
    if isinstance(value, dict):
        return {key: _OMITTED if key in _NOT_SHOWN and value[key] else _scrubbed(value[key]) for key in value}
    if isinstance(value, list):
        secrets = {position for position, _ in in_arguments(value)}
        return [_OMITTED if position in secrets else _scrubbed(entry) for position, entry in enumerate(value)]
    is_word = isinstance(value, str) and value.startswith("-")
    return _OMITTED if is_word and any(in_arguments([value])) else value


def _cut(old: str, new: str) -> tuple[str, str]:
    """Return two texts shortened so that both show where they begin to differ."""
    pairs = enumerate(zip(old, new, strict=False))
    alike = next((position for position, (one, new_character) in pairs if one != new_character), 0)
    start = max(0, alike - _BEFORE) if max(len(old), len(new)) > _LONGEST else 0
    return _window(old, start), _window(new, start)


def _window(text: str, start: int) -> str:
    cut = text[start : start + _LONGEST]
    return f"{'…' if start and cut else ''}{cut}{'…' if len(text) > start + _LONGEST else ''}"
