"""Whether Kubernetes objects whose creation was cut off are on their clusters, and are this stack's."""

from collections.abc import Iterable, Mapping
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection, Desired
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK
from inferfleet.preflight import checks
from inferfleet.reach.at_once import ask
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.connect import Api, RefusedError
from inferfleet.reach.gke import NotThere
from inferfleet.reach.kubeconfig import GIVEN_UP
from inferfleet.reach.resources import known
from inferfleet.recovery.decide import Missing, Standing, Stands
from inferfleet.recovery.state import StackResource

_ENGINE = "pulumi-kubernetes-"
# They carry no label of a stack, because an existing one is used.
_SHARED = ("Namespace", "CustomResourceDefinition")


def standing(
    resources: Iterable[StackResource],
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    unreadable: Mapping[str, Problem],
    *,
    container_api: str,
    seconds: float,
) -> dict[str, Standing]:
    """What is known of each, by URN; all their clusters are asked at once.

    `unreadable` says what is wrong with the kubeconfigs that are not in `kubeconfigs`.
    """
    of: dict[str, list[StackResource]] = {}
    for one in resources:
        of.setdefault(one.cluster, []).append(one)
    clusters = {one.connection.cluster: one for one in desired.clusters}

    def look(connection: Connection, api: Api) -> dict[str, Standing] | Problem:
        for swapped in checks.same_cluster(clusters[connection.cluster], checks.identity(api)):
            return swapped
        return _look(api, of[connection.cluster], desired.stack)

    asked = Desired(
        desired.stack,
        tuple(one for name, one in clusters.items() if name in of),
        desired.plan,
        desired.waiting,
        (),
    )
    answers = ask(asked, kubeconfigs, look, container_api=container_api, seconds=seconds)
    found: dict[str, Standing] = {}
    for cluster, there in of.items():
        connection = clusters[cluster].connection if cluster in clusters else None
        answer = answers.get(cluster) or unreadable.get(cluster) or _silent(cluster, connection)
        if isinstance(answer, NotThere):
            answer = answer.notice or Missing(answer.why)
        found |= answer if isinstance(answer, dict) else {one.urn: answer for one in there}
    return found


def _silent(cluster: str, connection: Connection | None) -> Standing:
    if connection is None:
        step = "Put its document back, with `state: abandoned` if it is to be given up"
        return Problem(f"cluster {cluster!r} has no document any more", step)
    if connection.state in GIVEN_UP:
        return Missing(f"cluster {cluster!r} is {connection.state}; an update finds it by its name")
    return cluster_problem(cluster, f"cluster {cluster!r} was not asked", "Try again")


def _look(api: Api, resources: Iterable[StackResource], stack: str) -> dict[str, Standing]:
    kinds = {one.urn: (str(one.inputs.get("apiVersion")), str(one.inputs.get("kind"))) for one in resources}
    places = known(api, kinds.values())
    found: dict[str, Standing] = {}
    for one in resources:
        place = places.get(kinds[one.urn])
        metadata = one.inputs.get("metadata") or {}
        if place is None:
            found[one.urn] = Missing("its cluster does not know the kind")
            continue
        try:
            path = place.path(metadata.get("namespace"), metadata.get("name"))
            found[one.urn] = _judged(api.get(path, metadata_only=True)["metadata"], kinds[one.urn][1], stack)
        except RefusedError as refused:
            if refused.status != 404:
                raise
            found[one.urn] = Missing()
    return found


def _judged(metadata: Mapping[str, Any], kind: str, stack: str) -> Standing:
    labels = metadata.get("labels") or {}
    if kind not in _SHARED and (labels.get(MANAGED_BY), labels.get(STACK)) != (MANAGER, stack):
        return Missing("what is on its cluster under that name is not this stack's")
    managers = [
        str(one.get("manager"))
        for one in metadata.get("managedFields") or ()
        if one.get("operation") == "Apply" and str(one.get("manager")).startswith(_ENGINE)
    ]
    return Stands(managers[-1] if managers else None)
