"""What is known of machine types: what they have, how they can be had, and what their nodes need.

The GPU machine types of Google Cloud are a table, one row each, below the functions; those of CPUs follow
from the pattern of their name; of all others it is known what a class says.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, Literal

from inferfleet.cloud.values import Verdict
from inferfleet.documents.kinds.gke import GkeProvisioning, GpuDirect
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.quantity import parse_quantity


@dataclass(frozen=True)
class Accelerator:
    """A type of GPU, the numbers of them a node can have, and the memory of each.

    Google prints GB and means GiB: an H100 of 80 GB reports 81559 MiB.
    """

    type: str
    counts: tuple[int, ...]
    memory_gib: int


@dataclass(frozen=True)
class LocalSsds:
    """The numbers of local SSDs a node can have; `attached` ones are part of the machine and always there."""

    counts: tuple[int, ...] = ()
    attached: bool = False


@dataclass(frozen=True)
class Fabric:
    """The network between nodes that GPUs reach directly.

    `networks` and `interfaces` count what comes on top of the cluster's own network and the first interface
    of a node. `mtu` is None where a network profile sets it.
    """

    kind: GpuDirect
    networks: int
    interfaces: int
    mtu: int | None = None


@dataclass(frozen=True)
class Machine:
    """One machine type. Google prints its memory as GB too and means GiB.

    `boot_disk` is the only type of boot disk it takes (None: several). `unsupported` says why no pool of it
    can be made here. `known` is False where the facts are a class's own words, because nothing else tells
    them.
    """

    type: str
    family: str
    vcpus: int
    memory_gib: float
    capacity: Mapping[CapacityModel, Verdict]
    accelerators: tuple[Accelerator, ...] = ()
    ssds: LocalSsds = LocalSsds()
    architecture: Literal["amd64", "arm64"] = "amd64"
    fabric: Fabric | None = None
    boot_disk: str | None = None
    max_nodes: int | None = None
    unsupported: str = ""
    known: bool = True

    def accelerator(self, accelerator_type: str) -> Accelerator | None:
        """Return the GPU of that type, None where the machine cannot have it."""
        return next((gpu for gpu in self.accelerators if gpu.type == accelerator_type), None)


Capacity = Mapping[CapacityModel, Verdict]
HYPERDISK = "hyperdisk-balanced"
# Families whose network cards GKE's driver DRANET offers to claims, beside A4X Max:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24. The
# profile `auto` exists for A3 Mega too, whose cards that page does not list.
NETWORK_PROFILE_FAMILIES = ("A3 Ultra", "A4", "A4X")
Installed = Literal["DEFAULT", "LATEST"]


def machine_of(inference_class: InferenceClass) -> Machine | None:
    """Return the machine of a class that GKE provisions; None for other classes.

    For a machine type that is not known, the facts are what the class itself says.
    """
    provisioning = inference_class.spec.provisioning
    if provisioning is None or provisioning.gke is None:
        return None
    return machine(provisioning.gke.machine_type) or _as_class_says(provisioning.gke, inference_class)


@cache
def machine(machine_type: str) -> Machine | None:
    """Return the facts of a machine type; None for one that is not known."""
    return _by_type().get(machine_type) or _general(machine_type)


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


def with_gpus(accelerator_type: str, count: int | None = None) -> tuple[str, ...]:
    """Return the machine types that have such GPUs, and `count` of them, in the order of the table."""
    return tuple(
        machine_type.type
        for machine_type in _by_type().values()
        for gpu in machine_type.accelerators
        if gpu.type == accelerator_type and (count is None or count in gpu.counts)
    )


def is_arm(machine_type: str) -> bool:
    """Return whether nodes of a machine type are arm64."""
    machine_facts = machine(machine_type)
    return machine_type.partition("-")[0] in _ARM_SERIES or (
        machine_facts is not None and machine_facts.architecture == "arm64"
    )


def only_boot_disk(machine_type: str) -> str | None:
    """Return the only type of disk from which nodes of a machine type of CPUs boot, None where several do."""
    return HYPERDISK if machine_type.partition("-")[0] in _HYPERDISK_SERIES else None


def known_types() -> tuple[str, ...]:
    """Return the machine types of the table, all of which have GPUs built in, in its order."""
    return tuple(_by_type())


@cache
def _by_type() -> dict[str, Machine]:
    return {machine_facts.type: machine_facts for machine_facts in machines()}


def chosen(machine: Machine, accelerator: str) -> Installed:
    """Return the driver of new pools whose recipe names none: one in which images of today run.

    The default of GKE is R535 on most machines, and engines with CUDA 13 need R580.
    """
    return "DEFAULT" if accelerator in _OLD or machine.family in _RACKS else "LATEST"


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
# CUDA 13 needs R580: rapidsai/deployment#656, where the default driver of GKE, 535.274.02, was too old, and
# #659 (2026-02-05), where `latest` mended it. It has no code for GPUs before Turing: images
# with it do not run there at all.
_OLD = ("nvidia-tesla-p4", "nvidia-tesla-p100", "nvidia-tesla-v100")
# The default of racks is R580 already. Google's page on them and its toolkit's blueprint (examples/gke-a4x)
# choose no driver. Others create such pools with LATEST, and so does a recipe that writes it.
_RACKS = ("A4X", "A4X Max")
TCPX = Fabric("TCPX", networks=4, interfaces=4, mtu=8244)
TCPXO = Fabric("TCPXO", networks=8, interfaces=8, mtu=8244)
# One network for gVNIC, and one with a network profile of the zone that holds an interface per RDMA adapter.
RDMA = Fabric("RDMA", networks=2, interfaces=9)
RDMA_OF_FOUR = Fabric("RDMA", networks=2, interfaces=5)


def _capacity(
    *,
    on_demand: Verdict = "yes",
    spot: Verdict = "yes",
    waited: Verdict = "yes",
    reservation: Verdict = "yes",
) -> Capacity:
    """Return the verdicts by capacity model; `waited` is that of flex-start and queued provisioning."""
    return {
        "OnDemand": on_demand,
        "Spot": spot,
        "FlexStart": waited,
        "Queued": waited,
        "Reservation": reservation,
    }


ALL = _capacity()
# Google's page on flex-start names machines with accelerators, and few others.
CPU_ONLY = _capacity(waited="disputed")
_NO_ON_DEMAND = _capacity(on_demand="no")
_ONLY_RESERVED = _capacity(on_demand="no", spot="no", waited="no")
# Google's page: "must be Spot or flex-start"; nothing certain is said of reservations.
_SMALL_A3 = _capacity(on_demand="no", reservation="disputed")
# Google's page on flex-start has G4, as was reported on 2026-11-28 (older copies of it exclude G4). Of queued
# provisioning nothing is said.
_G4 = {**ALL, "Queued": "disputed"}
_NOT_LISTED = _capacity(on_demand="disputed", spot="disputed", waited="disputed", reservation="disputed")
# Local SSDs that may be had or not, by machine type.
_OPTIONAL = {
    "a2-highgpu-1g": (1, 2, 4, 8),
    "a2-highgpu-2g": (2, 4, 8),
    "a2-highgpu-4g": (4, 8),
    "a2-highgpu-8g": (8,),
    "a2-megagpu-16g": (8,),
}
# Counts an N1 machine takes: https://docs.cloud.google.com/compute/docs/disks/local-ssd
N1_SSDS = LocalSsds((*range(1, 9), 16, 24))
N1_ACCELERATORS = (
    Accelerator("nvidia-tesla-t4", (1, 2, 4), 16),
    Accelerator("nvidia-tesla-v100", (1, 2, 4, 8), 16),
    Accelerator("nvidia-tesla-p100", (1, 2, 4), 16),
    Accelerator("nvidia-tesla-p4", (1, 2, 4), 8),
)
# Per family: accelerator, memory of each GPU, and what all its machines share.
_FAMILIES: Mapping[str, tuple[str, int, dict[str, Any]]] = {
    "G2": ("nvidia-l4", 24, {"capacity": ALL}),
    "G4": ("nvidia-rtx-pro-6000", 96, {"capacity": _G4}),
    "A2": ("nvidia-tesla-a100", 40, {"capacity": ALL}),
    "A2 Ultra": ("nvidia-a100-80gb", 80, {"capacity": ALL}),
    "A3 High, small": ("nvidia-h100-80gb", 80, {"capacity": _SMALL_A3}),
    "A3 High": ("nvidia-h100-80gb", 80, {"capacity": ALL, "fabric": TCPX}),
    "A3 Edge": ("nvidia-h100-80gb", 80, {"capacity": _NOT_LISTED}),
    "A3 Mega": ("nvidia-h100-mega-80gb", 80, {"capacity": ALL, "fabric": TCPXO}),
    "A3 Ultra": (
        "nvidia-h200-141gb",
        141,
        {"capacity": _NO_ON_DEMAND, "fabric": RDMA},
    ),
    "A4": ("nvidia-b200", 180, {"capacity": _NO_ON_DEMAND, "fabric": RDMA}),
    "A4X": (
        "nvidia-gb200",
        186,
        {
            "capacity": _ONLY_RESERVED,
            "fabric": RDMA_OF_FOUR,
            "architecture": "arm64",
            "boot_disk": HYPERDISK,
            # One NVLink domain (topology 1x72) is 18 nodes of 4 GPUs.
            "max_nodes": 18,
        },
    ),
    "A4X Max": (
        "nvidia-gb300",
        279,
        {
            "capacity": _ONLY_RESERVED,
            "architecture": "arm64",
            "boot_disk": HYPERDISK,
            "max_nodes": 18,
            "unsupported": "is bare metal, of which inferfleet makes no pools, though Google offers them",
        },
    ),
}
# machine type, family, GPUs, vCPUs, memory, attached local SSDs (or 0)
_ROWS: tuple[tuple[str, str, int, int, int, int], ...] = (
    ("g2-standard-4", "G2", 1, 4, 16, 0),
    ("g2-standard-8", "G2", 1, 8, 32, 0),
    ("g2-standard-12", "G2", 1, 12, 48, 0),
    ("g2-standard-16", "G2", 1, 16, 64, 0),
    ("g2-standard-24", "G2", 2, 24, 96, 0),
    ("g2-standard-32", "G2", 1, 32, 128, 0),
    ("g2-standard-48", "G2", 4, 48, 192, 0),
    ("g2-standard-96", "G2", 8, 96, 384, 0),
    ("g4-standard-48", "G4", 1, 48, 180, 0),
    ("g4-standard-96", "G4", 2, 96, 360, 0),
    ("g4-standard-192", "G4", 4, 192, 720, 0),
    ("g4-standard-384", "G4", 8, 384, 1440, 0),
    ("a2-highgpu-1g", "A2", 1, 12, 85, 0),
    ("a2-highgpu-2g", "A2", 2, 24, 170, 0),
    ("a2-highgpu-4g", "A2", 4, 48, 340, 0),
    ("a2-highgpu-8g", "A2", 8, 96, 680, 0),
    ("a2-megagpu-16g", "A2", 16, 96, 1360, 0),
    ("a2-ultragpu-1g", "A2 Ultra", 1, 12, 170, 1),
    ("a2-ultragpu-2g", "A2 Ultra", 2, 24, 340, 2),
    ("a2-ultragpu-4g", "A2 Ultra", 4, 48, 680, 4),
    ("a2-ultragpu-8g", "A2 Ultra", 8, 96, 1360, 8),
    ("a3-highgpu-1g", "A3 High, small", 1, 26, 234, 2),
    ("a3-highgpu-2g", "A3 High, small", 2, 52, 468, 4),
    ("a3-highgpu-4g", "A3 High, small", 4, 104, 936, 8),
    ("a3-highgpu-8g", "A3 High", 8, 208, 1872, 16),
    ("a3-edgegpu-8g", "A3 Edge", 8, 208, 1872, 16),
    ("a3-megagpu-8g", "A3 Mega", 8, 208, 1872, 16),
    ("a3-ultragpu-8g", "A3 Ultra", 8, 224, 2952, 32),
    ("a4-highgpu-8g", "A4", 8, 224, 3968, 32),
    ("a4x-highgpu-4g", "A4X", 4, 140, 884, 4),
    ("a4x-highgpu-4g-nolssd", "A4X", 4, 140, 884, 0),
    ("a4x-maxgpu-4g-metal", "A4X Max", 4, 144, 960, 4),
)


def machines() -> Iterator[Machine]:
    """Yield every machine type with GPUs of its own, in the order of the table."""
    for name, family, gpus, vcpus, memory, attached in _ROWS:
        accelerator, gpu_memory, shared = _FAMILIES[family]
        yield Machine(
            name,
            family,
            vcpus,
            memory,
            accelerators=(Accelerator(accelerator, (gpus,), gpu_memory),),
            ssds=_ssds(name, family, gpus, attached),
            **shared,
        )


def _ssds(name: str, family: str, gpus: int, attached: int) -> LocalSsds:
    if attached:
        return LocalSsds((attached,), attached=True)
    if family in ("G2", "G4"):
        return LocalSsds((gpus if family == "G2" else 4 * gpus,))
    return LocalSsds(_OPTIONAL.get(name, ()))


_OF_80_GB = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}
PARTITIONS: Mapping[str, Mapping[str, int]] = {
    "nvidia-tesla-a100": {
        "1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1,
    },
    "nvidia-a100-80gb": _OF_80_GB,
    "nvidia-h100-80gb": _OF_80_GB,
    "nvidia-h100-mega-80gb": _OF_80_GB,
    "nvidia-h200-141gb": {
        "1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1,
    },
    "nvidia-b200": {
        "1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1,
    },
    "nvidia-rtx-pro-6000": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
}  # fmt: skip
