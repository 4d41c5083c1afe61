"""Finds the URL of each service on each cluster's gateway, or why it has none."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inferfleet.fleet.names import SERVICE
from inferfleet.serving.gateway import address_of, url
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import Object, key
from sandbox.clusters import created_names
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools

# What names of Services end in, which nothing outside of a cluster resolves.
_INSIDE = ".svc.cluster.local"
_KINDS = "gateways.gateway.networking.k8s.io,httproutes.gateway.networking.k8s.io"


@dataclass(frozen=True)
class ServiceUrl:
    """A service (namespace/name) on a cluster, and its URL there.

    `url` has no trailing slash, and is None when `problem` says why there is none. `host` is the Host header
    that the gateway expects, "" if it accepts any, `headers` are others that it expects. `deployments`
    are those behind the service.
    """

    service: str
    cluster: str
    url: str | None
    host: str = ""
    problem: str = ""
    deployments: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    def is_called(self, name: str | None) -> bool:
        """Return whether `name` or `namespace/name` means this service."""
        return name in (self.service, self.service.partition("/")[2])


def service_urls_of_stack(root: Path, stack: str) -> tuple[ServiceUrl, ...]:
    """Return every service on every running cluster. Raises SandboxProblem when no cluster runs."""
    places = StackPlaces(root, stack)
    tools = present_tools()
    clusters = [KwokCluster(places, name) for name in created_names(places)]
    running = [cluster for cluster in clusters if cluster.condition() == "running"]
    if tools is None or not running:
        raise SandboxProblem(
            f"no cluster of stack {stack} is running. Run `inferfleet sandbox up --stack {stack}`."
        )
    services: list[ServiceUrl] = []
    for cluster in running:
        objects = cluster.kubectl(tools).items(_KINDS, "-A", "--request-timeout=10s")
        services += service_urls(objects, cluster=cluster.name)
    return tuple(services)


def service_urls(objects: Iterable[Object], *, cluster: str) -> tuple[ServiceUrl, ...]:
    """Return the services of a cluster, sorted by name, from its Gateways and HTTPRoutes."""
    gateways, routes = {}, []
    for kube_object in objects:
        if kube_object["kind"] == "Gateway":
            gateways[key(kube_object)] = kube_object
        elif kube_object["kind"] == "HTTPRoute" and SERVICE in _labels(kube_object):
            routes.append(kube_object)
    services = [_service_url(route, gateways, cluster) for route in routes]
    return tuple(sorted(services, key=lambda service: service.service))


def choose(services: tuple[ServiceUrl, ...], name: str, *, cluster: str | None = None) -> ServiceUrl:
    """Return the service called `name` or `namespace/name`, on the first cluster where it has a URL.

    Raises SandboxProblem, naming the services there are.
    """
    named = [service for service in services if service.is_called(name)]
    full_names = sorted({service.service for service in named})
    if len(full_names) > 1:
        raise SandboxProblem(f"{name} may be {' or '.join(full_names)}. Name one of them with its namespace.")
    here = [service for service in named if cluster in (None, service.cluster)]
    # For a cluster on the simulated Google Cloud the beginning of its name is enough.
    here = here or [service for service in named if service.cluster.startswith(cluster or "")]
    if not here:
        have = (
            ", ".join(sorted({f"{service.service} on {service.cluster}" for service in services})) or "none"
        )
        where = f" on cluster {cluster}" if cluster else ""
        raise SandboxProblem(
            f"there is no service {name}{where}. There is: {have}. Write a ModelService and run `pulumi up`."
        )
    reachable = next((service for service in here if service.url), None)
    if reachable is None:
        raise SandboxProblem(
            "\n".join(f"{service.service} on {service.cluster}: {service.problem}" for service in here)
        )
    return reachable


def refuse_without_route(documented: Iterable[str], name: str | None, *, stack: str) -> None:
    """Raise SandboxProblem if the service called `name`, None for any, is one of the documents.

    No cluster has a route of it.
    """
    missing = sorted(service for service in documented if name in (None, service, service.partition("/")[2]))
    if missing:
        has = "service {} has" if len(missing) == 1 else "services {} have"
        raise SandboxProblem(
            f"{has.format(', '.join(missing))} no HTTPRoute on the clusters that run: no update made it yet, "
            f"or somebody deleted it. Run `pulumi up --refresh`; `inferfleet status --stack {stack}` says "
            "what else is missing."
        )


def _service_url(route: Object, gateways: dict[str, Object], cluster: str) -> ServiceUrl:
    metadata, spec = route["metadata"], route["spec"]
    service = f"{metadata['namespace']}/{_labels(route)[SERVICE]}"
    parent = spec["parentRefs"][0]
    gateway = f"{parent.get('namespace', metadata['namespace'])}/{parent['name']}"
    rejection = _rejection(route)
    if rejection:
        problem = f"HTTPRoute {key(route)} is not accepted: {rejection}"
        return ServiceUrl(service, cluster, None, problem=problem)
    address = address_of(gateways[gateway]) if gateway in gateways else None
    if address is None:
        what = "has no address yet" if gateway in gateways else "does not exist"
        problem = f"Gateway {gateway} {what}. `inferfleet sandbox status` says whether its controller runs."
        return ServiceUrl(service, cluster, None, problem=problem)
    if address.host.endswith(_INSIDE):
        problem = (
            f"Gateway {gateway} is reached at {address.host} from inside of the cluster alone. "
            "Its cluster says `serviceType: LoadBalancer` in serving.gateway to give it an address here."
        )
        return ServiceUrl(service, cluster, None, problem=problem)
    match = spec["rules"][0]["matches"][0]
    path = _prefix(spec["rules"][0])
    headers = tuple((header["name"], header["value"]) for header in match.get("headers") or ())
    hosts = spec.get("hostnames") or [""]
    deployments = tuple(backend["name"] for backend in spec["rules"][0].get("backendRefs", []))
    return ServiceUrl(
        service, cluster, url(address, path), hosts[0], deployments=deployments, headers=headers
    )


def _prefix(rule: Object) -> str:
    """Return what the gateway cuts off in front of an engine's own path, "" where it rewrites nothing."""
    path: str = rule["matches"][0]["path"]["value"]
    for route_filter in rule.get("filters") or ():
        replaced = ((route_filter.get("urlRewrite") or {}).get("path") or {}).get("replacePrefixMatch")
        if replaced is not None:
            return path.rstrip("/").removesuffix(replaced.rstrip("/"))
    return ""


def _rejection(route: Object) -> str:
    """Return the False conditions that the controller reports for the route, or ""."""
    parents = route.get("status", {}).get("parents", [])
    return "; ".join(
        f"{condition.get('reason', '')}: {condition.get('message', '')}"
        for parent in parents
        for condition in parent.get("conditions", [])
        if condition.get("type") in ("Accepted", "ResolvedRefs") and condition.get("status") == "False"
    )


def _labels(route: Object) -> dict[str, str]:
    labels: dict[str, str] = route["metadata"].get("labels", {})
    return labels
