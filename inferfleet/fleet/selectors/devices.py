"""What a selector sees of a class: the variables of an expression, and their names for messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.inference_class import AttributeValue, Device, InferenceClass
from inferfleet.documents.kinds.quantity import parse_quantity
from inferfleet.documents.wording import nearest, shown
from inferfleet.fleet.selectors.amounts import QUANTITY, Unusable, of_amount, semver, text_of, type_of
from inferfleet.fleet.selectors.growth import Size
from inferfleet.fleet.selectors.source import Token
from inferfleet.fleet.shapes import accelerator

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


@dataclass(frozen=True)
class View:
    """A class as selectors see it. `objection` says why no selector is evaluated on it."""

    variables: dict[str, Any]
    keys: tuple[str, ...] = ()
    objection: str | None = None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Return the attributes of all devices by `<driver domain>/<name>`."""
        found: Mapping[str, Any] = self.variables.get("attributes", {})
        return found

    def missing(self, key: str) -> str:
        """Return the words for a key that is not there, with the nearest one that is."""
        here = {*self.keys, *(key.rpartition("/")[2] for key in self.keys)}
        here |= {key.rpartition("/")[0] for key in self.keys}
        for part in ("attributes", "capacity"):
            if key in self.variables.get(part, {}):
                return f"no such key {shown(key)!r} there; it is in {part}"
            domains = [full.rpartition("/")[0] for full in self.keys if full.rpartition("/")[2] == key]
            domains = sorted(name for name in domains if f"{name}/{key}" in self.variables.get(part, {}))
            if domains:
                listed = ", ".join(map(shown, domains))
                return f"no such key {shown(key)!r} there; it is in the domain {listed} of {part}"
        close = nearest(key, here - {""})
        if close is None and "/" in key:
            close = nearest(key.rpartition("/")[2], {name for name in here if "/" not in name})
        hint = f"; did you mean {shown(close)!r}?" if close else ""
        return f"no such key {shown(key)!r}{hint}"

    def named(self, tokens: Sequence[Token]) -> str:
        """Return the attributes and amounts that an expression names, with their values: `memory is 24Gi`."""
        words = [token for token in tokens if token.text != "?"]
        told: dict[str, None] = {}
        for index, word in enumerate(words):
            texts = [other.text for other in words[index : index + 8]] + [""] * 8
            of_device = [other.text for other in words[max(0, index - 2) : index]] == ["device", "."]
            if word.text == "driver" and of_device:
                told[f"driver is {shown(self.variables['device.driver'])}"] = None
            if word.text not in ("attributes", "capacity") or texts[1] != "[" or texts[3] != "]":
                continue
            key, facts = _unquoted(texts[2]), self.variables[word.text]
            if of_device:
                name = texts[5] if texts[4] == "." else _unquoted(texts[5])
                key, facts = name, self.variables[f"device.{word.text}"].get(key, {})
            if key:
                short = shown(key.rpartition("/")[2])
                told[f"{short} is {_spoken(facts[key])}" if key in facts else f"{short} is not there"] = None
        return ", ".join(told)


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


def view(inference_class: InferenceClass) -> View:
    """Return the variables of the class: flat ones of all devices, and `device`, its accelerator."""
    first = accelerator(inference_class)
    devices = sorted(inference_class.spec.all_devices, key=lambda device: device is not first)
    largest = max((len(device.attributes) + len(device.capacity) for device in devices), default=0)
    if largest > MAX_FACTS:
        why = f"a device of it has {largest} attributes and capacities, and Kubernetes takes {MAX_FACTS}"
        return View({}, objection=why)
    try:
        facts = {device.name: list(_facts(device)) for device in devices}
    except Unusable as problem:
        return View({}, objection=str(problem))
    text = sum(
        len(domain) + len(name) + len(str(value)) for own in facts.values() for _, domain, name, value in own
    )
    if text > MAX_TEXT:
        return View({}, objection=f"its attributes and capacities have more than {MAX_TEXT:,} characters")
    flat: dict[str, dict[str, Any]] = {"attributes": {}, "capacity": {}}
    for own in facts.values():
        for part, domain, name, value in own:
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
