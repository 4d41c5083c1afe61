"""The settings of a pool of accelerators, and of what only that pool needs."""

from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.facts.create_only import LABELS, create_only, digest, recreating
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.pool import GkeCluster, GkePool
from inferfleet.cloud.gke.settings.network import interfaces
from inferfleet.cloud.gke.settings.nodes import ignored, node_config, pod_taints
from inferfleet.cloud.gke.settings.upkeep import upgrades
from inferfleet.cloud.values import CloudComponent, CloudPool, CloudResource
from inferfleet.fleet import names
from inferfleet.tables.devices import GKE_ACCELERATOR
from inferfleet.tables.gke import AUTO_PROFILE, RACK_TOPOLOGY

RESOURCE_POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
# GKE waits up to an hour for pods that terminate slowly, and deleting machines takes longer still.
SECONDS = 5400
# Racks of GB200 take nodes only with a policy that keeps them in one NVLink domain.
_RACKS = "A4X"


def gpu_pool(cluster: GkeCluster, pool: GkePool, *, after: tuple[str, ...]) -> CloudPool:
    """Return the pool with its name in Google Cloud, its resources, and the settings that the lock records.

    The name carries the digest of the immutable settings, so that an old and a new pool can exist side by
    side. A minimum limits how far the autoscaler scales down; it starts no node before the first pod asks
    for one, so creating a pool never waits for accelerators.
    """
    policy = _rack_policy(cluster, pool) if pool.machine.family == _RACKS else None
    cloud_name, inputs = with_name(
        pool.name,
        {
            **pool_of(cluster),
            **_nodes(pool),
            **_placement(pool, policy),
            **_network(cluster, pool),
            **_upkeep(pool),
            "maxPodsPerNode": pool.gke_class.document.spec.node.pods,
            "nodeConfig": node_config(cluster, pool),
        },
    )
    resource = CloudResource(
        NODE_POOL,
        cloud_names.cloud_resource(cluster.name, pool.name),
        inputs,
        after=(*after, *([policy.key] if policy else [])),
        ignore=ignored(pool),
        delete_first=pool.gke.replace.order == "DeleteFirst",
        deleted_with=f"{CLUSTER} {cluster.name}",
        timeout=SECONDS,
    )
    resources = (policy, resource) if policy else (resource,)
    labels = {LABELS: dict(sorted(cluster.gke.labels.items()))} if cluster.gke.labels else {}
    gpu, named = pool.recipe.accelerator, pool.document.capacity.reservation
    return CloudPool(
        cluster=cluster.name,
        pool=pool.name,
        class_name=pool.gke_class.name,
        name=cloud_name,
        component=CloudComponent(
            "GpuNodePool", cloud_names.cloud_resource(cluster.name, pool.name), resources
        ),
        settings=create_only(NODE_POOL, inputs) | recreating(inputs) | labels,
        # GKE sets the first: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
        labels=({GKE_ACCELERATOR: gpu.type} if gpu else {}) | pool.document.labels,
        node_labels=pool.node_labels,
        taints=pod_taints(pool.document),
        zones=pool.zones,
        fixed_size=pool.fixed_size,
        fabric=pool.fabric.kind if pool.fabric else None,
        networks=tuple(network.part for network in pool.networks),
        claims_cards=pool.claims_cards,
        reservation=(named.project or cluster.gke.project, named.name) if named else None,
    )


def pool_of(cluster: GkeCluster) -> dict[str, Any]:
    """Return the settings that say which cluster a pool belongs to."""
    return {
        "cluster": cluster.cloud_name,
        "location": cluster.gke.region,
        "project": cluster.gke.project,
    }


def with_name(pool: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a pool with these inputs, and the inputs with it as name and as node label."""
    cloud_name = cloud_names.gke_pool(pool, digest(create_only(NODE_POOL, inputs)))
    nodes = inputs["nodeConfig"]
    labels = {names.POOL: cloud_name} | nodes.get("labels", {})
    return cloud_name, {"name": cloud_name, **inputs, "nodeConfig": nodes | {"labels": labels}}


def _nodes(pool: GkePool) -> dict[str, Any]:
    """Return zones and number of nodes: documents count the whole pool, Google a fixed size per zone."""
    places: dict[str, Any] = {"nodeLocations": list(pool.zones)} if pool.zones else {}
    if pool.fixed_size is None:
        return places | {
            "autoscaling": {
                "totalMinNodeCount": pool.document.min_node_count or 0,
                "totalMaxNodeCount": pool.document.max_node_count,
                # ANY goes where there is capacity; BALANCED spreads what can be bought anywhere.
                "locationPolicy": "BALANCED" if pool.capacity_model == "OnDemand" else "ANY",
            },
            # The autoscaler changes the number, which is no drift.
            "ignoreNodeCountChanges": True,
        }
    return places | {"nodeCount": pool.fixed_size // max(1, len(pool.zones))}


def _placement(pool: GkePool, policy: CloudResource | None) -> dict[str, Any]:
    queued = {"queuedProvisioning": {"enabled": True}} if pool.capacity_model == "Queued" else {}
    if policy:
        return queued | {"placementPolicy": {"type": "COMPACT", "policyName": policy.inputs["name"]}}
    return queued | ({"placementPolicy": {"type": "COMPACT"}} if pool.recipe.compact_placement else {})


def _network(cluster: GkeCluster, pool: GkePool) -> dict[str, Any]:
    if pool.gke_class.auto_network:
        return {"networkConfig": {"acceleratorNetworkProfile": AUTO_PROFILE}}
    if not pool.networks:
        return {}
    extra = interfaces(cluster.cloud_name, pool.networks)
    return {"networkConfig": {"additionalNodeNetworkConfigs": extra}}


def _upkeep(pool: GkePool) -> dict[str, Any]:
    """Return the settings of repairs and upgrades.

    A release channel upgrades nodes by itself, and takes no pool that refuses.

    Nodes of the Dynamic Workload Scheduler are not repaired, which would delete them, and GKE chooses how to
    upgrade them.
    """
    dynamic = pool.capacity_model in ("FlexStart", "Queued")
    upkeep: dict[str, Any] = {"management": {"autoRepair": not dynamic, "autoUpgrade": True}}
    if dynamic:
        return upkeep
    return upkeep | {"upgradeSettings": upgrades(pool.document.upgrade_settings)}


def _rack_policy(cluster: GkeCluster, pool: GkePool) -> CloudResource:
    return CloudResource(
        RESOURCE_POLICY,
        cloud_names.cloud_resource(cluster.name, pool.name),
        {
            "name": cloud_names.gke_part(cluster.cloud_name, pool.name),
            "project": cluster.gke.project,
            "region": cluster.gke.region,
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": RACK_TOPOLOGY},
        },
    )
