"""Walks a value by the types of Kubernetes' API: fields, types, values of fields, rules of single types.

What has another type than it must have is left out of what the rules see, so that no rule doubts a type and
one mistake is not told twice.
"""

import base64
import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.pods import schema
from inferfleet.api.pods.limits import CHOICES, EMPTY_IS_ABSENT, MAY_BE_EMPTY, ONE_OF, RANGES, REQUIRED
from inferfleet.api.pods.texts import MAPS, TEXTS
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import named, nearest, one_of, shown

Steps = tuple[str | int, ...]
Rule = Callable[[dict[str, Any]], Iterable[Mistake]]

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
# Next steps for what newcomers often write in another form.
_HINTS = {
    ("Container", "args"): 'Write a list, such as [--max-model-len, "8192"]',
    ("Container", "command"): "Write a list, such as [vllm, serve]",
    ("Container", "env"): 'Write a list of entries such as {name: HF_HOME, value: "/models"}',
    ("Container", "ports"): "Write a list of entries such as {containerPort: 8000}",
    ("PodSpec", "containers"): "Write a list of containers, each with name and image",
    ("PodSpec", "initContainers"): "Write a list of containers, each with name and image",
    ("PodSpec", "volumes"): "Write a list of entries such as {name: cache, emptyDir: {}}",
}


class _Wrong:
    """Stands for a value of a wrong type, which the rules do not see."""


_WRONG = _Wrong()
# Parts in which nothing was wrong, with the rules they passed: pods of a fleet have most parts in common.
_SOUND: dict[tuple[str, bytes], Mapping[str, tuple[Rule, ...]]] = {}
_MOST = 20_000


@dataclass
class Walk:
    """One walk over a value: the rules of types it applies, and the mistakes it met."""

    rules: Mapping[str, tuple[Rule, ...]]
    mistakes: list[Mistake] = field(default_factory=list)

    def of(self, value: Any, kind: str, at: Steps) -> Any:
        """Return the value without what has a wrong type. Fields that are null are absent."""
        if kind.startswith("[]"):
            return self._list(value, kind.removeprefix("[]"), at)
        if kind.startswith("map[string]"):
            return self._map(value, kind.removeprefix("map[string]"), at)
        if kind in _WORDS:
            return self._scalar(value, kind, at)
        if not isinstance(value, dict):
            words = "a map with name and image" if kind == "Container" else "a map"
            return self._wrong(at, f"{{field}} must be {words}, not {named(value)}", f"Write {words}")
        return self._struct(value, kind, at) if kind != "Object" else value

    def _wrong(self, at: Steps, what: str, next_step: str) -> Any:
        self.mistakes.append(Mistake(what, next_step, at))
        return _WRONG

    def _list(self, value: Any, kind: str, at: Steps) -> Any:
        if not isinstance(value, list):
            return self._wrong(at, f"{{field}} must be a list, not {named(value)}", "Write a list")
        entries = [self.of(entry, kind, (*at, place)) for place, entry in enumerate(value)]
        if kind in _WORDS and _WRONG in entries:
            return _WRONG
        return [{} if entry is _WRONG else entry for entry in entries]

    def _map(self, value: Any, kind: str, at: Steps) -> Any:
        if not isinstance(value, dict):
            return self._wrong(at, f"{{field}} must be a map, not {named(value)}", "Write a map")
        entries = {key: self.of(entry, kind, (*at, key)) for key, entry in value.items()}
        return {key: entry for key, entry in entries.items() if entry is not _WRONG}

    def _scalar(self, value: Any, kind: str, at: Steps) -> Any:
        if not _is_scalar(value, kind):
            words = _WORDS[kind]
            quoted = kind == "string" and isinstance(value, bool | int | float)
            bare = kind.startswith("int") and isinstance(value, str) and value.lstrip("-").isdecimal()
            next_step = "Quote it" if quoted else "Write it without quotes" if bare else f"Write {words}"
            return self._wrong(at, f"{{field}} must be {words}, not {named(value)}", next_step)
        bits = _BITS.get(kind)
        if bits and isinstance(value, int) and not -(2**bits) <= value < 2**bits:
            return self._wrong(at, f"{{field}} {named(value)} is too large", f"Write at most {2**bits - 1}")
        if kind == "Quantity":
            try:
                parse_quantity(str(value))
            except ValueError:
                return self._wrong(at, f"{{field}} {named(value)} is not a Kubernetes quantity", _like(value))
        return value

    def _struct(self, written: dict[str, Any], kind: str, at: Steps) -> dict[str, Any]:
        content = _content(written, kind)
        if content and _SOUND.get(content) is self.rules:
            return written
        types, before = schema.fields(kind), len(self.mistakes)
        kept: dict[str, Any] = {}
        for key, value in written.items():
            if key not in types:
                what = f"Kubernetes {schema.kubernetes()} has no field {shown(key)!r} here"
                self.mistakes.append(Mistake(what, _instead(key, kind), (*at, key)))
            elif value is not None:
                here, so_far = (*at, key), len(self.mistakes)
                checked = self.of(value, types[key].type, here)
                told = self.mistakes[so_far:]
                if (kind, key) in _HINTS and [mistake.at for mistake in told] == [here]:
                    self.mistakes[-1] = Mistake(self.mistakes[-1].what, _HINTS[kind, key], here)
                if checked is not _WRONG:
                    kept[key] = checked
                    self.mistakes += _values(checked, kind, key, types[key], here)
        meant = {nearest(key, types) for key in written if key not in types}
        self.mistakes += (
            mistake for mistake in _missing(written, kind, types, at) if mistake.at[-1] not in meant
        )
        if len(self.mistakes) == before:
            self._apply(kept, kind, at)
        if content and len(self.mistakes) == before and kept == written:
            if len(_SOUND) >= _MOST:
                _SOUND.clear()
            _SOUND[content] = self.rules
        return kept

    def _apply(self, value: dict[str, Any], kind: str, at: Steps) -> None:
        for mistake in _exclusive(value, kind):
            self.mistakes.append(Mistake(mistake.what, mistake.next_step, (*at, *mistake.at)))
        for rule in self.rules.get(kind, ()):
            for mistake in rule(value):
                self.mistakes.append(Mistake(mistake.what, mistake.next_step, (*at, *mistake.at)))


def _content(written: dict[str, Any], kind: str) -> tuple[str, bytes] | None:
    """Return what a part is known by, which tells types apart; None for values that are not JSON."""
    try:
        return kind, marshal.dumps(written, 2)
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


def _like(value: Any) -> str:
    """Return the next step for a text that is no quantity, such as `16GB`, `16 Gi` or `16gi`."""
    meant = re.fullmatch(r"(?i)([0-9.]+) *([kmgtpe])i?b?", str(value))
    if meant is None:
        return "Write it like 80Gi, 500m or 4"
    number, unit = meant[1], meant[2].upper()
    return f"Write {number}{unit}i (powers of 1024) or {number}{unit if unit != 'K' else 'k'} (of 1000)"


def _instead(key: str, kind: str) -> str:
    """Return the next step for a field that the type does not have: the near one, or where it belongs."""
    types = schema.fields(kind)
    if (close := nearest(key, types)) is not None:
        return f"Did you mean {close}?"
    inside = [
        name
        for name, inner in types.items()
        if schema.is_type(inner.type) and key in schema.fields(inner.type)
    ]
    if inside:
        return f"Did you mean {'httpGet' if 'httpGet' in inside else inside[0]}.{key}?"
    for outer, words in (("PodSpec", "the spec of the pod"), ("Container", "a container")):
        if outer != kind and kind != "Object" and key in schema.fields(outer):
            return f"It is a field of {words}: move it there"
    return one_of(key, types, "Fields")


def _values(value: Any, kind: str, key: str, known: schema.Field, at: Steps) -> Iterator[Mistake]:
    """Yield what is wrong with the value of a field whose type is right."""
    name = (kind, key)
    if isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _value(entry, name, known, (*at, place))
        yield from _twice(value, known, at)
    elif isinstance(value, dict):
        if name in MAPS:
            yield from _entries(value, name, at)
    else:
        yield from _value(value, name, known, at)


def _value(value: Any, name: tuple[str, str], known: schema.Field, at: Steps) -> Iterator[Mistake]:
    if isinstance(value, str):
        choices = CHOICES.get(name, known.choices)
        if choices and value not in choices and (value or name not in EMPTY_IS_ABSENT):
            if len(choices) == 1:
                what = f"{{field}} must be {choices[0]}, not {named(value)}"
                yield Mistake(what, f"Write {choices[0]}, or leave it out", at)
            else:
                words = ", ".join(choice or "''" for choice in choices)
                what = f"{{field}} {named(value)} is not one of {words}"
                yield Mistake(what, one_of(value, choices, "Choose one"), at)
        text = TEXTS.get(name)
        if text and not text.allows(value) and (value.strip() or not known.required):
            yield Mistake(f"{{field}} {named(value)} must be {text.words}", "Change it", at)
    elif isinstance(value, int) and not isinstance(value, bool) and name in RANGES:
        least, most = RANGES[name]
        if not least <= value <= most:
            rule = f"at least {least}" if most >= 2**31 - 1 else f"from {least} to {most}"
            yield Mistake(f"{{field}} must be {rule}, not {value}", "Change the number", at)


def _entries(value: dict[str, Any], name: tuple[str, str], at: Steps) -> Iterator[Mistake]:
    keys, texts = MAPS[name]
    for key, text in value.items():
        if not keys.allows(key):
            yield Mistake(f"the key {shown(key)!r} must be {keys.words}", "Change it", (*at, key))
        if texts and not texts.allows(text):
            yield Mistake(f"{{field}} {named(text)} must be {texts.words}", "Change it", (*at, key))


def _twice(entries: list[Any], known: schema.Field, at: Steps) -> Iterator[Mistake]:
    """Yield entries of a list that must differ in their keys, and do not.

    Server-side apply, by which Pulumi writes, refuses two variables of a name, which a plain create takes.
    """
    seen: set[tuple[Any, ...]] = set()
    for place, entry in enumerate(entries):
        if known.keys and isinstance(entry, dict) and any(entry.get(key) for key in known.keys):
            values = tuple(entry.get(key) or ("TCP" if key == "protocol" else "") for key in known.keys)
        elif known.once:
            values = (entry,)
        else:
            continue  # without its keys an entry is a mistake of its own
        if values in seen:
            words = " and ".join(
                f"the {key} {shown(str(value))!r}" for key, value in zip(known.keys, values, strict=False)
            )
            what = f"a second entry of {at[-1]} has {words or f'the value {values[0]!r}'}"
            yield Mistake(what, "Change or remove one of the two", (*at, place, *known.keys[:1]))
        seen.add(values)


def _missing(
    written: dict[str, Any], kind: str, types: Mapping[str, schema.Field], at: Steps
) -> Iterator[Mistake]:
    needed = [key for key, known in types.items() if known.required]
    for key in dict.fromkeys([*needed, *REQUIRED.get(kind, ())]):
        value = written.get(key)
        blank = isinstance(value, str) and not value.strip() and (kind, key) not in MAY_BE_EMPTY
        if value is None:
            yield Mistake(f"field {key} is missing", f"Add {key}", (*at, key))
        elif blank or (value == [] and key in REQUIRED.get(kind, ())):
            yield Mistake("{field} must not be empty", "Give it a value", (*at, key))


def _exclusive(value: dict[str, Any], kind: str) -> Iterator[Mistake]:
    """Yield a mistake where too many, or none, of fields are there that exclude each other."""
    if kind == "Volume":  # none is an emptyDir
        least, most, names = 0, 1, tuple(name for name in schema.fields(kind) if name != "name")
    elif kind in ONE_OF:
        least, most, names = ONE_OF[kind]
    else:
        return
    there = [name for name in names if value.get(name) not in (None, "", [])]
    if len(there) > most:
        yield Mistake(f"only one of {' and '.join(there)} may be there", "Keep one of them", (there[1],))
    elif len(there) < least:
        yield Mistake(f"one of {', '.join(names)} must be there", "Add one of them")
