"""What a cluster's DNS answers its pods, made from the cluster's pods and Services.

There is no DNS server here. Names are those of https://github.com/kubernetes/dns/blob/master/docs/specification.md
for Services and for pods with a hostname and a subdomain, with the search list that pods have. A Service with
a cluster IP is answered with the address of a pod, because nothing here forwards cluster IPs.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, ip_address

from sandbox.cluster.objects import Object, is_ready

_ZONE = (".svc.cluster.local", ".svc")


def address_of(
    name: str,
    namespace: str,
    *,
    pods: Iterable[Object],
    services: Iterable[Object],
    reachable: IPv4Network,
) -> str | None:
    """Return the lowest address for a name that a pod of the namespace asks for, or None when it has none.

    Addresses beyond the `reachable` ones of this machine count as none: nothing in the sandbox may reach out.
    """
    literal = _literal(name)
    if literal is not None:
        return literal if ip_address(literal) in reachable else None
    all_services = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in services}
    candidates = [
        address
        for host, service in _readings(name.rstrip("."), namespace)
        if service in all_services
        for address in _addresses(all_services[service], host, pods)
    ]
    return min(candidates, key=lambda address: int(ip_address(address)), default=None)


def _literal(name: str) -> str | None:
    try:
        return str(ip_address(name))
    except ValueError:
        return None


def _readings(name: str, namespace: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what a name may mean, as the search list has it: a host ("" for none), and a Service's key."""
    whole = next((zone for zone in _ZONE if name.endswith(zone)), "")
    parts = name.removesuffix(whole).split(".")
    if len(parts) == 3:
        yield parts[0], (parts[2], parts[1])
    if len(parts) == 2 and not whole:
        yield parts[0], (namespace, parts[1])
    if len(parts) == 2:
        yield "", (parts[1], parts[0])
    if len(parts) == 1 and not whole:
        yield "", (namespace, parts[0])


def _addresses(service: Object, host: str, pods: Iterable[Object]) -> Iterator[str]:
    metadata, spec = service["metadata"], service["spec"]
    headless = spec.get("clusterIP") == "None"
    unready_too = headless and spec.get("publishNotReadyAddresses", False)
    selector = spec.get("selector") or {}
    for pod in pods:
        labels = pod["metadata"].get("labels", {})
        if pod["metadata"]["namespace"] != metadata["namespace"] or not selector:
            continue
        if not selector.items() <= labels.items() or not (unready_too or is_ready(pod)):
            continue
        if host and (pod["spec"].get("hostname"), pod["spec"].get("subdomain")) != (host, metadata["name"]):
            continue
        if address := pod.get("status", {}).get("podIP"):
            yield address
