"""Whether the credentials of a cluster have the rights that an update needs there."""

from collections.abc import Iterable, Iterator

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.resources import ApiKind, known
from inferfleet.clusters.doctor.values import Check
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import cluster_problem
from inferfleet.documents.wording import listing

# Pulumi reads an object, applies it on the server, waits for it and deletes it.
VERBS = ("get", "create", "patch", "delete")
# An update that waits for pods asks for them, and what becomes of them.
_LISTENING = ("list", "watch")


def rights(api: Api, cluster: DesiredCluster) -> tuple[Check, ...]:
    """Ask for each kind of object of the stack, in all namespaces first, and else in those where it is."""
    where: dict[ApiKind, set[str]] = {}
    for wanted in cluster.objects:
        where.setdefault((wanted.api_version, wanted.kind), set()).add(wanted.namespace or "")
    resources = known(api, where)
    of_objects = (
        check
        for kind in sorted(resources)
        for check in _of_kind(
            cluster,
            kind,
            sorted(_missing(api, VERBS, kind[0], resources[kind].plural, where[kind])),
            resources[kind].plural,
        )
    )
    return (*of_objects, *_to_pods(api, cluster))


def _to_pods(api: Api, cluster: DesiredCluster) -> Iterator[Check]:
    """Yield whether pods can be listened to. Updates do without, and do not say why one ends."""
    namespaces = {made.namespace or "" for made in cluster.objects if made.heard}
    missing = sorted(_missing(api, _LISTENING, "v1", "pods", namespaces))
    name = cluster.connection.cluster
    of, what = f"cluster {name}", "rights to pods"
    if namespaces and not missing:
        yield Check(of, what)
    for namespace in dict.fromkeys(space for space, _ in missing):
        verbs = [verb for space, verb in missing if space == namespace]
        problem = cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not {listing(verbs)} pods in namespace {namespace}, so "
            "an update that waits for them does not say why they end or do not start",
            _mend(cluster, "pods", "", _LISTENING, verbs[0], namespace),
            path_of(cluster.connection),
            severity="warning",
        )
        yield Check(of, what, "unseen", problem)


def _missing(
    api: Api, verbs: Iterable[str], version: str, plural: str, namespaces: Iterable[str]
) -> Iterator[tuple[str, str]]:
    group = version.rpartition("/")[0]
    for verb in verbs:
        if not api.may(verb, group, plural, ""):
            yield from (
                (space, verb) for space in namespaces if not space or not api.may(verb, group, plural, space)
            )


def _of_kind(
    cluster: DesiredCluster, kind: ApiKind, missing: list[tuple[str, str]], plural: str
) -> Iterator[Check]:
    name = cluster.connection.cluster
    of, what = f"cluster {name}", f"rights to {plural}"
    if not missing:
        yield Check(of, what)
    for namespace in dict.fromkeys(space for space, _ in missing):
        verbs = [verb for space, verb in missing if space == namespace]
        inside = f" in namespace {namespace}" if namespace else ""
        problem = cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not {listing(verbs)} {plural} of {kind[0]}"
            f"{inside}, which an update does",
            _mend(cluster, plural, kind[0].rpartition("/")[0], VERBS, verbs[0], namespace),
            path_of(cluster.connection),
        )
        yield Check(of, what, "wrong", problem)


def _mend(
    cluster: DesiredCluster, plural: str, group: str, verbs: Iterable[str], lacking: str, namespace: str
) -> str:
    """Return how somebody gives the rights, and sees that one that is lacking is there."""
    if cloud := cluster.connection.cloud:
        return (
            f"Run `gcloud projects add-iam-policy-binding {cloud.project} --member user:<you> --role "
            "roles/container.admin`"
        )
    resource = f"{plural}.{group}" if group else plural
    flag = f"--namespace {namespace}" if namespace else "--all-namespaces"
    return (
        f"Have an administrator run `kubectl create clusterrole inferfleet-{plural} "
        f"--verb={','.join(verbs)} --resource={resource}` and `kubectl create clusterrolebinding "
        f"inferfleet-{plural} --clusterrole=inferfleet-{plural} --user=<you>`, and look with `kubectl "
        f"auth can-i {lacking} {resource} {flag}`"
    )
