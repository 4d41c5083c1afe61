"""InferenceClass: a kind of node, the devices each such node has, and how a provider makes it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import API_VERSION, ClassMetadata, PluginSpec, Quantity, StrictModel
from inferfleet.documents.kinds.gke import GkeProvisioning
from inferfleet.documents.pods.texts import EXTENDED_RESOURCE, TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.quantity import parse_quantity
from inferfleet.tables.devices import CHANNEL_DRIVER, VENDOR_BY_DRIVER, is_accelerator, is_network, vendor_of


def _in_pages(size: str) -> AfterValidator:
    """Require whole pages of the size."""

    def check_multiple(amount: str) -> str:
        if parse_quantity(amount) % parse_quantity(size):
            raise mistaken(f"{{field}} {amount} is not a multiple of {size}", f"Write a multiple of {size}")
        return amount

    return AfterValidator(check_multiple)


class HugePages(StrictModel):
    """Memory of a node in huge pages, by the size of a page."""

    size_2mi: Annotated[Quantity, _in_pages("2Mi")] = Field(default="0", alias="2Mi")
    """Memory in pages of 2Mi, a multiple of that, such as `4Gi`; pods ask for `hugepages-2Mi`. Default: none.
    """
    size_1gi: Annotated[Quantity, _in_pages("1Gi")] = Field(default="0", alias="1Gi")
    """Memory in pages of 1Gi, a multiple of that; pods ask for `hugepages-1Gi`. Default: none."""


class Node(StrictModel):
    """What one node offers to pods."""

    cpu: Quantity
    """Allocatable CPU cores per node, such as `"208"`, which is less than the machine has."""
    memory: Quantity
    """Allocatable memory per node, such as `1872Gi`, which is less than the machine has, and does not count
    huge pages.
    """
    pods: int = Field(default=110, ge=1, le=1024)
    """Most pods per node. On GKE node pools are created with this limit, 256 at most there."""
    hugepages: HugePages = HugePages()
    """Memory in huge pages, which `memory` is without and with which GKE creates node pools. Default: none.
    """


NVIDIA_DRIVER = "gpu.nvidia.com"
_VERSION = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+][-+.A-Za-z0-9]*)?"


class AttributeValue(StrictModel):
    """The value of a device attribute, with exactly one field, as in Kubernetes Dynamic Resource Allocation
    (DRA).
    """

    string: str | None = None
    """The value as text, such as `Hopper`."""
    version: Annotated[str, TextRule(_VERSION, "a semantic version such as 9.0.0")] | None = None
    """The value as a semantic version, such as `9.0.0`."""
    bool_: bool | None = Field(default=None, alias="bool")
    """The value as `true` or `false`."""
    int_: int | None = Field(default=None, alias="int")
    """The value as a whole number."""

    @model_validator(mode="after")
    def _check_exactly_one_value(self) -> "AttributeValue":
        count = sum(value is not None for value in (self.string, self.version, self.bool_, self.int_))
        if count != 1:
            what = "an attribute has exactly one of string, version, bool, int"
            raise mistaken(what, "Keep one of them" if count else "Write one of them")
        return self


class CapacityValue(StrictModel):
    """An amount that a device has."""

    value: Quantity
    """The amount as a Kubernetes quantity, such as `81559Mi`."""


class Device(StrictModel):
    """Devices of one kind on each node, described as in Kubernetes Dynamic Resource Allocation (DRA)."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the entry, different from the class's other devices."""
    driver: Annotated[str, Field(min_length=1, max_length=253)]
    """DRA driver of the device, such as `gpu.nvidia.com`, under which selectors find its attributes."""
    resource: Annotated[str, EXTENDED_RESOURCE] | None = None
    """Extended resource by which a device plugin hands the devices out, to pods that ask for exactly this
    one, such as `nvidia.com/mig-1g.10gb`, `nvidia.com/gpu.shared`, or one of another vendor. Default: that of
    the driver (`nvidia.com/gpu`), and none for drivers that are not accelerators of a known vendor.
    """
    device_class_name: str | None = None
    """Name of the Kubernetes DeviceClass that claims ask for. Required where pods claim the device."""
    claim: Literal["DRA", "Synthetic"] = "DRA"
    """`DRA`: a device that pods can be given; with `allocation: DRA` each pod claims as large a share of them
    as it has of the GPUs. `Synthetic`: one that only selectors see, such as a network card.
    """
    count: int = Field(default=1, ge=1, le=1024)
    """Number of such devices per node: of slices and shares, how many of them the node has."""
    attributes: dict[str, AttributeValue] = {}
    """Properties that a deployment's `nodeSelector` can test, by name, such as `architecture`; a name without
    a domain is found under the driver's (`gpu.nvidia.com/architecture`). Default: none.
    """
    capacity: dict[str, CapacityValue] = {}
    """Amounts of one device that a deployment's `nodeSelector` can test, by name, such as `memory`; a name
    without a domain is found under the driver's (`gpu.nvidia.com/memory`). Default: none.
    """

    @property
    def asked_as(self) -> str | None:
        """Return the extended resource of accelerators that pods can be given, None for other devices."""
        if self.claim == "Synthetic":
            return None
        vendor = VENDOR_BY_DRIVER.get(self.driver)
        return self.resource or (vendor.resource if vendor else None)

    @model_validator(mode="after")
    def _check_resource(self) -> "Device":
        if self.claim == "Synthetic" and self.resource:
            what = "a device with claim Synthetic is one that only selectors see, and no pod asks for"
            raise Mistaken(Mistake(f"{what} {self.resource}", "Remove claim, or resource", ("resource",)))
        vendor = vendor_of(self.driver)
        if self.claim == "Synthetic" and vendor and is_accelerator(self.driver):
            what = f"{self.driver} are accelerators or parts of them, and a Synthetic device is none"
            step = f"Write driver: {vendor.driver} and resource: {self.driver}, without claim"
            raise Mistaken(Mistake(what, step, ("driver",)))
        return self


class GpuShorthand(StrictModel):
    """NVIDIA GPUs of a node."""

    count: int = Field(ge=1, le=64)
    """Number of GPUs per node."""
    memory: Quantity
    """Memory of each GPU as the driver reports it, such as `81559Mi`."""


class Resources(StrictModel):
    """Short form of one NVIDIA device entry, such as `{gpu: {count: 8, memory: 80Gi}}`."""

    gpu: GpuShorthand
    """The NVIDIA GPUs of a node."""


class Price(StrictModel):
    """A published price of a node, by which new replicas are placed. None is assumed where it is absent."""

    on_demand: Quantity
    """Price of one node on demand for one hour, such as `"88.49"`."""
    spot: Quantity | None = None
    """Price of one node of Spot capacity for one hour. Default: such pools count as on demand."""
    region: Annotated[str, TextRule("[a-z]+(-[a-z]+)+[0-9]+", "a region such as us-central1")] | None = None
    """Region of the prices, such as `us-central1`, which plans name of pools elsewhere. Default: none."""
    currency: Annotated[str, TextRule("[A-Z]{3}", "a currency code such as USD")]
    """ISO 4217 code of the currency, such as `USD`."""
    per: Literal["node-hour"] = "node-hour"
    """Unit of the price."""
    as_of: Annotated[str, TextRule("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-04-14")]
    """Date on which the price was published or read, such as `2026-04-14`."""
    source: str = Field(min_length=1)
    """Where the price was found, such as a link."""


Provider = Literal["GKE", "EKS", "AKS", "Nebius", "Vultr"]


class Provisioning(StrictModel):
    """How nodes of the class are made: the provider, and one block named like it."""

    provider: Provider
    """Who makes the nodes. Pools are created on `GKE` only; blocks of the others are kept as descriptions."""
    gke: GkeProvisioning | None = None
    """Recipe for node pools on GKE. Required with provider `GKE`, and refused with any other."""
    eks: dict[str, Any] | None = None
    """Description of nodes on Amazon EKS, kept as written. Required with provider `EKS`, and refused with any
    other.
    """
    aks: dict[str, Any] | None = None
    """Description of nodes on Azure AKS, kept as written. Required with provider `AKS`, and refused with any
    other.
    """
    nebius: dict[str, Any] | None = None
    """Description of nodes on Nebius, kept as written. Required with provider `Nebius`, and refused with any
    other.
    """
    vultr: dict[str, Any] | None = None
    """Description of nodes on Vultr, kept as written. Required with provider `Vultr`, and refused with any
    other.
    """

    @model_validator(mode="after")
    def _check_provider_block(self) -> "Provisioning":
        block = self.provider.lower()
        blocks = ("gke", "eks", "aks", "nebius", "vultr")
        blocks_given = [name for name in blocks if getattr(self, name) is not None]
        if blocks_given != [block]:
            got = ", ".join(blocks_given) or "none"
            what = f"provider {self.provider} needs the block {block} and no other, got {got}"
            raise mistaken(what, f"Write {block}: {{...}} alone")
        return self


class InferenceClassSpec(StrictModel):
    """What nodes of the class have, and how they are made. Without `devices` and `resources` they have cores
    and memory alone, for deployments with `accelerator: None`.
    """

    description: str = ""
    """A line for people that `inferfleet classes` shows. Default: empty."""
    node: Node
    """What one node offers to pods, which the planner counts on."""
    devices: Annotated[tuple[Device, ...], Field(max_length=16)] = ()
    """Devices of each node: one kind is the accelerator that pods ask for, or all are `Synthetic`. Default:
    none.
    """
    resources: Resources | None = None
    """Short form for nodes with NVIDIA GPUs, instead of `devices`. Default: none."""
    allocation: Literal["DevicePlugin", "DRA"] = "DevicePlugin"
    """How pods ask for GPUs: `DevicePlugin` by an extended resource such as `nvidia.com/gpu`, `DRA` by
    claims (Dynamic Resource Allocation), for which the cluster needs Kubernetes 1.34 and the driver.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for every pod on nodes of this class; they run first. Default: none."""
    price: Price | None = None
    """A published price of a node. Default: none is known."""
    provisioning: Provisioning | None = None
    """How such nodes are created. Default: the class describes nodes that already exist."""

    @model_validator(mode="after")
    def _check_device_names(self) -> "InferenceClassSpec":
        if self.devices and self.resources:
            raise mistaken("a class has either devices or the shorthand resources", "Keep one of them")
        if self.allocation == "DRA" and not self.all_devices:
            raise mistaken("allocation DRA is for classes with devices", "Remove it, or describe the devices")
        mistakes = []
        claimed = self.claimed_devices
        for index, device in enumerate(self.devices):
            if device in claimed and not device.device_class_name:
                what, step = "pods claim the device, and claims ask for a DeviceClass", "Add deviceClassName"
                mistakes.append(Mistake(what, step, ("devices", index)))
            if device.resource and self.allocation == "DRA":
                what = f"with allocation DRA pods claim devices, and none is handed out as {device.resource}"
                step = "Remove resource, or write allocation: DevicePlugin"
                mistakes.append(Mistake(what, step, ("devices", index, "resource")))
        if mistakes:
            raise Mistaken(*mistakes)
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

    @property
    def claimed_devices(self) -> tuple[Device, ...]:
        """The device entries that pods claim by templates of their own: with `allocation: DRA` all of `claim:
        DRA`, otherwise network cards that GKE's accelerator network profile offers. IMEX channels come by
        ComputeDomains.
        """
        gke = self.provisioning.gke if self.provisioning else None
        offered = bool(gke and gke.networking.accelerator_network_profile == "Auto")
        return tuple(
            device
            for device in self.all_devices
            if device.claim == "DRA" and device.driver != CHANNEL_DRIVER
            if self.allocation == "DRA" or (offered and is_network(device.driver, device.attributes))
        )


class InferenceClass(StrictModel):
    """A kind of node: what it has, and optionally how a provider makes it."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["InferenceClass"] = "InferenceClass"
    """Kind of the document."""
    metadata: ClassMetadata
    """Name and labels of the class."""
    spec: InferenceClassSpec
    """What nodes of the class have, and how they are made."""
