"""The block `gke` of an InferenceCluster: a cluster that the stack creates, and the network it stands in."""

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.api.kinds.base import Model
from inferfleet.api.kinds.text_rules import Written
from inferfleet.api.problems import Mistake, Mistaken, mistaken
from inferfleet.api.wording import shown

ReleaseChannel = Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]
_RESOURCE = Written("[a-z]([-a-z0-9]*[a-z0-9])?", "a name as Google Cloud has it, lowercase", 63)
PROJECT = Written(
    r"([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]",
    "a project ID: 6 to 30 lowercase letters, digits and '-'",
)
_REGION = Written("[a-z]+-[a-z]+[0-9]{1,2}", "a region such as us-east5 (zones belong to the pools)", 32)
ZONE = Written("[a-z]+-[a-z]+[0-9]{1,2}-[a-z]+", "a zone such as us-east5-a", 32)
# Room for the smallest proxy-only subnet Google takes (/26), and no more than four to 10.0.0.0/8.
SMALLEST_BLOCK, LARGEST_BLOCK = 16, 10


# https://datatracker.ietf.org/doc/html/rfc1918
_PRIVATE = tuple(ipaddress.IPv4Network(one) for one in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        found = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        what = f"{{field}} {shown(text)!r} is not a range of IPv4 addresses"
        raise mistaken(what, "Write it like 10.4.0.0/14") from None
    if str(found.network_address) != text.partition("/")[0]:
        raise mistaken(f"{{field}} {text} does not start where its range does", f"Write {found}")
    return found


def _block(text: str) -> str:
    found = _network(text)
    private = any(found.subnet_of(one) for one in _PRIVATE)
    if not private or not LARGEST_BLOCK <= found.prefixlen <= SMALLEST_BLOCK:
        what = f"{{field}} {found} must be a private range between /{LARGEST_BLOCK} and /{SMALLEST_BLOCK}"
        raise mistaken(what, "Use one inside 10.0.0.0/8 or 172.16.0.0/12")
    return str(found)


def _range(text: str) -> str:
    return str(_network(text))


def _cloud_labels(labels: dict[str, str]) -> dict[str, str]:
    found = []
    for key, text in labels.items():
        if not re.fullmatch("[a-z][-_a-z0-9]{0,62}", key):
            what = f"{shown(key)!r} is not a key of a Google Cloud label"
            step = "Use at most 63 lowercase letters, digits, '-' and '_', a letter first"
            found.append(Mistake(what, step, (key,)))
        if not re.fullmatch("[-_a-z0-9]{0,63}", text):
            what = f"{shown(text)!r} is not a value of a Google Cloud label"
            step = "Use at most 63 lowercase letters, digits, '-' and '_'"
            found.append(Mistake(what, step, (key,)))
    if found:
        raise Mistaken(*found)
    return labels


def zone_mistakes(zones: tuple[str, ...], region: str, at: tuple[str | int, ...]) -> list[Mistake]:
    """Zones of other regions, and zones that stand there twice; `at` leads to the list of zones."""
    found = []
    for place, zone in enumerate(zones):
        if zone.rpartition("-")[0] != region:
            what = f"zone {zone} is not in region {region}"
            found.append(Mistake(what, "Use zones of the region", (*at, place)))
        elif zone in zones[:place]:
            found.append(Mistake(f"zone {zone} is named twice", "Name it once", (*at, place)))
    return found


class ExistingNetwork(Model):
    """A network that somebody else keeps. Both secondary ranges stand in the subnetwork already; `project` is
    the host's of a Shared VPC.
    """

    name: Annotated[str, _RESOURCE]
    subnetwork: Annotated[str, _RESOURCE]
    pods_range: Annotated[str, _RESOURCE]
    services_range: Annotated[str, _RESOURCE]
    project: Annotated[str, PROJECT] | None = None


class GkeNetwork(Model):
    """Of the cluster's own: all ranges come from `block`, picked where it is left out. Or `existing`, where
    only networks between GPUs (GPUDirect) still need the block.
    """

    block: Annotated[str, AfterValidator(_block)] | None = None
    existing: ExistingNetwork | None = None


class SystemPool(Model):
    """The untainted CPU pool for all but engines; it grows with the endpoint pickers on the cluster."""

    machine_type: Annotated[str, _RESOURCE] | None = None
    disk_size_gb: int = Field(default=100, ge=10, le=65_536)


class Replace(Model):
    """Fields that may replace a pool which holds replicas, and whether the new nodes come first."""

    allow: tuple[str, ...] = ()
    order: Literal["CreateFirst", "DeleteFirst"] = "CreateFirst"


class Gke(Model):
    project: Annotated[str, PROJECT]
    region: Annotated[str, _REGION]
    zones: Annotated[tuple[Annotated[str, ZONE], ...], Field(max_length=8)] = ()
    release_channel: ReleaseChannel = "REGULAR"
    min_version: (
        Annotated[
            str,
            Written(r"1\.[0-9]{2}(\.[0-9]+(-gke\.[0-9]+)?)?", "a version: 1.34 or 1.34.1-gke.1829001"),
        ]
        | None
    ) = None
    network: GkeNetwork = GkeNetwork()
    private_nodes: bool = True
    control_plane_endpoint: Literal["DNS", "IP"] = "DNS"
    authorized_networks: tuple[Annotated[str, AfterValidator(_range)], ...] = ()
    deletion_protection: bool = True
    labels: Annotated[dict[str, str], AfterValidator(_cloud_labels)] = {}
    system_pool: SystemPool = SystemPool()
    replace: Replace = Replace()

    @model_validator(mode="after")
    def _agree(self) -> "Gke":
        if self.authorized_networks and self.control_plane_endpoint == "DNS":
            what = "authorizedNetworks guard the IP endpoint; the DNS endpoint is guarded by IAM"
            raise mistaken(what, "Remove authorizedNetworks, or use controlPlaneEndpoint: IP")
        if found := zone_mistakes(self.zones, self.region, ("zones",)):
            raise Mistaken(*found)
        return self
