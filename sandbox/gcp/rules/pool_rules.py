"""What GKE refuses of a node pool though its fields are well formed."""

import re
from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad, missing
from sandbox.gcp.rules.machines import DEFAULT, MACHINES, Machine
from sandbox.gcp.rules.names import network_id, subnetwork_id
from sandbox.gcp.store import Record, Records

WEEK = 604_800
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def check_name(what: str, name: str) -> None:
    """Names of clusters and pools: at most 40 characters."""
    if not NAME.fullmatch(name) or len(name) > 40:
        raise bad(
            f"Invalid value for field '{what}.name': {name!r}. Must be a match of regex "
            f"'(?:{NAME.pattern})' of at most 40 characters"
        )


def check_pool(state: dict[str, Any], cluster: Record, records: Records, zones: tuple[str, ...]) -> None:
    """Raises ApiError for the first rule that the pool breaks."""
    check_name("nodePool", state["name"])
    config = state.get("nodeConfig") or {}
    _zones(zones, cluster)
    machine_type = config.get("machineType") or DEFAULT
    machine = MACHINES.get(machine_type)
    if machine is None:
        raise bad(f'Machine type with name "{machine_type}" does not exist in zone {zones[0]}')
    _accelerators(machine_type, machine, config.get("guestAccelerators") or [])
    _local_ssds(machine_type, machine, config)
    _capacity(state, config)
    _placement(state, cluster, records, zones)
    _networks(state, cluster, records)
    _account(config, cluster, records)
    _autoscaling(state.get("autoscaling") or {})


def _zones(zones: tuple[str, ...], cluster: Record) -> None:
    region = regions.region_of(cluster.state["location"])
    for zone in zones:
        if not regions.exists(zone) or regions.region_of(zone) != region or zone == region:
            raise bad(f"Invalid value for nodeLocations: zone {zone!r} is not a zone of region {region!r}")


def _accelerators(machine_type: str, machine: Machine, wanted: list[dict[str, Any]]) -> None:
    asked = {one["type"]: one["count"] for one in wanted if one["count"]}
    fitting = dict(machine.accelerators)
    for kind, count in asked.items():
        if kind not in fitting or count not in fitting[kind]:
            takes = ", ".join(f"{name} x {'/'.join(map(str, n))}" for name, n in fitting.items()) or "none"
            raise bad(
                f"Accelerator {kind} with count {count} cannot be used with machine type {machine_type}. "
                f"It takes: {takes}"
            )
    if machine.built_in and not asked:
        raise bad(
            f"Machine type {machine_type} must be used with its accelerators: guestAccelerators is empty"
        )
    for one in wanted:
        sharing = one.get("gpuSharingConfig") or {}
        if sharing and not 2 <= sharing["maxSharedClientsPerGpu"] <= 48:
            raise bad("gpuSharingConfig.maxSharedClientsPerGpu must be between 2 and 48")


def _local_ssds(machine_type: str, machine: Machine, config: dict[str, Any]) -> None:
    ephemeral = config.get("ephemeralStorageLocalSsdConfig")
    block = config.get("localNvmeSsdBlockConfig")
    if ephemeral and block:
        raise bad("Only one of ephemeralStorageLocalSsdConfig and localNvmeSsdBlockConfig may be set")
    for one in (ephemeral, block):
        if one and machine.ssds and one["localSsdCount"] not in (0, machine.ssds):
            raise bad(
                f"Machine type {machine_type} has exactly {machine.ssds} local SSDs, "
                f"not {one['localSsdCount']}"
            )


def _capacity(state: dict[str, Any], config: dict[str, Any]) -> None:
    """How the nodes are bought: spot, flex-start and queued ones take no reservation."""
    queued = bool((state.get("queuedProvisioning") or {}).get("enabled"))
    flex, spot = bool(config.get("flexStart")), bool(config.get("spot") or config.get("preemptible"))
    reservation = config.get("reservationAffinity") or {}
    kind = reservation.get("consumeReservationType", "")
    for name, there in (("spot", spot), ("flexStart", flex), ("queuedProvisioning", queued)):
        if there and kind != "NO_RESERVATION":
            raise bad(f"Node pools with {name} must set reservationAffinity to NO_RESERVATION")
    if spot and (flex or queued):
        raise bad("Spot VMs cannot be combined with flex-start or queued provisioning")
    if kind == "SPECIFIC_RESERVATION" and not (reservation.get("key") and reservation.get("values")):
        raise bad("reservationAffinity of type SPECIFIC_RESERVATION needs key and values")
    if flex:
        if (state.get("management") or {}).get("autoRepair", True):
            raise bad("Flex-start node pools do not support auto-repair: set management.autoRepair to false")
        if state.get("nodeCount") or state.get("initialNodeCount"):
            raise bad("Flex-start node pools must have zero nodes at first, and autoscaling")
    if (flex or queued) and not state.get("autoscaling"):
        raise bad("Flex-start and queued node pools must have autoscaling enabled")
    duration = config.get("maxRunDuration") or "0s"
    if not re.fullmatch(r"\d+s", duration) or ((flex or queued) and int(duration[:-1]) > WEEK):
        raise bad(f"Invalid value for maxRunDuration: '{duration}'. Seconds such as 3600s, {WEEK}s at most")
    if config.get("secondaryBootDisks") and not (config.get("gcfsConfig") or {}).get("enabled"):
        raise bad("Secondary boot disks need image streaming: enable gcfsConfig")


def _placement(state: dict[str, Any], cluster: Record, records: Records, zones: tuple[str, ...]) -> None:
    placement = state.get("placementPolicy") or {}
    if placement.get("type") != "COMPACT":
        return
    if len(zones) != 1:
        raise bad(f"Compact placement needs exactly one zone, not {len(zones)}: {', '.join(zones)}")
    if (state.get("upgradeSettings") or {}).get("strategy") == "BLUE_GREEN":
        raise bad("Compact placement cannot be combined with blue-green upgrades")
    if (state.get("queuedProvisioning") or {}).get("enabled"):
        raise bad("Compact placement cannot be combined with queued provisioning")
    policy = placement.get("policyName")
    region = regions.region_of(cluster.state["location"])
    found = f"projects/{cluster.state['project']}/regions/{region}/resourcePolicies/{policy}"
    if policy and found not in records:
        raise missing(found)


def _networks(state: dict[str, Any], cluster: Record, records: Records) -> None:
    project, region = cluster.state["project"], regions.region_of(cluster.state["location"])
    extra = (state.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
    if extra and not (
        cluster.state.get("enableMultiNetworking")
        and cluster.state.get("datapathProvider") == "ADVANCED_DATAPATH"
    ):
        raise bad(
            "Additional node networks need a cluster with enableMultiNetworking and datapathProvider "
            "ADVANCED_DATAPATH"
        )
    for one in extra:
        network = network_id(project, one.get("network", ""))
        subnetwork = subnetwork_id(project, region, one.get("subnetwork", ""))
        for found in (network, subnetwork):
            if found not in records:
                raise missing(found)
        if network_id(project, records[subnetwork].state["network"]) != network:
            raise bad(f"Subnetwork {subnetwork} is not in network {network}")


def _account(config: dict[str, Any], cluster: Record, records: Records) -> None:
    account = config.get("serviceAccount")
    if not account or account == "default":
        return
    project = account.partition("@")[2].removesuffix(".iam.gserviceaccount.com")
    if f"projects/{project}/serviceAccounts/{account}" not in records:
        raise bad(f"Service account {account!r} does not exist")


def _autoscaling(scaling: dict[str, Any]) -> None:
    total = {"totalMinNodeCount", "totalMaxNodeCount"} & scaling.keys()
    each = {"minNodeCount", "maxNodeCount"} & {name for name, value in scaling.items() if value}
    if total and each:
        raise bad("Per-zone and total limits of autoscaling cannot be combined")
    for least, most in (("minNodeCount", "maxNodeCount"), ("totalMinNodeCount", "totalMaxNodeCount")):
        if scaling.get(least, 0) > scaling.get(most, 0) and most in scaling:
            raise bad(f"autoscaling.{least} {scaling[least]} is greater than {most} {scaling[most]}")
    if scaling and not (scaling.get("maxNodeCount") or scaling.get("totalMaxNodeCount")):
        raise bad("Autoscaling needs maxNodeCount or totalMaxNodeCount of at least 1")
