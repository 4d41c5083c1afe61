"""Selectors over the devices of a class: CEL, compiled once and evaluated once per class.

A selector sees `attributes` and `capacity`, flat maps of all devices of the class under
`<driver domain>/<name>`, and `device`, the accelerator alone, as Dynamic Resource Allocation shows it
(`device.attributes["gpu.nvidia.com"].architecture`). A selector that fails or gives no boolean does not
match, as in Kubernetes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from inferfleet.documents.kinds.inference_class import AttributeValue, Device, InferenceClass
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing, nearest, shown
from inferfleet.documents.work import spend
from inferfleet.fleet.selectors.expressions import InvalidSelector, Program, Size, Source, Token, compiling
from inferfleet.fleet.selectors.library import (
    QUANTITY,
    SEMVER,
    SPOKEN,
    Unusable,
    environment,
    known_names,
    of_amount,
    semver,
    text_of,
    type_of,
)
from inferfleet.fleet.shapes import accelerator

# What is said of a selector that a class does not meet.
FALSE = "nodeSelector is false"
# Units of an evaluation beside those of its condition.
_EACH = 10
_GUIDE = "docs/guides/selectors.md"
_MISSING = re.compile(r'Key not found in map ?: ?"?(.*?)"?\Z', re.DOTALL)
# As in Kubernetes (ResourceSliceMaxAttributesAndCapacitiesPerDevice of k8s.io/api/resource).
MAX_FACTS = 32
# Of all keys and values of a class; the variables are made anew for each evaluation.
MAX_TEXT = 65_536
_INTEGERS = range(-(2**63), 2**63)
# How large the variables can be, by these limits.
_ATTRIBUTE = Size(253, 253)
_OF_DEVICE = Size(32, MAX_TEXT, Size(32, 32 * 381, _ATTRIBUTE))
_OF_CLASS = Size(512, MAX_TEXT, _ATTRIBUTE)
SIZES = {
    "attributes": _OF_CLASS,
    "capacity": _OF_CLASS,
    "device.driver": _ATTRIBUTE,
    "device.attributes": _OF_DEVICE,
    "device.capacity": _OF_DEVICE,
}


# What a selector sees of a class: the variables of an expression, and their names for messages.


@dataclass(frozen=True)
class View:
    """A class as selectors see it. `unusable` says why no selector is evaluated on it, where one is not."""

    variables: dict[str, Any]
    keys: tuple[str, ...] = ()
    unusable: str = ""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Return the attributes of all devices by `<driver domain>/<name>`."""
        found: Mapping[str, Any] = self.variables.get("attributes", {})
        return found

    def missing(self, key: str) -> str:
        """Return in words that a key is not there, with the nearest one that is."""
        names = {*self.keys, *(key.rpartition("/")[2] for key in self.keys)}
        names |= {key.rpartition("/")[0] for key in self.keys}
        for part in ("attributes", "capacity"):
            if key in self.variables.get(part, {}):
                return f"no such key {shown(key)!r} there; it is in {part}"
            domains = [full.rpartition("/")[0] for full in self.keys if full.rpartition("/")[2] == key]
            domains = sorted(name for name in domains if f"{name}/{key}" in self.variables.get(part, {}))
            if domains:
                listed = ", ".join(map(shown, domains))
                return f"no such key {shown(key)!r} there; it is in the domain {listed} of {part}"
        close = nearest(key, names - {""})
        if close is None and "/" in key:
            close = nearest(key.rpartition("/")[2], {name for name in names if "/" not in name})
        hint = f"; did you mean {shown(close)!r}?" if close else ""
        return f"no such key {shown(key)!r}{hint}"

    def named(self, tokens: Sequence[Token]) -> str:
        """Return the attributes and amounts that an expression names, with their values: `memory is 24Gi`."""
        words = [token for token in tokens if token.text != "?"]
        phrases: dict[str, None] = {}
        for index, word in enumerate(words):
            texts = [token.text for token in words[index : index + 8]] + [""] * 8
            of_device = [token.text for token in words[max(0, index - 2) : index]] == ["device", "."]
            if word.text == "driver" and of_device:
                phrases[f"driver is {shown(self.variables['device.driver'])}"] = None
            if word.text not in ("attributes", "capacity") or texts[1] != "[" or texts[3] != "]":
                continue
            key, facts = _unquoted(texts[2]), self.variables[word.text]
            if of_device:
                name = texts[5] if texts[4] == "." else _unquoted(texts[5])
                key, facts = name, self.variables[f"device.{word.text}"].get(key, {})
            if key:
                short = shown(key.rpartition("/")[2])
                phrases[f"{short} is {_spoken(facts[key])}" if key in facts else f"{short} is not there"] = (
                    None
                )
        return ", ".join(phrases)


def view(inference_class: InferenceClass) -> View:
    """Return what selectors see of a class: flat maps of all its devices, and `device`, its accelerator."""
    first = accelerator(inference_class)
    devices = sorted(inference_class.spec.all_devices, key=lambda device: device is not first)
    largest = max((len(device.attributes) + len(device.capacity) for device in devices), default=0)
    if largest > MAX_FACTS:
        why = f"a device of it has {largest} attributes and capacities, and Kubernetes takes {MAX_FACTS}"
        return View({}, unusable=why)
    try:
        facts = {device.name: list(_facts(device)) for device in devices}
    except Unusable as problem:
        return View({}, unusable=str(problem))
    text = sum(
        len(domain) + len(name) + len(str(value))
        for facts_of_device in facts.values()
        for _, domain, name, value in facts_of_device
    )
    if text > MAX_TEXT:
        return View({}, unusable=f"its attributes and capacities have more than {MAX_TEXT:,} characters")
    flat: dict[str, dict[str, Any]] = {"attributes": {}, "capacity": {}}
    for facts_of_device in facts.values():
        for part, domain, name, value in facts_of_device:
            flat[part].setdefault(f"{domain}/{name}", value)
    nested: dict[str, dict[str, dict[str, Any]]] = {"attributes": {}, "capacity": {}}
    for part, domain, name, value in facts[first.name] if first else ():
        nested[part].setdefault(domain, {})[name] = value
    of_device = {"driver": first.driver if first else "", "allowMultipleAllocations": False, **nested}
    keys = tuple(sorted({*flat["attributes"], *flat["capacity"]}))
    return View({**flat, **{f"device.{name}": value for name, value in of_device.items()}}, keys)


def _facts(device: Device) -> Iterator[tuple[str, str, str, Any]]:
    """(part, domain, name, value); a key without a domain is under the driver's own."""
    for key, attribute in device.attributes.items():
        yield "attributes", *qualified(key, device.driver), _scalar(attribute)
    for key, capacity in device.capacity.items():
        yield "capacity", *qualified(key, device.driver), of_amount(parse_quantity(capacity.value))


def qualified(key: str, driver: str) -> tuple[str, str]:
    """Return the domain and the name of an attribute or amount; without a domain it is the driver's."""
    domain, slash, name = key.rpartition("/")
    return (domain, name) if slash else (driver, key)


def _scalar(attribute: AttributeValue) -> Any:
    if attribute.version is not None:
        return semver(attribute.version)
    if attribute.bool_ is not None:
        return attribute.bool_
    if attribute.int_ is not None:
        if attribute.int_ not in _INTEGERS:
            raise Unusable(f"{shown(str(attribute.int_))} is larger than the 64 bits of an attribute")
        return attribute.int_
    return attribute.string or ""


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') and text[:3] not in ("'''", '"""') else ""


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if type_of(value) == QUANTITY:
        text = text_of(value)
        for power, unit in ((30, "Gi"), (20, "Mi")):
            if text.isdigit() and int(text) and int(text) % 2**power == 0:
                return f"{int(text) >> power}{unit}"
        return shown(text)
    return shown(str(value) if isinstance(value, str | int) else text_of(value))


# Which classes a selector matches.


class FalseCondition(NamedTuple):
    """A condition that is false on a class, on one line, and the values of what it names there."""

    condition: str
    values: str


class Selectors:
    """Compiles selectors and evaluates each once per class. A plan has one of these."""

    def __init__(self) -> None:
        self._programs: dict[str, Program | InvalidSelector] = {}
        self._views: dict[str, View] = {}
        self._verdicts: dict[tuple[str, str], str | None] = {}
        self._false_conditions: dict[tuple[str, str], FalseCondition | None] = {}

    def check(self, expression: str) -> None:
        """Raise InvalidSelector, with line and column, unless `expression` is a selector."""
        self._program(expression)

    def mismatch(self, expression: str, inference_class: InferenceClass) -> str | None:
        """Return why the selector does not match the class, or None when it does."""
        name = inference_class.metadata.name
        key = (name, expression)
        if key not in self._verdicts:
            compiled = self._program(expression)
            self._verdicts[key] = self._evaluated(compiled, self._view(inference_class))
        return self._verdicts[key]

    def false_condition(self, expression: str, inference_class: InferenceClass) -> FalseCondition | None:
        """Return the first condition of a selector that is false on a class, None if none is by itself."""
        name = inference_class.metadata.name
        key = (name, expression)
        if key not in self._false_conditions:
            self._false_conditions[key] = None
            if self.mismatch(expression, inference_class) == FALSE:
                self._false_conditions[key] = self._first_false(Source(expression), self._views[name])
        return self._false_conditions[key]

    def mistyped(self, expression: str, classes: Iterable[InferenceClass]) -> InvalidSelector | None:
        """Return the first comparison of an attribute with a value of another type than it has on every one
        of the classes that has it, or None. Such a comparison has the same result everywhere, or none.
        """
        compared = self._program(expression).compared
        by_class = {one.metadata.name: self._view(one).attributes for one in classes} if compared else {}
        for key, kind, place in compared:
            values = {name: attributes[key] for name, attributes in by_class.items() if key in attributes}
            kinds = {_kind_of(value) for value in values.values()}
            if kinds and not any(kind in _COMPARABLE[own_type] for own_type in kinds):
                own_type, name = min(kinds), shown(key.rpartition("/")[2])
                devices = listing(sorted(values), 3)
                what = f"{name} is {_TYPES_IN_WORDS[own_type]} on {devices}, and compared with {spoken(kind)}"
                return Source(expression).invalid(what, _TYPE_STEPS[own_type], place)
        return None

    def _view(self, inference_class: InferenceClass) -> View:
        name = inference_class.metadata.name
        if name not in self._views:
            self._views[name] = view(inference_class)
        return self._views[name]

    def _first_false(self, source: Source, class_view: View) -> FalseCondition | None:
        parts = source.conjuncts()
        for part in parts:
            if len(parts) == 1 or self._evaluated(self._program(part.text), class_view) == FALSE:
                return FalseCondition(" ".join(part.text.split()), class_view.named(part.tokens))
        return None

    def _program(self, expression: str) -> Program:
        if expression not in self._programs:
            spend(compiling(expression), "compiling selectors")
            self._programs[expression] = program(expression)
        compiled = self._programs[expression]
        if isinstance(compiled, InvalidSelector):
            raise compiled.with_traceback(None)
        return compiled

    def _evaluated(self, compiled: Program, class_view: View) -> str | None:
        spend(_EACH + compiled.steps, "evaluating selectors")
        if class_view.unusable:
            return f"nodeSelector cannot be evaluated: {class_view.unusable}"
        result = compiled.result(class_view.variables)
        if isinstance(result, bool):
            return None if result else FALSE
        missing = _MISSING.search(result)
        return f"nodeSelector cannot be evaluated: {class_view.missing(missing[1]) if missing else result}"


@lru_cache(maxsize=1024)
def program(expression: str) -> Program | InvalidSelector:
    """Return the compiled selector, or the error that it is none.

    Results are kept, because plans, demands and claims ask for the same ones.
    """
    # The library takes some 30 ms to import; fleets without selectors do not pay them.
    from inferfleet.fleet.selectors.expressions import Program

    try:
        return Program(expression, environment(), SIZES, names=known_names(), guide=_GUIDE)
    except InvalidSelector as invalid:
        return invalid


# With which types an attribute can be compared, by its own; and how it is told what that is.
_COMPARABLE = {
    "string": {"string"},
    "bool": {"bool"},
    "int": {"int", "uint", "double"},
    SEMVER: {SEMVER},
}
_TYPES_IN_WORDS = {"string": "a text", "bool": "true or false", "int": "a whole number", SEMVER: "a version"}
_TYPE_STEPS = {
    "string": "Write the value as a text in quotes",
    "bool": "Write true or false without quotes",
    "int": "Write a whole number without quotes",
    SEMVER: 'Write the value as semver("9.0.0")',
}


def _kind_of(value: Any) -> str:
    """Return the type of an attribute's value as the CEL library names it."""
    return type_of(value) or {bool: "bool", int: "int"}.get(type(value), "string")


def spoken(kind: str) -> str:
    """Return the type of a value for messages: `a text`, `int`."""
    return _TYPES_IN_WORDS.get(kind) or SPOKEN.get(kind, kind)
