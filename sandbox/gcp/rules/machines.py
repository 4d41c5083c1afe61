"""Machine types: the cores, memory, local SSDs and accelerators of a machine, and what pods may use of it.

The source is cloud.google.com/compute/docs/gpus (2026-04-14), and for CPU types the machine families' own
pages. Memory is in GiB, which Google prints as GB.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """What a machine of one type has; `memory` is in GiB.

    `accelerators` pairs each type that fits with the counts in which it may be asked for. `built_in` ones are
    part of the machine and must be asked for in exactly that count. `ssds` counts the local SSDs that it
    always has.
    """

    vcpu: int
    memory: float
    accelerators: tuple[tuple[str, tuple[int, ...]], ...] = ()
    built_in: bool = False
    ssds: int = 0
    arch: str = "amd64"
    shared_cores: bool = False


_L4, _A100, _A100_80, _H100 = "nvidia-l4", "nvidia-tesla-a100", "nvidia-a100-80gb", "nvidia-h100-80gb"
_RTX = "nvidia-rtx-pro-6000"
# Values: vCPU, GiB, accelerator, its count, local SSDs that come with it.
_GPU: dict[str, tuple[int, float, str, int, int]] = {
    "g2-standard-4": (4, 16, _L4, 1, 0),
    "g2-standard-8": (8, 32, _L4, 1, 0),
    "g2-standard-12": (12, 48, _L4, 1, 0),
    "g2-standard-16": (16, 64, _L4, 1, 0),
    "g2-standard-24": (24, 96, _L4, 2, 0),
    "g2-standard-32": (32, 128, _L4, 1, 0),
    "g2-standard-48": (48, 192, _L4, 4, 0),
    "g2-standard-96": (96, 384, _L4, 8, 0),
    "g4-standard-48": (48, 180, _RTX, 1, 4),
    "g4-standard-96": (96, 360, _RTX, 2, 8),
    "g4-standard-192": (192, 720, _RTX, 4, 16),
    "g4-standard-384": (384, 1440, _RTX, 8, 32),
    "a2-highgpu-1g": (12, 85, _A100, 1, 0),
    "a2-highgpu-2g": (24, 170, _A100, 2, 0),
    "a2-highgpu-4g": (48, 340, _A100, 4, 0),
    "a2-highgpu-8g": (96, 680, _A100, 8, 0),
    "a2-megagpu-16g": (96, 1360, _A100, 16, 0),
    "a2-ultragpu-1g": (12, 170, _A100_80, 1, 1),
    "a2-ultragpu-2g": (24, 340, _A100_80, 2, 2),
    "a2-ultragpu-4g": (48, 680, _A100_80, 4, 4),
    "a2-ultragpu-8g": (96, 1360, _A100_80, 8, 8),
    "a3-highgpu-1g": (26, 234, _H100, 1, 2),
    "a3-highgpu-2g": (52, 468, _H100, 2, 4),
    "a3-highgpu-4g": (104, 936, _H100, 4, 8),
    "a3-highgpu-8g": (208, 1872, _H100, 8, 16),
    "a3-edgegpu-8g": (208, 1872, _H100, 8, 16),
    "a3-megagpu-8g": (208, 1872, "nvidia-h100-mega-80gb", 8, 16),
    "a3-ultragpu-8g": (224, 2952, "nvidia-h200-141gb", 8, 32),
    "a4-highgpu-8g": (224, 3968, "nvidia-b200", 8, 32),
    "a4x-highgpu-4g": (140, 884, "nvidia-gb200", 4, 4),
    "a4x-maxgpu-4g-metal": (144, 960, "nvidia-gb300", 4, 4),
}
# Values: GiB per vCPU, numbers of vCPU.
_CPU: dict[str, tuple[float, tuple[int, ...]]] = {
    "e2-standard": (4, (2, 4, 8, 16, 32)),
    "e2-highmem": (8, (2, 4, 8, 16)),
    "n2-standard": (4, (2, 4, 8, 16, 32, 48, 64, 80, 96, 128)),
    "n2-highmem": (8, (2, 4, 8, 16, 32, 48, 64, 80, 96)),
    "n4-standard": (4, (2, 4, 8, 16, 32, 48, 64, 80)),
    "n4-highmem": (8, (2, 4, 8, 16, 32, 48, 64, 80)),
}
_N1: dict[str, tuple[float, tuple[int, ...]]] = {
    "n1-standard": (3.75, (1, 2, 4, 8, 16, 32, 64, 96)),
    "n1-highmem": (6.5, (2, 4, 8, 16, 32, 64, 96)),
}
# The accelerators that any n1 machine takes. cloud.google.com/compute/docs/gpus#n1-gpus
_ATTACHED = (
    ("nvidia-tesla-t4", (1, 2, 4)),
    ("nvidia-tesla-v100", (1, 2, 4, 8)),
    ("nvidia-tesla-p100", (1, 2, 4)),
    ("nvidia-tesla-p4", (1, 2, 4)),
)
# Families whose local SSDs GKE attaches, and writes into the pool, when nobody asked for them.
_FAMILIES_WITH_SSDS = ("a3-", "a4")


def _machines() -> Iterator[tuple[str, Machine]]:
    for name, (vcpu, memory, gpu, count, ssds) in _GPU.items():
        arch = "arm64" if name.startswith("a4x-") else "amd64"
        yield name, Machine(vcpu, memory, ((gpu, (count,)),), built_in=True, ssds=ssds, arch=arch)
    for table, attached in ((_CPU, ()), (_N1, _ATTACHED)):
        for family, (memory, sizes) in table.items():
            for size in sizes:
                yield f"{family}-{size}", Machine(size, size * memory, attached)
    yield "n2-highmem-128", Machine(128, 864)
    yield "e2-medium", Machine(2, 4, shared_cores=True)


MACHINES = dict(_machines())
DEFAULT = "e2-medium"


def fills_in_ssds(machine_type: str) -> bool:
    """Return True when GKE sets the pool's local SSDs by itself."""
    return machine_type.startswith(_FAMILIES_WITH_SSDS)


def allocatable(machine: Machine) -> tuple[int, int]:
    """Return the CPU in millicores and the memory in MiB that pods may use of a node.

    The rest is what GKE reserves: cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
    """
    cores = [60, 10, 5, 5, *[2.5] * max(machine.vcpu - 4, 0)]
    cpu = machine.vcpu * 1000 - (1060 if machine.shared_cores else round(sum(cores[: machine.vcpu])))
    left, reserved = machine.memory, 0.0
    for size, share in ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06), (float("inf"), 0.02)):
        part = min(left, size)
        reserved += part * share
        left -= part
    return cpu, round((machine.memory - reserved) * 1024) - 100
