"""The block `gke` of an InferenceCluster: a cluster that the stack creates, and its network."""

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import Model
from inferfleet.documents.kinds.gke.maintenance import MaintenancePolicy
from inferfleet.documents.pods.texts import Written
from inferfleet.documents.problems import Mistake, Mistaken, Steps, mistaken
from inferfleet.documents.wording import shown

ReleaseChannel = Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]
_RESOURCE = Written("[a-z]([-a-z0-9]*[a-z0-9])?", "a name as Google Cloud has it, lowercase", 63)
PROJECT = Written(
    r"([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]",
    "a project ID: 6 to 30 lowercase letters, digits and '-'",
)
_REGION = Written("[a-z]+-[a-z]+[0-9]{1,2}", "a region such as us-east5 (zones belong to the pools)", 32)
# AI zones are named like us-central1-ai1a: https://docs.cloud.google.com/compute/docs/regions-zones/ai-zones,
# read on 2026-11-24.
ZONE = Written("[a-z]+-[a-z]+[0-9]{1,2}-(ai[0-9]{1,2})?[a-z]+", "a zone such as us-east5-a", 32)
# Room for the smallest proxy-only subnet Google takes (/26), and no more than four to 10.0.0.0/8.
SMALLEST_BLOCK, LARGEST_BLOCK = 16, 10


# https://datatracker.ietf.org/doc/html/rfc1918
_PRIVATE = tuple(ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        what = f"{{field}} {shown(text)!r} is not a range of IPv4 addresses"
        raise mistaken(what, "Write it like 10.4.0.0/14") from None
    if str(network.network_address) != text.partition("/")[0]:
        raise mistaken(f"{{field}} {text} has host bits set", f"Write {network}")
    return network


def _block(text: str) -> str:
    block = _network(text)
    private = any(block.subnet_of(space) for space in _PRIVATE)
    if not private or not LARGEST_BLOCK <= block.prefixlen <= SMALLEST_BLOCK:
        what = f"{{field}} {block} must be a private range between /{LARGEST_BLOCK} and /{SMALLEST_BLOCK}"
        raise mistaken(what, "Use one inside 10.0.0.0/8 or 172.16.0.0/12")
    return str(block)


def _range(text: str) -> str:
    return str(_network(text))


IpRange = Annotated[str, AfterValidator(_range)]


def _cloud_labels(labels: dict[str, str]) -> dict[str, str]:
    mistakes = []
    for key, text in labels.items():
        if not re.fullmatch("[a-z][-_a-z0-9]{0,62}", key):
            what = f"{shown(key)!r} is not a key of a Google Cloud label"
            step = "Use at most 63 lowercase letters, digits, '-' and '_', a letter first"
            mistakes.append(Mistake(what, step, (key,)))
        if not re.fullmatch("[-_a-z0-9]{0,63}", text):
            what = f"{shown(text)!r} is not a value of a Google Cloud label"
            step = "Use at most 63 lowercase letters, digits, '-' and '_'"
            mistakes.append(Mistake(what, step, (key,)))
    if mistakes:
        raise Mistaken(*mistakes)
    return labels


def zone_mistakes(zones: tuple[str, ...], region: str, at: Steps) -> list[Mistake]:
    """Return a mistake for each zone of another region or named twice; `at` is the path of the list."""
    mistakes = []
    for place, zone in enumerate(zones):
        if zone.rpartition("-")[0] != region:
            what = f"zone {zone} is not in region {region}"
            mistakes.append(Mistake(what, "Use zones of the region", (*at, place)))
        elif zone in zones[:place]:
            mistakes.append(Mistake(f"zone {zone} is named twice", "Name it once", (*at, place)))
    return mistakes


class ExistingNetwork(Model):
    """A VPC network that somebody else keeps. Its subnetwork must have both secondary ranges already."""

    name: Annotated[str, _RESOURCE]
    """Name of the VPC network."""
    subnetwork: Annotated[str, _RESOURCE]
    """Name of the subnetwork for the nodes, in the cluster's region."""
    pods_range: Annotated[str, _RESOURCE]
    """Name of the subnetwork's secondary range for pods."""
    services_range: Annotated[str, _RESOURCE]
    """Name of the subnetwork's secondary range for Services."""
    project: Annotated[str, PROJECT] | None = None
    """Host project of a Shared VPC. Default: the cluster's project."""


class GkeNetwork(Model):
    """The network of a GKE cluster: one of its own, or one that exists."""

    block: Annotated[str, AfterValidator(_block)] | None = None
    """Private IPv4 range from /10 to /16 out of which all ranges of the cluster are cut. Default: the next
    free /14 of the stack, which `placement.lock` keeps.
    """
    existing: ExistingNetwork | None = None
    """A network that exists already; then `block` is only for networks between GPUs (GPUDirect). Default: a
    network with Cloud NAT is created.
    """
    gpu_direct: Literal["Stack", "Existing"] | None = None
    """Who makes the Network objects of networks between GPUs, and installs NCCL on their nodes: the `Stack`,
    or somebody else (`Existing`). Default: the stack does not, and warns where pods need them.
    """


class SystemPool(Model):
    """The CPU node pool for all pods that are not engines. Its maximum follows the endpoint pickers on the
    cluster.
    """

    machine_type: Annotated[str, _RESOURCE] | None = None
    """Compute Engine machine type without GPUs. Default: `e2-standard-16`."""
    disk_size_gb: int = Field(default=100, ge=10, le=65_536)
    """Size of the boot disk in GB."""


class Replace(Model):
    """What may happen when a change would replace a node pool."""

    allow: tuple[str, ...] = ()
    """Fields whose change may replace a pool that holds replicas, such as `accelerator.type` or
    `capacity.model`. Default: none, so such a change is refused.
    """
    order: Literal["CreateFirst", "DeleteFirst"] = "CreateFirst"
    """`CreateFirst`: new nodes come before the old ones end, which needs capacity for both. `DeleteFirst`:
    old nodes end first, and there is a gap.
    """


class Gke(Model):
    """A regional GKE cluster that the stack creates, with its network and node pools."""

    project: Annotated[str, PROJECT]
    """ID of the Google Cloud project."""
    region: Annotated[str, _REGION]
    """Region of the cluster, such as `us-east5`."""
    zones: Annotated[tuple[Annotated[str, ZONE], ...], Field(max_length=8)] = ()
    """Zones of the system pool, and of node pools without zones of their own. Default: those that GKE picks.
    """
    release_channel: ReleaseChannel = "REGULAR"
    """Release channel by which GKE upgrades control plane and nodes."""
    min_version: (
        Annotated[
            str,
            Written(r"1\.[0-9]{2}(\.[0-9]+(-gke\.[0-9]+)?)?", "a version: 1.34 or 1.34.1-gke.1829001"),
        ]
        | None
    ) = None
    """Version with which the cluster begins, and below which it is not later: `1.34` for its newest patch, or
    exactly `1.34.1-gke.1829001`, which Google may offer no more. Default: what the channel begins with.
    """
    maintenance_policy: MaintenancePolicy | None = None
    """When Google upgrades control plane and nodes by itself, and when it does not. Default: at any time.
    """
    network: GkeNetwork = GkeNetwork()
    """The network of the cluster. Default: one of its own, with a range that is picked."""
    private_nodes: bool = True
    """Whether nodes have private addresses only. A change holds for pools that are made later."""
    control_plane_endpoint: Literal["DNS", "IP"] = "DNS"
    """How the API server is reached: `DNS` by name, guarded by IAM, or `IP` by address."""
    authorized_networks: tuple[IpRange, ...] = ()
    """IPv4 ranges that may reach the `IP` endpoint, such as `203.0.113.0/24`; refused with `DNS`. Default: no
    limit is set.
    """
    deletion_protection: bool = True
    """Whether Pulumi and Google Cloud both refuse to delete the cluster. Turning it off takes an update of
    its own.
    """
    labels: Annotated[dict[str, str], AfterValidator(_cloud_labels)] = {}
    """Google Cloud labels of the cluster and of its machines and disks, for billing and search; pods do not
    get them, and GKE replaces all nodes when they change. Default: none beside those of inferfleet.
    """
    system_pool: SystemPool = SystemPool()
    """The CPU node pool for all pods that are not engines. Default: e2-standard-16 machines."""
    replace: Replace = Replace()
    """What may happen when a change would replace a node pool. Default: replacing a pool with replicas is
    refused.
    """

    @model_validator(mode="after")
    def _agree(self) -> "Gke":
        if self.authorized_networks and self.control_plane_endpoint == "DNS":
            what = "authorizedNetworks apply to the IP endpoint; IAM controls access to the DNS endpoint"
            raise mistaken(what, "Remove authorizedNetworks, or use controlPlaneEndpoint: IP")
        if mistakes := zone_mistakes(self.zones, self.region, ("zones",)):
            raise Mistaken(*mistakes)
        return self
