"""Machine types by name: from the table, by the pattern of the name, or as far as a class describes one."""

import re
from functools import cache
from math import ceil

from inferfleet.cloud.gke.facts.machine import Accelerator, Fabric, LocalSsds, Machine
from inferfleet.cloud.gke.facts.machine_table import (
    ALL,
    CPU_ONLY,
    HYPERDISK,
    N1_ACCELERATORS,
    N1_SSDS,
    RDMA,
    TCPX,
    TCPXO,
    machines,
)
from inferfleet.documents.kinds.gke import GkeProvisioning, GpuDirect
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.quantity import parse_quantity

_GIB = 2**30
# GiB per vCPU and numbers of vCPUs, by series and kind:
# https://docs.cloud.google.com/compute/docs/general-purpose-machines
_N2 = (2, 4, 8, 16, 32, 48, 64, 80, 96)
_PREDEFINED: dict[str, tuple[float, tuple[int, ...]]] = {
    "n1-standard": (3.75, (1, 2, 4, 8, 16, 32, 64, 96)),
    "n1-highmem": (6.5, (2, 4, 8, 16, 32, 64, 96)),
    "n1-highcpu": (0.9, (2, 4, 8, 16, 32, 64, 96)),
    "n2-standard": (4, (*_N2, 128)),
    "n2-highmem": (8, (*_N2, 128)),
    "n2-highcpu": (1, _N2),
    "n4-standard": (4, _N2[:-1]),
    "n4-highmem": (8, _N2[:-1]),
    "n4-highcpu": (2, _N2[:-1]),
    "e2-standard": (4, (2, 4, 8, 16, 32)),
    "e2-highmem": (8, (2, 4, 8, 16)),
    "e2-highcpu": (1, (2, 4, 8, 16, 32)),
}
# The one whose memory is not by its vCPUs, in GiB.
_MEMORY = {"n2-highmem-128": 864.0}
# Custom machine types of N1 are named `custom-<vCPUs>-<MiB>`.
_CUSTOM = re.compile(r"(?:n1-)?custom-([0-9]{1,3})-([0-9]{1,7})(?:-ext)?")
# Series of Arm, by docs.cloud.google.com/compute/docs/instances/arm-on-compute, and those that take no
# Persistent Disk, by https://github.com/nextflow-io/nextflow/issues/6614, 2026-03-17.
_ARM_SERIES = ("c4a", "n4a", "t2a")
_HYPERDISK_SERIES = ("c4", "c4a", "c4d", "n4", "n4a", "n4d")


@cache
def machine(machine_type: str) -> Machine | None:
    """Return the facts of a machine type; None for one that is not known."""
    return _by_type().get(machine_type) or _general(machine_type)


def machine_of(inference_class: InferenceClass) -> Machine | None:
    """Return the machine of a class that GKE provisions; None for other classes.

    For a machine type that is not known, the facts are what the class itself says.
    """
    provisioning = inference_class.spec.provisioning
    if provisioning is None or provisioning.gke is None:
        return None
    return machine(provisioning.gke.machine_type) or _as_class_says(provisioning.gke, inference_class)


def with_gpus(accelerator_type: str, count: int | None = None) -> tuple[str, ...]:
    """Return the machine types that have such GPUs, and `count` of them, in the order of the table."""
    return tuple(
        known.type
        for known in _by_type().values()
        for gpu in known.accelerators
        if gpu.type == accelerator_type and (count is None or count in gpu.counts)
    )


def is_arm(machine_type: str) -> bool:
    """Return whether nodes of a machine type are arm64."""
    known = machine(machine_type)
    return machine_type.partition("-")[0] in _ARM_SERIES or (
        known is not None and known.architecture == "arm64"
    )


def only_boot_disk(machine_type: str) -> str | None:
    """Return the only type of disk from which nodes of a machine type of CPUs boot, None where several do."""
    return HYPERDISK if machine_type.partition("-")[0] in _HYPERDISK_SERIES else None


def known_types() -> tuple[str, ...]:
    """Return the machine types of the table, all of which have GPUs built in, in its order."""
    return tuple(_by_type())


@cache
def _by_type() -> dict[str, Machine]:
    return {known.type: known for known in machines()}


def _general(machine_type: str) -> Machine | None:
    kind, _, number = machine_type.rpartition("-")
    each, sizes = _PREDEFINED.get(kind, (0.0, ()))
    if number in map(str, sizes):
        series, cpus = kind[:2], int(number)
        memory = _MEMORY.get(machine_type, cpus * each)
    elif name := _CUSTOM.fullmatch(machine_type):
        series, cpus, memory = "n1", int(name[1]), int(name[2]) / 1024
    else:
        return None
    if series == "n1":
        return Machine(machine_type, "N1", cpus, memory, ALL, N1_ACCELERATORS, N1_SSDS)
    return Machine(
        machine_type, series.upper(), cpus, memory, CPU_ONLY, boot_disk=only_boot_disk(machine_type)
    )


def _as_class_says(recipe: GkeProvisioning, inference_class: InferenceClass) -> Machine:
    node, gpus = inference_class.spec.node, recipe.accelerator
    capacities = [device.capacity for device in inference_class.spec.all_devices]
    memories = [parse_quantity(each["memory"].value) for each in capacities if "memory" in each]
    memory = max(memories, default=0)
    fabric = _fabric(recipe.networking.gpu_direct, gpus.count if gpus else 0)
    return Machine(
        recipe.machine_type,
        "unknown",
        ceil(parse_quantity(node.cpu)),
        float(parse_quantity(node.memory) / _GIB),
        ALL,
        accelerators=(Accelerator(gpus.type, (gpus.count,), ceil(memory / _GIB)),) if gpus else (),
        ssds=LocalSsds((recipe.local_ssd.count,) if recipe.local_ssd else ()),
        nics=1 + (fabric.interfaces if fabric else 0),
        fabric=fabric,
        known=False,
    )


def _fabric(kind: GpuDirect, gpus: int) -> Fabric | None:
    """Return the fabric of a machine with this kind of GPUDirect and so many GPUs.

    All known machines with RDMA have one adapter per GPU and one gVNIC interface, so the kind is enough.
    """
    if kind == "RDMA":
        return Fabric("RDMA", networks=RDMA.networks, interfaces=gpus + 1)
    return {"TCPX": TCPX, "TCPXO": TCPXO}.get(kind)
