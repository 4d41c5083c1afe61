"""The types of Kubernetes' API as the pinned API server serves them, and what is wrong with a value by them:
fields, types, enums, required fields, quantities, names.

`types.json` has the types; `make schema` writes it.
"""

import base64
import json
import marshal
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inferfleet.documents.pods.texts import DNS_LABEL, MAPS, SUBDOMAIN, TEXTS
from inferfleet.documents.problems import FieldPath, Mistake, Mistaken
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import named, nearest, one_of, shown


@dataclass(frozen=True)
class FieldType:
    """What a field of a type may hold."""

    type: str
    """Its type, written as in `kubectl explain` (`[]EnvVar`, `map[string]Quantity`)."""
    keys: tuple[str, ...] = ()
    """Fields by which the entries of a list must differ, with server-side apply at the latest."""
    once: bool = False
    """Whether no entry of a list may be there twice."""
    required: bool = False
    choices: tuple[str, ...] = ()
    """All values that it or its entries may have, () for any."""


@cache
def kubernetes_version() -> str:
    """Return the minor version of Kubernetes that the table is of, such as 1.36."""
    version: str = _table()["kubernetes"]
    return ".".join(version.split(".")[:2])


def is_type(name: str) -> bool:
    """Return whether the table has a type of this name, with fields of its own."""
    return name in _table()["types"]


@cache
def fields_of(name: str) -> Mapping[str, FieldType]:
    """Return the fields of a type. Raises KeyError for a type that the table lacks."""
    return {field: _field_type(text) for field, text in _table()["types"][name].items()}


def api_version(kind: str) -> str | None:
    """Return the apiVersion of a kind of object, None for one that the table lacks."""
    version: str | None = _table()["kinds"].get(kind)
    return version


def is_of_clusters(group: str, kind: str) -> bool:
    """Return whether objects of a kind of Kubernetes or Gateway API belong to no namespace."""
    return f"{group}/{kind}" in _table()["cluster"]


@cache
def _table() -> dict[str, Any]:
    text = Path(__file__).with_name("types.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _field_type(text: str) -> FieldType:
    """Return the field that an entry describes: `[]ContainerPort by containerPort,protocol`."""
    words, _, choices = text.partition(" of ")
    kind, *rest = words.split()
    return FieldType(
        kind,
        keys=tuple(rest[rest.index("by") + 1].split(",")) if "by" in rest else (),
        once="once" in rest,
        required="required" in rest,
        choices=tuple("" if choice == '""' else choice for choice in choices.split()),
    )


_WORDS = {
    "IntOrString": "an integer or a string",
    "Quantity": "a quantity such as 80Gi, 500m or 4",
    "Time": "a time such as 2026-01-31T12:00:00Z",
    "boolean": "true or false",
    "bytes": "a string in base64",
    "int32": "an integer",
    "int64": "an integer",
    "string": "a string",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_BITS = {"int32": 31, "int64": 63, "IntOrString": 31}
_BYTES = ("memory", "ephemeral-storage")


class _Wrong:
    """Stands for a value of a wrong type."""


_WRONG = _Wrong()
# Keys of maps in which nothing was wrong: pods of a fleet have most maps in common.
_CORRECT_MAPS: set[tuple[str, bytes]] = set()
_CACHE_SIZE = 20_000


class Walk:
    """One walk over a value by its type, with the mistakes it met.

    What has another type than it must have is left out of what is returned, so that whoever asks further
    doubts no type and one mistake is not told twice.
    """

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def of(self, value: Any, kind: str, path: FieldPath = ()) -> Any:
        """Return the value without what has a wrong type. Fields that are null are absent."""
        if kind.startswith("[]"):
            return self._list(value, kind.removeprefix("[]"), path)
        if kind.startswith("map[string]"):
            return self._map(value, kind.removeprefix("map[string]"), path)
        if kind in _WORDS:
            return self._scalar(value, kind, path)
        if not isinstance(value, dict):
            return self._wrong(path, f"{{field}} must be a map, not {named(value)}", "Write a map")
        return self._struct(value, kind, path) if kind != "Object" else value

    def _wrong(self, path: FieldPath, what: str, next_step: str) -> Any:
        self.mistakes.append(Mistake(what, next_step, path))
        return _WRONG

    def _list(self, value: Any, kind: str, path: FieldPath) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, f"{{field}} must be a list, not {named(value)}", "Write a list")
        entries = [self.of(entry, kind, (*path, index)) for index, entry in enumerate(value)]
        if kind in _WORDS and _WRONG in entries:
            return _WRONG
        return [{} if entry is _WRONG else entry for entry in entries]

    def _map(self, value: Any, kind: str, path: FieldPath) -> Any:
        if not isinstance(value, dict):
            return self._wrong(path, f"{{field}} must be a map, not {named(value)}", "Write a map")
        entries = {key: self.of(entry, kind, (*path, key)) for key, entry in value.items()}
        for key, entry in entries.items():
            # The API server takes it and counts a byte, of which Pulumi shows no warning.
            if kind == "Quantity" and key in _BYTES and str(entry).endswith("m"):
                what = f"{{field}} {named(entry)} is thousandths of a byte"
                self.mistakes.append(Mistake(what, f"Write {str(entry)[:-1]}Mi", (*path, key)))
        return {key: entry for key, entry in entries.items() if entry is not _WRONG}

    def _scalar(self, value: Any, kind: str, path: FieldPath) -> Any:
        if not _is_scalar(value, kind):
            words = _WORDS[kind]
            quoted = kind == "string" and isinstance(value, bool | int | float)
            bare = kind.startswith("int") and isinstance(value, str) and value.lstrip("-").isdecimal()
            next_step = "Quote it" if quoted else "Write it without quotes" if bare else f"Write {words}"
            return self._wrong(path, f"{{field}} must be {words}, not {named(value)}", next_step)
        bits = _BITS.get(kind)
        if bits and isinstance(value, int) and not -(2**bits) <= value < 2**bits:
            return self._wrong(path, f"{{field}} {named(value)} is too large", f"Write at most {2**bits - 1}")
        if kind == "Quantity":
            return self._quantity(value, path)
        return value

    def _quantity(self, value: Any, path: FieldPath) -> Any:
        try:
            amount = parse_quantity(str(value))
        except Mistaken as error:
            what = f"{{field}} {named(value)} is not a Kubernetes quantity"
            return self._wrong(path, what, error.mistakes[0].next_step)
        if not 0 <= amount < 2**63:
            what = f"{{field}} {named(value)} must be a quantity from 0 to 2^63 - 1"
            return self._wrong(path, what, "Change it")
        return value

    def _struct(self, fields: dict[str, Any], kind: str, path: FieldPath) -> dict[str, Any]:
        """Return the fields of a value of a type, without those that are unknown, null or of a wrong type.

        Adds their mistakes, and one for each required field that is missing, unless an unknown field looks
        like a typo of it. Maps in which nothing was wrong are remembered, and returned unchecked the next
        time.
        """
        cache_key = _cache_key(fields, kind)
        if cache_key in _CORRECT_MAPS:
            return fields
        types, mistakes_before = fields_of(kind), len(self.mistakes)
        kept: dict[str, Any] = {}
        for key, value in fields.items():
            if key not in types:
                what = f"Kubernetes {kubernetes_version()} has no field {shown(key)!r} here"
                self.mistakes.append(Mistake(what, _instead(key, kind), (*path, key)))
            elif value is not None:
                checked = self.of(value, types[key].type, (*path, key))
                if checked is not _WRONG:
                    kept[key] = checked
                    self.mistakes += _value_mistakes(checked, kind, key, types[key], (*path, key))
        likely_typos = {nearest(key, types) for key in fields if key not in types}
        for key, field in types.items():
            if field.required and fields.get(key) is None and key not in likely_typos:
                self.mistakes.append(Mistake(f"field {key} is missing", f"Add {key}", (*path, key)))
        if cache_key and len(self.mistakes) == mistakes_before and kept == fields:
            if len(_CORRECT_MAPS) >= _CACHE_SIZE:
                _CORRECT_MAPS.clear()
            _CORRECT_MAPS.add(cache_key)
        return kept


def _cache_key(fields: dict[str, Any], kind: str) -> tuple[str, bytes] | None:
    """Return the key under which a correct map is remembered, with its type; None for a map that is not
    JSON.

    The bytes tell apart values that are equal in Python and differ in JSON, such as 1 and True.
    """
    try:
        return kind, marshal.dumps(fields, 2)
    except ValueError:
        return None


def _is_scalar(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "Quantity":
        return isinstance(value, str | int | float)
    if kind == "IntOrString":
        return isinstance(value, str | int)
    if kind == "bytes":
        return isinstance(value, str) and _is_base64(value)
    if kind == "Time":
        return isinstance(value, str) and _TIME.fullmatch(value) is not None
    return isinstance(value, int if kind.startswith("int") else str) and kind != "boolean"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except ValueError:
        return False
    return True


def _instead(key: str, kind: str) -> str:
    """Return the next step for a field that the type does not have: the near one, or where it belongs."""
    types = fields_of(kind)
    if (close := nearest(key, types)) is not None:
        return f"Did you mean {close}?"
    inside = [name for name, inner in types.items() if is_type(inner.type) and key in fields_of(inner.type)]
    if inside:
        return f"Did you mean {'httpGet' if 'httpGet' in inside else inside[0]}.{key}?"
    for outer, words in (("PodSpec", "the spec of the pod"), ("Container", "a container")):
        if outer != kind and key in fields_of(outer):
            return f"It is a field of {words}: move it there"
    return one_of(key, types, "Fields")


def _value_mistakes(value: Any, kind: str, key: str, field: FieldType, path: FieldPath) -> Iterator[Mistake]:
    """Yield what is wrong with the value of a field whose type is right."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _text_mistakes(entry, kind, key, field, path=(*path, index))
        yield from _repeated_entry_mistakes(value, field, path)
    elif isinstance(value, dict) and (kind, key) in MAPS:
        keys, texts = MAPS[kind, key]
        for name, text in value.items():
            if not keys.allows(name):
                what = f"the key {shown(name)!r} must be {keys.words}"
                yield Mistake(what, "Change it", (*path, name))
            if texts and not texts.allows(text):
                yield Mistake(f"{{field}} {named(text)} must be {texts.words}", "Change it", (*path, name))
    else:
        yield from _text_mistakes(value, kind, key, field, path=path)


def _text_mistakes(
    value: Any, kind: str, key: str, field: FieldType, *, path: FieldPath
) -> Iterator[Mistake]:
    if not isinstance(value, str) or not (value or field.required):
        return
    if field.choices and value not in field.choices:
        what = f"{{field}} {named(value)} is not one of {', '.join(filter(None, field.choices))}"
        yield Mistake(what, one_of(value, field.choices, "Choose one"), path)
    text = TEXTS.get((kind, key))
    if text and not text.allows(value):
        yield Mistake(f"{{field}} {named(value)} must be {text.words}", "Change it", path)


def _repeated_entry_mistakes(entries: list[Any], field: FieldType, path: FieldPath) -> Iterator[Mistake]:
    """Yield entries of a list that must differ in their keys, and do not.

    Server-side apply, by which Pulumi writes, refuses two variables of a name, which a plain create takes.
    """
    seen: set[tuple[Any, ...]] = set()
    for index, entry in enumerate(entries):
        if field.keys and isinstance(entry, dict) and any(entry.get(key) for key in field.keys):
            values = tuple(entry.get(key) or ("TCP" if key == "protocol" else "") for key in field.keys)
        elif field.once:
            values = (entry,)
        else:
            continue  # without its keys an entry is a mistake of its own
        if values in seen:
            words = " and ".join(
                f"the {key} {shown(str(value))!r}" for key, value in zip(field.keys, values, strict=False)
            )
            what = f"a second entry of {path[-1]} has {words or f'the value {values[0]!r}'}"
            yield Mistake(what, "Change or remove one of the two", (*path, index, *field.keys[:1]))
        seen.add(values)


def object_mistakes(manifest: dict[str, Any]) -> Iterator[Mistake]:
    """Yield every mistake of an object that a plugin adds beside a workload, without values of a Secret.

    Of a kind that the table lacks, such as a custom resource, only the metadata is checked.
    """
    kind, version = manifest["kind"], manifest["apiVersion"]
    known_version = api_version(kind)
    if known_version is not None and version != known_version and _is_built_in(version):
        yield Mistake(
            f"a {kind} has the apiVersion {known_version}", f"Write {known_version}", ("apiVersion",)
        )
        return
    walk = Walk()
    if known_version == version:
        kept = walk.of(manifest, kind)
        name, text = kept.get("metadata", {}).get("name", ""), DNS_LABEL if kind == "Service" else SUBDOMAIN
        if not text.allows(name):
            what = f"{{field}} {shown(name)!r} must be {text.words}"
            walk.mistakes.append(Mistake(what, "Shorten it", ("metadata", "name")))
    else:
        walk.of(manifest.get("metadata", {}), "ObjectMeta", ("metadata",))
    for mistake in walk.mistakes:
        yield _without_value(mistake) if kind == "Secret" else mistake


def _is_built_in(api_version: str) -> bool:
    group, slash, _ = api_version.rpartition("/")
    return not slash or "." not in group or group.endswith(".k8s.io")


def _without_value(mistake: Mistake) -> Mistake:
    if mistake.field_path[:1] not in (("data",), ("stringData",)):
        return mistake
    words = "text in base64" if mistake.field_path[0] == "data" else "text in quotes"
    return Mistake(f"{{field}} must be a {words}", "Correct it", mistake.field_path)
