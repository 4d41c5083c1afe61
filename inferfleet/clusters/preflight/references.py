"""What pods name and the stack does not make has to be on their cluster: claims, Secrets, accounts, classes.

Nobody else says it in time. Kubernetes takes the workload; its pods wait for a claim or a Secret, on nodes
that are billed where a pool grows by itself, and of an account or a class that is missing only an event of
their ReplicaSet tells. It can be made before, so it is an error; what may come in this update is a warning.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inferfleet.clusters.connections.api import Api, ApiResource, NoAnswerError, RefusedError
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.questions import in_parallel
from inferfleet.desired.values import DesiredCluster, ObjectNeed, titled
from inferfleet.documents.pods.references import OF_CLUSTERS
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing

_NAMED = 3
_WAIT, _NONE = "they wait until it does", "none of them is created until it does"
_CREATE = "Create it there, or correct its name"


@dataclass(frozen=True)
class _Kind:
    """Where objects of a kind are, what becomes of pods without one, and what to do."""

    resource: ApiResource
    effect: str = _WAIT
    step: str = _CREATE


_KINDS = {
    "ConfigMap": _Kind(ApiResource("/api/v1", "configmaps", namespaced=True)),
    "CSIDriver": _Kind(
        ApiResource("/apis/storage.k8s.io/v1", "csidrivers", namespaced=False),
        step="Install the driver there, or take another volume",
    ),
    "PersistentVolumeClaim": _Kind(ApiResource("/api/v1", "persistentvolumeclaims", namespaced=True)),
    "PriorityClass": _Kind(
        ApiResource("/apis/scheduling.k8s.io/v1", "priorityclasses", namespaced=False), _NONE
    ),
    "RuntimeClass": _Kind(
        ApiResource("/apis/node.k8s.io/v1", "runtimeclasses", namespaced=False),
        _NONE,
        "Install the runtime that it is for, or name one that is there",
    ),
    "Secret": _Kind(
        ApiResource("/api/v1", "secrets", namespaced=True),
        step="Create it there, or let the stack hold it (setting `secrets`)",
    ),
    "ServiceAccount": _Kind(ApiResource("/api/v1", "serviceaccounts", namespaced=True), _NONE),
    "StorageClass": _Kind(ApiResource("/apis/storage.k8s.io/v1", "storageclasses", namespaced=False)),
}
# The keys of an object that are missing, or why it was not seen.
_Answer = tuple[str, ...] | RefusedError | NoAnswerError


def missing_object_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield what pods name and the cluster does not have, and in one line what credentials may not see.

    One request for each object, several at once. Values of Secrets are dropped when they arrive. Raises
    NoAnswerError and RefusedError where a server does not answer, or fails.
    """
    needs = cluster.objects_needed
    late: _Answer = NoAnswerError("its answers take too long")

    def look(need: ObjectNeed) -> _Answer:
        return _missing_keys(api, need)

    hidden: list[ObjectNeed] = []
    for need, answer in zip(needs, in_parallel(look, needs, late=late, until=api.deadline + 1), strict=True):
        if isinstance(answer, tuple):
            if answer:
                yield _problem(cluster, need, f"has no key {', '.join(answer)}")
        elif isinstance(answer, RefusedError) and answer.status == 404:
            yield _problem(cluster, need, f"does not exist{_others(api, need)}: {_of(need).effect}")
        elif isinstance(answer, RefusedError) and answer.status == 403:
            hidden.append(need)
        else:
            raise answer
    if hidden:
        name = cluster.connection.cluster
        kinds = listing(sorted({_of(need).resource.plural for need in hidden}))
        yield cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not read {kinds}, so nobody looked whether what pods "
            f"name is there ({listing(map(_title, hidden), _NAMED)})",
            "Look for it yourself, or give them the right to get these",
            path_of(cluster.connection),
            severity="warning",
        )


def _missing_keys(api: Api, need: ObjectNeed) -> _Answer:
    path = _of(need).resource.path(need.namespace, need.name)
    try:
        item = api.get(path, metadata_only=not need.keys)
    except (RefusedError, NoAnswerError) as error:
        return error
    keys = {*(item.get("data") or {}), *(item.get("binaryData") or {})}
    return tuple(key for key in need.keys if key not in keys)


def _others(api: Api, need: ObjectNeed) -> str:
    """Return what of a kind there is instead, where that is said of whole clusters.

    Credentials may get what they may not list: then it is nothing.
    """
    if need.object_kind not in OF_CLUSTERS:
        return ""
    try:
        items = list(api.items(_of(need).resource.path(), metadata_only=True))
    except (RefusedError, NoAnswerError):
        return ""
    return f" (it has: {listing(sorted(item['metadata']['name'] for item in items)) or 'none'})"


def _problem(cluster: DesiredCluster, need: ObjectNeed, what: str) -> Problem:
    problem = Problem(
        f"{_title(need)}, which pods of {listing(need.deployments, _NAMED)} on cluster "
        f"{cluster.connection.cluster!r} name, {what}",
        _of(need).step,
        need.path,
        kind=need.kind,
        key=need.key,
    )
    if need.may_follow:
        step = f"{problem.next_step}, unless a controller makes it of what a plugin adds beside the pods"
        return replace(problem, next_step=step, severity="warning")
    # Google brings drivers and classes with its add-ons, maybe in this very update, and a volume that was
    # made by hand may have a class that no object describes.
    later = cluster.connection.cloud is not None and need.object_kind in OF_CLUSTERS
    return replace(problem, severity="warning") if later or need.object_kind == "StorageClass" else problem


def future_object_problems(cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a warning of each kind of what pods name on a cluster that does not exist yet, where nobody can
    have made it. Drivers and classes of storage are left out: clouds bring theirs.
    """
    by_kind: dict[str, list[ObjectNeed]] = {}
    for need in cluster.objects_needed:
        if need.object_kind not in ("CSIDriver", "StorageClass") and not need.may_follow:
            by_kind.setdefault(need.object_kind, []).append(need)
    for kind, needs in by_kind.items():
        readers = sorted({reader for need in needs for reader in need.deployments})
        name = cluster.connection.cluster
        yield Problem(
            f"cluster {name!r} does not exist yet, so {listing(map(_title, needs), _NAMED)} "
            f"{'is' if len(needs) == 1 else 'are'} not there, which pods of {listing(readers, _NAMED)} name",
            "Create the cluster first, with replicas: 0 for these deployments, and there what they name"
            + (", or let the stack hold it (setting `secrets`)" if kind == "Secret" else ""),
            needs[0].path,
            kind=needs[0].kind,
            key=needs[0].key,
            severity="warning",
        )


def _of(need: ObjectNeed) -> _Kind:
    return _KINDS[need.object_kind]


def _title(need: ObjectNeed) -> str:
    return titled(need.object_kind, need.namespace, need.name)
