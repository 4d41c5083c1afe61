"""The settings of a pool of accelerators, and of what only that pool needs."""

from typing import Any

from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.api.kinds.inference_class import GkeProvisioning, InferenceClass
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.fleet import names
from inferfleet.gke.facts.create_only import create_only, digest
from inferfleet.gke.facts.machine import Machine
from inferfleet.gke.settings.fabrics import Extra, zones_of
from inferfleet.gke.settings.network import interfaces
from inferfleet.gke.settings.nodes import ignored, node_config
from inferfleet.gke.values import CLUSTER, NODE_POOL, CloudComponent, CloudResource
from inferfleet.profiles.gke import RACK_TOPOLOGY

RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
# GKE waits up to an hour for pods that are slow to leave, and then takes its time for the machines.
SECONDS = 5400
# Racks of GB200 take nodes only with a policy that keeps them in one NVLink domain.
_RACKS = "A4X"


def gpu_pool(
    cluster: str,
    cloud_name: str,
    pool: NodePool,
    *,
    gke: Gke,
    inference_class: InferenceClass,
    recipe: GkeProvisioning,
    machine: Machine,
    extras: tuple[Extra, ...],
    account: str,
    labels: dict[str, str],
    after: tuple[str, ...],
) -> tuple[CloudComponent, str]:
    """The component of the pool, and its name in Google Cloud.

    The name carries the digest of what cannot change in place, so that an old and a new pool can stand side
    by side. A minimum holds back the autoscaler; it starts no node before the first pod asks for one, and a
    pool is never made to wait for accelerators.
    """
    policy = _policy(cluster, cloud_name, pool, gke) if machine.family == _RACKS else None
    inputs = {
        **pool_of(cloud_name, gke),
        **_nodes(pool, gke),
        **_placement(recipe, pool, policy),
        **(
            {"networkConfig": {"additionalNodeNetworkConfigs": interfaces(cloud_name, extras)}}
            if extras
            else {}
        ),
        **_upkeep(pool),
        "maxPodsPerNode": inference_class.spec.node.pods,
        "nodeConfig": node_config(
            inference_class, pool, recipe, machine=machine, account=account, labels=labels
        ),
    }
    called, named = with_name(pool.name, inputs)
    resource = CloudResource(
        NODE_POOL,
        names.cloud_resource(cluster, pool.name),
        named,
        after=(*after, *([policy.key] if policy else [])),
        ignore=ignored(recipe, machine),
        delete_first=gke.replace.order == "DeleteFirst",
        deleted_with=f"{CLUSTER} {cluster}",
        timeout=SECONDS,
    )
    resources = (policy, resource) if policy else (resource,)
    return CloudComponent("GpuNodePool", names.cloud_resource(cluster, pool.name), resources), called


def pool_of(cloud_name: str, gke: Gke) -> dict[str, Any]:
    """Where a pool belongs."""
    return {"cluster": cloud_name, "location": gke.region, "project": gke.project}


def with_name(pool: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a pool with these inputs, and the inputs with it: as name, and as label of the nodes."""
    called = names.gke_pool(pool, digest(create_only(NODE_POOL, inputs)))
    nodes = inputs["nodeConfig"]
    labels = {names.POOL: called} | nodes.get("labels", {})
    return called, {"name": called, **inputs, "nodeConfig": nodes | {"labels": labels}}


def _nodes(pool: NodePool, gke: Gke) -> dict[str, Any]:
    """Where nodes stand, and how many: documents count the whole pool, Google a fixed size per zone."""
    zones = zones_of(gke, pool)
    places: dict[str, Any] = {"nodeLocations": list(zones)} if zones else {}
    if pool.max_node_count:
        return places | {
            "autoscaling": {
                "totalMinNodeCount": pool.min_node_count or 0,
                "totalMaxNodeCount": pool.max_node_count,
                # ANY goes where there is capacity; BALANCED spreads what can be bought anywhere.
                "locationPolicy": "BALANCED" if pool.capacity.model == "OnDemand" else "ANY",
            },
            # The autoscaler moves the number; it is nobody's mistake.
            "ignoreNodeCountChanges": True,
        }
    return places | {"nodeCount": (pool.node_count or 0) // max(1, len(zones))}


def _placement(recipe: GkeProvisioning, pool: NodePool, policy: CloudResource | None) -> dict[str, Any]:
    queued = {"queuedProvisioning": {"enabled": True}} if pool.capacity.model == "Queued" else {}
    if policy:
        return queued | {"placementPolicy": {"type": "COMPACT", "policyName": policy.inputs["name"]}}
    return queued | ({"placementPolicy": {"type": "COMPACT"}} if recipe.compact_placement else {})


def _network(cloud_name: str, extras: tuple[Extra, ...]) -> dict[str, Any]:
    if not extras:
        return {}
    return {"networkConfig": {"additionalNodeNetworkConfigs": interfaces(cloud_name, extras)}}


def _upkeep(pool: NodePool) -> dict[str, Any]:
    """Repairs and upgrades. A release channel upgrades nodes by itself, and takes no pool that refuses.

    Nodes that were waited for are never repaired, which would end them, and GKE chooses how to upgrade them.
    Of others one at a time is taken away first: there is seldom a spare machine to put beside it.
    """
    waited = pool.capacity.model in ("FlexStart", "Queued")
    found: dict[str, Any] = {"management": {"autoRepair": not waited, "autoUpgrade": True}}
    if waited:
        return found
    return found | {"upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}}


def _policy(cluster: str, cloud_name: str, pool: NodePool, gke: Gke) -> CloudResource:
    return CloudResource(
        RESOURCE_POLICY,
        names.cloud_resource(cluster, pool.name),
        {
            "name": names.gke_part(cloud_name, pool.name),
            "project": gke.project,
            "region": gke.region,
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": RACK_TOPOLOGY},
        },
    )
