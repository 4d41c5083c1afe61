"""Decide everything about Google Cloud from documents, lock and plan, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.cloud.gke.changes.clusters import cloud_changes
from inferfleet.cloud.gke.changes.differences import CloudChange
from inferfleet.cloud.gke.changes.locked import with_clouds
from inferfleet.cloud.gke.clouds import cloud_clusters
from inferfleet.cloud.gke.pool import GkeCluster, gke_clusters
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.cloud.gke.settings.pools import gpu_pool
from inferfleet.cloud.gke.settings.ranges import blocks, range_problems
from inferfleet.cloud.gke.settings.room import room_problems
from inferfleet.cloud.gke.settings.system import most_nodes, pickers, system_problems
from inferfleet.cloud.gke.values import CloudCluster, CloudPool
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock


@dataclass(frozen=True)
class Cloud:
    """What should exist in Google Cloud, and what an update changes there.

    `clusters` go by name; there are none while anything has errors. `changes` compare them with the lock
    that was loaded. `problems` are of any severity. `lock` is the next one, with the clusters' settings.
    """

    clusters: Mapping[str, CloudCluster] = field(default_factory=dict)
    changes: tuple[CloudChange, ...] = ()
    problems: tuple[Problem, ...] = ()
    lock: Lock = field(default_factory=Lock)


def cloud_pools(documents: Documents, lock: Lock) -> dict[str, dict[str, CloudPool]]:
    """Return the pools of GKE clusters by cluster and name, which are the same whatever is placed on them.

    There are none while recipes have errors.
    """
    described = gke_clusters(documents)
    recipes = recipe_problems(documents, described, _made(lock), lock.clusters)
    if not described or of_severity(recipes, "error"):
        return {}
    return {
        name: {pool.name: gpu_pool(cluster, pool, after=()) for pool in cluster.pools}
        for name, cluster in described.items()
    }


def decide(documents: Documents, lock: Lock, planned: Plan) -> Cloud:
    """Return the cloud side of the stack.

    Recipes, ranges and pickers are checked first: settings are worked out only where nothing is refused.
    """
    described = gke_clusters(documents)
    problems = (
        *recipe_problems(documents, described, _made(lock), lock.clusters),
        *range_problems(described, lock),
        *room_problems(
            described, blocks(described, lock), _system_nodes(documents, described, planned), _made(lock)
        ),
        *system_problems(documents, described, planned),
    )
    if of_severity(problems, "error"):
        return Cloud(problems=problems, lock=planned.lock)
    clusters = cloud_clusters(documents, described, lock, planned)
    changes, change_problems = cloud_changes(documents, lock, clusters)
    return Cloud(
        clusters={cluster.cluster: cluster for cluster in clusters},
        changes=changes,
        problems=(*problems, *change_problems),
        lock=with_clouds(documents, planned.lock, clusters),
    )


def _system_nodes(documents: Documents, clusters: Mapping[str, GkeCluster], planned: Plan) -> dict[str, int]:
    """Return the maximum of the system pool of each cluster."""
    return {
        name: most_nodes(
            cluster.gke, tuple(need for needs in pickers(documents, name, planned).values() for need in needs)
        )
        for name, cluster in clusters.items()
    }


def _made(lock: Lock) -> frozenset[str]:
    """Return the GKE clusters that were decided on before, and so may exist."""
    return frozenset(name for name, locked in lock.clusters.items() if locked.source == "GKE")
