"""Decides which addresses Services of type LoadBalancer get, and where each of them leads."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from sandbox.cluster.objects import Object, key, oldest_first

# An address and a port.
Place = tuple[str, int]
# The condition and its reason for a port at which nothing can listen outside.
_PORTS_ERROR, _REASON = "LoadBalancerPortsError", "PortNotAvailable"
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


def statuses(
    services: Iterable[Object], given: Mapping[str, str], refused: Mapping[Place, str], *, now: str
) -> dict[str, Object]:
    """Return the statuses that Services do not have yet, by the path to write each to.

    A Service of which one place is `refused` has no address, and a condition that says why
    (LoadBalancerPortsError, as in k8s.io/api/core/v1).
    """
    changed = {}
    for service in balanced(services):
        address = given.get(key(service))
        if address is None:
            continue
        why = _refusal(service, address, refused)
        present = service.get("status", {}).get("conditions") or []
        conditions = [condition for condition in present if condition["type"] != _PORTS_ERROR]
        if why:
            said = next(
                (one for one in present if one["type"] == _PORTS_ERROR and one["message"] == why), None
            )
            since = said["lastTransitionTime"] if said else now
            of = {"type": _PORTS_ERROR, "status": "True", "reason": _REASON, "message": why}
            conditions.append({**of, "lastTransitionTime": since})
        status: Object = {}
        if _address(service) != ("" if why else address):
            status["loadBalancer"] = {"ingress": [] if why else [{"ip": address}]}
        if conditions != present:
            status["conditions"] = conditions
        if status:
            metadata = service["metadata"]
            changed[f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}/status"] = status
    return changed


def events(
    services: Iterable[Object],
    gateways: Iterable[Object],
    given: Mapping[str, str],
    refused: Mapping[Place, str],
    *,
    now: str,
) -> list[Object]:
    """Return Events of the Services, and of the Gateways that they or the places are of, that are refused."""
    wrong: list[tuple[Object, str]] = []
    for service in balanced(services):
        why = _refusal(service, given.get(key(service), ""), refused)
        owners = {owner["name"] for owner in service["metadata"].get("ownerReferences") or ()}
        if why:
            own = [one for one in gateways if key(one) in {_beside(service, owner) for owner in owners}]
            wrong += [(service | {"apiVersion": "v1", "kind": "Service"}, why), *((one, why) for one in own)]
    for gateway in gateways:
        for address in gateway.get("status", {}).get("addresses") or ():
            for listener in gateway["spec"]["listeners"]:
                if why := refused.get((address["value"], listener["port"]), ""):
                    wrong.append((gateway, f"port {listener['port']}: {why}"))
    return [_event(kube_object, why, now) for kube_object, why in wrong]


def _event(kube_object: Object, why: str, now: str) -> Object:
    metadata = kube_object["metadata"]
    named = {name: metadata[name] for name in ("namespace", "name", "uid")}
    version = kube_object.get("apiVersion", "gateway.networking.k8s.io/v1")
    return {
        "metadata": {"generateName": "door.", "namespace": metadata["namespace"]},
        "involvedObject": {"apiVersion": version, "kind": kube_object.get("kind", "Gateway"), **named},
        "type": "Warning",
        "reason": _REASON,
        "message": why,
        "source": {"component": "sandbox-network"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _refusal(service: Object, address: str, refused: Mapping[Place, str]) -> str:
    """Return why the Service cannot be reached at the address, "" when it can."""
    ports = [port["port"] for port in service["spec"].get("ports", [])]
    return " ".join(f"port {port}: {refused[address, port]}" for port in ports if (address, port) in refused)


def _beside(service: Object, name: str) -> str:
    return f"{service['metadata']['namespace']}/{name}"


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
