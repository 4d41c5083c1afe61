"""What an update does to GKE clusters and pools that stand, and which of it is refused."""

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.changes.differences import CloudChange, Difference, differences, told
from inferfleet.gke.changes.pools import allow_problems, pool_changes
from inferfleet.gke.changes.remembered import cluster_settings
from inferfleet.gke.values import CloudCluster

# A cluster's identity holds these two, and what stands in it is made anew in the new one.
_ELSEWHERE = ("source", "project", "location")


def cluster_change(
    documents: Documents, lock: Lock, name: str, made: CloudCluster | None
) -> tuple[CloudChange | None, list[Problem]]:
    """What happens to the cluster as a whole, or why it must not. `made` is None for one GKE does not make.

    Another source, project or region is another cluster: allowed once no replica is placed there. Any other
    setting that a cluster keeps for life is refused always: under the same project, region and name, Google
    takes the new cluster for the old one, and so do the objects in it.
    """
    document, locked = documents.clusters.get(name), lock.clusters.get(name)
    if locked is None:
        return (CloudChange(name, "", "created", note=_pools(made)) if made else None), []
    if document is None:
        if locked.protected:
            # The engine would end gateways and forget pools before it finds that the cluster must stay.
            return None, [_protected(lock, name)]
        return (CloudChange(name, "", "removed") if locked.source == "GKE" else None), []
    source = document.spec.cluster.source
    if source != locked.source:
        found = [Difference("source", locked.source, source, ("source",))]
    elif made and locked.settings:
        found = [*differences("Cluster", locked.settings, cluster_settings(made))]
        # Another place changes addresses of networks too, which says nothing more.
        found = [one for one in found if one.path in _ELSEWHERE] or found
    else:
        found = []
    if not found:
        return None, []
    refused = _refused(documents, lock, name, found)
    if refused:
        what, next_step = refused
        path = "spec.cluster.gke" if source == locked.source else "spec.cluster.source"
        where = documents.where("InferenceCluster", name, path)
        return None, [Problem(f"cluster {name} {what}: {told(found)}", next_step, path, where)]
    return CloudChange(name, "", "replaced", tuple(found), "the old one ends with everything on it"), []


def _refused(documents: Documents, lock: Lock, name: str, found: list[Difference]) -> tuple[str, str] | None:
    spec = documents.clusters[name].spec
    if spec.state == "lost":
        return (
            "is lost and would become another one",
            "Change it back until the cluster answers, or set state: abandoned",
        )
    if not any(one.path in _ELSEWHERE for one in found):
        return (
            "keeps some settings for life and would have to be replaced",
            "Change them back; or add a cluster of another name, and remove this one once it is drained",
        )
    replicas = sum(count for spot, count in lock.placements.items() if spot.cluster == name)
    if replicas:
        return (
            f"has {replicas} {'replica' if replicas == 1 else 'replicas'} and would be replaced by another",
            "Move them first: change it back, set state: drained, run pulumi up, then change it",
        )
    gke = spec.cluster.gke
    stays_on_gke = gke is not None and all(one.path != "source" for one in found)
    if lock.clusters[name].protected or (stays_on_gke and gke and gke.deletion_protection):
        return (
            "would be replaced by another, and its deletionProtection forbids to end the old one",
            "Change it back, set deletionProtection: false, run pulumi up, then change it",
        )
    return None


def _protected(lock: Lock, name: str) -> Problem:
    return Problem(
        f"cluster {name} has no document any more, and its deletionProtection forbids to end it",
        "Put the document back with deletionProtection: false, run pulumi up, then remove it",
        where=lock.lines.get(f"clusters/{name}"),
    )


def _pools(made: CloudCluster) -> str:
    return f"with {'pools' if len(made.pools) > 1 else 'pool'} {', '.join(made.pools)}" if made.pools else ""


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
