"""The block `provisioning.gke` of an InferenceClass: how GKE makes nodes of the class."""

from typing import Annotated, Literal

from pydantic import Field

from inferfleet.documents.kinds.base import Model
from inferfleet.documents.pods.texts import Written

GpuDirect = Literal["None", "TCPX", "TCPXO", "RDMA"]
NetworkProfile = Literal["None", "Auto"]
Driver = Literal["DEFAULT", "LATEST", "INSTALLATION_DISABLED"]
_NAME = Written("[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lowercase letters, digits and '-', as Google writes it", 63)


class Sharing(Model):
    """Several pods on one GPU."""

    strategy: Literal["TimeSharing", "MPS"]
    """How GKE shares a GPU: `TimeSharing` (pods take turns) or `MPS` (pods run at once)."""
    max_clients_per_gpu: int = Field(ge=2, le=48)
    """Number of pods that may share one GPU. The class's device count is GPUs per node times this."""


class GkeAccelerator(Model):
    """The GPUs of a node."""

    type: Annotated[str, _NAME]
    """Accelerator type as Google names it, such as `nvidia-h100-80gb`."""
    count: int = Field(ge=1, le=16)
    """Number of GPUs per node."""
    partition_size: Annotated[str, Written(r"[0-9]g\.[0-9]{1,3}gb", "a partition such as 1g.10gb")] | None = (
        None
    )
    """Size of the MIG partitions that each GPU is split into, such as `1g.10gb`. Default: GPUs are not split.
    """
    sharing: Sharing | None = None
    """Lets several pods share a GPU. Default: each GPU belongs to one pod."""


class LocalSsd(Model):
    """Local SSDs of a node."""

    count: int = Field(ge=1, le=32)
    """Number of local SSDs per node; the machine type decides which numbers it takes."""
    use: Literal["EphemeralStorage", "BlockDevice"] = "EphemeralStorage"
    """`EphemeralStorage`: for images, logs and `emptyDir` volumes of pods. `BlockDevice`: as raw block
    devices.
    """


class SecondaryBootDisk(Model):
    """A disk of every node, made of an image in Compute Engine, that has images of containers."""

    disk_image: Annotated[
        str,
        Written(
            r"(projects/([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]/)?"
            r"global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
            "an image such as projects/acme-images/global/images/vllm-0-30",
            160,
        ),
    ]
    """Image of the disk, such as `projects/acme-images/global/images/vllm-0-30`."""


class Networking(Model):
    """Network of the nodes beyond the cluster's own."""

    gpu_direct: GpuDirect = "None"
    """The kind of GPUDirect between nodes. Any other than `None` adds networks and interfaces, and must be
    the one that the machine type has.
    """
    accelerator_network_profile: NetworkProfile = "None"
    """Who makes these networks: with `Auto`, for `gpuDirect: RDMA` alone, GKE itself, and pods claim the
    network cards (DRANET); with `None` the stack, and pods name the networks.
    """


class GkeProvisioning(Model):
    """How GKE makes a node of this class. Each pool adds its own size, zones and capacity model."""

    machine_type: Annotated[str, _NAME]
    """Compute Engine machine type, such as `a3-highgpu-8g`."""
    accelerator: GkeAccelerator | None = None
    """The GPUs of a node. Default: none, for deployments with `accelerator: None`."""
    disk_size_gb: int = Field(default=100, ge=10, le=65_536)
    """Size of the boot disk in GB."""
    disk_type: Annotated[str, _NAME] | None = None
    """Type of the boot disk, such as `hyperdisk-balanced`. Default: the only one that the machine boots from,
    or else GKE's own default.
    """
    local_ssd: LocalSsd | None = None
    """Local SSDs of a node. Default: those that are part of the machine type, if any."""
    driver: Driver | None = None
    """NVIDIA driver that GKE installs: its default version, the latest one, or none
    (`INSTALLATION_DISABLED`), where you install one yourself. Default: what a pool has already, and for a new
    one `LATEST`, but for A4X, P4, P100 and V100 `DEFAULT`.
    """
    image_streaming: bool = False
    """Whether containers start while their image is still being pulled (GKE image streaming)."""
    secondary_boot_disks: Annotated[tuple[SecondaryBootDisk, ...], Field(max_length=127)] = ()
    """Disks with images of containers that nodes need not pull (mode CONTAINER_IMAGE_CACHE), with
    `imageStreaming: true` only. Default: none.
    """
    networking: Networking = Networking()
    """Network between the GPUs of different nodes. Default: no GPUDirect."""
    compact_placement: bool = False
    """Whether nodes are placed physically close together. The pool then needs exactly one zone."""
    verified: str | None = Field(default=None, min_length=1, max_length=200)
    """Where and when this recipe was seen to work on GKE, such as `us-east5-a, 2026-11-02`. What the built-in
    table of machines has against the recipe is then only a warning; default: not verified.
    """
