"""Node pools: what GKE fills in, how many nodes they have and in which zones."""

from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.machines import DEFAULT, fills_in_ssds, known_machine
from sandbox.gcp.rules.names import cluster_path, short_name
from sandbox.gcp.store import POOL, Record

Values = dict[str, Any]
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
LABELS = {"goog-gke-node-pool-provisioning-model": "on-demand"}
_SCOPES = [
    "https://www.googleapis.com/auth/devstorage.read_only",
    "https://www.googleapis.com/auth/logging.write",
    "https://www.googleapis.com/auth/monitoring",
]


def node_config(state: Values) -> Values:
    """Return the settings of a pool's nodes; an empty dict when it has none."""
    return state.get("nodeConfig") or {}


def accelerators(state: Values) -> list[Values]:
    """Return the accelerators of each of a pool's nodes as `guestAccelerators` lists them."""
    return node_config(state).get("guestAccelerators") or []


def gpu_counts(record: Record) -> dict[str, int]:
    """Return how many accelerators of each type all nodes of a pool have; nothing for other resources."""
    counts: dict[str, int] = {}
    if record.token == POOL:
        nodes = sum(record.zones.values())
        for accelerator in accelerators(record.state):
            gpu = accelerator["type"]
            counts[gpu] = counts.get(gpu, 0) + accelerator["count"] * nodes
    return counts


def hardware_of(state: Values) -> tuple[str, ...]:
    """Return what a stock-out may name: the machine type of a pool's nodes and their accelerators."""
    machine_type = node_config(state).get("machineType", DEFAULT)
    return (machine_type, *(accelerator["type"] for accelerator in accelerators(state)))


def zones_of(state: Values, cluster: Record) -> tuple[str, ...]:
    """Return the zones of a pool: its own, or else those of its cluster."""
    zones = state.get("nodeLocations") or cluster.state.get("nodeLocations")
    return tuple(sorted(zones or regions.default_zones(cluster.state["location"])[:1]))


def fill_pool(state: Values, cluster: Record, *, taint_gpus: bool) -> Values:
    """Return the pool's state as the API answers it, without what depends on the number of nodes.

    `taint_gpus` says that the cluster has nodes without GPUs, so that nodes with GPUs can be tainted.
    """
    config = _fill_node_config({**node_config(state)}, taint_gpus=taint_gpus, state=state)
    # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies
    surge = {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}
    defaults: Values = {
        "management": {"autoRepair": True, "autoUpgrade": True},
        "maxPodsPerNode": cluster.state.get("defaultMaxPodsPerNode", 110),
        "upgradeSettings": {"strategy": "SHORT_LIVED"} if config.get("flexStart") else surge,
        "namePrefix": "",
        "version": cluster.state["masterVersion"],
    }
    if state.get("autoscaling"):
        state = {**state, "autoscaling": {"locationPolicy": "BALANCED", **state["autoscaling"]}}
    network = {
        "createPodRange": False,
        "enablePrivateNodes": bool(
            (cluster.state.get("privateClusterConfig") or {}).get("enablePrivateNodes")
        ),
        "podRange": (cluster.state.get("ipAllocationPolicy") or {}).get("clusterSecondaryRangeName", ""),
        "subnetwork": cluster.state["subnetwork"],
        **(state.get("networkConfig") or {}),
    }
    return {
        **defaults,
        **state,
        "cluster": short_name(state["cluster"]),
        "location": cluster.state["location"],
        "nodeConfig": config,
        "networkConfig": network,
        "nodeLocations": list(zones_of(state, cluster)),
        "operation": None,
    }


def with_node_counts(state: Values, pool_id: str, zones: dict[str, int]) -> Values:
    """Return the state with the counts and groups of its nodes; `nodeCount` is an average per zone."""
    project, _, cluster = cluster_path(pool_id)
    groups = [
        f"https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}/instanceGroupManagers/"
        f"gke-{cluster}-{short_name(pool_id)}-grp"
        for zone in sorted(zones)
    ]
    per_zone = sum(zones.values()) // max(len(zones), 1)
    return {
        "initialNodeCount": per_zone,
        **state,
        "nodeCount": per_zone,
        "instanceGroupUrls": groups,
        "managedInstanceGroupUrls": [url.replace("Managers", "s") for url in groups],
    }


def initial_node_counts(state: Values, zones: tuple[str, ...]) -> dict[str, int]:
    """Return the nodes per zone of a new pool, or of one whose inputs ask for another count."""
    count: int = state["nodeCount"] if "nodeCount" in state else state.get("initialNodeCount", 0)
    return within_limits(state, dict.fromkeys(zones, count))


def within_limits(state: Values, zones: dict[str, int]) -> dict[str, int]:
    """Return the counts brought between the limits of autoscaling.

    Nodes are added one at a time where there are fewest and removed where there are most.
    """
    counts = dict(zones)
    scaling = state.get("autoscaling") or {}
    if not scaling:
        return counts
    if "totalMaxNodeCount" in scaling:
        while sum(counts.values()) < scaling.get("totalMinNodeCount", 0):
            counts[min(counts, key=lambda zone: (counts[zone], zone))] += 1
        while sum(counts.values()) > scaling["totalMaxNodeCount"]:
            counts[max(counts, key=lambda zone: (counts[zone], zone))] -= 1
        return counts
    lower, upper = scaling.get("minNodeCount", 0), scaling["maxNodeCount"]
    return {zone: min(max(count, lower), upper) for zone, count in counts.items()}


def _fill_node_config(config: Values, *, taint_gpus: bool, state: Values) -> Values:
    machine_type = config.setdefault("machineType", DEFAULT)
    machine = known_machine(machine_type)
    config.setdefault(
        "diskType", "hyperdisk-balanced" if machine_type.startswith(("g4", "a4", "n4")) else "pd-balanced"
    )
    config.setdefault("diskSizeGb", 100)
    config.setdefault("imageType", "COS_CONTAINERD")
    config.setdefault("serviceAccount", "default")
    config.setdefault("oauthScopes", _SCOPES)
    config.setdefault("loggingVariant", "DEFAULT")
    config.setdefault("metadata", {"disable-legacy-endpoints": "true"})
    config["resourceLabels"] = {**(config.get("resourceLabels") or {}), **LABELS}
    config.setdefault(
        "shieldedInstanceConfig", {"enableIntegrityMonitoring": True, "enableSecureBoot": False}
    )
    gpus = config.setdefault("guestAccelerators", [])
    # GKE 1.30 and newer installs a driver unless the pool names one or forbids it.
    driver = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    config["guestAccelerators"] = [{**driver, **gpu} for gpu in gpus]
    if fills_in_ssds(machine_type) and "localNvmeSsdBlockConfig" not in config:
        config.setdefault(
            "ephemeralStorageLocalSsdConfig", {"localSsdCount": machine.ssds, "dataCacheCount": 0}
        )
    added = [GPU_TAINT] if taint_gpus and any(gpu["count"] for gpu in gpus) else []
    if (state.get("queuedProvisioning") or {}).get("enabled"):
        added.append({"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NO_SCHEDULE"})
    behaviour = (config.get("taintConfig") or {}).get("architectureTaintBehavior")
    if machine.arch != "amd64" and behaviour != "NONE":
        added.append({"key": "kubernetes.io/arch", "value": machine.arch, "effect": "NO_SCHEDULE"})
    taints = [*(config.get("taints") or [])]
    existing = {(taint["key"], taint["effect"]) for taint in taints}
    config["effectiveTaints"] = taints + [
        taint for taint in added if (taint["key"], taint["effect"]) not in existing
    ]
    return config
