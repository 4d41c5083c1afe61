"""What is known of a machine type: what it has, how it can be had, and what its nodes need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from inferfleet.documents.kinds.gke import GpuDirect
from inferfleet.documents.kinds.inference_cluster import CapacityModel

# "disputed": sources disagree, or only a weak one has it.
Verdict = Literal["yes", "no", "disputed"]


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
    nics: int = 1
    architecture: Literal["amd64", "arm64"] = "amd64"
    fabric: Fabric | None = None
    boot_disk: str | None = None
    max_nodes: int | None = None
    unsupported: str = ""
    known: bool = True

    def accelerator(self, accelerator_type: str) -> Accelerator | None:
        """Return the GPU of that type, None where the machine cannot have it."""
        return next((gpu for gpu in self.accelerators if gpu.type == accelerator_type), None)
