"""The routes of one port of a Gateway as Envoy's virtual hosts, in the Gateway API's order of precedence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sandbox.cluster.objects import Object, key, oldest_first
from sandbox.gateway.attachment import covers
from sandbox.gateway.backends import Backend, Unresolved
from sandbox.gateway.matching import (
    EVERYTHING,
    envoy_headers,
    envoy_match,
    envoy_rewrite,
    envoy_timeout,
    precedence,
)

PICK = "envoy.filters.http.ext_proc"
_TYPES = "type.googleapis.com/envoy"
# No Envoy cluster has this name. Requests for it are answered with 500, as the Gateway API demands.
NOWHERE = "unresolved"

# The weight and target of each backendRef of a rule.
Backends = tuple[tuple[int, Backend | Unresolved], ...]


@dataclass(frozen=True)
class ServedRoute:
    """A route with the host names under which a port serves it, and the backends of each of its rules."""

    route: Object
    hostnames: tuple[str, ...]
    backends: tuple[Backends, ...]


def virtual_hosts(served: Iterable[ServedRoute]) -> list[dict[str, Any]]:
    """Return one virtual host per host name.

    Each of them has the routes of wider host names too, because Envoy looks into one virtual host only.
    """
    by_route = {key(route.route): route for route in served}
    by_age = oldest_first(route.route for route in by_route.values())
    age = {key(route): i for i, route in enumerate(by_age)}
    names = sorted({name for route in by_route.values() for name in route.hostnames})
    hosts = []
    for name in names:
        matches = [
            ((_width(wide), precedence(match), age[key(route.route)], i, j), route, i, match)
            for route in by_route.values()
            for wide in route.hostnames
            if covers(wide, name)
            for i, rule in enumerate(route.route["spec"].get("rules") or ())
            for j, match in enumerate(rule.get("matches") or (EVERYTHING,))
        ]
        matches.sort(key=lambda ranked: ranked[0])
        routes = [_route(route, i, match) for _, route, i, match in matches]
        hosts.append({"name": name, "domains": [name], "routes": routes})
    return hosts


def _width(hostname: str) -> tuple[int, int]:
    """Return a key that sorts narrower host names first: names before wildcards, longer before shorter."""
    return (1 if hostname.startswith("*") else 0, -len(hostname))


def _route(served: ServedRoute, index: int, match: Object) -> dict[str, Any]:
    rule = served.route["spec"]["rules"][index]
    route = {"name": f"{key(served.route)}/{index}", "match": envoy_match(match)}
    weighted = [(weight, target) for weight, target in served.backends[index] if weight]
    if not weighted:
        return route | {"direct_response": {"status": 500, "body": {"inline_string": "no backend\n"}}}
    action = {
        "weighted_clusters": {"clusters": [_weighted(weight, target) for weight, target in weighted]},
        "cluster_not_found_response_code": "INTERNAL_SERVER_ERROR",
        "timeout": envoy_timeout(rule),
        # Retry only requests that no pod has begun to answer, as when the picked pod is gone.
        "retry_policy": {"retry_on": "connect-failure,refused-stream,reset-before-request", "num_retries": 1},
    }
    return route | {"route": action | envoy_rewrite(match, rule)} | envoy_headers(rule)


def _weighted(weight: int, target: Backend | Unresolved) -> dict[str, Any]:
    if isinstance(target, Unresolved):
        return {"name": NOWHERE, "weight": weight}
    cluster = {"name": target.upstream.name, "weight": weight}
    if target.picker is None:
        return cluster
    overrides = {
        "grpc_service": {"envoy_grpc": {"cluster_name": target.picker.upstream.name}},
        "failure_mode_allow": target.picker.fail_open,
    }
    per_route = {
        "@type": f"{_TYPES}.extensions.filters.http.ext_proc.v3.ExtProcPerRoute",
        "overrides": overrides,
    }
    # The filter is disabled for all other routes (see envoy.py).
    enabled = {"@type": f"{_TYPES}.config.route.v3.FilterConfig", "config": per_route}
    return cluster | {"typed_per_filter_config": {PICK: enabled}}
