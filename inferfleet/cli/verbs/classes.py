"""`inferfleet classes`: the kinds of nodes in the catalogue."""

import os.path
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import typer

from inferfleet.cli.output import print_line, print_yaml
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.manifests import manifest_text
from inferfleet.cli.show.tables import print_table
from inferfleet.cli.source import AsJson, StackName, catalogue, read_source
from inferfleet.cloud.provider import capacity_models
from inferfleet.cloud.values import Verdict
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.loading.load import load
from inferfleet.documents.loading.project import find_root, stacks_of
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import one_of, shown
from inferfleet.fleet.shapes import accelerators, cores, gib

NamesOrPaths = Annotated[
    list[str] | None,
    typer.Argument(help="Classes to show in full, or paths of further documents.", show_default=False),
]
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", help="Words of the GPU's name: L4, H100, Hopper.", show_default=False),
]
Count = Annotated[int | None, typer.Option("--count", min=1, help="GPUs per node.", show_default=False)]
MinMemory = Annotated[
    str | None,
    typer.Option(
        "--min-memory",
        help="Memory of each GPU, such as 75Gi. Drivers report less than the name says: an H100 of 80 GB "
        "has 79.6Gi.",
        show_default=False,
    ),
]
Provider = Annotated[
    Literal["GKE", "EKS", "AKS", "Nebius", "Vultr", "none"] | None,
    typer.Option(
        "--provider",
        help="Who provisions the nodes; none: they exist already.",
        case_sensitive=False,
        show_default=False,
    ),
]
# The provider of nodes that exist already, as a search names it.
NO_PROVIDER = "none"
_COLUMNS = ("name", "devices per node", "cores", "memory", "nodes by", "machine type", "capacity models")


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


def classes(
    names: NamesOrPaths = None,
    gpu: Gpu = None,
    count: Count = None,
    min_memory: MinMemory = None,
    provider: Provider = None,
    stack: StackName = None,
    as_json: AsJson = False,
) -> None:
    """List the classes of the catalogue and the stack, all or those that match, or show some in full."""
    paths = [Path(word) for word in names or [] if _is_path(word)]
    class_names = [word for word in names or [] if not _is_path(word)]
    with reporting(as_json=as_json) as report:
        search = Search(gpu, count, _bytes(min_memory), provider)
        if class_names and any(criterion is not None for criterion in astuple(search)):
            raise typer.BadParameter("name classes or search for them, not both", param_hint="NAMES")
        documents = _documents(paths, stack)
        report.documents = documents
        report.problems += documents.notices
        every = dict(sorted(documents.classes.items()))
        report.problems += [
            Problem(f"there is no class {shown(name)!r}", one_of(name, every, "Known classes"))
            for name in class_names
            if name not in every
        ]
        if not report.failed:
            chosen = [every[name] for name in class_names]
            chosen = chosen or [document for document in every.values() if search.matches(document)]
            _show(report, chosen, full=bool(class_names), as_json=as_json)


def _bytes(quantity: str | None) -> Decimal | None:
    """Return the quantity as a number. Raises click's UsageError for what is no quantity."""
    try:
        return None if quantity is None else parse_quantity(quantity)
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong), param_hint="--min-memory") from None


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".yaml", ".yml")) or os.path.exists(word)


def _documents(paths: list[Path], stack: str | None) -> Documents:
    """Return the documents of the stack, if one is named or there is only one, and else the catalogue."""
    if paths or stack is not None:
        return read_source(paths, stack).documents
    try:
        several = len(stacks_of(find_root(Path.cwd()))) != 1
    except InvalidDocuments:
        several = True
    return load([], catalogue=catalogue()) if several else read_source(None, None).documents


def _show(report: Report, chosen: list[InferenceClass], *, full: bool, as_json: bool) -> None:
    documents = [class_.model_dump(mode="json", by_alias=True, exclude_none=True) for class_ in chosen]
    if as_json:
        report.values["classes"] = documents
    elif full:
        print_yaml("---\n".join(manifest_text(class_, as_format="yaml") for class_ in documents))
    elif chosen:
        print_classes(chosen)
    else:
        print_line("no class matches")


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
    return f"{device.count} {device.resource or device.name}" + (
        f" of {gib(int(each))}" if each is not None else ""
    )


def _capacity(models: Mapping[CapacityModel, Verdict]) -> str:
    marks = {"yes": "", "disputed": "?"}
    return " ".join(f"{model}{marks[verdict]}" for model, verdict in models.items() if verdict in marks)


def _price(hardware: InferenceClass) -> str | None:
    price = hardware.spec.price
    if price is None:
        return None
    spot = f", Spot {price.spot}" if price.spot is not None else ""
    return f"{price.on_demand}{spot} {price.currency} per {price.per}"
