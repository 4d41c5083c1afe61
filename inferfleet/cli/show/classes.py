"""Which classes a search matches, and classes as a table."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from inferfleet.cli.output import print_line
from inferfleet.cli.show.tables import print_table
from inferfleet.cloud.provider import capacity_models
from inferfleet.cloud.values import Verdict
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.shapes import accelerators, cores, gib

# The provider of nodes that exist already, as a search names it.
NO_PROVIDER = "none"


@dataclass(frozen=True)
class Search:
    """What a class must have; None means anything. `min_memory` is in bytes, of each GPU."""

    gpu: str | None = None
    count: int | None = None
    min_memory: Decimal | None = None
    provider: str | None = None

    def matches(self, hardware: InferenceClass) -> bool:
        """Return whether the class has the provider, and one of its accelerators all that is asked for."""
        if self.provider is not None and self.provider.lower() != provider(hardware).lower():
            return False
        if (self.gpu, self.count, self.min_memory) == (None, None, None):
            return True
        return any(self._device(hardware, device) for device in accelerators(hardware))

    def _device(self, hardware: InferenceClass, device: Device) -> bool:
        if self.count is not None and device.count != self.count:
            return False
        if self.min_memory is not None and (memory(device) or 0) < self.min_memory:
            return False
        return self.gpu is None or _words(self.gpu) <= _described(hardware, device)


def provider(hardware: InferenceClass) -> str:
    """Return the provider that creates nodes of the class, or `none` where they exist already."""
    return hardware.spec.provisioning.provider if hardware.spec.provisioning else NO_PROVIDER


def memory(device: Device) -> Decimal | None:
    """Return the memory of one such device in bytes; None where the class does not say it."""
    stated = device.capacity.get("memory") or device.capacity.get(f"{device.driver}/memory")
    return parse_quantity(stated.value) if stated else None


def _described(hardware: InferenceClass, device: Device) -> set[str]:
    """Return the words of its name, product and architecture: whole ones, so that L4 is not found in L40."""
    texts = [value.string for value in device.attributes.values() if value.string is not None]
    return _words(" ".join([hardware.metadata.name, *texts]))


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z0-9]+", text.lower()))


_COLUMNS = ("name", "devices per node", "cores", "memory", "nodes by", "machine type", "capacity models")


def print_classes(classes: Iterable[InferenceClass]) -> None:
    """Print a table with one row for each class; with prices where any class has one."""
    chosen = [(hardware, capacity_models(hardware)) for hardware in classes]
    priced = any(hardware.spec.price for hardware, _ in chosen)
    columns = (*_COLUMNS, *(["price"] if priced else []), "description")
    rows = [
        (
            *_row(hardware),
            _capacity(models) if models else None,
            *([_price(hardware)] if priced else []),
            hardware.spec.description,
        )
        for hardware, models in chosen
    ]
    print_table("classes", columns, rows)
    if any("disputed" in models.values() for _, models in chosen if models):
        print_line()
        print_line("?: sources disagree on whether Google offers it, or only a weak one says so")


def _row(hardware: InferenceClass) -> tuple[object, ...]:
    node, provisioning = hardware.spec.node, hardware.spec.provisioning
    machine_type = provisioning.gke.machine_type if provisioning and provisioning.gke else None
    return (
        hardware.metadata.name,
        ", ".join(_device(device) for device in hardware.spec.all_devices) or "cpu",
        cores(int(parse_quantity(node.cpu) * 1000)),
        gib(int(parse_quantity(node.memory))),
        provider(hardware) if provisioning else None,
        machine_type,
    )


def _device(device: Device) -> str:
    each = memory(device)
    return f"{device.count} {device.name}" + (f" of {gib(int(each))}" if each is not None else "")


def _capacity(models: Mapping[CapacityModel, Verdict]) -> str:
    marks = {"yes": "", "disputed": "?"}
    return " ".join(f"{model}{marks[verdict]}" for model, verdict in models.items() if verdict in marks)


def _price(hardware: InferenceClass) -> str | None:
    price = hardware.spec.price
    if price is None:
        return None
    spot = f", Spot {price.spot}" if price.spot is not None else ""
    return f"{price.on_demand}{spot} {price.currency} per {price.per}"
