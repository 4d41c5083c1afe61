"""Whether the credentials of a cluster have the rights that an update needs there."""

from collections.abc import Iterable, Iterator

from inferfleet.api.problems import cluster_problem
from inferfleet.api.wording import listing
from inferfleet.desired.values import DesiredCluster
from inferfleet.doctor.values import Check
from inferfleet.reach.api import Api
from inferfleet.reach.gke import path_of
from inferfleet.reach.resources import ApiKind, known

# Pulumi reads an object, applies it on the server, waits for it and deletes it.
VERBS = ("get", "create", "patch", "delete")


def rights(api: Api, cluster: DesiredCluster) -> tuple[Check, ...]:
    """Ask for each kind of object of the stack, in all namespaces first, and else in those where it is."""
    where: dict[ApiKind, set[str]] = {}
    for wanted in cluster.objects:
        where.setdefault((wanted.api_version, wanted.kind), set()).add(wanted.namespace or "")
    resources = known(api, where)
    return tuple(
        check
        for kind in sorted(resources)
        for check in _of_kind(
            cluster,
            kind,
            sorted(_missing(api, kind[0], resources[kind].plural, where[kind])),
            resources[kind].plural,
        )
    )


def _missing(api: Api, version: str, plural: str, namespaces: Iterable[str]) -> Iterator[tuple[str, str]]:
    group = version.rpartition("/")[0]
    for verb in VERBS:
        if not api.may(verb, group, plural, ""):
            yield from (
                (space, verb) for space in namespaces if not space or not api.may(verb, group, plural, space)
            )


def _of_kind(
    cluster: DesiredCluster, kind: ApiKind, missing: list[tuple[str, str]], plural: str
) -> Iterator[Check]:
    name = cluster.connection.cluster
    of, what = f"cluster {name}", f"rights to {plural}"
    group = kind[0].rpartition("/")[0]
    resource = f"{plural}.{group}" if group else plural
    if not missing:
        yield Check(of, what)
    for namespace in dict.fromkeys(space for space, _ in missing):
        verbs = [verb for space, verb in missing if space == namespace]
        inside = f" in namespace {namespace}" if namespace else ""
        flag = f"--namespace {namespace}" if namespace else "--all-namespaces"
        cloud = cluster.connection.cloud
        mend = (
            f"Run `gcloud projects add-iam-policy-binding {cloud.project} --member user:<you> --role "
            "roles/container.admin`"
            if cloud
            else f"Have an administrator run `kubectl create clusterrole inferfleet-{plural} "
            f"--verb={','.join(VERBS)} --resource={resource}` and `kubectl create clusterrolebinding "
            f"inferfleet-{plural} --clusterrole=inferfleet-{plural} --user=<you>`, and look with `kubectl "
            f"auth can-i {verbs[0]} {resource} {flag}`"
        )
        problem = cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not {listing(verbs)} {plural} of {kind[0]}"
            f"{inside}, which an update does",
            mend,
            path_of(cluster.connection),
        )
        yield Check(of, what, "wrong", problem)
