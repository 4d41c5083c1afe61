"""Rules of Services: ports, addresses, and what goes with which type."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.pods.containers import named_port
from inferfleet.api.pods.texts import IP, SUBDOMAIN
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown

Spec = dict[str, Any]

_OUTSIDE = ("NodePort", "LoadBalancer")
_OF_BALANCERS = ("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges")
_NO_PROXY = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def service(manifest: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a Service whose fields have the right types."""
    spec: Spec = manifest.get("spec", {})
    for mistake in (*_ports(spec), *_addresses(spec), *_type(spec), *_sessions(spec)):
        yield Mistake(mistake.what, mistake.next_step, ("spec", *mistake.at))


def _headless(spec: Spec) -> bool:
    return spec.get("clusterIP") == "None" or spec.get("clusterIPs") == ["None"]


def _ports(spec: Spec) -> Iterator[Mistake]:
    kind, ports = spec.get("type") or "ClusterIP", spec.get("ports", [])
    if not ports and not _headless(spec) and kind != "ExternalName":
        yield Mistake("a Service needs ports", "Add ports", ("ports",))
    names: set[str] = set()
    node_ports: set[tuple[str, int]] = set()
    for place, port in enumerate(ports):
        at, name = ("ports", place), port.get("name", "")
        if len(ports) > 1 and not name:
            yield Mistake("each of several ports needs a name", "Add name", (*at, "name"))
        if name and name in names:
            yield Mistake(f"a second port is named {shown(name)!r}", "Rename one", (*at, "name"))
        names.add(name)
        if port.get("targetPort"):
            for mistake in named_port(port["targetPort"], "targetPort"):
                yield Mistake(mistake.what, mistake.next_step, (*at, *mistake.at))
        if number := port.get("nodePort", 0):
            key = (port.get("protocol") or "TCP", number)
            if kind not in _OUTSIDE:
                what = f"a Service of type {kind} has no nodePort"
                yield Mistake(what, "Remove it, or write type: NodePort", (*at, "nodePort"))
            elif key in node_ports:
                yield Mistake(f"nodePort {number} is there twice", "Change one", (*at, "nodePort"))
            node_ports.add(key)


def _addresses(spec: Spec) -> Iterator[Mistake]:
    single, several = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if several and several[0] != single:
        yield Mistake("the first of clusterIPs must be clusterIP", "Make them the same", ("clusterIPs",))
    for key, addresses in (("clusterIPs", several), ("clusterIP", [single] if single else [])):
        if len(addresses) > 2 or ("None" in addresses and len(addresses) > 1):
            yield Mistake("a Service has one address, or one of each family", "Remove some", (key,))
        for address in addresses:
            if address != "None" and not IP.allows(address):
                yield Mistake(f"{shown(address)!r} must be {IP.words}, or None", "Change it", (key,))
    for place, address in enumerate(spec.get("externalIPs", [])):
        if not IP.allows(address):
            yield Mistake(f"{shown(address)!r} must be {IP.words}", "Change it", ("externalIPs", place))
    families = spec.get("ipFamilies", [])
    if len(set(families)) < len(families):
        yield Mistake("a family of addresses is there twice", "Keep one", ("ipFamilies",))


def _type(spec: Spec) -> Iterator[Mistake]:
    kind = spec.get("type") or "ClusterIP"
    if kind in _OUTSIDE and _headless(spec):
        what = f"a Service of type {kind} needs an address"
        yield Mistake(what, "Remove clusterIP: None, or the type", ("clusterIP",))
    if kind == "ExternalName":
        name = spec.get("externalName", "").removesuffix(".")
        if not SUBDOMAIN.allows(name):
            yield Mistake(f"externalName {shown(name)!r} must be a host name", "Change it", ("externalName",))
        for key in _NO_PROXY:
            if spec.get(key):
                yield Mistake(f"a Service of type ExternalName has no {key}", "Remove it", (key,))
    for key in _OF_BALANCERS:
        if key in spec and spec[key] != [] and kind != "LoadBalancer":
            yield Mistake(f"{key} is for Services of type LoadBalancer", "Remove it", (key,))
    outside = kind in _OUTSIDE or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if spec.get("externalTrafficPolicy") and not outside:
        what = "externalTrafficPolicy is for Services that are reached from outside"
        yield Mistake(what, "Remove it", ("externalTrafficPolicy",))
    local = kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if spec.get("healthCheckNodePort") and not local:
        what = "healthCheckNodePort is for type LoadBalancer with externalTrafficPolicy: Local"
        yield Mistake(what, "Remove it", ("healthCheckNodePort",))


def _sessions(spec: Spec) -> Iterator[Mistake]:
    seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds")
    if spec.get("sessionAffinity") == "ClientIP" and seconds is not None and not 0 < seconds <= 86_400:
        at = ("sessionAffinityConfig", "clientIP", "timeoutSeconds")
        yield Mistake(f"{{field}} must be from 1 to 86400, not {seconds}", "Change it", at)
