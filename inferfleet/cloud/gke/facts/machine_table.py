"""The GPU machine types of Google Cloud, one row each, and how a GPU can be split. Data only."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.facts.machine import Accelerator, Fabric, LocalSsds, Machine, Verdict
from inferfleet.documents.kinds.inference_cluster import CapacityModel

Capacity = Mapping[CapacityModel, Verdict]

HYPERDISK = "hyperdisk-balanced"
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
# Google's page on flex-start excludes G4; the compute classes of accelerated-platforms list it.
_G4 = _capacity(waited="disputed")
_NOT_LISTED = _capacity(on_demand="disputed", spot="disputed", waited="disputed", reservation="disputed")

# Families whose network cards GKE's driver DRANET offers to claims, beside A4X Max:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24. The
# profile `auto` exists for A3 Mega too, whose cards that page does not list.
NETWORK_PROFILE_FAMILIES = ("A3 Ultra", "A4", "A4X")

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
            "unsupported": "is bare metal, and pools of that are not offered",
        },
    ),
}

# machine type, family, GPUs, vCPUs, memory, attached local SSDs (or 0), interfaces
_ROWS: tuple[tuple[str, str, int, int, int, int, int], ...] = (
    ("g2-standard-4", "G2", 1, 4, 16, 0, 1),
    ("g2-standard-8", "G2", 1, 8, 32, 0, 1),
    ("g2-standard-12", "G2", 1, 12, 48, 0, 1),
    ("g2-standard-16", "G2", 1, 16, 64, 0, 1),
    ("g2-standard-24", "G2", 2, 24, 96, 0, 1),
    ("g2-standard-32", "G2", 1, 32, 128, 0, 1),
    ("g2-standard-48", "G2", 4, 48, 192, 0, 1),
    ("g2-standard-96", "G2", 8, 96, 384, 0, 1),
    ("g4-standard-48", "G4", 1, 48, 180, 0, 1),
    ("g4-standard-96", "G4", 2, 96, 360, 0, 1),
    ("g4-standard-192", "G4", 4, 192, 720, 0, 1),
    ("g4-standard-384", "G4", 8, 384, 1440, 0, 2),
    ("a2-highgpu-1g", "A2", 1, 12, 85, 0, 1),
    ("a2-highgpu-2g", "A2", 2, 24, 170, 0, 1),
    ("a2-highgpu-4g", "A2", 4, 48, 340, 0, 1),
    ("a2-highgpu-8g", "A2", 8, 96, 680, 0, 1),
    ("a2-megagpu-16g", "A2", 16, 96, 1360, 0, 1),
    ("a2-ultragpu-1g", "A2 Ultra", 1, 12, 170, 1, 1),
    ("a2-ultragpu-2g", "A2 Ultra", 2, 24, 340, 2, 1),
    ("a2-ultragpu-4g", "A2 Ultra", 4, 48, 680, 4, 1),
    ("a2-ultragpu-8g", "A2 Ultra", 8, 96, 1360, 8, 1),
    ("a3-highgpu-1g", "A3 High, small", 1, 26, 234, 2, 1),
    ("a3-highgpu-2g", "A3 High, small", 2, 52, 468, 4, 1),
    ("a3-highgpu-4g", "A3 High, small", 4, 104, 936, 8, 1),
    ("a3-highgpu-8g", "A3 High", 8, 208, 1872, 16, 5),
    ("a3-edgegpu-8g", "A3 Edge", 8, 208, 1872, 16, 5),
    ("a3-megagpu-8g", "A3 Mega", 8, 208, 1872, 16, 9),
    ("a3-ultragpu-8g", "A3 Ultra", 8, 224, 2952, 32, 10),
    ("a4-highgpu-8g", "A4", 8, 224, 3968, 32, 10),
    ("a4x-highgpu-4g", "A4X", 4, 140, 884, 4, 6),
    ("a4x-highgpu-4g-nolssd", "A4X", 4, 140, 884, 0, 6),
    ("a4x-maxgpu-4g-metal", "A4X Max", 4, 144, 960, 4, 6),
)


def machines() -> Iterator[Machine]:
    """Yield every machine type with GPUs of its own, in the order of the table."""
    for name, family, gpus, vcpus, memory, attached, nics in _ROWS:
        accelerator, gpu_memory, shared = _FAMILIES[family]
        yield Machine(
            name,
            family,
            vcpus,
            memory,
            accelerators=(Accelerator(accelerator, (gpus,), gpu_memory),),
            ssds=_ssds(name, family, gpus, attached),
            nics=nics,
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
