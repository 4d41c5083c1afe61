"""How a provider makes nodes of a class: the recipe's machine, accelerator, disks, driver and network."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from inferfleet.api.document import Model
from inferfleet.api.mistakes import mistaken
from inferfleet.api.text_rules import Written

Provider = Literal["GKE", "EKS", "AKS", "Nebius", "Vultr"]
GpuDirect = Literal["None", "TCPX", "TCPXO", "RDMA"]
Driver = Literal["DEFAULT", "LATEST", "INSTALLATION_DISABLED"]
_NAME = Written("[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lowercase letters, digits and '-', as Google writes it", 63)


class Sharing(Model):
    """Several pods on one GPU: at most `maxClientsPerGpu` of them."""

    strategy: Literal["TimeSharing", "MPS"]
    max_clients_per_gpu: int = Field(ge=2, le=48)


class GkeAccelerator(Model):
    """`count` GPUs per node. `partitionSize` splits each (MIG), as in `1g.10gb`."""

    type: Annotated[str, _NAME]
    count: int = Field(ge=1, le=16)
    partition_size: Annotated[str, Written(r"[0-9]g\.[0-9]{1,3}gb", "a partition such as 1g.10gb")] | None = (
        None
    )
    sharing: Sharing | None = None


class LocalSsd(Model):
    """`count` local SSDs per node: for pods' ephemeral storage, or as raw block devices."""

    count: int = Field(ge=1, le=32)
    use: Literal["EphemeralStorage", "BlockDevice"] = "EphemeralStorage"


class Networking(Model):
    gpu_direct: GpuDirect = "None"


class GkeProvisioning(Model):
    """A node pool of GKE, but for what each pool says itself: size, zones, capacity model.

    `verified` says where and when somebody saw Google take this recipe: what the table of machines has
    against it is then a warning, and what it doubts is settled.
    """

    machine_type: Annotated[str, _NAME]
    accelerator: GkeAccelerator
    disk_size_gb: int = Field(default=100, ge=10, le=65_536)
    disk_type: Annotated[str, _NAME] | None = None
    local_ssd: LocalSsd | None = None
    driver: Driver = "DEFAULT"
    image_streaming: bool = False
    networking: Networking = Networking()
    compact_placement: bool = False
    verified: str | None = Field(default=None, min_length=1, max_length=200)


class Provisioning(Model):
    """One block, named like the provider. Those of others than GKE are descriptions, kept as written."""

    provider: Provider
    gke: GkeProvisioning | None = None
    eks: dict[str, Any] | None = None
    aks: dict[str, Any] | None = None
    nebius: dict[str, Any] | None = None
    vultr: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _its_block(self) -> "Provisioning":
        wanted = self.provider.lower()
        blocks = ("gke", "eks", "aks", "nebius", "vultr")
        there = [block for block in blocks if getattr(self, block) is not None]
        if there != [wanted]:
            got = ", ".join(there) or "none"
            what = f"provider {self.provider} needs the block {wanted} and no other, got {got}"
            raise mistaken(what, f"Write {wanted}: {{...}} alone")
        return self
