"""Edits of pools: 0 is `fixed`, with a replica on it; 1 is `spot`, 2 is `wired`, 3 is `zero`."""

from gke_edits import GONE, Edit
from gke_edits_stack import documents

from inferfleet.cloud.gke.facts.change_table import Effect

POOLS = "spec.nodePools"
TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
_EAST = documents()["east"]["spec"]["nodePools"]
_NEW = {"name": "more", "className": "cheap", "minNodeCount": 0, "maxNodeCount": 2, "zones": ["us-east5-c"]}
_NAMED = [{"network": f"gpu-{place}", "subnetwork": f"gpu-{place}-us-east5"} for place in range(8)]
_HELD = "the lock has 1 replica of ml/chat on pool fixed of cluster east, but the cluster has no such pool"
_GONE = "no replica is placed on the pool"
_RESERVED = "nodeConfig.reservationAffinity"
_SPOT = f"replace {_RESERVED}, nodeConfig.spot"


def _comes(pool: str) -> dict[str, str]:
    return {f"GpuNodePool east/{pool}": "create", f"NodePool east/{pool}": "create"}


def _goes(pool: str) -> dict[str, str]:
    return {f"GpuNodePool east/{pool}": "delete", f"NodePool east/{pool}": "delete"}


def _networks_go() -> dict[str, str]:
    kinds = ("Network", "Subnetwork", "Firewall")
    return {f"{kind} east/tcpxo-{place}": "delete" for kind in kinds for place in range(8)}


def _pool(
    title: str,
    place: int,
    name: str,
    value: object,
    plan: str = "",
    *,
    refused: str = "",
    effect: Effect | None = None,
    why: str = "",
) -> Edit:
    """An edit of one field of one pool, which changes at most that pool."""
    plans = {f"NodePool east/{_EAST[place]['name']}": plan} if plan else {}
    return Edit(title, (("east", f"{POOLS}[{place}].{name}", value),), plans, refused, effect, why)


EDITS = (
    _pool("more nodes", 0, "nodeCount", 4, "update nodeCount"),
    _pool(
        "fewer nodes than replicas need",
        0,
        "nodeCount",
        0,
        refused="pool east/fixed with 0 nodes of 1 GPU, 4 cores, 16Gi of memory is too small for the "
        "replicas that placement.lock has on it: ml/chat (1 replica: 1 GPU); it has fewer nodes than it had, "
        "and there is no room elsewhere",
        why="the replica would have no place",
    ),
    _pool("a higher maximum", 1, "maxNodeCount", 6, "update autoscaling.totalMaxNodeCount"),
    _pool("a higher minimum", 1, "minNodeCount", 1, "update autoscaling.totalMinNodeCount"),
    Edit(
        "autoscaled, no more of a fixed size",
        (
            ("east", f"{POOLS}[0].nodeCount", GONE),
            ("east", f"{POOLS}[0].minNodeCount", 1),
            ("east", f"{POOLS}[0].maxNodeCount", 4),
        ),
        {
            "NodePool east/fixed": "update autoscaling, ignoreNodeCountChanges",
            # Nodes may have to come up first, so pods are given longer.
            "Deployment east/ml/chat-decode-fixed": "update spec.progressDeadlineSeconds",
        },
    ),
    _pool("a zone more", 1, "zones", ["us-east5-a", "us-east5-b"], "update nodeLocations"),
    _pool("a zone less, under a replica", 0, "zones", ["us-east5-a"], "update nodeCount, nodeLocations"),
    _pool(
        "zones in another order",
        0,
        "zones",
        ["us-east5-b", "us-east5-a"],
        effect=Effect.NOTHING,
        why="their order means nothing",
    ),
    _pool("a taint", 1, "taints", [TAINT], "update nodeConfig.taints"),
    _pool("a label, under a replica", 0, "labels", {"team": "ml"}, "update nodeConfig.labels.team"),
    _pool("spot off", 1, "capacity.model", "OnDemand", _SPOT),
    _pool("spot on", 3, "capacity.model", "Spot", _SPOT),
    _pool(
        "spot on, under a replica",
        0,
        "capacity.model",
        "Spot",
        refused="would be replaced, for this cannot change in place: capacity.model (consumeReservationType "
        "unset -> NO_RESERVATION, spot unset -> true). Allow it with spec.cluster.gke.replace.allow: "
        "[capacity.model]",
    ),
    _pool("another reservation", 2, "capacity.reservation.name", "mega-2", f"replace {_RESERVED}.values"),
    Edit(
        "networks between GPUs that exist",
        (("east", f"{POOLS}[2].additionalNodeNetworkConfigs", _NAMED),),
        {
            "NodePool east/wired": "replace networkConfig.additionalNodeNetworkConfigs.network, "
            "networkConfig.additionalNodeNetworkConfigs.subnetwork",
            **_networks_go(),
        },
    ),
    Edit("a pool more", (("east", f"{POOLS}[-1]", _NEW),), _comes("more")),
    Edit("a pool less", (("east", f"{POOLS}[1]", GONE),), _goes("spot"), effect=Effect.DELETES, why=_GONE),
    Edit(
        "the last pool with GPUDirect less",
        (("east", f"{POOLS}[2]", GONE),),
        {
            **_goes("wired"),
            **_networks_go(),
        },
        effect=Effect.DELETES,
        why=_GONE,
    ),
    Edit("a pool less, under a replica", (("east", f"{POOLS}[0]", GONE),), refused=_HELD),
    Edit("pools in another order", (("east", POOLS, _EAST[::-1]),)),
    Edit(
        "a pool renamed",
        (("east", f"{POOLS}[1].name", "cheap"),),
        {**_comes("cheap"), **_goes("spot")},
    ),
)
