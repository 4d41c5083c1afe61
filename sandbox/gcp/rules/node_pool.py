"""Node pools: what GKE fills in, how many nodes they have and where."""

from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.cluster import VERSION
from sandbox.gcp.rules.machines import DEFAULT, MACHINES, fills_in_ssds
from sandbox.gcp.rules.names import last
from sandbox.gcp.store import Record

Values = dict[str, Any]
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
LABELS = {"goog-gke-node-pool-provisioning-model": "on-demand"}
_SCOPES = [
    "https://www.googleapis.com/auth/devstorage.read_only",
    "https://www.googleapis.com/auth/logging.write",
    "https://www.googleapis.com/auth/monitoring",
]


def zones_of(state: Values, cluster: Record) -> tuple[str, ...]:
    """The zones of a pool: its own, or those of its cluster."""
    own = state.get("nodeLocations") or cluster.state.get("nodeLocations")
    return tuple(sorted(own or regions.default_zones(cluster.state["location"])[:1]))


def fill_pool(state: Values, cluster: Record, *, taint_gpus: bool) -> Values:
    """The pool's state as the API answers. `taint_gpus`: the cluster has nodes without GPUs for the rest."""
    config = _fill_config({**(state.get("nodeConfig") or {})}, taint_gpus=taint_gpus, state=state)
    defaults: Values = {
        "management": {"autoRepair": True, "autoUpgrade": True},
        "maxPodsPerNode": cluster.state.get("defaultMaxPodsPerNode", 110),
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0},
        "namePrefix": "",
        "version": VERSION,
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
        "cluster": last(state["cluster"]),
        "location": cluster.state["location"],
        "nodeConfig": config,
        "networkConfig": network,
        "nodeLocations": list(zones_of(state, cluster)),
        "operation": None,
    }


def counted(state: Values, record_id: str, zones: dict[str, int]) -> Values:
    """The state with what depends on how many nodes stand: nodeCount is an average per zone."""
    _, project, _, _, _, cluster, _, name = record_id.split("/")
    groups = [
        f"https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}/instanceGroupManagers/"
        f"gke-{cluster}-{name}-grp"
        for zone in sorted(zones)
    ]
    return {
        "initialNodeCount": sum(zones.values()) // max(len(zones), 1),
        **state,
        "nodeCount": sum(zones.values()) // max(len(zones), 1),
        "instanceGroupUrls": groups,
        "managedInstanceGroupUrls": [one.replace("Managers", "s") for one in groups],
    }


def first_counts(state: Values, zones: tuple[str, ...]) -> dict[str, int]:
    """Nodes per zone of a new pool, or of one whose inputs say another count."""
    count: int = state["nodeCount"] if "nodeCount" in state else state.get("initialNodeCount", 0)
    return within_limits(state, dict.fromkeys(zones, count))


def within_limits(state: Values, zones: dict[str, int]) -> dict[str, int]:
    """The counts brought between the autoscaler's limits, a node at a time where there are fewest or most."""
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
    least, most = scaling.get("minNodeCount", 0), scaling["maxNodeCount"]
    return {zone: min(max(count, least), most) for zone, count in counts.items()}


def _fill_config(config: Values, *, taint_gpus: bool, state: Values) -> Values:
    machine_type = config.setdefault("machineType", DEFAULT)
    machine = MACHINES[machine_type]
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
    # GKE 1.30 and newer installs a driver where nobody says which.
    driver = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    config["guestAccelerators"] = [{**driver, **one} for one in gpus]
    if fills_in_ssds(machine_type) and "localNvmeSsdBlockConfig" not in config:
        config.setdefault(
            "ephemeralStorageLocalSsdConfig", {"localSsdCount": machine.ssds, "dataCacheCount": 0}
        )
    taints = [*(config.get("taints") or [])]
    wanted = [GPU_TAINT] if taint_gpus and any(one["count"] for one in gpus) else []
    if (state.get("queuedProvisioning") or {}).get("enabled"):
        wanted.append({"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NO_SCHEDULE"})
    behaviour = (config.get("taintConfig") or {}).get("architectureTaintBehavior")
    if machine.arch != "amd64" and behaviour != "NONE":
        wanted.append({"key": "kubernetes.io/arch", "value": machine.arch, "effect": "NO_SCHEDULE"})
    have = {(one["key"], one["effect"]) for one in taints}
    config["effectiveTaints"] = taints + [one for one in wanted if (one["key"], one["effect"]) not in have]
    return config
