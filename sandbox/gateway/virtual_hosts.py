"""The routes of one port of a Gateway as Envoy's virtual hosts, in the Gateway API's order of precedence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sandbox.cluster.objects import Object, key
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
from sandbox.gateway.snapshot import oldest_first

PICK = "envoy.filters.http.ext_proc"
_TYPES = "type.googleapis.com/envoy"
# No cluster has this name: what leads there is answered with 500, as the Gateway API has it.
NOWHERE = "unresolved"

Backends = tuple[tuple[int, Backend | Unresolved], ...]  # weight and target of each backendRef


@dataclass(frozen=True)
class ServedRoute:
    """A route under the host names by which a port serves it, with the backends of each of its rules."""

    route: Object
    hostnames: tuple[str, ...]
    backends: tuple[Backends, ...]


def virtual_hosts(served: Iterable[ServedRoute]) -> list[dict[str, Any]]:
    """One per host name. Each holds the routes of wider names too: Envoy looks into one virtual host only."""
    by_route = {key(one.route): one for one in served}
    age = {key(route): i for i, route in enumerate(oldest_first(one.route for one in by_route.values()))}
    names = sorted({name for one in by_route.values() for name in one.hostnames})
    hosts = []
    for name in names:
        found = [
            ((_width(wide), precedence(match), age[key(one.route)], i, j), one, i, match)
            for one in by_route.values()
            for wide in one.hostnames
            if covers(wide, name)
            for i, rule in enumerate(one.route["spec"].get("rules") or ())
            for j, match in enumerate(rule.get("matches") or (EVERYTHING,))
        ]
        routes = [_route(one, i, match) for _, one, i, match in sorted(found, key=lambda each: each[0])]
        hosts.append({"name": name, "domains": [name], "routes": routes})
    return hosts


def _width(hostname: str) -> tuple[int, int]:
    """Sorts first what is narrower: names before wildcards, longer before shorter."""
    return (1 if hostname.startswith("*") else 0, -len(hostname))


def _route(served: ServedRoute, index: int, match: Object) -> dict[str, Any]:
    rule = served.route["spec"]["rules"][index]
    made = {"name": f"{key(served.route)}/{index}", "match": envoy_match(match)}
    weighted = [(weight, target) for weight, target in served.backends[index] if weight]
    if not weighted:
        return made | {"direct_response": {"status": 500, "body": {"inline_string": "no backend\n"}}}
    action = {
        "weighted_clusters": {"clusters": [_weighted(weight, target) for weight, target in weighted]},
        "cluster_not_found_response_code": "INTERNAL_SERVER_ERROR",
        "timeout": envoy_timeout(rule),
        # Only what no pod has begun to answer; by then the picked pod is gone, and another one is asked.
        "retry_policy": {"retry_on": "connect-failure,refused-stream,reset-before-request", "num_retries": 1},
    }
    return made | {"route": action | envoy_rewrite(match, rule)} | envoy_headers(rule)


def _weighted(weight: int, target: Backend | Unresolved) -> dict[str, Any]:
    if isinstance(target, Unresolved):
        return {"name": NOWHERE, "weight": weight}
    made = {"name": target.upstream.name, "weight": weight}
    if target.picker is None:
        return made
    overrides = {
        "grpc_service": {"envoy_grpc": {"cluster_name": target.picker.upstream.name}},
        "failure_mode_allow": target.picker.fail_open,
    }
    per_route = {
        "@type": f"{_TYPES}.extensions.filters.http.ext_proc.v3.ExtProcPerRoute",
        "overrides": overrides,
    }
    # The filter is disabled where nothing is said about it (see envoy.py).
    enabled = {"@type": f"{_TYPES}.config.route.v3.FilterConfig", "config": per_route}
    return made | {"typed_per_filter_config": {PICK: enabled}}
