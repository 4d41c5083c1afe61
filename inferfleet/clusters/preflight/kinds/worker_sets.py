"""Whether a cluster can run LeaderWorkerSets: their definition, how new it is, and their controller."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.resources import ApiKind, ApiResource, readable
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.serving.workload import WORKER_SET, WORKER_SET_API

INSTALL = (
    "Install LeaderWorkerSet 0.9.0 or later there: helm install lws oci://registry.k8s.io/lws/charts/lws "
    "--namespace lws-system --create-namespace"
)
_GROUP = "leaderworkerset.x-k8s.io"
_DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leaderworkersets.{_GROUP}"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
# It writes defaults that the controller relies on, and comes with it (config/webhook/manifests.yaml).
_WEBHOOK = "mleaderworkerset.kb.io"


def worker_set_problems(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield why a cluster that knows LeaderWorkerSets cannot run those that are desired there.

    Who may not read definitions or webhooks is told nothing of them.
    """
    wanted = [made for made in cluster.objects if made.kind == WORKER_SET]
    if not wanted or (WORKER_SET_API, WORKER_SET) not in resources:
        return
    name, first = cluster.connection.cluster, f"{wanted[0].namespace}/{wanted[0].kubernetes_name}"
    definition = readable(api, _DEFINITION)
    if definition is not None and not _is_new(definition):
        yield cluster_problem(
            name,
            f"the LeaderWorkerSets of cluster {name!r} are older than 0.9.0: their status does not say which "
            f"generation it is of, so an update could not tell when {first} has rolled",
            INSTALL,
        )
    webhooks = readable(api, _WEBHOOKS)
    if webhooks is not None and not any(
        webhook.get("name") == _WEBHOOK
        for item in webhooks.get("items") or ()
        for webhook in item.get("webhooks") or ()
    ):
        yield cluster_problem(
            name,
            f"cluster {name!r} knows LeaderWorkerSets, and has no controller of theirs: no webhook "
            f"{_WEBHOOK} is configured, so no pods would be made of {first}",
            INSTALL,
        )


def _is_new(definition: Mapping[str, Any]) -> bool:
    """Return whether the status has what came with 0.9.0 (api/leaderworkerset/v1, status)."""
    version = WORKER_SET_API.rpartition("/")[2]
    for served in definition["spec"].get("versions") or ():
        if served.get("name") == version:
            properties = ((served.get("schema") or {}).get("openAPIV3Schema") or {}).get("properties") or {}
            return "observedGeneration" in ((properties.get("status") or {}).get("properties") or {})
    return True
