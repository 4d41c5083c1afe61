"""What `status` reads of the clusters: desired objects as they stand, and the pods of this stack."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.fleet.names import DEPLOYMENT, MANAGED_BY, MANAGER, STACK
from inferfleet.live import checks
from inferfleet.live.at_once import ask
from inferfleet.live.connect import Api, RefusedError
from inferfleet.live.gke import GKE, NotThere
from inferfleet.live.google_addresses import GOOGLE
from inferfleet.live.resources import known

Key = tuple[str, str, str]  # (kind, namespace, name)
# The values of Secrets are nobody's business, and definitions are long and not ours to change.
METADATA_ONLY = frozenset({"Secret", "CustomResourceDefinition"})
# Pods of engines, and pods of pickers, which serve a deployment and are no part of it.
_PODS = (DEPLOYMENT, f"{MANAGED_BY}={MANAGER}")


@dataclass(frozen=True)
class Seen:
    """One cluster's answers: objects with this stack's label, the Gateway that is somebody else's, pods."""

    objects: Mapping[Key, dict[str, Any]] = field(default_factory=dict)
    pods: tuple[dict[str, Any], ...] = ()


def read(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    *,
    container_api: str = GOOGLE.container,
    seconds: float,
) -> dict[str, Seen | Problem]:
    """What each cluster says within so many seconds, all asked at once, or why there is nothing to say.

    `kubeconfigs` holds texts by cluster; existing clusters without one are left out. Google says at the
    address `container_api` where the others are.
    """
    clusters = {one.connection.cluster: one for one in desired.clusters}

    def look(connection: Connection, api: Api) -> Seen | Problem:
        return _look(api, clusters[connection.cluster], desired.stack)

    answers = ask(desired, kubeconfigs, look, container_api=container_api, seconds=seconds)
    return {name: _seen(answer) for name, answer in answers.items()}


def _seen(answer: Seen | Problem | NotThere) -> Seen | Problem:
    if isinstance(answer, NotThere):
        return Problem(f"not there yet: {answer.why}", "`pulumi up` makes it", GKE)
    return answer


def _look(api: Api, cluster: DesiredCluster, stack: str) -> Seen | Problem:
    for swapped in checks.same_cluster(cluster, checks.identity(api)):
        return swapped
    pods = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for selector in _PODS
        for item in api.items("/api/v1/pods", query={"labelSelector": selector})
    }
    return Seen(dict(_objects(api, cluster, stack)), tuple(pods[name] for name in sorted(pods)))


def _objects(api: Api, cluster: DesiredCluster, stack: str) -> Iterator[tuple[Key, dict[str, Any]]]:
    kinds = checks.kinds_needed(cluster)
    resources = known(api, kinds)
    for (_, kind), resource in sorted(resources.items(), key=lambda one: one[0]):
        if kind == "GatewayClass":
            continue
        query = {"labelSelector": f"{STACK}={stack}"}
        for item in api.items(resource.path(), metadata_only=kind in METADATA_ONLY, query=query):
            yield (kind, item["metadata"].get("namespace") or "", item["metadata"]["name"]), item
        if kind == "Gateway" and cluster.gateway_ref:
            try:
                yield (kind, *cluster.gateway_ref), api.get(resource.path(*cluster.gateway_ref))
            except RefusedError as refused:
                if refused.status != 404:
                    raise
