"""Node pools and the names of clusters: what GKE refuses although every field is well formed."""

import re
from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad_request, not_found
from sandbox.gcp.rules.machines import DEFAULT, Machine, machine_of
from sandbox.gcp.rules.names import account_resource_id, network_id, relative, subnetwork_id
from sandbox.gcp.rules.networking import check_subnetwork_in
from sandbox.gcp.store import Record, Records

Values = dict[str, Any]
# The longest that flex-start and queued nodes may run: seven days, in seconds.
_LONGEST_RUN = 604_800
# flexible-pod-cidr and custom-boot-disks below cloud.google.com/kubernetes-engine/docs/how-to, 2026-11-24
_PODS = (8, 256)
_DISKS = ("pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced")
# https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute, 2026-04-06
_WITH_BLOCKS = ("a3-ultragpu-", "a3-megagpu-", "a3-highgpu-8g", "a4-", "a4x-")
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def check_name(what: str, name: str) -> None:
    """Raise ApiError for a bad name of a cluster or pool (`what` says which); 40 characters are allowed."""
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise bad_request(
            f"Invalid value for field '{what}.name': {name!r}. Must be a match of regex "
            f"'(?:{_NAME.pattern})' of at most 40 characters"
        )


def check_pool(state: Values, cluster: Record, records: Records, zones: tuple[str, ...]) -> None:
    """Raise ApiError for the first rule of GKE's that the pool breaks."""
    check_name("nodePool", state["name"])
    config = state.get("nodeConfig") or {}
    _check_zones(zones, cluster)
    machine_type = config.get("machineType") or DEFAULT
    machine = machine_of(machine_type)
    if machine is None:
        raise bad_request(f'Machine type with name "{machine_type}" does not exist in zone {zones[0]}')
    _check_accelerators(machine_type, machine, config.get("guestAccelerators") or [])
    _check_local_ssds(machine_type, machine, config)
    _check_nodes(state, config)
    _check_capacity(state, config)
    _check_placement(state, cluster, records, zones)
    _check_networks(state, cluster, records, zones)
    _check_account(config, records)
    _check_autoscaling(state.get("autoscaling") or {})
    _check_upgrades(state)


def _check_zones(zones: tuple[str, ...], cluster: Record) -> None:
    region = regions.region_of(cluster.state["location"])
    for zone in zones:
        if not regions.exists(zone) or regions.region_of(zone) != region or zone == region:
            raise bad_request(
                f"Invalid value for nodeLocations: zone {zone!r} is not a zone of region {region!r}"
            )


def _check_accelerators(machine_type: str, machine: Machine, gpus: list[Values]) -> None:
    asked = {gpu["type"]: gpu["count"] for gpu in gpus if gpu["count"]}
    allowed = dict(machine.accelerators)
    for gpu_type, count in asked.items():
        if gpu_type not in allowed or count not in allowed[gpu_type]:
            takes = ", ".join(f"{name} x {'/'.join(map(str, n))}" for name, n in allowed.items()) or "none"
            raise bad_request(
                f"Accelerator {gpu_type} with count {count} cannot be used with machine type {machine_type}. "
                f"It takes: {takes}"
            )
    if machine.built_in and not asked:
        raise bad_request(
            f"Machine type {machine_type} must be used with its accelerators: guestAccelerators is empty"
        )
    for gpu in gpus:
        sharing = gpu.get("gpuSharingConfig") or {}
        if sharing and not 2 <= sharing["maxSharedClientsPerGpu"] <= 48:
            raise bad_request("gpuSharingConfig.maxSharedClientsPerGpu must be between 2 and 48")


def _check_local_ssds(machine_type: str, machine: Machine, config: Values) -> None:
    ephemeral = config.get("ephemeralStorageLocalSsdConfig")
    block = config.get("localNvmeSsdBlockConfig")
    if ephemeral and block:
        raise bad_request("Only one of ephemeralStorageLocalSsdConfig and localNvmeSsdBlockConfig may be set")
    for ssds in (ephemeral, block):
        if ssds and machine.ssds and ssds["localSsdCount"] not in (0, machine.ssds):
            raise bad_request(
                f"Machine type {machine_type} has exactly {machine.ssds} local SSDs, "
                f"not {ssds['localSsdCount']}"
            )


def _check_nodes(state: Values, config: Values) -> None:
    """Refuse numbers of pods and types of boot disks that GKE does not have."""
    pods = state.get("maxPodsPerNode")
    if pods is not None and not _PODS[0] <= pods <= _PODS[1]:
        raise bad_request(
            f"Invalid value for maxPodsPerNode: {pods}. Must be between {_PODS[0]} and {_PODS[1]}"
        )
    for disk in ((config.get("bootDisk") or {}).get("diskType"), config.get("diskType")):
        if disk and disk not in _DISKS:
            raise bad_request(f"Invalid value for diskType: {disk!r}. Must be one of {', '.join(_DISKS)}")


def _check_capacity(state: Values, config: Values) -> None:
    """Refuse impossible ways to buy nodes: spot, flex-start and queued ones take no reservation."""
    queued = bool((state.get("queuedProvisioning") or {}).get("enabled"))
    flex, spot = bool(config.get("flexStart")), bool(config.get("spot") or config.get("preemptible"))
    reservation = config.get("reservationAffinity") or {}
    consumes = reservation.get("consumeReservationType", "")
    for name, is_set in (("spot", spot), ("flexStart", flex), ("queuedProvisioning", queued)):
        if is_set and consumes != "NO_RESERVATION":
            raise bad_request(f"Node pools with {name} must set reservationAffinity to NO_RESERVATION")
    if spot and (flex or queued):
        raise bad_request("Spot VMs cannot be combined with flex-start or queued provisioning")
    if consumes == "SPECIFIC_RESERVATION" and not (reservation.get("key") and reservation.get("values")):
        raise bad_request("reservationAffinity of type SPECIFIC_RESERVATION needs key and values")
    machine_type = config.get("machineType") or DEFAULT
    if any("/reservationBlocks/" in value for value in reservation.get("values") or ()) and not (
        machine_type.startswith(_WITH_BLOCKS)
    ):
        raise bad_request(f"Reservations of machine type {machine_type} have no blocks")
    if flex:
        if (state.get("management") or {}).get("autoRepair", True):
            raise bad_request(
                "Flex-start node pools do not support auto-repair: set management.autoRepair to false"
            )
        if state.get("nodeCount") or state.get("initialNodeCount"):
            raise bad_request("Flex-start node pools must have zero nodes at first, and autoscaling")
    if (flex or queued) and not state.get("autoscaling"):
        raise bad_request("Flex-start and queued node pools must have autoscaling enabled")
    duration = config.get("maxRunDuration") or "0s"
    if not re.fullmatch(r"\d+s", duration) or ((flex or queued) and int(duration[:-1]) > _LONGEST_RUN):
        raise bad_request(
            f"Invalid value for maxRunDuration: '{duration}'. Seconds such as 3600s, {_LONGEST_RUN}s at most"
        )
    if config.get("secondaryBootDisks") and not (config.get("gcfsConfig") or {}).get("enabled"):
        raise bad_request("Secondary boot disks need image streaming: enable gcfsConfig")


def _check_placement(state: Values, cluster: Record, records: Records, zones: tuple[str, ...]) -> None:
    placement = state.get("placementPolicy") or {}
    if placement.get("type") != "COMPACT":
        return
    if len(zones) != 1:
        raise bad_request(f"Compact placement needs exactly one zone, not {len(zones)}: {', '.join(zones)}")
    if (state.get("upgradeSettings") or {}).get("strategy") == "BLUE_GREEN":
        raise bad_request("Compact placement cannot be combined with blue-green upgrades")
    if (state.get("queuedProvisioning") or {}).get("enabled"):
        raise bad_request("Compact placement cannot be combined with queued provisioning")
    config = state.get("nodeConfig") or {}
    machine_type = config.get("machineType") or DEFAULT
    # cluster-toolkit, gke-node-pool/main.tf, 2026-06-25
    if config.get("flexStart") and not machine_type.startswith(("a3-ultragpu-", "a4-", "h4d-")):
        raise bad_request(
            "Compact placement with flex-start is only supported for A3 Ultra, A4 and H4D machine types"
        )
    name = placement.get("policyName")
    region = regions.region_of(cluster.state["location"])
    policy = f"projects/{cluster.state['project']}/regions/{region}/resourcePolicies/{name}"
    if name and policy not in records:
        raise not_found(policy)


def _check_networks(state: Values, cluster: Record, records: Records, zones: tuple[str, ...]) -> None:
    project, region = cluster.state["project"], regions.region_of(cluster.state["location"])
    additional = (state.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
    _check_profile(state, cluster, additional, zones)
    if additional and not (
        cluster.state.get("enableMultiNetworking")
        and cluster.state.get("datapathProvider") == "ADVANCED_DATAPATH"
    ):
        raise bad_request(
            "Additional node networks need a cluster with enableMultiNetworking and datapathProvider "
            "ADVANCED_DATAPATH"
        )
    # Names are those of the project of the cluster's network: all interfaces of a node in a Shared VPC are in
    # its host project. .../docs/how-to/setup-multinetwork-support-for-pods
    first = network_id(project, relative(cluster.state["network"]))
    host = first.split("/")[1]
    taken = [first]
    for config in additional:
        network = network_id(host, config.get("network", ""))
        subnetwork = subnetwork_id(host, region, config.get("subnetwork", ""))
        check_subnetwork_in(network, subnetwork, records)
        # docs.cloud.google.com/vpc/docs/multiple-interfaces-concepts; those of RDMA are in one network.
        if network in taken and not records[network].state.get("networkProfile"):
            raise bad_request("Networks must be distinct for NICs attached to a VM.")
        taken.append(network)


# Machines for which GKE makes networks itself, of one zone each. docs.cloud.google.com/kubernetes-engine/
# docs/how-to/config-auto-net-for-accelerators; only what others say of its release (2026-04-20) was seen
_AUTO_NETWORKS = ("a3-megagpu-", "a3-ultragpu-", "a4-highgpu-", "a4x-")


def _check_profile(state: Values, cluster: Record, additional: list[Values], zones: tuple[str, ...]) -> None:
    """Refuse a network profile that GKE does not have, or not for such nodes: it is for one zone each."""
    profile = (state.get("networkConfig") or {}).get("acceleratorNetworkProfile")
    if profile is None:
        return
    machine_type = (state.get("nodeConfig") or {}).get("machineType") or DEFAULT
    if profile != "auto":
        raise bad_request(f"Invalid value for acceleratorNetworkProfile: {profile!r}. It must be 'auto'")
    if not machine_type.startswith(_AUTO_NETWORKS):
        raise bad_request(f"acceleratorNetworkProfile is not supported for machine type {machine_type}")
    if additional:
        raise bad_request("acceleratorNetworkProfile cannot be combined with additionalNodeNetworkConfigs")
    if cluster.state.get("datapathProvider") != "ADVANCED_DATAPATH":
        raise bad_request("acceleratorNetworkProfile needs a cluster with datapathProvider ADVANCED_DATAPATH")
    if len(zones) != 1:
        raise bad_request(f"acceleratorNetworkProfile needs exactly one zone, not {len(zones)}")


def _check_account(config: Values, records: Records) -> None:
    email = config.get("serviceAccount")
    if email and email != "default" and account_resource_id(email) not in records:
        raise bad_request(f"Service account {email!r} does not exist")


def _check_autoscaling(scaling: Values) -> None:
    total = {"totalMinNodeCount", "totalMaxNodeCount"} & scaling.keys()
    per_zone = {"minNodeCount", "maxNodeCount"} & {name for name, value in scaling.items() if value}
    if total and per_zone:
        raise bad_request("Per-zone and total limits of autoscaling cannot be combined")
    for lower, upper in (("minNodeCount", "maxNodeCount"), ("totalMinNodeCount", "totalMaxNodeCount")):
        if scaling.get(lower, 0) > scaling.get(upper, 0) and upper in scaling:
            raise bad_request(
                f"autoscaling.{lower} {scaling[lower]} is greater than {upper} {scaling[upper]}"
            )
    if scaling and not (scaling.get("maxNodeCount") or scaling.get("totalMaxNodeCount")):
        raise bad_request("Autoscaling needs maxNodeCount or totalMaxNodeCount of at least 1")


def _check_upgrades(state: Values) -> None:
    """Refuse upgrades that no node would take part in. The provider takes two of Google's three strategies.

    resource_container_node_pool.go of terraform-provider-google-beta at 93c65b2d60, 2026-08-21
    """
    settings = state.get("upgradeSettings") or {}
    strategy = settings.get("strategy", "SURGE")
    if strategy == "SHORT_LIVED" and (state.get("nodeConfig") or {}).get("flexStart"):
        return  # GKE filled it in.
    if strategy not in ("SURGE", "BLUE_GREEN"):
        raise bad_request(f"expected strategy to be one of ['SURGE' 'BLUE_GREEN'], got {strategy}")
    if strategy == "BLUE_GREEN":
        steps = settings.get("blueGreenSettings") or {}
        if steps.get("standardRolloutPolicy") and steps.get("autoscaledRolloutPolicy"):
            raise bad_request(
                "`standard_rollout_policy` and `autoscaled_rollout_policy` cannot be set at the same time"
            )
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-pool-upgrade-strategies
        if steps.get("autoscaledRolloutPolicy") and not state.get("autoscaling"):
            raise bad_request("Autoscaled blue-green upgrades need a node pool with autoscaling")
    elif settings and not 1 <= settings.get("maxSurge", 0) + settings.get("maxUnavailable", 0) <= 20:
        raise bad_request("maxSurge and maxUnavailable together must be between 1 and 20 nodes")
