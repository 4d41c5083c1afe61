"""What differs between two plain values, field by field.

Entries of lists are compared by the keys by which Kubernetes merges them, tolerations and expressions by what
they are about, flags of a command line by their names. Entries of other lists have their content for a name:
whoever changes such an entry gives it another one.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise, zip_longest
from operator import eq
from typing import Any

from inferfleet.documents.pods.types import fields_of
from inferfleet.documents.wording import below

# Types whose lists have keys. Kubernetes has none for tolerations and expressions: these are ours.
_KINDS = ("PodSpec", "Container")
_OWN_KEYS: dict[str, tuple[str, ...]] = {
    "matchExpressions": ("key", "operator"),
    "matchFields": ("key", "operator"),
    "tolerations": ("key", "operator", "effect"),
}
# What a field counts as where it is absent.
_ABSENT = {"effect": "", "key": "", "operator": "Equal", "protocol": "TCP"}
Same = Callable[[Any, Any], bool]
_COMMAND_LINES = ("args", "command")


_MAY_BE_SECRET = re.compile(r"\.env\[.*\]($|\.value)|\.(args|command)($|\[)|\.env$")


@lru_cache(maxsize=4096)  # the paths of all templates are alike
def _below(path: str, key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{path or 'it'} has the key {key!r:.60}, and keys are text")
    return below(path, key)


@dataclass(frozen=True)
class FieldChange:
    """One field that differs. A side without the field is None."""

    path: str
    """The field, such as `spec.containers[engine].env[HF_HOME].value`."""
    before: Any
    after: Any
    identity: str = field(default="", compare=False, repr=False)
    """The same for edits of the same field: the path, except for entries of lists without keys, whose place
    depends on what others add; "" where it is the path.
    """


@dataclass(frozen=True)
class Comparison:
    """The differences between two values."""

    changes: tuple[FieldChange, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Entries whose identity is another one now: old, new."""


def compared(before: Any, after: Any) -> Comparison:
    """Return the differences, none for equal values.

    Where more differs, a 1 that became True or 1.0 may be left out, because Python calls them equal.
    Raises TypeError for a key that is no text.
    """
    walk = _Walk(eq)
    walk.of(before, after, "", "", "")
    if not walk.differing:
        walk = _Walk(_same)
        walk.of(before, after, "", "", "")
    return Comparison(tuple(walk.differing), tuple(walk.renamed))


def changes(before: Any, after: Any) -> tuple[FieldChange, ...]:
    """Return the differences of `compared`."""
    return compared(before, after).changes


def leaves(change: FieldChange) -> list[tuple[str, Any, Any]]:
    """Return each differing field below a change that holds no others: identity, and value on both sides."""
    identity = change.identity or change.path
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    name = _field(change.path)
    _collect(change.before, identity, name, before)
    _collect(change.after, identity, name, after)
    pairs = ((path, before.get(path), after.get(path)) for path in before | after)
    return [leaf for leaf in pairs if leaf[1] != leaf[2]]


def in_words(path: str, value: Any) -> str:
    """Return the value of a field for a message, shortened; of variables and arguments, which may be secret,
    only that there is one.
    """
    if value is None:
        return "nothing"
    return "a value that is not shown" if _MAY_BE_SECRET.search(path) else f"{value!r:.60}"


def field_path(value: Any, steps: Iterable[str | int]) -> str:
    """Return the path of a part of the value as changes have it: entries of lists by their keys.

    Where the value has another form, entries are numbers: it may be one that is refused for that.
    """
    path = name = ""
    for step in steps:
        if isinstance(step, int):
            path = f"{path}[{_key(value, name, step) if isinstance(value, list) else step}]"
            name, value = "", value[step] if isinstance(value, list) else None
        else:
            path, name = below(path, step), step
            value = value.get(step) if isinstance(value, dict) else None
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
    walk = _Walk(_same)
    walk.of(before, after, "", "", "")
    return not walk.differing


class _Walk:
    """One walk over two values. `path` is where a part is now, `identity` as what it is known."""

    def __init__(self, same: Same) -> None:
        self.same = same
        self.differing: list[FieldChange] = []
        self.renamed: list[tuple[str, str]] = []

    def of(self, before: Any, after: Any, path: str, identity: str, name: str) -> None:
        if isinstance(before, dict) and isinstance(after, dict):
            self._maps(before, after, path, identity)
        elif isinstance(before, list) and isinstance(after, list):
            self._lists(before, after, path, identity, name)
        elif type(before) is not type(after) or before != after:
            self._differs(path, identity, before, after)

    def _differs(self, path: str, identity: str, before: Any, after: Any) -> None:
        self.differing.append(FieldChange(path, before, after, "" if identity == path else identity))

    def _maps(self, before: dict[str, Any], after: dict[str, Any], path: str, identity: str) -> None:
        is_path = identity == path
        for key in [*before, *(key for key in after if key not in before)]:
            if key in before and key in after and self.same(before[key], after[key]):
                continue
            inner_path = _below(path, key)
            inner_identity = inner_path if is_path else _below(identity, key)
            if key in before and key in after:
                self.of(before[key], after[key], inner_path, inner_identity, key)
            else:
                self._differs(inner_path, inner_identity, before.get(key), after.get(key))

    def _lists(self, before: list[Any], after: list[Any], path: str, identity: str, name: str) -> None:
        old, new = _keyed(before, name), _keyed(after, name)
        count = len(self.differing)
        if old is None or new is None:
            moved = self._by_content(before, after, path, identity, name)
        else:
            moved = list(old) != list(new)
            for key in [*old, *(key for key in new if key not in old)]:
                entry_path, entry_identity = f"{path}[{key}]", f"{identity}[{key}]"
                if key not in new or key not in old:
                    self._differs(entry_path, entry_identity, old.get(key), new.get(key))
                elif not self.same(old[key], new[key]):
                    self.of(old[key], new[key], entry_path, entry_identity, "")
        # Entries in another order: no entry differs, but the order matters for `$(VAR)` in env.
        if moved and len(self.differing) == count:
            self._differs(path, identity, before, after)

    def _by_content(self, before: list[Any], after: list[Any], path: str, identity: str, name: str) -> bool:
        """Compare entries without keys, and return whether some are in another order."""
        old, new = ([f"{identity}[{key}]" for key in _names(entries, name)] for entries in (before, after))
        pairs = _pairs(before, after, self.same)
        for was, now in pairs:
            if was is None:
                self._differs(f"{path}[{now}]", new[now], None, after[now])
            elif now is None:
                self._differs(f"{path}[{was}]", old[was], before[was], None)
            else:
                if not self.same(before[was], after[now]):
                    self.of(before[was], after[now], f"{path}[{now}]", old[was], "")
                if old[was] != new[now]:
                    self.renamed.append((old[was], new[now]))
        kept = sorted((was, now) for was, now in pairs if was is not None and now is not None)
        return any(first[1] > second[1] for first, second in pairwise(kept))


def _pairs(before: list[Any], after: list[Any], same: Same) -> list[tuple[int | None, Any]]:
    """Return which entry became which, None for one that was added or removed. Equal ones come first."""
    unpaired = list(range(len(after)))
    pairs: list[tuple[int | None, Any]] = []
    removed: list[int] = []
    for index, entry in enumerate(before):
        equal = next((number for number in unpaired if same(entry, after[number])), None)
        if equal is None:
            removed.append(index)
        else:
            unpaired.remove(equal)
            pairs.append((index, equal))
    # An entry that is not there any more became the one that is new, in order.
    pairs += zip_longest(removed, unpaired)
    return pairs


@cache
def _keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of the entries of lists in a pod by the name of the list."""
    keys = {name: field.keys for kind in _KINDS for name, field in fields_of(kind).items() if field.keys}
    return keys | _OWN_KEYS


def _keyed(entries: list[Any], name: str) -> dict[str, Any] | None:
    """The entries of the list in the field `name` by their keys, None where they have none."""
    if name in _COMMAND_LINES:
        return _flags(entries)
    keys = _keys().get(name, ("name",))
    by_key = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        values = [entry.get(key, _ABSENT.get(key)) for key in keys]
        if not all(isinstance(value, str | int) for value in values):
            return None
        by_key["/".join(str(value) for value in values if value != "")] = entry
    return by_key if len(by_key) == len(entries) else None


def _names(entries: list[Any], name: str) -> list[str]:
    """The names of all entries: their keys, the flags that words belong to, or else what they are."""
    keyed = _keyed(entries, name)
    if keyed is None:
        return [_text(entry) for entry in entries]
    if name not in _COMMAND_LINES:
        return list(keyed)
    return [str(_key(entries, name, number)) for number in range(len(entries))]


def _flags(words: list[Any]) -> dict[str, Any] | None:
    """The words of a command line by flag, each with the words that follow it; others by their place."""
    by_flag: dict[str, Any] = {}
    flag = ""
    for index, word in enumerate(words):
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
            by_flag[str(index)] = word
    return by_flag


def _field(path: str) -> str:
    return "" if path.endswith("]") else path.rpartition(".")[2]


def _text(entry: Any) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True)
