"""Decides which addresses Services of type LoadBalancer get, and where each of them leads."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from sandbox.cluster.objects import Object, key, oldest_first

# An address and a port.
Place = tuple[str, int]
_SERVICE = "kubernetes.io/service-name"


def balanced(services: Iterable[Object]) -> list[Object]:
    """Return the Services of type LoadBalancer, oldest first."""
    return oldest_first(service for service in services if service["spec"].get("type") == "LoadBalancer")


def addresses(services: Iterable[Object], network: IPv4Network) -> dict[str, str]:
    """Return an address for each Service of type LoadBalancer by its key: the one it has, or a free one.

    They are given from the end of the network, because the built-in gateway gives them from its beginning.
    """
    every = [str(address) for address in reversed([*network.hosts()])]
    wanted = balanced(services)
    given = {key(service): has for service in wanted if (has := _address(service)) in every}
    free = (address for address in every if address not in given.values())
    for service in wanted:
        if key(service) not in given and (new := next(free, None)):
            given[key(service)] = new
    return given


def statuses(services: Iterable[Object], given: Mapping[str, str]) -> dict[str, Object]:
    """Return the statuses that Services do not have yet, by the path to write each to."""
    changed = {}
    for service in balanced(services):
        address = given.get(key(service))
        if address is not None and _address(service) != address:
            metadata = service["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}/status"
            changed[path] = {"loadBalancer": {"ingress": [{"ip": address}]}}
    return changed


def places(
    services: Iterable[Object], slices: Iterable[Object], given: Mapping[str, str]
) -> dict[Place, tuple[Place, ...]]:
    """Return the places outside that lead to Services, each with the ready pods' addresses and ports."""
    by_service: dict[str, list[Object]] = {}
    for endpoints in slices:
        name = endpoints["metadata"].get("labels", {}).get(_SERVICE, "")
        by_service.setdefault(f"{endpoints['metadata']['namespace']}/{name}", []).append(endpoints)
    return {
        (given[key(service)], port["port"]): tuple(
            sorted(_endpoints(by_service.get(key(service), []), port.get("name", "")))
        )
        for service in balanced(services)
        if key(service) in given
        for port in service["spec"].get("ports", [])
    }


def _endpoints(slices: Iterable[Object], port: str) -> Iterable[Place]:
    for one in slices:
        numbers = [entry["port"] for entry in one.get("ports") or () if (entry.get("name") or "") == port]
        for endpoint in one.get("endpoints") or ():
            if endpoint.get("conditions", {}).get("ready", True):
                yield from ((address, number) for address in endpoint["addresses"] for number in numbers)


def _address(service: Object) -> str:
    ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
    address: str = ingress[0].get("ip", "")
    return address
