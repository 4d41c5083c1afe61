"""What the controller writes back: the status of GatewayClasses, Gateways, HTTPRoutes and InferencePools."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cluster.objects import Object, key
from sandbox.cluster.populate import CONTROLLER
from sandbox.gateway.attachment import NotAccepted
from sandbox.gateway.backends import Unresolved, picker
from sandbox.gateway.conditions import Conditions, condition, dated
from sandbox.gateway.config import AttachedRoute, Config, Proxy
from sandbox.gateway.snapshot import GATEWAY_GROUP, POOL_GROUP, Snapshot
from sandbox.gateway.support import unsupported_in_listener

Ports = Mapping[tuple[str, int], str]  # address and port -> why nobody answers there yet, "" when Envoy does
HTTP_ROUTE = {"group": GATEWAY_GROUP, "kind": "HTTPRoute"}


def changes(config: Config, snapshot: Snapshot, *, ports: Ports, now: str) -> dict[str, dict[str, Any]]:
    """New statuses by the path to write them to; those that say already what they should are left out."""
    changed = {}
    for group, kind, one, wanted in _statuses(config, snapshot, ports):
        present = one.get("status") or {}
        status = dated(wanted, present, now)
        if any(present.get(name) != value for name, value in status.items()):
            namespace = one["metadata"].get("namespace")
            place = f"namespaces/{namespace}/{kind}" if namespace else kind
            changed[f"/apis/{group}/v1/{place}/{one['metadata']['name']}/status"] = status
    return changed


def _statuses(
    config: Config, snapshot: Snapshot, ports: Ports
) -> Iterator[tuple[str, str, Object, dict[str, Any]]]:
    for one in snapshot.classes.values():
        if one["spec"]["controllerName"] == CONTROLLER:
            accepted = condition("Accepted", None, generation=_generation(one))
            yield GATEWAY_GROUP, "gatewayclasses", one, {"conditions": [accepted]}
    for proxy in config.proxies:
        yield GATEWAY_GROUP, "gateways", proxy.gateway, _gateway(proxy, config.routes, ports)
    by_route = {key(one.route): one for one in config.routes}
    for name, route in snapshot.routes.items():
        parents = _route_parents(by_route[name]) if name in by_route else []
        yield GATEWAY_GROUP, "httproutes", route, _with_foreign(route, parents)
    for name, pool in snapshot.pools.items():
        yield (
            POOL_GROUP,
            "inferencepools",
            pool,
            _with_foreign(pool, _pool_parents(name, pool, config, snapshot)),
        )


def _with_foreign(one: Object, ours: list[dict[str, Any]]) -> dict[str, Any]:
    """Nothing to write where neither we nor anybody else has said anything."""
    present = (one.get("status") or {}).get("parents") or []
    foreign = [parent for parent in present if parent.get("controllerName") != CONTROLLER]
    return {"parents": foreign + ours} if ours or present else {}


def _gateway(proxy: Proxy, routes: tuple[AttachedRoute, ...], ports: Ports) -> dict[str, Any]:
    gateway = proxy.gateway
    generation = _generation(gateway)
    listeners = [_listener(one, proxy, routes, ports) for one in gateway["spec"]["listeners"]]
    invalid = None
    if not proxy.hosts:
        invalid = ("ListenersNotValid", "no listener is one the sandbox can serve; see their conditions")
    elif gateway["spec"].get("addresses"):
        invalid = ("UnsupportedAddress", "the sandbox chooses the addresses itself. Remove spec.addresses.")
    problem = invalid
    if problem is None and proxy.address is None:
        problem = ("AddressNotAssigned", "the cluster has no address left; it has 254 for Gateways")
    if problem is None:
        why = [_why(proxy, port, ports) for port in sorted(proxy.hosts)]
        problem = next((one for one in why if one), None)
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
    refused = None
    if listener["protocol"] != "HTTP":
        refused = ("UnsupportedProtocol", f"the sandbox serves HTTP only, not {listener['protocol']}")
    elif fields:
        refused = ("UnsupportedValue", f"the sandbox's gateway does not do {', '.join(fields)}")
    programmed = ("Invalid", refused[1]) if refused else _why(proxy, listener["port"], ports)
    attached = {
        key(one.route)
        for one in routes
        for parent in one.parents
        if parent.gateway == key(proxy.gateway)
        and not isinstance(parent.listeners, NotAccepted)
        and listener["name"] in parent.listeners
    }
    return {
        "name": listener["name"],
        "supportedKinds": [HTTP_ROUTE],
        "attachedRoutes": len(attached),
        "conditions": [
            condition("Accepted", refused, generation=generation),
            condition("Programmed", programmed, generation=generation),
            condition("ResolvedRefs", None, generation=generation),
        ],
    }


def _why(proxy: Proxy, port: int, ports: Ports) -> tuple[str, str] | None:
    """Why a port of a Gateway is not served."""
    why = ports.get((proxy.address or "", port), "Envoy does not answer there yet")
    return ("Pending", f"port {port} of {proxy.address}: {why}") if why else None


def _route_parents(attached: AttachedRoute) -> list[dict[str, Any]]:
    generation = _generation(attached.route)
    unresolved = [
        target for rule in attached.backends for _, target in rule if isinstance(target, Unresolved)
    ]
    problem = None
    if unresolved:
        problem = (unresolved[0].reason, "; ".join(dict.fromkeys(one.message for one in unresolved)))
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
    """One for each Gateway that has a route to the pool."""
    by_gateway: dict[str, bool] = {}
    for attached in config.routes:
        if name in _pools(attached.route):
            for parent in attached.parents:
                taken = not isinstance(parent.listeners, NotAccepted)
                by_gateway[parent.gateway] = by_gateway.get(parent.gateway, False) or taken
    chosen = picker(pool, snapshot)
    unresolved = (chosen.reason, chosen.message) if isinstance(chosen, Unresolved) else None
    generation = _generation(pool)
    parents = []
    for gateway, taken in sorted(by_gateway.items()):
        refused = None if taken else ("HTTPRouteNotAccepted", f"Gateway {gateway} takes no route to the pool")
        conditions: Conditions = [
            condition("Accepted", refused, generation=generation),
            condition("ResolvedRefs", unresolved, generation=generation),
        ]
        namespace, _, gateway_name = gateway.partition("/")
        ref = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": gateway_name, "namespace": namespace}
        parents.append({"parentRef": ref, "controllerName": CONTROLLER, "conditions": conditions})
    return parents


def _pools(route: Object) -> set[str]:
    """Keys of the InferencePools a route leads to."""
    namespace = route["metadata"]["namespace"]
    return {
        f"{namespace}/{ref['name']}"
        for rule in route["spec"].get("rules") or ()
        for ref in rule.get("backendRefs") or ()
        if ref.get("kind") == "InferencePool" and ref.get("namespace", namespace) == namespace
    }


def _generation(one: Object) -> int:
    return int(one["metadata"].get("generation", 0))
