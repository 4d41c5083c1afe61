"""Pod templates made at random from the types of Kubernetes' API: right ones, nearly right ones and odd ones.

Field names and types come from the table that the product checks by, values from pools. A template begins as
one that is right, and then a few of its parts are grown, changed, doubled or removed. A seed makes the same
ones again.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from pod_values import (
    BASES,
    BY_NAME,
    NUMBERS,
    ODD_NUMBERS,
    ODD_QUANTITIES,
    ODD_RESOURCES,
    ODD_TEXTS,
    OTHERS,
    QUANTITIES,
    RESOURCES,
    TEXTS,
    Template,
)

from inferfleet.documents.pods.types import FieldType, fields_of, is_type

# Types that have one of their fields besides a name.
_ONE_OF = ("EnvVarSource", "LifecycleHandler", "Volume", "VolumeProjection")


class Dice(Random):
    """Chance with a share of odd values, another for each template, so that deep ones are right too."""

    odd = 0.2


def templates(seed: int) -> Iterator[Template]:
    """Yield pod templates without end, as a team may write them: labels, annotations and a spec."""
    dice = Dice(seed)
    while True:
        dice.odd = dice.choice((0.0, 0.02, 0.1, 0.3))
        template = copy.deepcopy(dice.choice(BASES))
        for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 4, 6, 10))):
            _change(template, dice)
        yield template


@dataclass(frozen=True)
class _Place:
    """A field of an object in a template, whether it is there or not."""

    holder: dict[str, Any]
    kind: str
    key: str

    @property
    def field(self) -> FieldType:
        return fields_of(self.kind)[self.key]


def _objects(value: Any, kind: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every object of a value, with its type."""
    if kind.startswith("[]"):
        for entry in value if isinstance(value, list) else ():
            yield from _objects(entry, kind.removeprefix("[]"))
    elif is_type(kind) and isinstance(value, dict):
        yield value, kind
        known = fields_of(kind)
        for key, inner in value.items():
            if key in known:
                yield from _objects(inner, known[key].type)


def _change(template: Template, dice: Dice) -> None:
    spec = template["spec"]
    objects = list(_objects(spec, "PodSpec")) if isinstance(spec, dict) else []
    if not objects:
        return
    holder, kind = dice.choice(objects if dice.random() < 0.7 else objects[:1])
    number = dice.random()
    keys = list(fields_of(kind))
    if number < 0.24 and dice.random() > dice.odd * 3:
        number = dice.uniform(0.24, 1)
    if number < 0.06:
        holder[dice.choice(("nmae", "httpget", "extra", dice.choice(keys).upper()))] = "x"
    elif number < 0.12 and holder:
        holder.pop(dice.choice(list(holder)))
    elif number < 0.18 and any(isinstance(value, list) and value for value in holder.values()):
        entries = dice.choice([value for value in holder.values() if isinstance(value, list) and value])
        entries.append(copy.deepcopy(dice.choice(entries)))
    elif number < 0.24:
        holder[dice.choice(list(holder) or keys)] = copy.deepcopy(dice.choice(OTHERS))
    elif number < 0.32:
        _metadata(template, dice)
    else:
        there = [key for key in holder if key in keys]
        place = _Place(holder, kind, dice.choice(there if there and number < 0.5 else keys))
        made = _made(place.field, place.key, dice, 0)
        old = holder.get(place.key)
        if isinstance(old, list) and isinstance(made, list) and dice.random() < 0.7:
            old += made
        else:
            holder[place.key] = made


def _metadata(template: Template, dice: Dice) -> None:
    part = dice.choice(("labels", "annotations"))
    texts = template.setdefault("metadata", {}).setdefault(part, {})
    key = dice.choice(("tier", "example.com/a", "A/b", "a b", "", "x" * 64, "/a", "a/", "é", "Example.com/a"))
    texts[key] = dice.choice(("gold", "", "a b", "x" * 64, "-a", "é"))


def _made(known: FieldType, key: str, dice: Dice, depth: int) -> Any:
    """Return a value for a field: mostly of its type."""
    if dice.random() < dice.odd / 6:
        return copy.deepcopy(dice.choice(OTHERS))
    if key in BY_NAME and dice.random() < 0.85:
        pool = BY_NAME[key]
        few = len(pool) if dice.random() < dice.odd * 2 else (len(pool) + 1) // 2
        return copy.deepcopy(pool[dice.randrange(few)])
    if known.type.startswith("[]"):
        inner = known.type.removeprefix("[]")
        return [_one(inner, known, dice, depth) for _ in range(dice.choice((0, 1, 1, 1, 2)))]
    if known.type.startswith("map[string]"):
        return _map(known.type.removeprefix("map[string]"), dice)
    return _one(known.type, known, dice, depth)


def _map(kind: str, dice: Dice) -> dict[str, Any]:
    if kind == "Quantity":
        keys = [_pick(RESOURCES, ODD_RESOURCES, dice) for _ in range(dice.choice((1, 1, 2)))]
        return {key: _pick(QUANTITIES, ODD_QUANTITIES, dice) for key in keys}
    return {_pick(TEXTS, ODD_TEXTS, dice): _pick(TEXTS[:5], ODD_TEXTS, dice)}


def _one(kind: str, known: FieldType, dice: Dice, depth: int) -> Any:
    if known.choices and dice.random() < 0.9:
        choice = dice.choice(known.choices)
        return choice.swapcase() if dice.random() < dice.odd / 2 else choice
    if kind == "boolean":
        return dice.random() < 0.5
    if kind in ("int32", "int64"):
        return _pick(NUMBERS, ODD_NUMBERS, dice)
    if kind == "Quantity":
        return _pick(QUANTITIES, ODD_QUANTITIES, dice)
    if kind == "IntOrString":
        return _pick((80, "http"), (0, 70_000, "A"), dice)
    if is_type(kind):
        return _struct(kind, dice, depth + 1)
    return _pick(TEXTS, ODD_TEXTS, dice)


def _struct(kind: str, dice: Dice, depth: int) -> dict[str, Any]:
    known = fields_of(kind)
    sources = tuple(key for key in known if key != "name") if kind in _ONE_OF else ()
    wanted = [key for key, field in known.items() if field.required]
    others = [key for key in known if key not in sources]
    if depth < 5 and others:
        wanted += dice.sample(others, min(len(others), dice.choice((0, 1, 1, 2, 3))))
    if sources:
        wanted += dice.sample(sources, dice.choice((1, 1, 1, 1, 1, 1, 0, 2)) if len(sources) > 1 else 1)
    return {key: _made(known[key], key, dice, depth) for key in dict.fromkeys(wanted)}


def _pick(right: tuple[Any, ...], odd: tuple[Any, ...], dice: Dice) -> Any:
    return dice.choice(odd if dice.random() < dice.odd else right)
