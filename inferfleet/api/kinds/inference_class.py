"""InferenceClass: a kind of node, the devices each such node has, and how a provider makes it."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from inferfleet.api.kinds.base import API_VERSION, ClassMetadata, Model, Quantity
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.kinds.text_rules import Written
from inferfleet.api.problems import mistaken

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


NVIDIA_DRIVER = "gpu.nvidia.com"
_VERSION = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+][-+.A-Za-z0-9]*)?"


class AttributeValue(Model):
    """Exactly one of the four, as DRA has it."""

    string: str | None = None
    version: Annotated[str, Written(_VERSION, "a semantic version such as 9.0.0")] | None = None
    bool_: bool | None = Field(default=None, alias="bool")
    int_: int | None = Field(default=None, alias="int")

    @model_validator(mode="after")
    def _one(self) -> "AttributeValue":
        if sum(value is not None for value in (self.string, self.version, self.bool_, self.int_)) != 1:
            raise mistaken("an attribute has exactly one of string, version, bool, int", "Keep one of them")
        return self


class CapacityValue(Model):
    value: Quantity


class Device(Model):
    """`count` devices of one kind per node. `Synthetic` ones are seen by placement and never claimed."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    driver: Annotated[str, Field(min_length=1, max_length=253)]
    device_class_name: str | None = None
    claim: Literal["DRA", "Synthetic"] = "DRA"
    count: int = Field(default=1, ge=1, le=64)
    attributes: dict[str, AttributeValue] = {}
    capacity: dict[str, CapacityValue] = {}

    @model_validator(mode="after")
    def _claimable(self) -> "Device":
        if self.claim == "DRA" and not self.device_class_name:
            raise mistaken("a device with claim DRA needs deviceClassName", "Add deviceClassName")
        return self


class GpuShorthand(Model):
    count: int = Field(ge=1, le=64)
    memory: Quantity


class Resources(Model):
    """Short for one NVIDIA device entry: `{gpu: {count: 8, memory: 80Gi}}`."""

    gpu: GpuShorthand


class Node(Model):
    """What one node offers to pods: cores, bytes and a number of pods."""

    cpu: Quantity
    memory: Quantity
    pods: int = Field(default=110, ge=1, le=1024)


class Price(Model):
    """A published price; nothing is ever assumed where it is absent."""

    on_demand: Quantity
    currency: Annotated[str, Written("[A-Z]{3}", "a currency code such as USD")]
    per: Literal["node-hour"] = "node-hour"
    as_of: Annotated[str, Written("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-04-14")]
    source: str = Field(min_length=1)


class InferenceClassSpec(Model):
    description: str = ""
    node: Node
    devices: Annotated[tuple[Device, ...], Field(max_length=16)] = ()
    resources: Resources | None = None
    allocation: Literal["DevicePlugin", "DRA"] = "DevicePlugin"
    plugins: tuple[PluginSpec, ...] = ()
    price: Price | None = None
    provisioning: Provisioning | None = None

    @model_validator(mode="after")
    def _devices_once(self) -> "InferenceClassSpec":
        if bool(self.devices) == bool(self.resources):
            raise mistaken("a class has either devices or the shorthand resources", "Write one of them")
        names = [device.name for device in self.devices]
        if len(set(names)) != len(names):
            raise mistaken(f"device names must differ, got {', '.join(names)}", "Rename one")
        return self

    @property
    def all_devices(self) -> tuple[Device, ...]:
        """The device entries, with the shorthand written out."""
        if self.resources is None:
            return self.devices
        gpu = self.resources.gpu
        return (
            Device(
                name="gpu",
                driver=NVIDIA_DRIVER,
                device_class_name=NVIDIA_DRIVER,
                count=gpu.count,
                capacity={"memory": CapacityValue(value=gpu.memory)},
            ),
        )


class InferenceClass(Model):
    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    kind: Literal["InferenceClass"] = "InferenceClass"
    metadata: ClassMetadata
    spec: InferenceClassSpec
