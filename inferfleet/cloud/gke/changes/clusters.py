"""What an update does to existing GKE clusters and pools, and which of it is refused."""

from collections.abc import Iterator

from inferfleet.cloud.gke.changes.differences import differences
from inferfleet.cloud.gke.changes.pools import allow_problems, pool_changes, replaced_with_cluster
from inferfleet.cloud.values import CloudChange, CloudCluster, Difference, in_words
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

# Settings that make it another cluster: its objects are created again in the new one.
_ELSEWHERE = ("source", "project", "location")


def cloud_changes(
    documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
) -> tuple[tuple[CloudChange, ...], tuple[Problem, ...]]:
    """Return what is created, replaced or removed, sorted by name; and what is refused or has a risk.

    `lock` is the one that was loaded, which says what exists. Pools of a cluster that is created or removed
    are not listed by themselves; those of one that is replaced are, after it. Nothing changes on an abandoned
    cluster.
    """
    outcomes = tuple(_outcomes(documents, lock, clusters))
    return (
        tuple(outcome for outcome in outcomes if isinstance(outcome, CloudChange)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Problem)),
    )


def _outcomes(
    documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
) -> Iterator[CloudChange | Problem]:
    yield from allow_problems(documents)
    planned = {cluster.cluster: cluster for cluster in clusters}
    for name in sorted({*documents.clusters, *lock.clusters}):
        document = documents.clusters.get(name)
        if document and document.spec.state == "abandoned":
            continue
        whole = cluster_change(documents, lock, name, planned.get(name))
        if whole:
            yield whole
            if isinstance(whole, CloudChange) and whole.kind == "replaced" and name in planned:
                yield from replaced_with_cluster(lock, planned[name], whole.differences)
        elif name in planned:
            yield from pool_changes(documents, lock, planned[name])


def cluster_change(
    documents: Documents, lock: Lock, name: str, planned: CloudCluster | None
) -> CloudChange | Problem | None:
    """Return what happens to the cluster as a whole, or why it is refused; None where it stays as it is.

    `planned` is None for a cluster that the stack does not create on GKE. Another source, project or region
    is another cluster: allowed once no replica is placed there. A change of any other immutable setting is
    always refused: under the same project, region and name, Google takes the new cluster for the old one,
    and so do the objects in it.
    """
    document, locked = documents.clusters.get(name), lock.clusters.get(name)
    if locked is None:
        return CloudChange(name, "", "created", note=_pools(planned)) if planned else None
    if document is None:
        if locked.protected:
            # Pulumi would delete gateways and forget pools before it finds that the cluster is protected.
            return _protected(lock, name)
        return CloudChange(name, "", "removed") if locked.source == "GKE" else None
    source = document.spec.cluster.source
    if source != locked.source:
        changed = [Difference("source", locked.source, source, ("source",))]
    elif planned and locked.settings:
        changed = [*differences("Cluster", locked.settings, planned.settings)]
        # Another place changes addresses of networks too, which says nothing more.
        changed = [difference for difference in changed if difference.path in _ELSEWHERE] or changed
    else:
        changed = []
    if not changed:
        return None
    refused = _refused(documents, lock, name, changed)
    if refused:
        what, next_step = refused
        path = "spec.cluster.gke" if source == locked.source else "spec.cluster.source"
        what = f"cluster {name} {what}: {in_words(changed)}"
        return Problem(what, next_step, path, kind="InferenceCluster", key=name)
    return CloudChange(name, "", "replaced", tuple(changed), "the old one is deleted with everything on it")


def _refused(
    documents: Documents, lock: Lock, name: str, changed: list[Difference]
) -> tuple[str, str] | None:
    """Return what is wrong with replacing the cluster, and the next step; None where it may be replaced."""
    spec = documents.clusters[name].spec
    if spec.state == "lost":
        return (
            "is lost and would be replaced by another",
            "Change it back until the cluster answers, or set state: abandoned",
        )
    if not any(difference.path in _ELSEWHERE for difference in changed):
        return (
            "has immutable settings that would change, so it would have to be replaced",
            "Change them back; or add a cluster of another name, and remove this one once it is drained",
        )
    replicas = sum(count for spot, count in lock.placements.items() if spot.cluster == name)
    if replicas:
        return (
            f"has {replicas} {'replica' if replicas == 1 else 'replicas'} and would be replaced by another",
            "Move them first: change it back, set state: drained, run pulumi up, then change it",
        )
    gke = spec.cluster.gke
    stays_on_gke = gke is not None and all(difference.path != "source" for difference in changed)
    if lock.clusters[name].protected or (stays_on_gke and gke and gke.deletion_protection):
        return (
            "would be replaced by another, and its deletionProtection forbids deleting the old one",
            "Change it back, set deletionProtection: false, run pulumi up, then change it",
        )
    return None


def _protected(lock: Lock, name: str) -> Problem:
    return Problem(
        f"cluster {name} has no document any more, and its deletionProtection forbids deleting it",
        "Put the document back with deletionProtection: false, run pulumi up, then remove it",
        where=lock.lines.get(f"clusters/{name}"),
    )


def _pools(cluster: CloudCluster) -> str:
    pools = cluster.pools
    return f"with {'pools' if len(pools) > 1 else 'pool'} {', '.join(pools)}" if pools else ""
