"""HTTPRoutes: one per deployment, one per service over its deployments, each with a rule per engine path.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (v1).
"""

import json
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Gateway
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.decisions import ServiceRoute
from inferfleet.fleet.traffic import REQUEST_SECONDS, Requests, of_deployment
from inferfleet.serving.metadata import WAIT_FOR, metadata
from inferfleet.serving.picker import POOL as INFERENCE_POOL
from inferfleet.tables.pickers import Profile

KIND = "HTTPRoute"
_GROUP = "gateway.networking.k8s.io"
# A route has one parent, whose controller sets these conditions when it serves the route and knows where it
# leads: a route to a pool that is not there is accepted, and answers 500. Pulumi's provider waits for all of
# a JSON list (ReadyCondition in pkg/metadata/overrides.go of pulumi-kubernetes 4.25).
_SERVED = json.dumps(
    [
        f'jsonpath={{.status.parents[0].conditions[?(@.type=="{condition}")].status}}=True'
        for condition in ("Accepted", "ResolvedRefs")
    ]
)


def deployment_route(
    *, deployment: ModelDeployment, gateway: Gateway, profile: Profile, stack: str, revision: str = ""
) -> dict[str, Any]:
    """Return the route of a deployment, to its pods of a revision."""
    key = deployment.metadata.key
    described = metadata(
        names.endpoint(key),
        stack=stack,
        namespace=deployment.metadata.namespace,
        deployment=key,
        annotations={WAIT_FOR: _SERVED},
    )
    pool = {
        "group": profile.pool_group,
        "kind": INFERENCE_POOL,
        "name": names.inference_pool(key, revision),
    }
    return _route(described, of_deployment(deployment), [pool], gateway)


def service_route(
    *, route: ServiceRoute, requests: Requests, gateway: Gateway, profile: Profile, stack: str
) -> dict[str, Any]:
    """Return the route of a service on one cluster: its deployments there, by weight."""
    namespace, _, name = route.service.partition("/")
    described = metadata(
        names.service_route(route.service),
        stack=stack,
        namespace=namespace,
        labels={names.SERVICE: name},
        annotations={WAIT_FOR: _SERVED},
    )
    pools = [
        {
            "group": profile.pool_group,
            "kind": INFERENCE_POOL,
            "name": names.inference_pool(backend.deployment, backend.revision),
            "weight": backend.weight,
        }
        for backend in route.backends
    ]
    return _route(described, requests, pools, gateway)


def _route(
    described: dict[str, Any], requests: Requests, backends: list[dict[str, Any]], gateway: Gateway
) -> dict[str, Any]:
    name, namespace = names.GATEWAY, names.SYSTEM_NAMESPACE
    if gateway.ref:
        name, namespace = gateway.ref.name, gateway.ref.namespace
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": KIND,
        "metadata": described,
        "spec": {
            "parentRefs": [{"group": _GROUP, "kind": "Gateway", "name": name, "namespace": namespace}],
            **({"hostnames": list(requests.hostnames)} if requests.hostnames else {}),
            "rules": [_rule(requests, path, backends, gateway) for path in requests.paths],
        },
    }


def _rule(requests: Requests, path: str, backends: list[dict[str, Any]], gateway: Gateway) -> dict[str, Any]:
    """Return the rule for one path of the engine: a rule that replaces a prefix may have one match only."""
    match: dict[str, Any] = {"path": {"type": "PathPrefix", "value": f"{requests.prefix}{path}"}}
    if requests.headers:
        match["headers"] = [
            {"type": "Exact", "name": name, "value": value} for name, value in requests.headers
        ]
    rule: dict[str, Any] = {"matches": [match]}
    if requests.prefix:
        replaced = {"type": "ReplacePrefixMatch", "replacePrefixMatch": path}
        rule["filters"] = [{"type": "URLRewrite", "urlRewrite": {"path": replaced}}]
    rule["backendRefs"] = backends
    # GKE has no timeouts in routes; there, GCPBackendPolicy has them.
    if gateway.provider != "gke":
        rule["timeouts"] = {"request": f"{REQUEST_SECONDS}s"}
    return rule
