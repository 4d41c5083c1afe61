"""What an update does to GKE clusters and pools that stand, and which of it is refused.

The lock knows what a cluster or pool keeps for life and what makes GKE replace nodes. Changes of anything
else (sizes, labels, taints, channels) are in place: only the engine's preview tells them.
"""

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.lock import Lock
from inferfleet.gke.cluster_changes import cluster_change
from inferfleet.gke.differences import CloudChange
from inferfleet.gke.pool_changes import allow_problems, pool_changes
from inferfleet.gke.values import CloudCluster


def cloud_changes(
    documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
) -> tuple[tuple[CloudChange, ...], tuple[Problem, ...], tuple[Problem, ...]]:
    """What is created, replaced or removed, sorted by name; what is refused; what reviewers should know.

    `lock` is the one that was loaded, so what stands. Pools of a cluster that comes or goes are not told by
    themselves. An abandoned cluster changes in nothing.
    """
    made = {one.cluster: one for one in clusters}
    changes: list[CloudChange] = []
    problems = list(allow_problems(documents))
    warnings: list[Problem] = []
    for name in sorted({*documents.clusters, *lock.clusters}):
        document = documents.clusters.get(name)
        if document and document.spec.state == "abandoned":
            continue
        whole, refused = cluster_change(documents, lock, name, made.get(name))
        problems += refused
        if whole:
            changes.append(whole)
        elif name in made and not refused:
            of_pools, not_allowed, to_know = pool_changes(documents, lock, made[name])
            changes += of_pools
            problems += not_allowed
            warnings += to_know
    return tuple(changes), tuple(problems), tuple(warnings)
