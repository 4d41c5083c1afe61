"""Which fields of HTTPRoutes and listeners this controller supports. All others are refused, not ignored.

These are what Gateway API calls its core, as far as routes of ours could have it, and host names that are
rewritten. Routes may have a time limit besides, but not under Google's classes: their report of conformance
lists HTTPRouteRequestTimeout as unsupported (docs/conformance.md). It lists HTTPRoutePathRewrite too. Of what
its test does, prefixes may be replaced here, but not by `/`: Google's users do the first, and no source says
that the second works.
"""

from typing import Any

from sandbox.cluster.objects import Object, key

# A dict lists the supported fields, a list has the shape of its items, a set the values; None supports any.
_HEADERS = [{"name": None, "value": None}]
_ROUTE: Any = {
    "parentRefs": None,
    "hostnames": None,
    "rules": [
        {
            "matches": [
                {
                    "path": {"type": {"PathPrefix", "Exact"}, "value": None},
                    "headers": [{"type": {"Exact"}, "name": None, "value": None}],
                }
            ],
            "filters": [
                {
                    "type": {"URLRewrite", "RequestHeaderModifier"},
                    "urlRewrite": {
                        "hostname": None,
                        "path": {"type": {"ReplacePrefixMatch"}, "replacePrefixMatch": None},
                    },
                    "requestHeaderModifier": {"set": _HEADERS, "add": _HEADERS, "remove": None},
                }
            ],
            "backendRefs": [
                {"group": None, "kind": None, "name": None, "namespace": None, "port": None, "weight": None}
            ],
            "timeouts": {"request": None},
        }
    ],
}
_GOOGLES = "gke-l7-"
# Those of Google's classes that take InferencePools. https://llm-d.ai/docs/dev/resources/gateway/gke
_WITH_POOLS = ("gke-l7-rilb", "gke-l7-regional-external-managed")
_LISTENER: Any = {
    "name": None,
    "protocol": {"HTTP"},
    "port": None,
    "hostname": None,
    "allowedRoutes": {
        "namespaces": {"from": {"All", "Same", "Selector"}, "selector": None},
        "kinds": [{"group": None, "kind": {"HTTPRoute"}}],
    },
}


def is_googles(class_name: str) -> bool:
    """Return whether a GatewayClass is one of Google's."""
    return class_name.startswith(_GOOGLES)


def refused_pool(route: Object, gateway: Object) -> str | None:
    """Return what Google's controller says of the first InferencePool that the Gateway's class does not take.

    None where the class takes them, is not Google's, or no rule has one.
    """
    of_class, gateway_key = gateway["spec"]["gatewayClassName"], key(gateway)
    if not is_googles(of_class) or of_class in _WITH_POOLS:
        return None
    named = (
        f"{route['metadata']['namespace']}/{ref['name']}"
        for rule in route["spec"].get("rules") or ()
        for ref in rule.get("backendRefs") or ()
        if ref.get("kind") == "InferencePool"
    )
    pool = next(named, None)
    return pool and (
        f'Bind of InferencePool "{pool}" to GatewayRef "{gateway_key}" failed: Unsupported gateway: '
        f"gatewayclass {of_class} does not support inference pools"
    )


def unsupported_in_route(route: Object) -> tuple[str, ...]:
    """Return the paths of unsupported fields, with the value where another value would be supported.

    An example is `spec.rules[0].filters[1].type: CORS`.
    """
    return (*_unsupported("spec", route["spec"], _ROUTE), *_host_headers(route))


def refused_by_google(route: Object) -> str | None:
    """Return what Google's controller says of a route with what it does not support; None of others.

    The words are those of time limits, https://github.com/kserve/kserve/issues/5313 (2026-11-24). For what
    else is refused they are made after them.
    """
    if _timed(route):
        what = "Timeouts are not supported."
    elif refused := [*_emptied(route), *unsupported_in_route(route)]:
        what = f"{', '.join(refused)} is not supported."
    else:
        return None
    return f'Error GWCER104: HTTPRoute "{key(route)}" is misconfigured, err: {what}'


def unsupported_in_listener(listener: Object) -> tuple[str, ...]:
    """Return the paths of unsupported fields of a listener, as for routes."""
    return _unsupported(f"listeners[{listener['name']}]", listener, _LISTENER)


def _timed(route: Object) -> bool:
    return any(rule.get("timeouts") for rule in route["spec"].get("rules") or ())


def _emptied(route: Object) -> list[str]:
    """Return rewrites that replace a prefix by nothing, as the test of HTTPRoutePathRewrite does.

    https://github.com/kubernetes-sigs/gateway-api/blob/main/conformance/tests/httproute-rewrite-path.yaml
    """
    return [
        f"spec.rules[{i}].filters[{j}].urlRewrite.path.replacePrefixMatch: {by or '(empty)'}"
        for i, rule in enumerate(route["spec"].get("rules") or ())
        for j, route_filter in enumerate(rule.get("filters") or ())
        for by in [((route_filter.get("urlRewrite") or {}).get("path") or {}).get("replacePrefixMatch")]
        if by is not None and not by.strip("/")
    ]


def _host_headers(route: Object) -> list[str]:
    """Return changes of the Host header: Envoy refuses all routes of a port if one of them has any."""
    return [
        f"spec.rules[{i}].filters[{j}].requestHeaderModifier of Host (urlRewrite.hostname changes it)"
        for i, rule in enumerate(route["spec"].get("rules") or ())
        for j, route_filter in enumerate(rule.get("filters") or ())
        if (change := route_filter.get("requestHeaderModifier"))
        and "host"
        in {header["name"].lower() for kind in ("set", "add") for header in change.get(kind) or ()}
        | {name.lower() for name in change.get("remove") or ()}
    ]


def _unsupported(path: str, value: Any, shape: Any) -> tuple[str, ...]:
    if isinstance(shape, dict):
        paths: list[str] = []
        for name, inner in value.items():
            if name in shape:
                paths += _unsupported(f"{path}.{name}", inner, shape[name])
            elif inner not in (None, [], {}):
                paths.append(f"{path}.{name}")
        return tuple(paths)
    if isinstance(shape, list):
        return tuple(
            inner for i, item in enumerate(value) for inner in _unsupported(f"{path}[{i}]", item, shape[0])
        )
    if isinstance(shape, set) and value not in shape:
        return (f"{path}: {value}",)
    return ()
