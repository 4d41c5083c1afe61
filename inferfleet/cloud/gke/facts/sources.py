"""Where facts and the rules of recipes were read, as messages name it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A page of somebody else. `date` is that of the page or release, or the day on which it was read."""

    title: str
    url: str
    date: str

    def __str__(self) -> str:
        return f"{self.title}, {self.date}: {self.url}"


# The day on which the table of machines was compared with Google's pages.
VERIFIED = "2026-04-14"

GPUS = Source("Google, GPU machine types", "https://docs.cloud.google.com/compute/docs/gpus", VERIFIED)
GPU_ZONES = Source(
    "Google, GPU regions and zones",
    "https://docs.cloud.google.com/compute/docs/gpus/gpu-regions-zones",
    VERIFIED,
)
LOCAL_SSD = Source(
    "Google, local SSD", "https://docs.cloud.google.com/compute/docs/disks/local-ssd", VERIFIED
)
# And the compute classes of https://github.com/GoogleCloudPlatform/accelerated-platforms.
FLEX_START = Source(
    "Google, flex-start VMs",
    "https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms",
    VERIFIED,
)

DWS = Source(
    "GKE, flex-start", "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/dws", "2026-11-24"
)
RESERVATIONS = Source(
    "GKE, consuming reservations",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations",
    VERIFIED,
)
COMPACT = Source(
    "GKE, compact placement",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement",
    VERIFIED,
)
RDMA_ZONE = Source(
    "Google, RDMA network profiles",
    "https://docs.cloud.google.com/vpc/docs/rdma-network-profiles",
    "2026-11-24",
)
# And https://docs.nvidia.com/datacenter/tesla/mig-user-guide.
MIG = Source(
    "GKE, multi-instance GPUs", "https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi", VERIFIED
)
DRA = Source("GKE, set up DRA", "https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra", VERIFIED)
NODE_POOL_API = Source(
    "GKE API, NodePool",
    "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools",
    VERIFIED,
)
GKE_GPUS = Source("GKE, run GPUs", "https://cloud.google.com/kubernetes-engine/docs/how-to/gpus", VERIFIED)
SYSTEM_CONFIG = Source(
    "GKE, node system configuration",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/node-system-config",
    "2026-11-23",
)
GCLOUD_SYSTEM_CONFIG = Source(
    "gcloud, system-config-from-file",
    "https://cloud.google.com/sdk/gcloud/reference/container/node-pools/create",
    "2026-11-23",
)

TOOLKIT = Source(
    "cluster-toolkit, gke-node-pool",
    "https://github.com/GoogleCloudPlatform/cluster-toolkit/tree/main/modules/compute/gke-node-pool",
    VERIFIED,
)
COMPACT_RESERVED = Source(
    "AI-Hypercomputer/xpk#1130, pools of A3 Mega fail with both",
    "https://github.com/AI-Hypercomputer/xpk/pull/1130",
    "2026-03-17",
)
AI_CLUSTER = Source(
    "Google, create an AI-optimized GKE cluster",
    "https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute",
    "2026-04-06",
)
DRANET = Source(
    "GKE, allocate network resources by GKE managed DRANET",
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra",
    "2026-11-24",
)
# Names two types of load balancers, which are the two classes of gateways that take InferencePools.
LLM_D = Source("llm-d, GKE gateway", "https://llm-d.ai/docs/dev/resources/gateway/gke", "2026-11-23")
# Which types of load balancers there are, and that the policy holds for new forwarding rules alone.
LOAD_BALANCER_POLICY = Source(
    "Google, organization policies of Cloud Load Balancing",
    "https://docs.cloud.google.com/load-balancing/docs/org-policy-constraints",
    "2026-11-28",
)
CMEK_POLICY = Source(
    "Google, CMEK organization policies",
    "https://docs.cloud.google.com/kms/docs/cmek-org-policy",
    "2026-11-28",
)
CONSTRAINTS = Source(
    "Google, organization policy constraints",
    "https://docs.cloud.google.com/organization-policy/reference/org-policy-constraints",
    "2026-11-28",
)
SUBNETS = Source("Google, subnets", "https://docs.cloud.google.com/vpc/docs/subnets", "2026-11-28")
GKE_FIREWALLS = Source(
    "GKE, automatically created firewall rules",
    "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules",
    "2026-11-28",
)
PRIVATE_ACCESS = Source(
    "GKE, private clusters",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/private-clusters",
    "2026-11-28",
)
# All interfaces of a node in a Shared VPC are in networks of its host project, and names of Network objects
# of type Device have at most 41 characters.
MULTI_NETWORK = Source(
    "GKE, multi-network support for Pods",
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods",
    "2026-11-28",
)
# Each in a network of its own, but for those of RDMA.
MULTIPLE_INTERFACES = Source(
    "Google, multiple network interfaces",
    "https://docs.cloud.google.com/vpc/docs/multiple-interfaces-concepts",
    "2026-11-28",
)
PRELOADING = Source(
    "GKE, secondary boot disks",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/data-container-image-preloading",
    "2026-11-24",
)
# Its table ends at 110 pods (/24) in the copy that was read; twice as many addresses as pods is its rule.
PODS_PER_NODE = Source(
    "GKE, maximum Pods per node",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr",
    "2026-11-24",
)
BOOT_DISKS = Source(
    "GKE, custom boot disks",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/custom-boot-disks",
    "2026-11-24",
)
ARM_NODES = Source(
    "GKE, Arm workloads",
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment",
    "2026-11-24",
)
UPGRADE_STRATEGIES = Source(
    "GKE, node upgrade strategies",
    "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies",
    "2026-11-24",
)
# Blueprints of cluster-toolkit v1.95.0, by family of machines, whose cluster has a maintenance exclusion of
# scope NO_MINOR_OR_NODE_UPGRADES, UNTIL_END_OF_SUPPORT, from 2025-12-01 on, beside a daily window at 09:00.
_EXAMPLES = "https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/10470803/examples"
BLUEPRINTS: Mapping[str, Source] = {
    family: Source(f"cluster-toolkit, {name}", f"{_EXAMPLES}/{name}/{name}.yaml", "2026-06-25")
    for family, name in (
        ("A3 High", "gke-a3-highgpu"),
        ("A3 Ultra", "gke-a3-ultragpu"),
        ("A4", "gke-a4"),
        ("A4X", "gke-a4x"),
        ("G4", "gke-g4"),
    )
}
PROVISIONING_REQUEST = Source(
    "GKE, queued provisioning",
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest",
    "2026-04-08",
)
# And AI-Hypercomputer/xpk#434.
BROKEN_SPOT = Source(
    "GoogleCloudPlatform/cluster-toolkit#4058",
    "https://github.com/GoogleCloudPlatform/cluster-toolkit/issues/4058",
    VERIFIED,
)
A4X_DISKS = Source("NVIDIA/aicr#2338", "https://github.com/NVIDIA/aicr/issues/2338", VERIFIED)
# N4 takes Hyperdisk alone.
GENERAL = Source(
    "Google, general-purpose machines",
    "https://docs.cloud.google.com/compute/docs/general-purpose-machines",
    "2026-11-23",
)
DRA_FROM_ZERO = Source(
    "modelplaneai/modelplane#306", "https://github.com/modelplaneai/modelplane/issues/306", VERIFIED
)
