"""Whether Kubernetes objects whose creation was interrupted exist on their clusters, and are this stack's."""

from collections.abc import Iterable, Mapping
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.at_once import ask
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP
from inferfleet.clusters.connections.resources import known
from inferfleet.clusters.preflight import checks
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK
from inferfleet.recovery.decide import Absent, Presence, Present
from inferfleet.recovery.state import StackResource

_ENGINE = "pulumi-kubernetes-"
# Objects of these kinds carry no label of a stack, because an existing one is used.
_SHARED = ("Namespace", "CustomResourceDefinition")


def presence(
    resources: Iterable[StackResource],
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    unreadable: Mapping[str, Problem],
    *,
    container_api: str,
    seconds: float,
) -> dict[str, Presence]:
    """Return by URN whether each object exists on its cluster. All clusters are asked at once.

    `unreadable` has the problems of kubeconfigs that are not in `kubeconfigs`.
    """
    by_cluster: dict[str, list[StackResource]] = {}
    for resource in resources:
        by_cluster.setdefault(resource.cluster, []).append(resource)
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}

    def look(connection: Connection, api: Api) -> dict[str, Presence] | Problem:
        for swapped in checks.same_cluster(clusters[connection.cluster], checks.identity(api)):
            return swapped
        return _look(api, by_cluster[connection.cluster], desired.stack)

    asked = Desired(
        desired.stack,
        tuple(cluster for name, cluster in clusters.items() if name in by_cluster),
        desired.plan,
        desired.waiting,
        (),
    )
    answers = ask(asked, kubeconfigs, look, container_api=container_api, seconds=seconds)
    by_urn: dict[str, Presence] = {}
    for name, of_cluster in by_cluster.items():
        connection = clusters[name].connection if name in clusters else None
        answer = answers.get(name) or unreadable.get(name) or _not_asked(name, connection)
        if isinstance(answer, NotThere):
            answer = answer.notice or Absent(answer.why)
        by_urn |= answer if isinstance(answer, dict) else {resource.urn: answer for resource in of_cluster}
    return by_urn


def _not_asked(cluster: str, connection: Connection | None) -> Presence:
    if connection is None:
        step = "Put its document back, with `state: abandoned` if it is to be given up"
        return Problem(f"cluster {cluster!r} has no document any more", step)
    if connection.state in GIVEN_UP:
        return Absent(f"cluster {cluster!r} is {connection.state}; an update finds it by its name")
    return cluster_problem(cluster, f"cluster {cluster!r} was not asked", "Try again")


def _look(api: Api, resources: Iterable[StackResource], stack: str) -> dict[str, Presence]:
    kinds = {
        resource.urn: (str(resource.inputs.get("apiVersion")), str(resource.inputs.get("kind")))
        for resource in resources
    }
    served = known(api, kinds.values())
    by_urn: dict[str, Presence] = {}
    for resource in resources:
        kind = kinds[resource.urn]
        metadata = resource.inputs.get("metadata") or {}
        if kind not in served:
            by_urn[resource.urn] = Absent("its cluster does not know the kind")
            continue
        try:
            path = served[kind].path(metadata.get("namespace"), metadata.get("name"))
            by_urn[resource.urn] = _judged(api.get(path, metadata_only=True)["metadata"], kind[1], stack)
        except RefusedError as refused:
            if refused.status != 404:
                raise
            by_urn[resource.urn] = Absent()
    return by_urn


def _judged(metadata: Mapping[str, Any], kind: str, stack: str) -> Presence:
    labels = metadata.get("labels") or {}
    if kind not in _SHARED and (labels.get(MANAGED_BY), labels.get(STACK)) != (MANAGER, stack):
        return Absent("what is on its cluster under that name is not this stack's")
    managers = [
        str(entry.get("manager"))
        for entry in metadata.get("managedFields") or ()
        if entry.get("operation") == "Apply" and str(entry.get("manager")).startswith(_ENGINE)
    ]
    return Present(managers[-1] if managers else None)
