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
        """Return the condition in the claim for a device, "" where the selector has none about it."""
        return " && ".join(self.conditions.get(device, ()))


class _NotClaimable(Exception):  # noqa: N818 (it says what becomes of a condition)
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
        tokens = condition.tokens
        text = condition.text[tokens[0].start : tokens[-1].start + len(tokens[-1].text)]
        try:
            device, translated = _translate(text, tokens, inference_class)
            if device not in devices:
                raise _NotClaimable(f"it is about device {shown(device)}, which is not claimed")
        except _NotClaimable as why:
            left_out.append((text, str(why)))
        else:
            conditions.setdefault(device, []).append(translated)
    return ClaimConditions({device: tuple(texts) for device, texts in conditions.items()}, tuple(left_out))


def _translate(text: str, tokens: tuple[Token, ...], inference_class: InferenceClass) -> tuple[str, str]:
    """Return the name of the device that a condition is about, and the condition as the device's claim asks
    it.

    Raises _NotClaimable for a condition that no claim can ask. One that names no device is about the
    accelerator.
    """
    accelerator_device = accelerator(inference_class)
    if accelerator_device is None:
        raise _NotClaimable("the class has not exactly one accelerator")
    devices: set[str] = set()
    changes: list[tuple[int, int, str]] = []
    for index, token in enumerate(tokens):
        next_text = tokens[index + 1].text if index + 1 < len(tokens) else ""
        kinds = [after.kind for after in tokens[index + 1 : index + 3]]
        converts_text = token.text in _CONVERSIONS and kinds[1:] == ["text"]
        if next_text == "(" and (token.text in _UNSURE or converts_text):
            raise _NotClaimable(f"it calls {token.text}, whose arguments only the API server checks")
        if token.kind != "name" or _is_field(tokens, index):
            continue
        if token.text == "device":
            devices.add(accelerator_device.name)
            if key := _asked(tokens[index + 1 : index + 8]):
                _can_be_published(key, accelerator_device)
        elif token.text in _MAPS:
            key, start, end, replacement = _lookup(tokens, index)
            owner = _owner(inference_class, token.text, key, accelerator_device)
            _can_be_published(key, owner)
            devices.add(owner.name)
            changes.append((start - tokens[0].start, end - tokens[0].start, replacement))
    if len(devices) > 1:
        names = ", ".join(map(shown, sorted(devices)))
        raise _NotClaimable(f"it is about devices {names}, and a claim sees one")
    for start, end, replacement in reversed(changes):
        text = text[:start] + replacement + text[end:]
    return (devices or {accelerator_device.name}).pop(), text


def _asked(behind: tuple[Token, ...]) -> str | None:
    """Return the key that is looked up in `device`, by the tokens behind it:
    `.attributes["gpu.nvidia.com"].slot`.
    """
    texts = [token.text for token in behind]
    if texts[:1] + texts[2:3] + texts[4:6] != [".", "[", "]", "."] or texts[1] not in _MAPS:
        return None
    is_one_field = len(behind) == 7 and behind[6].kind == "name" and _PLAIN.fullmatch(texts[3])
    return f"{texts[3][1:-1]}/{texts[6]}" if is_one_field else None


def _is_field(tokens: tuple[Token, ...], index: int) -> bool:
    """Return whether the name at an index is a field, such as `attributes` in `device.attributes`, and no
    variable.

    Raises _NotClaimable for a name behind a point that belongs to no value.
    """
    if index == 0 or tokens[index - 1].text != ".":
        return False
    if index == 1 or (tokens[index - 2].kind == "mark" and tokens[index - 2].text not in _CLOSING):
        raise _NotClaimable("it begins a name with a point")
    return True


def _lookup(tokens: tuple[Token, ...], index: int) -> tuple[str, int, int, str]:
    """Return the key that is looked up in the map named at an index, where the look-up begins and ends in the
    selector, and the text that a claim has instead. Raises _NotClaimable for any other use of the map.

    `attributes["x.com/y"]` asks `device.attributes["x.com"].y`, and `"x.com/y" in attributes` asks
    `"y" in device.attributes["x.com"]`.
    """
    name = tokens[index].text
    behind = tokens[index + 1 : index + 5]
    optional = [token.text for token in behind[:2]] == ["[", "?"]
    inside = behind[2 if optional else 1 :][:2]
    if behind and behind[0].text == "[" and len(inside) == 2 and inside[1].text == "]":
        key, domain, field = _key(inside[0], name)
        plain = not optional and _FIELD.fullmatch(field)
        end = f".{field}" if plain else f'[{"?" if optional else ""}"{field}"]'
        return key, tokens[index].start, inside[1].start + 1, f'device.{name}["{domain}"]{end}'
    next_text = behind[0].text if behind else ""
    is_whole_key = index == 2 or (index > 2 and tokens[index - 3].text in _BEFORE_A_WHOLE)
    if is_whole_key and tokens[index - 1].text == "in" and next_text not in ("[", "."):
        key, domain, field = _key(tokens[index - 2], name)
        end_at = tokens[index].start + len(name)
        return key, tokens[index - 2].start, end_at, f'"{field}" in device.{name}["{domain}"]'
    raise _NotClaimable(f"it uses {name} of all devices otherwise than by one key")


def _key(token: Token, name: str) -> tuple[str, str, str]:
    """Return the key that a token spells out, its domain and its name.

    Raises _NotClaimable where the token is no plain text, or the key has no domain.
    """
    if not _PLAIN.fullmatch(token.text):
        raise _NotClaimable(f"it looks up a key of {name} that is worked out, or written with escapes")
    key = token.text[1:-1]
    domain, slash, field = key.rpartition("/")
    if not slash:
        raise _NotClaimable(f"{shown(key)!r} has no domain")
    return key, domain, field


def _can_be_published(key: str, owner: Device) -> None:
    """Raise _Left for a key that the driver of the device publishes of no device, so that none would fit."""
    domain, field = qualified(key, owner.driver)
    published = PUBLISHED.get(owner.driver) if domain == owner.driver else None
    if not _NAME.fullmatch(field) or (published is not None and field not in published):
        raise _NotClaimable(f"the driver {owner.driver} publishes no {shown(field)}")


def _owner(inference_class: InferenceClass, map_name: str, key: str, accelerator_device: Device) -> Device:
    """Return the device that has a key, as selectors see it; the accelerator if none has it."""
    for device in sorted(
        inference_class.spec.all_devices, key=lambda device: device is not accelerator_device
    ):
        facts = device.attributes if map_name == "attributes" else device.capacity
        if any("/".join(qualified(name, device.driver)) == key for name in facts):
            return device
    return accelerator_device
