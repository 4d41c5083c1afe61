"""How the services of a sandbox are reached: the URL on each cluster's gateway, or why there is none."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.desired.addresses import address_of, url
from inferfleet.fleet.names import SERVICE
from sandbox.cluster.kwok import KwokCluster
from sandbox.clusters import created_names
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools

_READ = "gateways.gateway.networking.k8s.io,httproutes.gateway.networking.k8s.io"


@dataclass(frozen=True)
class ServiceUrl:
    """A service, as namespace/name, on a cluster. `url` has no last slash; None when `problem` says why.

    `host` is what the Host header must say, "" when it does not matter. `deployments` are those behind it.
    """

    service: str
    cluster: str
    url: str | None
    host: str = ""
    problem: str = ""
    deployments: tuple[str, ...] = ()


def service_urls_of_stack(root: Path, stack: str) -> tuple[ServiceUrl, ...]:
    """Of every service on every cluster that runs. Raises SandboxProblem when there is nothing to ask."""
    places = StackPlaces(root, stack)
    tools = present_tools()
    clusters = [KwokCluster(places, name) for name in created_names(places)]
    running = [one for one in clusters if one.condition() == "running"]
    if tools is None or not running:
        raise SandboxProblem(
            f"no cluster of stack {stack} runs. Run `inferfleet sandbox up --stack {stack}`."
        )
    return tuple(
        way
        for cluster in running
        for way in ways(
            cluster.kubectl(tools).items(_READ, "-A", "--request-timeout=10s"), cluster=cluster.name
        )
    )


def ways(objects: Iterable[dict[str, Any]], *, cluster: str) -> tuple[ServiceUrl, ...]:
    """From the Gateways and HTTPRoutes of a cluster, sorted by service."""
    found = list(objects)
    gateways = {_key(one): one for one in found if one["kind"] == "Gateway"}
    routes = [one for one in found if one["kind"] == "HTTPRoute" and SERVICE in _labels(one)]
    return tuple(sorted((_way(route, gateways, cluster) for route in routes), key=lambda way: way.service))


def chosen(found: tuple[ServiceUrl, ...], service: str, *, cluster: str | None = None) -> ServiceUrl:
    """The way to a service, by its name or namespace/name: on the first cluster that has one.

    Raises SandboxProblem, naming the services there are.
    """
    mine = [way for way in found if service in (way.service, way.service.partition("/")[2])]
    names = sorted({way.service for way in mine})
    if len(names) > 1:
        raise SandboxProblem(f"{service} may be {' or '.join(names)}. Say which, with its namespace.")
    here = [way for way in mine if cluster in (None, way.cluster)]
    # Of a cluster of Google's, the beginning of its name will do.
    here = here or [way for way in mine if way.cluster.startswith(cluster or "")]
    if not here:
        there = ", ".join(sorted({f"{way.service} on {way.cluster}" for way in found})) or "none"
        where = f" on cluster {cluster}" if cluster else ""
        raise SandboxProblem(
            f"there is no service {service}{where}. There is: {there}. Run `make up` for more."
        )
    ready = next((way for way in here if way.url), None)
    if ready is None:
        raise SandboxProblem("\n".join(f"{way.service} on {way.cluster}: {way.problem}" for way in here))
    return ready


def _way(route: dict[str, Any], gateways: dict[str, dict[str, Any]], cluster: str) -> ServiceUrl:
    meta, spec = route["metadata"], route["spec"]
    service = f"{meta['namespace']}/{_labels(route)[SERVICE]}"
    parent = spec["parentRefs"][0]
    key = f"{parent.get('namespace', meta['namespace'])}/{parent['name']}"
    refused = _refusal(route)
    if refused:
        return ServiceUrl(
            service, cluster, None, problem=f"HTTPRoute {_key(route)} is not accepted: {refused}"
        )
    address = address_of(gateways[key]) if key in gateways else None
    if address is None:
        what = "has no address yet" if key in gateways else "does not exist"
        problem = f"Gateway {key} {what}. `inferfleet sandbox status` says whether its controller runs."
        return ServiceUrl(service, cluster, None, problem=problem)
    path = spec["rules"][0]["matches"][0]["path"]["value"].rstrip("/")
    hosts = spec.get("hostnames") or [""]
    backends = tuple(one["name"] for one in spec["rules"][0].get("backendRefs", []))
    return ServiceUrl(service, cluster, url(address, path), hosts[0], deployments=backends)


def _refusal(route: dict[str, Any]) -> str:
    """What the controller says against the route; "" while it said nothing or agrees."""
    parents = route.get("status", {}).get("parents", [])
    return "; ".join(
        f"{one.get('reason', '')}: {one.get('message', '')}"
        for parent in parents
        for one in parent.get("conditions", [])
        if one.get("type") in ("Accepted", "ResolvedRefs") and one.get("status") == "False"
    )


def _labels(one: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = one["metadata"].get("labels", {})
    return labels


def _key(one: dict[str, Any]) -> str:
    return f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
