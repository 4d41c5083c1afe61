"""Plugin json-patch: a JSON Patch (RFC 6902) on a pod template, for what no other plugin does.

Its operations see what the chain has made so far, so it belongs at the end: what a later link changes again
is a conflict. Every link must find nothing to do on its own output, and RFC 6902 alone does not give that. So
here an operation describes what should be, and these rules are added to the RFC's:

* `add` to a list (`/-`, or before an index) does nothing where the list has an equal entry already. It makes
  the map or list that it adds to, because templates leave out what is empty.
* `remove` and `move` name an entry of a list by a key, `/spec/containers/name=logs`, and not by its index,
  behind which another entry would be the next time. All operations may name entries so.
* `remove` of what is not there does nothing, and `explain` says so. `move` does nothing where it was done.
* `test` looks at the template that the link gets, and must hold for what it gives too.

A patch that still changes its own output is refused, as of any plugin.

Source: RFC 6902 (JSON Patch) and RFC 6901 (JSON Pointer), with the differences above. The code is our own,
because libraries stop at the first failing operation, do not number it, and know no such rules.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    Written,
    mistaken,
)

Pointer = Annotated[
    str,
    Written(
        r"/(metadata|spec)(/([^~]|~[01])*)?",
        "a JSON Pointer below /metadata or /spec, such as /spec/volumes/-",
        limit=1024,
    ),
]
_FIELDS = {
    "add": ("value",),
    "replace": ("value",),
    "test": ("value",),
    "remove": (),
    "move": ("from",),
    "copy": ("from",),
}


class Operation(api.Config):
    """One operation of the patch, as in RFC 6902."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    """What is done."""
    path: Pointer
    """Where, as a JSON Pointer: `/spec/containers/name=engine/env/-`; `~1` stands for `/`, `~0` for `~`."""
    value: Any = None
    """The value, of `add`, `replace` and `test`."""
    source: Pointer | None = Field(default=None, alias="from")
    """Where `move` and `copy` take the value from."""

    @model_validator(mode="after")
    def _fields_of_the_operation(self) -> "Operation":
        given = {"value": "value" in self.model_fields_set, "from": self.source is not None}
        for name, is_given in given.items():
            if is_given != (name in _FIELDS[self.op]):
                takes = "takes no" if is_given else "needs a"
                raise mistaken(f"{self.op} {takes} {name}", f"{'Remove' if is_given else 'Add'} {name}")
        if self.op in ("add", "replace") and self.value is None:
            raise mistaken(f"{self.op} has the value null, which Kubernetes takes for absent", "Use remove")
        if self.op == "move" and self.path.startswith(f"{self.source}/"):
            raise mistaken(f"{self.source} cannot move into itself", "Name a path that is not below it")
        moved = self.path if self.op == "remove" else self.source if self.op == "move" else ""
        last = (moved or "").rpartition("/")[2]
        if last == "-" or last.isdecimal():
            raise mistaken(
                f"{self.op} takes {last!r} out of a list, behind which another entry is the next time",
                "Name the entry by a key, such as /spec/containers/name=logs",
            )
        return self


class Config(api.Config):
    """The patch."""

    operations: Annotated[tuple[Operation, ...], Field(min_length=1)]
    """Operations, in their order. All that fail are told at once."""


class Impossible(Exception):  # noqa: N818 (it says what the operation is)
    """Raised for an operation that a template does not allow; the text says why."""


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Apply a JSON Patch (RFC 6902) to the pod template; write it at the end of a chain."""
    remarks: list[str] = []
    failed: list[str] = []
    for index, operation in enumerate(config.operations):
        name = f"operation {index} ({operation.op} {operation.path})"
        try:
            remarks += (f"{name}: {remark}" for remark in _apply(template, operation))
        except Impossible as error:
            failed.append(f"{name}: {error}")
    if failed:
        raise PluginError("; ".join(failed))
    return Edited(template, remarks=tuple(remarks))


def _apply(template: PodTemplate, operation: Operation) -> Iterator[str]:
    """Carry out one operation, and yield what is worth a remark."""
    if operation.op == "test":
        # Without the value that is there: it may be one that nobody should read.
        if _get(template, operation.path) != operation.value:
            raise Impossible("the template has another value there")
    elif operation.op == "add":
        _add(template, operation.path, operation.value)
    elif operation.op == "replace":
        _get(template, operation.path)
        _place(template, operation.path).set(copy.deepcopy(operation.value))
    elif operation.op == "remove":
        if not _remove(template, operation.path):
            yield "nothing is there, so nothing was removed"
    else:
        yield from _carry(template, operation)


def _carry(template: PodTemplate, operation: Operation) -> Iterator[str]:
    source = operation.source or ""
    try:
        value = _get(template, source)
    except Impossible:
        if operation.op == "copy" or not _is_there(template, operation.path):
            raise Impossible(f"nothing is at {source}") from None
        yield f"nothing is at {source} any more, so nothing was moved"
        return
    _add(template, operation.path, value)
    if operation.op == "move":
        _remove(template, source)


@dataclass(frozen=True)
class _Place:
    """The last step of a pointer in the map or list that it leads to; `key` may be one that is not there."""

    holder: Any
    key: str | int

    def set(self, value: Any) -> None:
        self.holder[self.key] = value


def _place(template: PodTemplate, path: str) -> _Place:
    """The place of a pointer. Raises Impossible where a part before the last one is not there."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    here: Any = template
    for depth, step in enumerate(steps):
        place = _Place(here, _key(here, step, "/".join(["", *steps[:depth]])))
        if depth < len(steps) - 1:
            if not _holds(place):
                raise Impossible(f"{'/'.join(['', *steps[: depth + 1]])} is not there")
            here = here[place.key]
    return place


def _key(here: Any, step: str, where: str) -> str | int:
    """The key of a step in a map, or the index in a list: one past the end for `-` and an unknown entry."""
    if isinstance(here, dict):
        return step
    if not isinstance(here, list):
        raise Impossible(f"{where} is neither a map nor a list")
    if step == "-":
        return len(here)
    if re.fullmatch("0|[1-9][0-9]*", step):
        return int(step)
    name, equals, value = step.partition("=")
    if not equals:
        raise Impossible(f"{where} is a list, in which {step!r} is no entry; write an index, or name={step}")
    entries = (i for i, entry in enumerate(here) if isinstance(entry, dict) and str(entry.get(name)) == value)
    return next(entries, len(here))


def _holds(place: _Place) -> bool:
    if isinstance(place.holder, dict):
        return place.key in place.holder
    return isinstance(place.key, int) and place.key < len(place.holder)


def _is_there(template: PodTemplate, path: str) -> bool:
    try:
        return _holds(_place(template, path))
    except Impossible:
        return False


def _get(template: PodTemplate, path: str) -> Any:
    place = _place(template, path)
    if not _holds(place):
        raise Impossible(f"nothing is at {path}")
    return place.holder[place.key]


def _add(template: PodTemplate, path: str, value: Any) -> None:
    parent, _, last = path.rpartition("/")
    outer = _place(template, parent) if parent else None
    if outer and isinstance(outer.holder, dict) and not _holds(outer):
        outer.set([] if last == "-" else {})
    place = _place(template, path)
    if isinstance(place.holder, dict) or ("=" in last and _holds(place)):
        place.set(copy.deepcopy(value))
    elif value not in place.holder:
        if not isinstance(place.key, int) or place.key > len(place.holder):
            raise Impossible(f"the list has {len(place.holder)} entries")
        place.holder.insert(place.key, copy.deepcopy(value))


def _remove(template: PodTemplate, path: str) -> bool:
    """Remove what is at a path. Returns whether anything was."""
    if not _is_there(template, path):
        return False
    place = _place(template, path)
    del place.holder[place.key]
    return True


PLUGIN = Plugin("json-patch", Config, edit, version="1.0.0")
