"""Decides the configuration of each Gateway's Envoy, as values that follow from a snapshot of the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Any

from sandbox.cluster.objects import Object, key, oldest_first
from sandbox.cluster.populate import CONTROLLER, refusal
from sandbox.gateway.attachment import NotAccepted, hostnames, is_parent, listeners_for, usable_listeners
from sandbox.gateway.backends import Backend, Unresolved, backend, pools
from sandbox.gateway.snapshot import Snapshot
from sandbox.gateway.support import is_googles, refused_by_google, refused_pool, unsupported_in_route
from sandbox.gateway.virtual_hosts import Backends, ServedRoute, virtual_hosts

# The reason that Google's controller gives where a class takes no InferencePools.
# The reason of v1 for a pool that a gateway does not take; v1alpha2 called it NotSupportedByGateway:
# https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/main/api/v1/inferencepool_types.go
NO_POOLS = "NotSupportedByParent"


@dataclass(frozen=True)
class RouteParent:
    """A route's parentRef to a Gateway of ours: the listeners that accept the route, or why none does."""

    ref: Object
    gateway: str
    listeners: tuple[str, ...] | NotAccepted


@dataclass(frozen=True)
class AttachedRoute:
    """A route that has a Gateway of ours as a parent. `backends` has an item per rule."""

    route: Object
    parents: tuple[RouteParent, ...]
    backends: tuple[Backends, ...]


@dataclass(frozen=True)
class Proxy:
    """One Gateway's Envoy: the virtual hosts of each of its ports, and the backends they lead to.

    `address` is None when the cluster has none left. `refused` says in Google's words why there is no load
    balancer, and so no address either; "" where there is one.
    """

    gateway: Object
    address: str | None
    hosts: Mapping[int, list[dict[str, Any]]]
    backends: tuple[Backend, ...]
    refused: str = ""


@dataclass(frozen=True)
class Config:
    """Everything that follows from a snapshot."""

    proxies: tuple[Proxy, ...]
    routes: tuple[AttachedRoute, ...]


def config(snapshot: Snapshot, network: IPv4Network) -> Config:
    """Return the configuration for the Gateways of our classes, with addresses from the network."""
    gateways = our_gateways(snapshot)
    given = addresses(gateways, network)
    routes = tuple(
        attached
        for route in oldest_first(snapshot.routes.values())
        if (attached := _attached(route, gateways, snapshot)).parents
    )
    kept = pools(snapshot)
    refusals = {name: refusal(gateway_class) for name, gateway_class in snapshot.classes.items()}
    made = (
        replace(_proxy(gateway, None, routes, kept), refused=words)
        # What stands stays: policies hold for new load balancers alone.
        if (words := refusals[gateway["spec"]["gatewayClassName"]])
        and not (gateway.get("status") or {}).get("addresses")
        else _proxy(gateway, given.get(key(gateway)), routes, kept)
        for gateway in gateways
    )
    return Config(tuple(made), routes)


def our_gateways(snapshot: Snapshot) -> list[Object]:
    """Return the Gateways whose class names this controller, oldest first."""
    classes = snapshot.classes.items()
    ours = {name for name, gateway_class in classes if gateway_class["spec"]["controllerName"] == CONTROLLER}
    gateways = snapshot.gateways.values()
    return oldest_first(gateway for gateway in gateways if gateway["spec"]["gatewayClassName"] in ours)


def addresses(gateways: list[Object], network: IPv4Network) -> dict[str, str]:
    """Return an address for each Gateway by its key: the one its status shows, or else a free one."""
    given: dict[str, str] = {}
    every = [str(address) for address in network.hosts()]
    for gateway in gateways:
        shown = [address["value"] for address in gateway.get("status", {}).get("addresses") or ()]
        usable = (address for address in shown if address in every and address not in given.values())
        kept = next(usable, None)
        if kept:
            given[key(gateway)] = kept
    free = (address for address in every if address not in given.values())
    for gateway in gateways:
        if key(gateway) not in given and (new := next(free, None)):
            given[key(gateway)] = new
    return given


def _attached(route: Object, gateways: list[Object], snapshot: Snapshot) -> AttachedRoute:
    parents = []
    for ref in route["spec"].get("parentRefs") or ():
        for gateway in gateways:
            if not is_parent(ref, route=route, gateway=gateway):
                continue
            accepting = listeners_for(ref, route=route, gateway=gateway, namespaces=snapshot.namespaces)
            google = is_googles(gateway["spec"]["gatewayClassName"])
            unsupported = () if google else unsupported_in_route(route)
            if google and (said := refused_by_google(route)):
                accepting = NotAccepted("Invalid", said)
            elif unsupported:
                text = f"the sandbox's gateway does not support {', '.join(unsupported)}. Real gateways may."
                accepting = NotAccepted("UnsupportedValue", text)
            elif refused := refused_pool(route, gateway):
                accepting = NotAccepted(NO_POOLS, refused)
            if isinstance(accepting, NotAccepted):
                parents.append(RouteParent(ref, key(gateway), accepting))
            else:
                names = tuple(listener["name"] for listener in accepting)
                parents.append(RouteParent(ref, key(gateway), names))
    rules = route["spec"].get("rules") or ()
    return AttachedRoute(route, tuple(parents), tuple(_backends(rule, route, snapshot) for rule in rules))


def _backends(rule: Object, route: Object, snapshot: Snapshot) -> Backends:
    namespace = route["metadata"]["namespace"]
    refs = rule.get("backendRefs") or ()
    return tuple((ref.get("weight", 1), backend(ref, namespace=namespace, snapshot=snapshot)) for ref in refs)


def _proxy(
    gateway: Object, address: str | None, routes: tuple[AttachedRoute, ...], kept: tuple[Backend, ...]
) -> Proxy:
    served: dict[int, list[ServedRoute]] = {listener["port"]: [] for listener in usable_listeners(gateway)}
    for port, routes_of_port in served.items():
        for attached in routes:
            accepting = {
                name
                for parent in attached.parents
                if parent.gateway == key(gateway) and not isinstance(parent.listeners, NotAccepted)
                for name in parent.listeners
            }
            names = {
                name
                for listener in usable_listeners(gateway)
                if listener["port"] == port and listener["name"] in accepting
                for name in hostnames(listener, attached.route)
            }
            if names:
                routes_of_port.append(ServedRoute(attached.route, tuple(sorted(names)), attached.backends))
    backends = {
        target
        for routes_of_port in served.values()
        for served_route in routes_of_port
        for rule in served_route.backends
        for _, target in rule
        if not isinstance(target, Unresolved)
    }
    backends.update(kept)
    return Proxy(
        gateway,
        address,
        {port: virtual_hosts(routes_of_port) for port, routes_of_port in served.items()},
        tuple(sorted(backends, key=lambda backend: backend.upstream.name)),
    )
