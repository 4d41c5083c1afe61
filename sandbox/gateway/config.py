"""What each Gateway's Envoy is told: decided from what is snapshot of the cluster, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from sandbox.cluster.objects import Object, key
from sandbox.cluster.populate import CONTROLLER
from sandbox.gateway.attachment import NotAccepted, hostnames, is_parent, listeners_for, usable_listeners
from sandbox.gateway.backends import Backend, Unresolved, backend
from sandbox.gateway.snapshot import Snapshot, oldest_first
from sandbox.gateway.support import unsupported_in_route
from sandbox.gateway.virtual_hosts import Backends, ServedRoute, virtual_hosts


@dataclass(frozen=True)
class RouteParent:
    """One parentRef of a route that means a Gateway of ours: the listeners that take it, or why none does."""

    ref: Object
    gateway: str
    listeners: tuple[str, ...] | NotAccepted


@dataclass(frozen=True)
class AttachedRoute:
    """A route that has a Gateway of ours for a parent. `backends` has an item per rule."""

    route: Object
    parents: tuple[RouteParent, ...]
    backends: tuple[Backends, ...]


@dataclass(frozen=True)
class Proxy:
    """One Gateway's Envoy: the virtual hosts of each of its ports, and the backends they lead to."""

    gateway: Object
    address: str | None  # None when the cluster has no address left
    hosts: Mapping[int, list[dict[str, Any]]]
    backends: tuple[Backend, ...]


@dataclass(frozen=True)
class Config:
    """Everything that follows from what is snapshot."""

    proxies: tuple[Proxy, ...]
    routes: tuple[AttachedRoute, ...]


def config(snapshot: Snapshot, network: IPv4Network) -> Config:
    """For the Gateways of our classes, with addresses of the network."""
    gateways = our_gateways(snapshot)
    given = addresses(gateways, network)
    routes = tuple(
        attached
        for route in oldest_first(snapshot.routes.values())
        if (attached := _attached(route, gateways, snapshot)).parents
    )
    return Config(tuple(_proxy(one, given.get(key(one)), routes) for one in gateways), routes)


def our_gateways(snapshot: Snapshot) -> list[Object]:
    ours = {name for name, one in snapshot.classes.items() if one["spec"]["controllerName"] == CONTROLLER}
    return oldest_first(one for one in snapshot.gateways.values() if one["spec"]["gatewayClassName"] in ours)


def addresses(gateways: list[Object], network: IPv4Network) -> dict[str, str]:
    """An address for each Gateway by its key: the one its status shows, or else a free one."""
    given: dict[str, str] = {}
    every = [str(one) for one in network.hosts()]
    for gateway in gateways:
        shown = [one["value"] for one in gateway.get("status", {}).get("addresses") or ()]
        kept = next((one for one in shown if one in every and one not in given.values()), None)
        if kept:
            given[key(gateway)] = kept
    free = (one for one in every if one not in given.values())
    for gateway in gateways:
        if key(gateway) not in given and (new := next(free, None)):
            given[key(gateway)] = new
    return given


def _attached(route: Object, gateways: list[Object], snapshot: Snapshot) -> AttachedRoute:
    refused = unsupported_in_route(route)
    parents = []
    for ref in route["spec"].get("parentRefs") or ():
        for gateway in gateways:
            if not is_parent(ref, route=route, gateway=gateway):
                continue
            found = listeners_for(ref, route=route, gateway=gateway)
            listeners = found if isinstance(found, NotAccepted) else tuple(one["name"] for one in found)
            if refused:
                text = f"the sandbox's gateway does not do {', '.join(refused)}. Real gateways may."
                listeners = NotAccepted("UnsupportedValue", text)
            parents.append(RouteParent(ref, key(gateway), listeners))
    rules = route["spec"].get("rules") or ()
    return AttachedRoute(route, tuple(parents), tuple(_backends(rule, route, snapshot) for rule in rules))


def _backends(rule: Object, route: Object, snapshot: Snapshot) -> Backends:
    namespace = route["metadata"]["namespace"]
    refs = rule.get("backendRefs") or ()
    return tuple((ref.get("weight", 1), backend(ref, namespace=namespace, snapshot=snapshot)) for ref in refs)


def _proxy(gateway: Object, address: str | None, routes: tuple[AttachedRoute, ...]) -> Proxy:
    served: dict[int, list[ServedRoute]] = {one["port"]: [] for one in usable_listeners(gateway)}
    for port, of_port in served.items():
        for attached in routes:
            taken = {
                name
                for parent in attached.parents
                if parent.gateway == key(gateway) and not isinstance(parent.listeners, NotAccepted)
                for name in parent.listeners
            }
            names = {
                name
                for listener in usable_listeners(gateway)
                if listener["port"] == port and listener["name"] in taken
                for name in hostnames(listener, attached.route)
            }
            if names:
                of_port.append(ServedRoute(attached.route, tuple(sorted(names)), attached.backends))
    backends = {
        target
        for of_port in served.values()
        for one in of_port
        for rule in one.backends
        for _, target in rule
        if not isinstance(target, Unresolved)
    }
    return Proxy(
        gateway,
        address,
        {port: virtual_hosts(of_port) for port, of_port in served.items()},
        tuple(sorted(backends, key=lambda one: one.upstream.name)),
    )
