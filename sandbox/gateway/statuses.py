"""The statuses that the controller writes to GatewayClasses, Gateways, HTTPRoutes and InferencePools."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cluster.objects import Object, key
from sandbox.cluster.populate import CONTROLLER
from sandbox.gateway.attachment import NotAccepted
from sandbox.gateway.backends import Unresolved, picker
from sandbox.gateway.conditions import Conditions, condition, dated
from sandbox.gateway.config import NO_POOLS, AttachedRoute, Config, Proxy
from sandbox.gateway.snapshot import GATEWAY_GROUP, POOL_GROUP, Snapshot
from sandbox.gateway.support import unsupported_in_listener

# For each address and port why nobody answers there, or "" when Envoy does.
Ports = Mapping[tuple[str, int], str]
SILENT = "Envoy does not answer there yet"
HTTP_ROUTE = {"group": GATEWAY_GROUP, "kind": "HTTPRoute"}


def changes(config: Config, snapshot: Snapshot, *, ports: Ports, now: str) -> dict[str, dict[str, Any]]:
    """Return the statuses that have to change, by the path to write each to."""
    changed = {}
    for group, plural, kube_object, wanted in _statuses(config, snapshot, ports):
        present = kube_object.get("status") or {}
        status = dated(wanted, present, now)
        if any(present.get(name) != value for name, value in status.items()):
            metadata = kube_object["metadata"]
            namespace = metadata.get("namespace")
            collection = f"namespaces/{namespace}/{plural}" if namespace else plural
            changed[f"/apis/{group}/v1/{collection}/{metadata['name']}/status"] = status
    return changed


def _statuses(
    config: Config, snapshot: Snapshot, ports: Ports
) -> Iterator[tuple[str, str, Object, dict[str, Any]]]:
    """Yield group, plural, object and wanted status for every object that this controller writes to."""
    for gateway_class in snapshot.classes.values():
        if gateway_class["spec"]["controllerName"] == CONTROLLER:
            accepted = condition("Accepted", None, generation=_generation(gateway_class))
            yield GATEWAY_GROUP, "gatewayclasses", gateway_class, {"conditions": [accepted]}
    for proxy in config.proxies:
        yield GATEWAY_GROUP, "gateways", proxy.gateway, _gateway(proxy, config.routes, ports)
    by_route = {key(attached.route): attached for attached in config.routes}
    for name, route in snapshot.routes.items():
        parents = _route_parents(by_route[name]) if name in by_route else []
        yield GATEWAY_GROUP, "httproutes", route, _with_foreign(route, parents)
    for name, pool in snapshot.pools.items():
        parents = _pool_parents(name, pool, config, snapshot)
        yield POOL_GROUP, "inferencepools", pool, _with_foreign(pool, parents)


def _with_foreign(kube_object: Object, ours: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a status with our parents and those of other controllers, and nothing when there are none."""
    present = (kube_object.get("status") or {}).get("parents") or []
    foreign = [parent for parent in present if parent.get("controllerName") != CONTROLLER]
    return {"parents": foreign + ours} if ours or present else {}


def _gateway(proxy: Proxy, routes: tuple[AttachedRoute, ...], ports: Ports) -> dict[str, Any]:
    gateway = proxy.gateway
    generation = _generation(gateway)
    listeners = [_listener(listener, proxy, routes, ports) for listener in gateway["spec"]["listeners"]]
    invalid = None
    if not proxy.hosts:
        invalid = ("ListenersNotValid", "the sandbox can serve none of the listeners; see their conditions")
    elif gateway["spec"].get("addresses"):
        invalid = ("UnsupportedAddress", "the sandbox chooses the addresses itself. Remove spec.addresses.")
    problem = invalid
    if problem is None and proxy.refused:
        problem = ("Pending", proxy.refused)
    if problem is None and proxy.address is None:
        problem = ("AddressNotAssigned", "the cluster has no address left; it has 254 for Gateways")
    if problem is None:
        silent = (_not_serving(proxy, port, ports) for port in sorted(proxy.hosts))
        problem = next((reason for reason in silent if reason), None)
    return {
        "addresses": [{"type": "IPAddress", "value": proxy.address}] if proxy.address else [],
        "conditions": [
            condition("Accepted", invalid, generation=generation),
            condition("Programmed", problem, generation=generation),
        ],
        "listeners": listeners,
    }


def _listener(
    listener: Object, proxy: Proxy, routes: tuple[AttachedRoute, ...], ports: Ports
) -> dict[str, Any]:
    generation = _generation(proxy.gateway)
    fields = unsupported_in_listener(listener)
    rejected = None
    if listener["protocol"] != "HTTP":
        rejected = ("UnsupportedProtocol", f"the sandbox serves HTTP only, not {listener['protocol']}")
    elif fields:
        rejected = ("UnsupportedValue", f"the sandbox's gateway does not support {', '.join(fields)}")
    programmed = ("Invalid", rejected[1]) if rejected else _not_serving(proxy, listener["port"], ports)
    attached = {
        key(route.route)
        for route in routes
        for parent in route.parents
        if parent.gateway == key(proxy.gateway)
        and not isinstance(parent.listeners, NotAccepted)
        and listener["name"] in parent.listeners
    }
    return {
        "name": listener["name"],
        "supportedKinds": [HTTP_ROUTE],
        "attachedRoutes": len(attached),
        "conditions": [
            condition("Accepted", rejected, generation=generation),
            condition("Programmed", programmed, generation=generation),
            condition("ResolvedRefs", None, generation=generation),
        ],
    }


def _not_serving(proxy: Proxy, port: int, ports: Ports) -> tuple[str, str] | None:
    """Return why a port of a Gateway is not served, as a reason and a message, or None."""
    why = ports.get((proxy.address or "", port), SILENT)
    return ("Pending", f"port {port} of {proxy.address}: {why}") if why else None


def _route_parents(attached: AttachedRoute) -> list[dict[str, Any]]:
    generation = _generation(attached.route)
    unresolved = [
        target for rule in attached.backends for _, target in rule if isinstance(target, Unresolved)
    ]
    problem = None
    if unresolved:
        problem = (unresolved[0].reason, "; ".join(dict.fromkeys(target.message for target in unresolved)))
    return [
        {
            "parentRef": parent.ref,
            "controllerName": CONTROLLER,
            "conditions": [
                condition("Accepted", _refusal(parent.listeners), generation=generation),
                condition("ResolvedRefs", problem, generation=generation),
            ],
        }
        for parent in attached.parents
    ]


def _refusal(listeners: tuple[str, ...] | NotAccepted) -> tuple[str, str] | None:
    return (listeners.reason, listeners.message) if isinstance(listeners, NotAccepted) else None


def _pool_parents(name: str, pool: Object, config: Config, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return a parent for each Gateway that has a route to the pool."""
    by_gateway: dict[str, bool] = {}
    unbound: dict[str, str] = {}
    for attached in config.routes:
        if name in _pools(attached.route):
            for parent in attached.parents:
                accepted = not isinstance(parent.listeners, NotAccepted)
                by_gateway[parent.gateway] = by_gateway.get(parent.gateway, False) or accepted
                if isinstance(parent.listeners, NotAccepted) and parent.listeners.reason == NO_POOLS:
                    unbound[parent.gateway] = parent.listeners.message
    chosen = picker(pool, snapshot)
    unresolved = (chosen.reason, chosen.message) if isinstance(chosen, Unresolved) else None
    generation = _generation(pool)
    parents = []
    for gateway, accepted in sorted(by_gateway.items()):
        rejected = None
        if gateway in unbound:
            rejected = (NO_POOLS, unbound[gateway])
        elif not accepted:
            rejected = ("HTTPRouteNotAccepted", f"Gateway {gateway} accepts no route to the pool")
        conditions: Conditions = [
            condition("Accepted", rejected, generation=generation),
            condition("ResolvedRefs", unresolved, generation=generation),
        ]
        namespace, _, gateway_name = gateway.partition("/")
        ref = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": gateway_name, "namespace": namespace}
        parents.append({"parentRef": ref, "controllerName": CONTROLLER, "conditions": conditions})
    return parents


def _pools(route: Object) -> set[str]:
    """Return the keys of the InferencePools that a route leads to."""
    namespace = route["metadata"]["namespace"]
    return {
        f"{namespace}/{ref['name']}"
        for rule in route["spec"].get("rules") or ()
        for ref in rule.get("backendRefs") or ()
        if ref.get("kind") == "InferencePool" and ref.get("namespace", namespace) == namespace
    }


def _generation(kube_object: Object) -> int:
    return int(kube_object["metadata"].get("generation", 0))
