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

Source: RFC 6902 (JSON Patch) and RFC 6901 (JSON Pointer). The packages jsonpatch and jsonpointer carry the
operations out, one after another: so all that fail are told, and by number.
"""

import copy
from typing import Annotated, Any, Literal

from jsonpatch import JsonPatchException, JsonPatchTestFailed, apply_patch
from jsonpointer import JsonPointer, JsonPointerException, resolve_pointer
from pydantic import Field, model_validator

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Mistake,
    Mistaken,
    Plugin,
    PodTemplate,
    Request,
    TextRule,
    mistaken,
)

Pointer = Annotated[
    str,
    TextRule(
        r"/(metadata|spec)(/([^~]|~[01])*)?",
        "a JSON Pointer below /metadata or /spec, such as /spec/volumes/-",
        limit=1024,
    ),
]
_ABSENT = object()
_DIFFERS = "Change the value, or what makes the template otherwise"
_NO_PLACE = "Name one that is there, entries of lists by an index or a key, such as name=engine"
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
    def _check_fields(self) -> "Operation":
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


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Apply a JSON Patch (RFC 6902) to the pod template; write it at the end of a chain."""
    remarks: list[str] = []
    failed: list[Mistake] = []
    for index, operation in enumerate(config.operations):
        name = f"operation {index} ({operation.op} {operation.path})"
        try:
            remark = _apply(template, operation)
        except JsonPatchTestFailed:
            # Without the value that is there: it may be one that nobody should read.
            failed.append(Mistake(f"{name}: the template has another value there", _DIFFERS))
        except (JsonPatchException, JsonPointerException):
            source = f", or no {operation.source}" if operation.source else ""
            failed.append(Mistake(f"{name}: the template has no such place{source}", _NO_PLACE))
        else:
            remarks += [f"{name}: {remark}"] if remark else []
    if failed:
        raise Mistaken(*failed)
    return Edited(template, remarks=tuple(remarks))


def _apply(template: PodTemplate, operation: Operation) -> str:
    """Carry out one operation, and return what is worth a remark."""
    path, source = operation.path, operation.source or ""
    if operation.op == "add":
        _add(template, path, operation.value)
    elif operation.op in ("test", "replace"):
        _run(template, operation.op, path, value=copy.deepcopy(operation.value))
    elif operation.op == "remove":
        if not _is_there(template, path):
            return "nothing is there, so nothing was removed"
        _run(template, "remove", path)
    elif operation.op == "move" and not _is_there(template, source) and _is_there(template, path):
        return f"nothing is at {source} any more, so nothing was moved"
    elif not _is_there(template, source):
        raise JsonPointerException(source)
    else:
        _add(template, path, resolve_pointer(template, _by_index(template, source)))
        if operation.op == "move":
            _run(template, "remove", source)
    return ""


def _run(template: PodTemplate, op: str, path: str, **value: Any) -> None:
    apply_patch(template, [{"op": op, "path": _by_index(template, path), **value}], in_place=True)


def _add(template: PodTemplate, path: str, value: Any) -> None:
    parent, _, last = path.rpartition("/")
    if not _is_there(template, parent):
        _run(template, "add", parent, value=[] if last == "-" else {})
    holder = resolve_pointer(template, _by_index(template, parent))
    replaces = isinstance(holder, list) and "=" in last and _is_there(template, path)
    if replaces or not isinstance(holder, list) or value not in holder:
        _run(template, "replace" if replaces else "add", path, value=copy.deepcopy(value))


def _is_there(template: PodTemplate, path: str) -> bool:
    pointer = _by_index(template, path)
    return not pointer.endswith("/-") and resolve_pointer(template, pointer, _ABSENT) is not _ABSENT


def _by_index(template: PodTemplate, path: str) -> str:
    """Return the pointer with entries of lists by their numbers, `-` for a key that no entry has."""
    here: Any = template
    steps: list[str] = []
    for step in JsonPointer(path).parts:
        name, equals, value = step.partition("=")
        if isinstance(here, list) and equals:
            places = (
                str(index)
                for index, entry in enumerate(here)
                if isinstance(entry, dict) and str(entry.get(name)) == value
            )
            step = next(places, "-")
        steps.append(step)
        here = resolve_pointer(here, JsonPointer.from_parts([step]).path, None)
    return JsonPointer.from_parts(steps).path


PLUGIN = Plugin("json-patch", Config, edit, version="1.0.0")
