"""Selectors as conditions of claims: what Kubernetes asks of each device that it hands to a pod.

A claim sees one device, and knows neither `attributes` nor `capacity` of a class. So a selector is taken
apart at the `&&` between its conditions. `attributes["gpu.nvidia.com/memory"]` becomes
`device.attributes["gpu.nvidia.com"].memory` in the claim for the device of the class that has it, which is
exact. A condition about a device that is not claimed, about several devices at once, about the maps
themselves, or about what the driver does not publish is left out, with the reason: placement has evaluated it
on the class, and the pod is held on the nodes of that class by its node selector.
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.wording import shown
from inferfleet.fleet.selectors.devices import program, qualified
from inferfleet.fleet.selectors.expressions import InvalidSelector, Source, Token
from inferfleet.fleet.shapes import accelerator
from inferfleet.tables.devices import PUBLISHED

_MAPS = ("attributes", "capacity")
# A text between one of these and `in` is the whole key, unlike in `"a" + "b" in attributes`.
_BEFORE_A_WHOLE = frozenset(["&&", "||", "?", ":", "(", "[", ","])
_CLOSING = frozenset(")]}")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
# What can stand behind a point: no reserved word of https://github.com/google/cel-spec, doc/langdef.md.
_FIELD = re.compile(
    "(?!(as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return"
    "|true|var|void|while)$)[A-Za-z_][A-Za-z0-9_]*"
)
# A text without escapes and quotes: what it says is what stands in it, in whichever quotes it is put.
_PLAIN = re.compile(r"\"[^\"\\]*\"|'[^'\"\\]*'")
# Functions whose arguments the API server checks when it takes an expression, and the library here when it
# evaluates one: times that are none, formats that do not fit. No device has any of these.
_UNSURE = frozenset({"duration", "flatten", "format", "timestamp"})
# They are computed in advance where they are called with a text.
_CONVERSIONS = frozenset({"bool", "double", "int", "uint"})


@dataclass(frozen=True)
class ClaimConditions:
    """A selector as claims can ask it: conditions by device of the class, and those left out, with why."""

    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()

    def expression(self, device: str) -> str:
        """Return what the claim for a device asks, "" for one that the selector says nothing of."""
        return " && ".join(self.conditions.get(device, ()))


class _Left(Exception):  # noqa: N818 (it says what becomes of a condition)
    """Raised for a condition that no claim can ask; its text says why."""


def claim_conditions(
    expression: str, inference_class: InferenceClass, *, devices: Set[str]
) -> ClaimConditions:
    """Return a selector as conditions of claims for these devices of a class.

    One that is none asks nothing: it is a problem of the plan, which moves no replicas for it.
    """
    if isinstance(program(expression), InvalidSelector):
        return ClaimConditions()
    conditions: dict[str, list[str]] = {}
    left_out: list[tuple[str, str]] = []
    for condition in Source(expression).conjuncts():
        part = condition.tokens
        text = condition.text[part[0].start : part[-1].start + len(part[-1].text)]
        try:
            device, translated = _translated(text, part, inference_class)
            if device not in devices:
                raise _Left(f"it is about device {shown(device)}, which is not claimed")
        except _Left as why:
            left_out.append((text, str(why)))
        else:
            conditions.setdefault(device, []).append(translated)
    return ClaimConditions({device: tuple(texts) for device, texts in conditions.items()}, tuple(left_out))


def _translated(text: str, part: tuple[Token, ...], inference_class: InferenceClass) -> tuple[str, str]:
    """Return the device that a condition is about, and the condition as its claim asks it."""
    first = accelerator(inference_class)
    if first is None:
        raise _Left("the class has not exactly one accelerator")
    about: set[str] = set()
    changes: list[tuple[int, int, str]] = []
    for at, token in enumerate(part):
        follows = part[at + 1].text if at + 1 < len(part) else ""
        of_text = token.text in _CONVERSIONS and [after.kind for after in part[at + 1 : at + 3]][1:] == [
            "text"
        ]
        if follows == "(" and (token.text in _UNSURE or of_text):
            raise _Left(f"it calls {token.text}, whose arguments only the API server checks")
        if token.kind != "name" or _is_field(part, at):
            continue
        if token.text == "device":
            about.add(first.name)
            if key := _asked(part[at + 1 : at + 8]):
                _can_be_published(key, first)
        elif token.text in _MAPS:
            key, start, end, new = _lookup(part, at)
            owner = _owner(inference_class, token.text, key, first)
            _can_be_published(key, owner)
            about.add(owner.name)
            changes.append((start - part[0].start, end - part[0].start, new))
    if len(about) > 1:
        raise _Left(f"it is about devices {', '.join(map(shown, sorted(about)))}, and a claim sees one")
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    return (about or {first.name}).pop(), text


def _asked(behind: tuple[Token, ...]) -> str | None:
    """Return the key that is looked up in `device`, by the tokens behind it:
    `.attributes["gpu.nvidia.com"].slot`.
    """
    texts = [token.text for token in behind]
    if texts[:1] + texts[2:3] + texts[4:6] != [".", "[", "]", "."] or texts[1] not in _MAPS:
        return None
    named = len(behind) == 7 and behind[6].kind == "name" and _PLAIN.fullmatch(texts[3])
    return f"{texts[3][1:-1]}/{texts[6]}" if named else None


def _is_field(part: tuple[Token, ...], at: int) -> bool:
    """Return whether a name is the field of something, such as `device.attributes`, and no variable."""
    if at == 0 or part[at - 1].text != ".":
        return False
    if at == 1 or (part[at - 2].kind == "mark" and part[at - 2].text not in _CLOSING):
        raise _Left("it begins a name with a point")
    return True


def _lookup(part: tuple[Token, ...], at: int) -> tuple[str, int, int, str]:
    """Return the key that is looked up in a map of all devices, where that stands, and what a claim asks.

    `attributes["x.com/y"]` asks `device.attributes["x.com"].y`, and `"x.com/y" in attributes` asks
    `"y" in device.attributes["x.com"]`.
    """
    name = part[at].text
    behind = part[at + 1 : at + 5]
    optional = [token.text for token in behind[:2]] == ["[", "?"]
    inside = behind[2 if optional else 1 :][:2]
    if behind and behind[0].text == "[" and len(inside) == 2 and inside[1].text == "]":
        key, domain, field = _key(inside[0], name)
        plain = not optional and _FIELD.fullmatch(field)
        end = f".{field}" if plain else f'[{"?" if optional else ""}"{field}"]'
        return key, part[at].start, inside[1].start + 1, f'device.{name}["{domain}"]{end}'
    follows = behind[0].text if behind else ""
    whole = at == 2 or (at > 2 and part[at - 3].text in _BEFORE_A_WHOLE)
    if whole and part[at - 1].text == "in" and follows not in ("[", "."):
        key, domain, field = _key(part[at - 2], name)
        end_at = part[at].start + len(name)
        return key, part[at - 2].start, end_at, f'"{field}" in device.{name}["{domain}"]'
    raise _Left(f"it uses {name} of all devices otherwise than by one key")


def _key(token: Token, name: str) -> tuple[str, str, str]:
    """Return the key that a text is, with its domain and its name."""
    if not _PLAIN.fullmatch(token.text):
        raise _Left(f"it looks up a key of {name} that is worked out, or written with escapes")
    key = token.text[1:-1]
    domain, slash, field = key.rpartition("/")
    if not slash:
        raise _Left(f"{shown(key)!r} has no domain")
    return key, domain, field


def _can_be_published(key: str, owner: Device) -> None:
    """Raise _Left for a key that the driver of the device publishes of no device, so that none would fit."""
    domain, field = qualified(key, owner.driver)
    published = PUBLISHED.get(owner.driver) if domain == owner.driver else None
    if not _NAME.fullmatch(field) or (published is not None and field not in published):
        raise _Left(f"the driver {owner.driver} publishes no {shown(field)}")


def _owner(inference_class: InferenceClass, part: str, key: str, first: Device) -> Device:
    """Return the device that has a key, as selectors see it; the accelerator if none has it."""
    for device in sorted(inference_class.spec.all_devices, key=lambda device: device is not first):
        facts = device.attributes if part == "attributes" else device.capacity
        if any("/".join(qualified(name, device.driver)) == key for name in facts):
            return device
    return first
