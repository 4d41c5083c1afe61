"""GKE as a provider of clusters: what `cloud/provider.py` asks of each cloud.

Recipes, addresses and pickers are checked first: settings are worked out only where nothing is refused.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.capacity_requests import node_request, queued_problems
from inferfleet.cloud.gke.changes import cloud_changes as changes
from inferfleet.cloud.gke.changes import compared
from inferfleet.cloud.gke.changes import pool_settings as settings
from inferfleet.cloud.gke.described import SOURCE, DescribedCluster, described_clusters, shared
from inferfleet.cloud.gke.drift import cloud_drift as drift
from inferfleet.cloud.gke.facts.create_only import create_only
from inferfleet.cloud.gke.facts.machines import machine_of
from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.cloud.gke.gpu_direct import attached, objects, traffic_problems
from inferfleet.cloud.gke.kubeconfig import kubeconfig
from inferfleet.cloud.gke.names import import_id
from inferfleet.cloud.gke.quotas import quota_uses
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.cloud.gke.rolls import PodSeconds, pod_seconds
from inferfleet.cloud.gke.settings.addresses import (
    BLOCK,
    Ranges,
    blocks,
    range_problems,
    settings_by_answer,
    space_problems,
)
from inferfleet.cloud.gke.settings.buckets import bucket, buckets
from inferfleet.cloud.gke.settings.cluster import accounts, control_plane, endpoint
from inferfleet.cloud.gke.settings.network import made_with, network
from inferfleet.cloud.gke.settings.passed import passed_on, passed_problems, without_passed
from inferfleet.cloud.gke.settings.pools import gpu_pool
from inferfleet.cloud.gke.settings.system_pool import (
    PickerNeed,
    most_nodes,
    pickers,
    system_pool,
    system_problems,
)
from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudPool, CloudResource, Verdict
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot
from inferfleet.tables.gke import INTERNAL_SERVICE

__all__ = [
    "bucket",
    "buckets",
    "capacity_models",
    "changes",
    "clusters",
    "compared",
    "drift",
    "import_id",
    "kubeconfig",
    "made_with",
    "node_request",
    "pod_problems",
    "pools",
    "quota_uses",
    "settings",
    "settings_by_answer",
]

# Google takes a handful of operations on one cluster at a time and refuses more
# (https://github.com/hashicorp/terraform-provider-google/issues/15205), so of many pools each waits for the
# fourth before it.
LANES = 4


def pools(documents: Documents, lock: Lock) -> dict[str, dict[str, CloudPool]]:
    """Return the pools of GKE clusters by cluster and name; none while recipes have errors."""
    described = described_clusters(documents)
    recipes = recipe_problems(documents, described, _made(lock), lock.clusters)
    if not described or of_severity(recipes, "error"):
        return {}
    return {
        name: {pool.name: gpu_pool(cluster, pool, pods={}, after=()) for pool in cluster.pools}
        for name, cluster in described.items()
    }


def clusters(
    documents: Documents, lock: Lock, planned: Plan
) -> tuple[tuple[CloudCluster, ...], tuple[Problem, ...]]:
    """Return the GKE clusters with everything that should exist of them, and what is wrong with documents."""
    described = described_clusters(documents)
    problems = (
        *recipe_problems(documents, described, _made(lock), lock.clusters),
        *range_problems(described, lock),
        *space_problems(
            described, blocks(described, lock), _system_nodes(documents, described, planned), _made(lock)
        ),
        *system_problems(documents, described, planned),
    )
    if of_severity(problems, "error"):
        return (), problems
    problems += tuple(_passed_problems(documents, described, lock, planned))
    if of_severity(problems, "error"):
        return (), problems
    return cloud_clusters(documents, described, lock, planned), problems


def _passed_problems(
    documents: Documents, described: Mapping[str, DescribedCluster], lock: Lock, planned: Plan
) -> Iterator[Problem]:
    """Yield what is wrong with inputs that documents pass on to Google, by those that are decided here."""
    bare = {name: without_passed(cluster) for name, cluster in described.items()}
    passing = {name: cluster for name, cluster in bare.items() if cluster != described[name]}
    problems: dict[tuple[str, str], Problem] = {}
    for cluster in cloud_clusters(documents, passing, lock, planned):
        for passed in passed_on(described[cluster.cluster], cluster):
            # A class may be that of pools of several clusters.
            problems |= {(problem.path, problem.what): problem for problem in passed_problems(passed)}
    yield from problems.values()


def cloud_clusters(
    documents: Documents, described: Mapping[str, DescribedCluster], lock: Lock, planned: Plan
) -> tuple[CloudCluster, ...]:
    """Return every GKE cluster of the stack, sorted by name, with components and resources in a fixed order.

    What cannot be created is left out: pools of classes that GKE does not provision, and clusters for which
    no addresses are free. Those are problems of `recipe_problems` and `range_problems`.
    """
    block_of = blocks(described, lock)
    # Pods that leave, and pods that come: an update may replace nodes before they have moved.
    placements = dict(lock.placements) | {each.spot: each.replicas for each in planned.placements}
    pods = pod_seconds(documents, placements)
    return tuple(
        _cloud_cluster(
            cluster,
            block_of.get(name),
            _is_made(lock, cluster),
            tuple(need for needs in pickers(documents, name, planned).values() for need in needs),
            pods,
        )
        for name, cluster in described.items()
        if name in block_of or cluster.gke.network.existing
    )


def pod_problems(
    documents: Documents,
    planned: Plan,
    lock: Lock,
    clusters: Mapping[str, CloudCluster],
    templates: Mapping[Spot, Collection[tuple[str, Mapping[str, Any]]]],
) -> Iterator[Problem]:
    """Yield networks between GPUs that carry no traffic, and what replicas on queued pools lose."""
    described = described_clusters(documents) if clusters else {}
    used: dict[tuple[str, str], set[str]] = {}
    for spot, finished in templates.items():
        for role, template in finished:
            pool = spot.pool(role)
            if spot.cluster in clusters and attached(template, clusters[spot.cluster].pools[pool]):
                used.setdefault((spot.cluster, pool), set()).add(spot.deployment)
    for name, cluster in clusters.items():
        users = {pool: used.get((name, pool), set()) for pool in cluster.pools}
        yield from traffic_problems(described[name], users)
    yield from queued_problems(documents, planned, templates, lock)


def capacity_models(hardware: InferenceClass) -> Mapping[CapacityModel, Verdict] | None:
    """Return whether Google offers the machines of a class by each capacity model; None for other classes."""
    machine = machine_of(hardware)
    return machine.capacity if machine else None


def _system_nodes(
    documents: Documents, described: Mapping[str, DescribedCluster], planned: Plan
) -> dict[str, int]:
    """Return the maximum of the system pool of each cluster."""
    return {
        name: most_nodes(
            cluster.gke, tuple(need for needs in pickers(documents, name, planned).values() for need in needs)
        )
        for name, cluster in described.items()
    }


def _made(lock: Lock) -> frozenset[str]:
    """Return the GKE clusters that were decided on before, and so may exist."""
    return frozenset(name for name, locked in lock.clusters.items() if locked.source == SOURCE)


def _is_made(lock: Lock, cluster: DescribedCluster) -> bool:
    """Return whether the lock has the cluster, in the region that it is to have."""
    locked = lock.clusters.get(cluster.name)
    return locked is not None and locked.settings.get("location") == cluster.gke.region


def _cloud_cluster(
    cluster: DescribedCluster,
    block: str | None,
    exists: bool,
    needs: tuple[PickerNeed, ...],
    pods: PodSeconds,
) -> CloudCluster:
    """Return a cluster with all its resources: networks, accounts, control plane, system pool, pools with
    GPUs.
    """
    gke = cluster.gke
    extras = shared(extra for pool in cluster.pools for extra in pool.networks)
    ranges = Ranges(block) if block else None
    networks = network(cluster, ranges=ranges, extras=extras)
    identity = accounts(cluster)
    first = (*(networks.resources if networks else ()), *identity)
    control = control_plane(
        cluster,
        exists=exists,
        multi_networking=any(pool.interfaces for pool in cluster.pools),
        after=_final_keys(first),
    )
    system = system_pool(cluster, needs=needs, after=(control.key,))
    gpu_pools = _gpu_pools(cluster, system, pods)
    return CloudCluster(
        source=SOURCE,
        cluster=cluster.name,
        identifier=cloud_names.gke_identity(gke.project, gke.region, cluster.cloud_name),
        project=gke.project,
        region=gke.region,
        cloud_name=cluster.cloud_name,
        endpoint=endpoint(gke),
        proxy=gke.connection.proxy_url,
        components=(
            *((networks,) if networks else ()),
            CloudComponent("GkeCluster", cluster.name, (*identity, control, system)),
            *(pool.component for pool in gpu_pools),
        ),
        pools={pool.pool: pool for pool in gpu_pools},
        key=control.key,
        system_key=system.key,
        settings=create_only(CLUSTER, control.inputs) | ({BLOCK: block} if block else {}),
        protected=gke.deletion_protection,
        proxies=ranges.proxies if ranges and not gke.network.existing else None,
        internal=INTERNAL_SERVICE,
        objects=objects(cluster),
    )


def _gpu_pools(cluster: DescribedCluster, system: CloudResource, pods: PodSeconds) -> list[CloudPool]:
    """Return the pools by name, all after the system pool: GPU nodes need pods that only it can run."""
    pools: list[CloudPool] = []
    for pool in sorted(cluster.pools, key=lambda pool: pool.name):
        before = (pools[-LANES].resource.key,) if len(pools) >= LANES else ()
        pools.append(gpu_pool(cluster, pool, pods=pods, after=(system.key, *before)))
    return pools


def _final_keys(resources: tuple[CloudResource, ...]) -> tuple[str, ...]:
    """Return the keys of the resources that no other waits for: to wait for these is to wait for all."""
    awaited = {key for resource in resources for key in resource.after}
    return tuple(resource.key for resource in resources if resource.key not in awaited)
