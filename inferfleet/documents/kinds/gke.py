"""What documents say of GKE alone: `cluster.gke` of an InferenceCluster with its network and maintenance,
`upgradeSettings` of its pools, and `provisioning.gke` of an InferenceClass.
"""

import ipaddress
import re
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import DAY, WRITTEN_DURATION, StrictModel, seconds
from inferfleet.documents.pods.texts import TextRule
from inferfleet.documents.problems import FieldPath, Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown

# `maintenancePolicy`: when Google maintains a cluster by itself, and what it leaves out.
#
# One window and at most 20 exclusions, as the provider takes them: container_cluster.html.markdown of
# https://github.com/hashicorp/terraform-provider-google-beta at 93c65b2d60, 2026-08-21.

Scope = Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"]
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def _check_moment(text: str) -> str:
    try:
        datetime.strptime(text, _FORMAT)
    except ValueError:
        raise mistaken(f"{{field}} {text} is no moment in a calendar", "Change it") from None
    return text


# The provider takes any form of RFC 3339; Google answers in UTC, which would differ in every preview.
Moment = Annotated[
    str,
    TextRule(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        "a moment in UTC such as 2026-12-01T09:00:00Z",
    ),
    AfterValidator(_check_moment),
]


class DailyMaintenanceWindow(StrictModel):
    """Four hours of every day."""

    start_time: Annotated[
        str, TextRule("([01][0-9]|2[0-3]):[0-5][0-9]", "a time of day in GMT, in quotes, such as '09:00'")
    ]
    """When the window begins, in GMT, such as `"09:00"`."""


class RecurringWindow(StrictModel):
    """A window that comes again."""

    start_time: Moment
    """When the first window begins, in UTC, such as `2026-12-05T01:00:00Z`."""
    end_time: Moment
    """When the first window ends; GKE counts windows of four hours and longer alone."""
    # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
    # (RecurringTimeWindow): no HOURLY, MINUTELY and SECONDLY.
    recurrence: Annotated[
        str,
        TextRule(
            r"FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;[A-Z]+=[-+A-Z0-9,]+)*",
            "a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=SA,SU, not more often than daily",
        ),
    ]
    """How it comes again, as a rule of RFC 5545, such as `FREQ=WEEKLY;BYDAY=SA,SU`."""


class MaintenanceExclusion(StrictModel):
    """A time in which some of Google's own upgrades do not happen."""

    name: Annotated[str, TextRule("[a-z]([-a-z0-9]*[a-z0-9])?", "lowercase letters, digits and '-'", 63)]
    """Name of the exclusion, different from the cluster's others."""
    scope: Scope
    """What is not upgraded: anything (`NO_UPGRADES`), minor versions (`NO_MINOR_UPGRADES`), or these and all
    nodes (`NO_MINOR_OR_NODE_UPGRADES`).
    """
    start_time: Moment
    """When it begins, in UTC; it may have begun."""
    end_time: Moment | None = None
    """When it ends, in UTC. Default: none, with `endTimeBehavior`."""
    end_time_behavior: Literal["UNTIL_END_OF_SUPPORT"] | None = None
    """`UNTIL_END_OF_SUPPORT`: it ends when Google no longer supports the minor version of the cluster; Google
    refuses it for a new cluster of a version whose support is over in its channel. Default: it ends at
    `endTime`.
    """

    @model_validator(mode="after")
    def _check_one_end(self) -> "MaintenanceExclusion":
        if (self.end_time is None) == (self.end_time_behavior is None):
            what = f"exclusion {self.name} has either endTime or endTimeBehavior"
            raise mistaken(what, "Remove one" if self.end_time else "Write one")
        return self


class MaintenancePolicy(StrictModel):
    """When Google maintains a cluster by itself. Exclusions need a window beside them, as the provider takes
    none without one.
    """

    daily_maintenance_window: DailyMaintenanceWindow | None = None
    """Four hours of every day in which Google may. Default: none, with `recurringWindow`."""
    recurring_window: RecurringWindow | None = None
    """A window that comes again, in which Google may. Default: none, with `dailyMaintenanceWindow`."""
    maintenance_exclusions: Annotated[tuple[MaintenanceExclusion, ...], Field(max_length=20)] = ()
    """Times in which Google upgrades less, or nothing; they stay where the whole block `maintenancePolicy` is
    removed. Default: none.
    """

    @model_validator(mode="after")
    def _check_one_window(self) -> "MaintenancePolicy":
        windows = [window for window in (self.daily_maintenance_window, self.recurring_window) if window]
        if len(windows) != 1:
            what = "a maintenancePolicy has either dailyMaintenanceWindow or recurringWindow"
            step = 'Add dailyMaintenanceWindow: {startTime: "09:00"}'
            raise mistaken(what, "Remove one" if windows else step)
        mistakes, names = [], [exclusion.name for exclusion in self.maintenance_exclusions]
        for index, name in enumerate(names):
            if name in names[:index]:
                path = ("maintenanceExclusions", index, "name")
                mistakes.append(Mistake(f"exclusion {name} is there twice", "Rename one", path))
        if mistakes:
            raise Mistaken(*mistakes)
        return self


# `cluster.gke` of an InferenceCluster: a cluster that the stack creates, and its network.

ReleaseChannel = Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"]
_RESOURCE = TextRule("[a-z]([-a-z0-9]*[a-z0-9])?", "a name as Google Cloud has it, lowercase", 63)
PROJECT = TextRule(
    r"([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]",
    "a project ID: 6 to 30 lowercase letters, digits and '-'",
)
_REGION = TextRule("[a-z]+-[a-z]+[0-9]{1,2}", "a region such as us-east5 (zones belong to the pools)", 32)
# AI zones are named like us-central1-ai1a: https://docs.cloud.google.com/compute/docs/regions-zones/ai-zones,
# read on 2026-11-24.
ZONE = TextRule("[a-z]+-[a-z]+[0-9]{1,2}-(ai[0-9]{1,2})?[a-z]+", "a zone such as us-east5-a", 32)
# Space for the smallest proxy-only subnet Google takes (/26), and no more than four to 10.0.0.0/8.
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


def is_private(block: str) -> bool:
    """Return whether a range of IPv4 addresses is in private networks alone."""
    return any(ipaddress.IPv4Network(block).subnet_of(space) for space in _PRIVATE)


def _check_block(text: str) -> str:
    block = _network(text)
    private = is_private(str(block))
    if not private or not LARGEST_BLOCK <= block.prefixlen <= SMALLEST_BLOCK:
        what = f"{{field}} {block} must be a private range between /{LARGEST_BLOCK} and /{SMALLEST_BLOCK}"
        raise mistaken(what, "Use one inside 10.0.0.0/8 or 172.16.0.0/12")
    return str(block)


def _check_range(text: str) -> str:
    return str(_network(text))


IpRange = Annotated[str, AfterValidator(_check_range)]


def _check_cloud_labels(labels: dict[str, str]) -> dict[str, str]:
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


CloudLabels = Annotated[dict[str, str], AfterValidator(_check_cloud_labels)]


def zone_mistakes(zones: tuple[str, ...], region: str, path: FieldPath) -> list[Mistake]:
    """Return a mistake for each zone of another region or named twice; `path` is the path of the list."""
    mistakes = []
    for index, zone in enumerate(zones):
        if zone.rpartition("-")[0] != region:
            what = f"zone {zone} is not in region {region}"
            mistakes.append(Mistake(what, "Use zones of the region", (*path, index)))
        elif zone in zones[:index]:
            mistakes.append(Mistake(f"zone {zone} is named twice", "Name it once", (*path, index)))
    return mistakes


# `provider`: inputs of Google's resources that no field here has, in the words of Pulumi's provider.


def _null_mistakes(value: Any, path: FieldPath = ()) -> list[Mistake]:
    if value is None:
        return [Mistake("{field} is there and says nothing", "Fill it in, or remove the line", path)]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [mistake for step, part in inner for mistake in _null_mistakes(part, (*path, step))]


def _check_no_nulls(inputs: dict[str, Any]) -> dict[str, Any]:
    if mistakes := _null_mistakes(inputs):
        raise Mistaken(*mistakes)
    return inputs


# Which inputs there are, and which inferfleet decides itself, is judged with the settings that it makes:
# cloud/gke/settings/passed.py.
PassedInputs = Annotated[dict[str, Any], AfterValidator(_check_no_nulls)]


class ClusterInputs(StrictModel):
    """Inputs of Google's resources in the words of Pulumi's provider, passed on as they are written: any that
    inferfleet does not decide itself.
    """

    cluster: PassedInputs = {}
    """Inputs of the cluster (`gcp.container.Cluster`), such as `{enableIntranodeVisibility: true}`. Default:
    none.
    """
    subnetwork: PassedInputs = {}
    """Inputs of the subnetwork of the nodes (`gcp.compute.Subnetwork`), such as `{stackType: IPV4_IPV6}`;
    refused with `network.existing`. Default: none.
    """


# A key of Google's Key Management Service by its whole name.
KmsKey = Annotated[
    str,
    TextRule(
        "projects/[^/ ]+/locations/[^/ ]+/keyRings/[^/ ]+/cryptoKeys/[^/ ]+",
        "a key such as projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes",
        400,
    ),
]
NetworkTag = Annotated[str, _RESOURCE]
# https://cloud.google.com/iam/docs/service-account-types: of users, and those that Google makes for projects.
_ACCOUNT = TextRule(
    r"[-a-z0-9]{1,63}@([-a-z0-9.]+\.)?gserviceaccount\.com",
    "the address of a service account such as nodes@acme.iam.gserviceaccount.com",
    200,
)


class ExistingNetwork(StrictModel):
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


class AdditionalNodeNetworkConfig(StrictModel):
    """The network of one extra interface of nodes, which somebody else keeps."""

    network: Annotated[str, _RESOURCE]
    """Name of the VPC network."""
    subnetwork: Annotated[str, _RESOURCE]
    """Name of the subnetwork, in the cluster's region. Pods name the interface by it."""


class GkeNetwork(StrictModel):
    """The network of a GKE cluster: one of its own, or one that exists."""

    block: Annotated[str, AfterValidator(_check_block)] | None = None
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


# Without a name and a password: documents hold no secrets.
_PROXY = TextRule(
    r"(https?|socks5)://[A-Za-z0-9.:\[\]-]+/?", "an address such as http://bastion.example:8888", 300
)


class ClusterConnection(StrictModel):
    """How machines that run updates and commands reach the API server."""

    proxy_url: Annotated[str, _PROXY] | None = None
    """Address of a proxy on the way, such as that of a bastion: `http://127.0.0.1:8888`. Default: none."""


class SystemPool(StrictModel):
    """The CPU node pool for all pods that are not engines. Its maximum follows the endpoint pickers on the
    cluster.
    """

    passed_on = ("provider",)

    machine_type: Annotated[str, _RESOURCE] | None = None
    """Compute Engine machine type without GPUs. Default: `e2-standard-16`."""
    disk_size_gb: int = Field(default=100, ge=10, le=65_536)
    """Size of the boot disk in GB."""
    max_pods_per_node: int | None = Field(default=None, ge=8, le=256)
    """Most pods per node, by which each node takes addresses of the range for pods: a /24 for 110, a /26 for
    32; the first pool of a new cluster has as many. Default: Google's own, 110.
    """
    provider: PassedInputs = {}
    """Inputs of the node pool (`gcp.container.NodePool`) in the words of Pulumi's provider, passed on as they
    are written: any that inferfleet does not decide itself. Those of `nodeConfig` also reach the pool that
    Google makes with each cluster, and that is removed minutes later.
    """


class Replace(StrictModel):
    """What may happen when a change would replace a node pool."""

    allow: tuple[str, ...] = ()
    """Fields whose change may replace a pool that holds replicas, such as `accelerator.type` or
    `capacity.model`. Default: none, so such a change is refused.
    """
    order: Literal["CreateFirst", "DeleteFirst"] = "CreateFirst"
    """`CreateFirst`: new nodes come before the old ones end, which needs capacity for both. `DeleteFirst`:
    old nodes end first, and there is a gap.
    """


class Gke(StrictModel):
    """A regional GKE cluster that the stack creates, with its network and node pools."""

    passed_on = ("provider", "cluster")

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
            TextRule(r"1\.[0-9]{2}(\.[0-9]+(-gke\.[0-9]+)?)?", "a version: 1.34 or 1.34.1-gke.1829001"),
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
    control_plane_access: Literal["Public", "Private"] = "Public"
    """From where the `IP` endpoint is reached: `Public` from outside of Google Cloud too, `Private` from the
    cluster's network and what is connected with it alone. A new cluster takes `Private` in a network that
    exists.
    """
    authorized_networks: tuple[IpRange, ...] = ()
    """IPv4 ranges that may reach the `IP` endpoint, such as `203.0.113.0/24`, or private ones with
    `controlPlaneAccess: Private`; refused with `DNS`. Default: no limit is set.
    """
    connection: ClusterConnection = ClusterConnection()
    """How machines that run updates and commands reach the API server. Default: directly."""
    deletion_protection: bool = True
    """Whether Pulumi and Google Cloud both refuse to delete the cluster. Turning it off takes an update of
    its own.
    """
    labels: CloudLabels = {}
    """Google Cloud labels of the cluster and of its machines and disks, for billing and search; pods do not
    get them, and GKE replaces all nodes when they change. Default: none beside those of inferfleet.
    """
    service_account: Annotated[str, _ACCOUNT] | None = None
    """Address of an account that exists and that all nodes act as, with the roles that nodes need; the stack
    then makes neither an account nor bindings. Default: an account of the cluster's own.
    """
    iam: Literal["Stack", "None"] = "Stack"
    """Who gives the roles that nodes need to the account that the stack makes for them: the `Stack`, by
    bindings on the project, or nobody here (`None`), where somebody else does.
    """
    network_tags: Annotated[tuple[NetworkTag, ...], Field(max_length=64)] = ()
    """Network tags of all nodes, by which firewall rules and routes of a VPC choose them. Default: none."""
    database_encryption: KmsKey | None = None
    """Key with which Google encrypts the Secrets of the cluster in its database, by its whole name. Default:
    keys of Google's.
    """
    boot_disk_kms_key: KmsKey | None = None
    """Key with which Google encrypts the boot disks of all nodes, by its whole name. Default: keys of
    Google's.
    """
    confidential_nodes: bool = False
    """Whether all nodes are Confidential VMs, from the cluster's beginning or never: with GPUs those of
    a3-highgpu-1g alone, and of a `systemPool.machineType` that can be one. One pool alone has it by
    `provider: {nodeConfig: {confidentialNodes: {enabled: true}}}`.
    """
    provider: ClusterInputs = ClusterInputs()
    """Inputs of Google's resources that no other field has. Default: none."""
    system_pool: SystemPool = SystemPool()
    """The CPU node pool for all pods that are not engines. Default: e2-standard-16 machines."""
    replace: Replace = Replace()
    """What may happen when a change would replace a node pool. Default: replacing a pool with replicas is
    refused.
    """

    @model_validator(mode="after")
    def _check_fields_agree(self) -> "Gke":
        if self.authorized_networks and self.control_plane_endpoint == "DNS":
            what = "authorizedNetworks apply to the IP endpoint; IAM controls access to the DNS endpoint"
            raise mistaken(what, "Remove authorizedNetworks, or use controlPlaneEndpoint: IP")
        if self.control_plane_access == "Private" and self.control_plane_endpoint == "DNS":
            # `allowExternalTraffic` is about all traffic of users, not about where it comes from:
            # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
            what = "controlPlaneAccess is about the IP endpoint; IAM controls access to the DNS endpoint"
            raise mistaken(what, "Write controlPlaneEndpoint: IP, or remove controlPlaneAccess")
        if self.network.existing and self.provider.subnetwork:
            what = "provider.subnetwork is of a subnetwork that the stack makes, and network.existing is not"
            raise mistaken(what, "Remove one of the two")
        if self.service_account and self.iam == "None":
            what = "iam is about the account that the stack makes, and serviceAccount exists"
            raise mistaken(what, "Remove iam: to an account that exists the stack gives no roles")
        if self.confidential_nodes and self.system_pool.machine_type is None:
            what = "confidentialNodes is true, and e2-standard-16 of the system pool cannot be confidential"
            raise mistaken(what, "Write systemPool: {machineType: n2d-standard-16}")
        if mistakes := zone_mistakes(self.zones, self.region, ("zones",)):
            raise Mistaken(*mistakes)
        return self


# `upgradeSettings` of a pool: in which steps Google replaces its nodes by upgraded ones.
#
# Names and limits: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/UpgradeSettings, and
# container_node_pool.html.markdown of terraform-provider-google-beta at 93c65b2d60, 2026-08-21. The provider
# takes SURGE and BLUE_GREEN; SHORT_LIVED is what Google takes by itself for nodes of flex-start.

_WEEK = 7 * DAY
# Written 0s to 168h; held in seconds.
Soak = Annotated[
    int,
    BeforeValidator(partial(seconds, shortest="0s", longest="168h")),
    Field(ge=0, le=_WEEK),
    WRITTEN_DURATION,
]
# Most nodes of a pool that Google upgrades at once.
_AT_ONCE = 20


class StandardRolloutPolicy(StrictModel):
    """Old nodes are emptied in batches."""

    batch_node_count: int | None = Field(default=None, ge=1, le=15_000)
    """Number of nodes of a batch. Default: 1, without `batchPercentage`."""
    batch_percentage: float | None = Field(default=None, gt=0, le=1)
    """Share of the pool's nodes in a batch, such as `0.25`. Default: none."""
    batch_soak_duration: Soak = 0
    """How long Google waits after each batch, from `0s` to `168h`."""

    @model_validator(mode="after")
    def _check_one_batch_size(self) -> "StandardRolloutPolicy":
        if self.batch_node_count is not None and self.batch_percentage is not None:
            raise mistaken("a batch has either batchNodeCount or batchPercentage", "Remove one")
        return self


class AutoscaledRolloutPolicy(StrictModel):
    """Old nodes are left to the autoscaler, which removes those that become empty."""

    wait_for_drain_duration: Soak = 3 * DAY
    """How long Google waits before it empties those that are left, from `0s` to `168h`. Default: 72h."""


class BlueGreenSettings(StrictModel):
    """How all nodes are made anew beside the old ones, which take another copy of each for the time of it."""

    standard_rollout_policy: StandardRolloutPolicy | None = None
    """Old nodes are emptied in batches. Default: one node at a time, without `autoscaledRolloutPolicy`."""
    autoscaled_rollout_policy: AutoscaledRolloutPolicy | None = None
    """Old nodes are left to the autoscaler. Default: they are emptied in batches."""
    node_pool_soak_duration: Soak = 3600
    """How long the old nodes stay once all are empty, from `0s` to `168h`. Default: 1h."""

    @model_validator(mode="after")
    def _check_one_policy(self) -> "BlueGreenSettings":
        if self.standard_rollout_policy and self.autoscaled_rollout_policy:
            what = "a pool has either standardRolloutPolicy or autoscaledRolloutPolicy"
            raise mistaken(what, "Remove one")
        return self


class UpgradeSettings(StrictModel):
    """In which steps Google replaces the nodes of a pool, for upgrades and other changes that do so."""

    strategy: Literal["SURGE", "BLUE_GREEN"] = "SURGE"
    """`SURGE`: some nodes at a time. `BLUE_GREEN`: all nodes are made anew beside the old ones, which needs
    machines and quota for twice as many.
    """
    max_surge: int | None = Field(default=None, ge=0, le=_AT_ONCE)
    """Most nodes beyond the size of the pool, for `SURGE`; each needs a machine. Default: 0."""
    max_unavailable: int | None = Field(default=None, ge=0, le=_AT_ONCE)
    """Most nodes that are missing at once, for `SURGE`. Default: 1, or 0 where `maxSurge` is more than 0."""
    blue_green_settings: BlueGreenSettings | None = None
    """The steps of `BLUE_GREEN`. Default: one node at a time, and an hour until the old ones end."""

    @property
    def surge(self) -> int:
        """Return the most nodes beyond the size of the pool while it is upgraded by SURGE."""
        return self.max_surge or 0

    @property
    def unavailable(self) -> int:
        """Return the most nodes that are missing at once while it is upgraded by SURGE."""
        return self.max_unavailable if self.max_unavailable is not None else int(not self.surge)

    @model_validator(mode="after")
    def _check_fields_of_strategy(self) -> "UpgradeSettings":
        if self.strategy == "BLUE_GREEN":
            for field, value in (("maxSurge", self.max_surge), ("maxUnavailable", self.max_unavailable)):
                if value is not None:
                    what = f"{field} is for strategy SURGE, this one is BLUE_GREEN"
                    raise mistaken(what, f"Remove {field}")
            return self
        if self.blue_green_settings is not None:
            what = "blueGreenSettings are for strategy BLUE_GREEN, this one is SURGE"
            raise mistaken(what, "Write strategy: BLUE_GREEN, or remove them")
        at_once = self.surge + self.unavailable
        if not 1 <= at_once <= _AT_ONCE:
            what = f"maxSurge {self.surge} and maxUnavailable {self.unavailable} are {at_once} nodes at once"
            raise mistaken(what, f"Write 1 to {_AT_ONCE} nodes for both together")
        return self


# `provisioning.gke` of an InferenceClass: how GKE makes nodes of the class.

GpuDirect = Literal["None", "TCPX", "TCPXO", "RDMA"]
NetworkProfile = Literal["None", "Auto"]
Driver = Literal["DEFAULT", "LATEST", "INSTALLATION_DISABLED"]
_NAME = TextRule(
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lowercase letters, digits and '-', as Google writes it", 63
)


class Sharing(StrictModel):
    """Several pods on one GPU."""

    strategy: Literal["TimeSharing", "MPS"]
    """How GKE shares a GPU: `TimeSharing` (pods take turns) or `MPS` (pods run at once)."""
    max_clients_per_gpu: int = Field(ge=2, le=48)
    """Number of pods that may share one GPU. The class's device count is GPUs per node times this."""


class GkeAccelerator(StrictModel):
    """The GPUs of a node."""

    type: Annotated[str, _NAME]
    """Accelerator type as Google names it, such as `nvidia-h100-80gb`."""
    count: int = Field(ge=1, le=16)
    """Number of GPUs per node."""
    partition_size: (
        Annotated[str, TextRule(r"[0-9]g\.[0-9]{1,3}gb", "a partition such as 1g.10gb")] | None
    ) = None
    """Size of the MIG partitions that each GPU is split into, such as `1g.10gb`. Default: GPUs are not split.
    """
    sharing: Sharing | None = None
    """Lets several pods share a GPU. Default: each GPU belongs to one pod."""


class LocalSsd(StrictModel):
    """Local SSDs of a node."""

    count: int = Field(ge=1, le=32)
    """Number of local SSDs per node; the machine type decides which numbers it takes."""
    use: Literal["EphemeralStorage", "BlockDevice"] = "EphemeralStorage"
    """`EphemeralStorage`: for images, logs and `emptyDir` volumes of pods. `BlockDevice`: as raw block
    devices.
    """


class SecondaryBootDisk(StrictModel):
    """A disk of every node, made of an image in Compute Engine, that has images of containers."""

    disk_image: Annotated[
        str,
        TextRule(
            r"(projects/([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]/)?"
            r"global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
            "an image such as projects/acme-images/global/images/vllm-0-30",
            160,
        ),
    ]
    """Image of the disk, such as `projects/acme-images/global/images/vllm-0-30`."""


class Networking(StrictModel):
    """Network of the nodes beyond the cluster's own."""

    gpu_direct: GpuDirect = "None"
    """The kind of GPUDirect between nodes. Any other than `None` adds networks and interfaces, and must be
    the one that the machine type has.
    """
    accelerator_network_profile: NetworkProfile = "None"
    """Who makes these networks: with `Auto`, for `gpuDirect: RDMA` alone, GKE itself, and pods claim the
    network cards (DRANET); with `None` the stack, and pods name the networks.
    """


class GkeProvisioning(StrictModel):
    """How GKE makes a node of this class. Each pool adds its own size, zones and capacity model."""

    passed_on = ("provider",)

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
    provider: PassedInputs = {}
    """Inputs of the node pool (`gcp.container.NodePool`) in the words of Pulumi's provider, passed on as they
    are written: any that inferfleet does not decide itself, such as `{nodeConfig: {kubeletConfig:
    {podPidsLimit: 4096}}}`. Default: none.
    """
    verified: str | None = Field(default=None, min_length=1, max_length=200)
    """Where and when this recipe was seen to work on GKE, such as `us-east5-a, 2026-11-02`. What the built-in
    table of machines has against the recipe is then only a warning; default: not verified.
    """
