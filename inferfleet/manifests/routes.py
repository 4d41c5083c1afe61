"""HTTPRoutes: one per deployment under a path of its own, one per service over its deployments.

Source: https://gateway-api.sigs.k8s.io/reference/spec/ (v1).
"""

import json
from typing import Any

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.serving.gateway import Gateway
from inferfleet.fleet import names
from inferfleet.fleet.decisions import ServiceRoute
from inferfleet.fleet.traffic import REQUEST_SECONDS
from inferfleet.manifests.metadata import WAIT_FOR, metadata
from inferfleet.manifests.picker.pool import KIND as INFERENCE_POOL
from inferfleet.profiles.profile import Profile

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
    """Return the route of a deployment, `/<namespace>/deployments/<name>/`, to its pods of a revision."""
    key, route = deployment.metadata.key, deployment.spec.route
    spec: dict[str, Any] = {"parentRefs": [_parent(gateway)]}
    if route.hostnames:
        spec["hostnames"] = list(route.hostnames)
    match = _path(names.deployment_path(key))
    if route.headers:
        match["headers"] = [
            {"type": "Exact", "name": name, "value": value} for name, value in sorted(route.headers.items())
        ]
    spec["rules"] = [_rule(match, [_backend(key, revision, profile)], gateway)]
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": KIND,
        "metadata": metadata(
            names.endpoint(key),
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=key,
            annotations={WAIT_FOR: _SERVED},
        ),
        "spec": spec,
    }


def service_route(*, route: ServiceRoute, gateway: Gateway, profile: Profile, stack: str) -> dict[str, Any]:
    """Return the route of a service on one cluster: its deployments there, by weight."""
    backends = [
        _backend(backend.deployment, backend.revision, profile) | {"weight": backend.weight}
        for backend in route.backends
    ]
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": KIND,
        "metadata": metadata(
            names.service_route(route.service),
            stack=stack,
            namespace=route.service.partition("/")[0],
            labels={names.SERVICE: route.service.partition("/")[2]},
            annotations={WAIT_FOR: _SERVED},
        ),
        "spec": {
            "parentRefs": [_parent(gateway)],
            "rules": [_rule(_path(names.service_path(route.service)), backends, gateway)],
        },
    }


def _parent(gateway: Gateway) -> dict[str, Any]:
    name, namespace = names.GATEWAY, names.SYSTEM_NAMESPACE
    if gateway.ref:
        name, namespace = gateway.ref.name, gateway.ref.namespace
    return {"group": _GROUP, "kind": "Gateway", "name": name, "namespace": namespace}


def _path(path: str) -> dict[str, Any]:
    # A prefix matches whole path elements, so it says the same without its last slash, and without it also
    # gateways that compare text match the bare path.
    return {"path": {"type": "PathPrefix", "value": path.rstrip("/")}}


def _backend(deployment: str, revision: str, profile: Profile) -> dict[str, Any]:
    return {
        "group": profile.pool_group,
        "kind": INFERENCE_POOL,
        "name": names.inference_pool(deployment, revision),
    }


def _rule(match: dict[str, Any], backends: list[dict[str, Any]], gateway: Gateway) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "matches": [match],
        "filters": [
            {
                "type": "URLRewrite",
                "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
            }
        ],
        "backendRefs": backends,
    }
    # GKE has no timeouts in routes; there, GCPBackendPolicy has them.
    if gateway.provider != "gke":
        rule["timeouts"] = {"request": f"{REQUEST_SECONDS}s"}
    return rule
