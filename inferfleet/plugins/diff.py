"""What differs between two plain values, field by field.

Entries of lists are compared by the keys by which Kubernetes merges them, flags of a command line by their
names, and entries of other lists by their place.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import eq
from typing import Any

from inferfleet.api.wording import below

# `x-kubernetes-list-map-keys` and `patchMergeKey` of lists in a pod, in the OpenAPI of Kubernetes 1.36.
_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ports": ("containerPort", "protocol"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
Same = Callable[[Any, Any], bool]
_COMMAND_LINES = ("args", "command")


_MAY_BE_SECRET = re.compile(r"\.env\[.*\]($|\.value)|\.(args|command)($|\[)|\.env$")
# The paths of all templates are alike.
_below = lru_cache(maxsize=4096)(below)


@dataclass(frozen=True)
class FieldChange:
    """One field: `spec.containers[engine].env[HF_HOME].value`. A side without the field is None.

    `identity` is the same for edits of the same field. It is the path, except for entries of lists without
    keys: their place depends on what others add.
    """

    path: str
    before: Any
    after: Any
    identity: str = field(default="", compare=False, repr=False)


def changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """Return the differences, none for equal values.

    Where more differs, a 1 that became True or 1.0 may be left out, because Python calls them equal.
    """
    differing: list[FieldChange] = []
    _walk(before, after, "", "", eq, differing)
    if not differing:
        _walk(before, after, "", "", _same, differing)
    return tuple(differing)


def leaves(change: FieldChange) -> list[tuple[str, Any, Any]]:
    """Return each field below a change that holds no others: its identity, and the value on both sides."""
    identity = change.identity or change.path
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    name = _field(change.path)
    _collect(change.before, identity, name, before)
    _collect(change.after, identity, name, after)
    return [(path, before.get(path), after.get(path)) for path in before | after]


def in_words(path: str, value: Any) -> str:
    """Return the value of a field for a message, shortened; of variables and arguments, which may be secret,
    only that there is one.
    """
    if value is None:
        return "nothing"
    return "a value that is not shown" if _MAY_BE_SECRET.search(path) else f"{value!r:.60}"


def place(value: Any, steps: Iterable[str | int]) -> str:
    """Return the path of a part of the value as changes have it: entries of lists by their keys."""
    path = name = ""
    for step in steps:
        if isinstance(step, int):
            path = f"{path}[{_key(value, name, step)}]"
            name = ""
        else:
            path, name = below(path, step), step
        value = value[step] if isinstance(step, int) else value.get(step)
    return path


def _key(entries: list[Any], name: str, number: int) -> str | int:
    keyed = _keyed(entries, name)
    if keyed is None:
        return number
    if name in _COMMAND_LINES:
        # The flag that holds the word is the last one of those that begin before it.
        return list(_flags(entries[: number + 1]) or {})[-1]
    return list(keyed)[number]


def _collect(value: Any, path: str, name: str, into: dict[str, Any]) -> None:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _collect(inner, _below(path, key), key, into)
    elif isinstance(value, list) and value:
        keyed = _keyed(value, name)
        if keyed is None:
            for entry in value:
                _collect(entry, f"{path}[{_text(entry)}]", "", into)
        else:
            for key, inner in keyed.items():
                _collect(inner, f"{path}[{key}]", "", into)
    elif value is not None:
        into[path] = value


def _same(before: Any, after: Any) -> bool:
    """Whether two values are equal in types too."""
    differing: list[FieldChange] = []
    _walk(before, after, "", "", _same, differing)
    return not differing


def _walk(before: Any, after: Any, path: str, name: str, same: Same, into: list[FieldChange]) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, old in before.items():
            if key not in after:
                into.append(FieldChange(_below(path, key), old, None))
            elif not same(old, new := after[key]):
                _walk(old, new, _below(path, key), key, same, into)
        for key, new in after.items():
            if key not in before:
                into.append(FieldChange(_below(path, key), None, new))
    elif isinstance(before, list) and isinstance(after, list):
        _lists(before, after, path, name, same, into)
    elif type(before) is not type(after) or before != after:
        into.append(FieldChange(path, before, after))


def _lists(
    before: list[Any], after: list[Any], path: str, name: str, same: Same, into: list[FieldChange]
) -> None:
    old, new = _keyed(before, name), _keyed(after, name)
    if old is None or new is None:
        _by_place(before, after, path, same, into)
        return
    count = len(into)
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in new or key not in old:
            into.append(FieldChange(f"{path}[{key}]", old.get(key), new.get(key)))
        elif not same(old[key], new[key]):
            _walk(old[key], new[key], f"{path}[{key}]", "", same, into)
    # Entries in another order: no entry differs, but the order matters for `$(VAR)` in env.
    if len(into) == count and list(old) != list(new):
        into.append(FieldChange(path, before, after))


def _by_place(before: list[Any], after: list[Any], path: str, same: Same, into: list[FieldChange]) -> None:
    if (added := _additions(before, after, same)) is not None:
        for place in added:
            identity = f"{path}[{_text(after[place])}]"
            into.append(FieldChange(f"{path}[{place}]", None, after[place], identity))
    elif (removed := _additions(after, before, same)) is not None:
        for place in removed:
            identity = f"{path}[{_text(before[place])}]"
            into.append(FieldChange(f"{path}[{place}]", before[place], None, identity))
    else:
        for place in range(max(len(before), len(after))):
            old, new = (entries[place] if place < len(entries) else None for entries in (before, after))
            if place >= len(before) or place >= len(after):
                into.append(FieldChange(f"{path}[{place}]", old, new))
            elif not same(old, new):
                _walk(old, new, f"{path}[{place}]", "", same, into)


def _additions(few: list[Any], many: list[Any], same: Same) -> list[int] | None:
    """The places of what `many` has besides the entries of `few` in their order; None if it lacks one."""
    added, matched = [], 0
    for place, entry in enumerate(many):
        if matched < len(few) and same(few[matched], entry):
            matched += 1
        else:
            added.append(place)
    return added if matched == len(few) else None


def _keyed(entries: list[Any], name: str) -> dict[str, Any] | None:
    """The entries of the list in the field `name` by their keys, None where they have none."""
    if name in _COMMAND_LINES:
        return _flags(entries)
    keys = _MERGE_KEYS.get(name, ("name",))
    by_key = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        values = [entry.get(key, "TCP" if key == "protocol" else None) for key in keys]
        if not all(isinstance(value, str | int) for value in values):
            return None
        by_key["/".join(map(str, values))] = entry
    return by_key if len(by_key) == len(entries) else None


def _flags(words: list[Any]) -> dict[str, Any] | None:
    """The words of a command line by flag, each with the words that follow it; others by their place."""
    by_flag: dict[str, Any] = {}
    flag = ""
    for place, word in enumerate(words):
        if not isinstance(word, str):
            return None
        if word.startswith("-"):
            flag = word.partition("=")[0]
            if flag in by_flag:
                return None
            by_flag[flag] = word
        elif flag:
            by_flag[flag] += f" {word}"
        else:
            by_flag[str(place)] = word
    return by_flag


def _field(path: str) -> str:
    return "" if path.endswith("]") else path.rpartition(".")[2]


def _text(entry: Any) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True)
