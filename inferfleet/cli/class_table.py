"""The classes as a table: what a node has, and how GKE can be asked for it."""

from collections.abc import Iterable

from inferfleet.api.inference_class import Device, InferenceClass
from inferfleet.api.quantity import parse_quantity
from inferfleet.cli.class_search import memory, provider
from inferfleet.cli.tables import print_table
from inferfleet.fleet.suitability import cores, gib
from inferfleet.gke.machines import machine_of

_COLUMNS = ("name", "devices per node", "cores", "memory", "nodes by", "machine type", "capacity models")


def print_classes(classes: Iterable[InferenceClass]) -> None:
    """One row each; with prices where some class has one."""
    chosen = list(classes)
    priced = any(one.spec.price for one in chosen)
    columns = (*_COLUMNS, *(["price"] if priced else []), "description")
    rows = [(*_row(one), *([_price(one)] if priced else []), one.spec.description) for one in chosen]
    print_table("classes", columns, rows)
    if any("disputed" in machine.capacity.values() for one in chosen if (machine := machine_of(one))):
        print("\n?: sources disagree on whether Google offers it, or only a weak one says so")


def _row(one: InferenceClass) -> tuple[object, ...]:
    node, provisioning = one.spec.node, one.spec.provisioning
    machine_type = provisioning.gke.machine_type if provisioning and provisioning.gke else None
    return (
        one.metadata.name,
        ", ".join(_device(device) for device in one.spec.all_devices),
        cores(int(parse_quantity(node.cpu) * 1000)),
        gib(int(parse_quantity(node.memory))),
        provider(one) if provisioning else None,
        machine_type,
        _capacity(one),
    )


def _device(device: Device) -> str:
    each = memory(device)
    return f"{device.count} {device.name}" + (f" of {gib(int(each))}" if each is not None else "")


def _capacity(one: InferenceClass) -> str | None:
    machine = machine_of(one)
    if machine is None:
        return None
    marks = {"yes": "", "disputed": "?"}
    return " ".join(
        f"{model}{marks[verdict]}" for model, verdict in machine.capacity.items() if verdict in marks
    )


def _price(one: InferenceClass) -> str | None:
    price = one.spec.price
    return f"{price.on_demand} {price.currency} per {price.per}" if price else None
