"""Which services each InferenceGateway leads to, by which names, and to which clusters with which weights.

A gateway stands on one or several clusters, its hubs. On each it leads to the gateways of the clusters where
a service has endpoints, never to pods: those of a hub's own region by weight, others when these fail. The
weight of a cluster is the sum of its endpoints' shares, and its own route splits requests by the same ones. A
cluster that is lost gets nothing.

The names of models are one namespace per gateway, and each leads to one service.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP, InferenceCluster
from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.adapters import model_names
from inferfleet.fleet.decisions import Endpoint, ServiceRoute
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.traffic import (
    BACKEND_LIMIT,
    WEIGHT_LIMIT,
    EndpointIndex,
    Requests,
    of_service,
    shares_in_all,
)

KIND = "InferenceGateway"


@dataclass(frozen=True)
class DoorBackend:
    """A cluster that requests go to."""

    cluster: str
    weight: int
    fallback: bool = False
    """Whether it gets requests only while the others fail."""


@dataclass(frozen=True)
class DoorRoute:
    """A service behind a gateway, as one of its hubs leads to it."""

    service: str  # namespace/name
    models: tuple[str, ...]
    requests: Requests
    """What the gateways of clusters take for the service."""
    backends: tuple[DoorBackend, ...]
    """None where no cluster has an endpoint of the service."""
    entries: tuple[str, ...]
    """Who may use it, as entries of Secrets; none behind a gateway that is open to everybody."""
    new: tuple[str, ...] = ()
    """Clusters to which the service comes with this plan."""


@dataclass(frozen=True)
class Door:
    """An InferenceGateway on one of its clusters."""

    gateway: str
    hub: str
    routes: tuple[DoorRoute, ...]

    @property
    def models(self) -> tuple[tuple[str, str], ...]:
        """Return the names of models with their services, sorted by name."""
        return tuple(sorted((model, route.service) for route in self.routes for model in route.models))

    @property
    def clusters(self) -> tuple[tuple[str, bool], ...]:
        """Return the clusters that it leads to, each with whether it is a fallback, sorted."""
        return tuple(
            sorted(
                {(backend.cluster, backend.fallback) for route in self.routes for backend in route.backends}
            )
        )


def doors(
    documents: Documents, endpoints: tuple[Endpoint, ...], services: Iterable[ServiceRoute], lock: Lock
) -> tuple[Door, ...]:
    """Return every gateway on each of its clusters that is not given up, sorted."""
    if not documents.gateways:
        return ()
    selected = EndpointIndex(documents, endpoints)
    routes: dict[str, list[ServiceRoute]] = {}
    for route in services:
        routes.setdefault(route.service, []).append(route)
    return tuple(
        Door(
            name,
            hub,
            tuple(
                _route(documents, gateway, hub, service, selected, routes.get(key, []), lock)
                for key, service in sorted(documents.services.items())
                if name in service.spec.gateways
            ),
        )
        for name, gateway in sorted(documents.gateways.items())
        for hub in sorted(gateway.spec.clusters)
        if documents.clusters[hub].spec.state not in GIVEN_UP
    )


def _route(
    documents: Documents,
    gateway: InferenceGateway,
    hub: str,
    service: ModelService,
    selected: EndpointIndex,
    routes: list[ServiceRoute],
    lock: Lock,
) -> DoorRoute:
    key = service.metadata.key
    backends = _backends(documents, hub, service, selected)
    locked = lock.services.get(key, ())
    return DoorRoute(
        key,
        _models(documents, service, selected),
        _requests(documents, service, routes),
        backends,
        allowed_entries(gateway, key),
        tuple(backend.cluster for backend in backends if backend.cluster not in locked),
    )


def _requests(documents: Documents, service: ModelService, routes: list[ServiceRoute]) -> Requests:
    """Return what the gateways of all clusters take for a service: one path of an engine may be on some."""
    key = service.metadata.key
    backends = tuple(backend for route in routes for backend in route.backends)
    return of_service(documents, ServiceRoute(key, "", backends, root=service.spec.route.path == "/"))


def _models(documents: Documents, service: ModelService, selected: EndpointIndex) -> tuple[str, ...]:
    """Return the names by which a service is asked for: those that it says, or all deployments declare."""
    if service.spec.models:
        return tuple(sorted(service.spec.models))
    return tuple(sorted(_common_names(documents, service, selected)))


def _common_names(documents: Documents, service: ModelService, selected: EndpointIndex) -> set[str]:
    keys = _deployments(service, selected)
    declared = [set(model_names(documents.deployments[key])) for key in keys]
    return set.intersection(*declared) if declared else set()


def _deployments(service: ModelService, selected: EndpointIndex) -> list[str]:
    """Return the deployments that a service selects where they may run, with replicas there or without."""
    namespace = service.metadata.namespace
    return sorted(
        {key for entry in service.spec.endpoints for key in selected.selectable(namespace, entry.selector)}
    )


def allowed_entries(gateway: InferenceGateway, service: str) -> tuple[str, ...]:
    """Return the entries of Secrets whose callers may use a service."""
    return tuple(
        sorted(
            entry
            for caller in gateway.spec.callers
            if not caller.services or service in caller.services
            for entry in caller.entries
        )
    )


def _backends(
    documents: Documents, hub: str, service: ModelService, selected: EndpointIndex
) -> tuple[DoorBackend, ...]:
    """Return the clusters for a hub. Weights of fallbacks count among these alone."""
    region = documents.clusters[hub].region
    regional = service.spec.prefer == "SameRegion"
    near = {name: documents.clusters[name].region == region for name in documents.clusters}
    by_cluster = shares_in_all(documents, service, selected)
    if not regional or not any(near[name] for name in by_cluster):
        # No region comes first, so the shares of all clusters must be comparable.
        by_cluster = shares_in_all(documents, service, selected, regional=False)
        return _weighed({name: sum(of_cluster.values()) for name, of_cluster in by_cluster.items()}, False)
    sums = {name: sum(of_cluster.values()) for name, of_cluster in by_cluster.items()}
    return (
        *_weighed({name: weight for name, weight in sums.items() if near[name]}, False),
        *_weighed({name: weight for name, weight in sums.items() if not near[name]}, True),
    )


def _weighed(weights: dict[str, int], fallback: bool) -> tuple[DoorBackend, ...]:
    """Return the clusters by name, with weights as small as they are exact, and within the API's limit."""
    divisor = gcd(*weights.values()) or 1
    reduced = {name: weight // divisor for name, weight in weights.items()}
    largest = max(reduced.values(), default=0)
    if largest > WEIGHT_LIMIT:
        reduced = {name: max(1, weight * WEIGHT_LIMIT // largest) for name, weight in reduced.items()}
    return tuple(DoorBackend(name, weight, fallback) for name, weight in sorted(reduced.items()))


# What becomes of services behind gateways the moment a cluster is lost, until an update moves replicas.


@dataclass(frozen=True)
class Failover:
    """A service behind a gateway that loses a cluster."""

    gateway: str
    hub: str
    service: str
    clusters: tuple[str, ...]
    """Clusters that take its requests from then on; none where it is answered with 503, or by nobody."""


def failovers(planned: Iterable[Door], cluster: str) -> tuple[Failover, ...]:
    """Return what the loss of a cluster does to services: of all on a gateway that stood there, else of those
    that had endpoints there. Whether what is left has the capacity for their requests, nobody knows here.
    """
    return tuple(
        Failover(
            door.gateway,
            door.hub,
            route.service,
            tuple(
                sorted(
                    backend.cluster
                    for backend in route.backends
                    if cluster not in (backend.cluster, door.hub)
                )
            ),
        )
        for door in planned
        for route in door.routes
        if cluster in (door.hub, *(backend.cluster for backend in route.backends))
    )


# What is wrong with gateways, and with services behind them.


def front_door_problems(
    documents: Documents, endpoints: tuple[Endpoint, ...], planned: Iterable[Door]
) -> Iterator[Problem]:
    """Yield every problem of gateways, of the services that name them, and of who may use these."""
    if not documents.gateways:
        return
    selected = EndpointIndex(documents, endpoints)
    yield from _hostname_problems(documents)
    yield from _limit_problems(documents)
    for name, gateway in sorted(documents.gateways.items()):
        services = {
            key: service
            for key, service in sorted(documents.services.items())
            if name in service.spec.gateways
        }
        if not services:
            yield _problem(
                name,
                f"no service names gateway {name}, so it leads nowhere",
                f"Write gateways: [{name}] in a ModelService",
                severity="warning",
            )
        yield from _hub_problems(documents, name, gateway)
        yield from _caller_problems(name, gateway, services)
        yield from _secret_problems(documents, name, gateway)
        yield from _name_problems(documents, name, services, selected)
    reported: set[tuple[str, str]] = set()
    for door in planned:
        yield from _backend_problems(documents, door, reported)


def _problem(gateway: str, what: str, step: str, path: str = "", *, severity: str = "error") -> Problem:
    return Problem(what, step, path, kind=KIND, key=gateway, severity=severity)  # type: ignore[arg-type]


def _hostname_problems(documents: Documents) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, gateway in sorted(documents.gateways.items()):
        hostname = gateway.spec.hostname
        if hostname is None:
            continue
        other = first.setdefault(hostname, name)
        if other != name:
            line = documents.where(KIND, other, "spec.hostname")
            yield _problem(
                name,
                f"gateway {name} has host name {hostname}, and so has gateway {other}"
                f"{f' ({line})' if line else ''}: a name leads to one of the two",
                "Give one of them another host name",
                "spec.hostname",
            )


def _limit_problems(documents: Documents) -> Iterator[Problem]:
    """Yield gateways that count elsewhere than another one of their cluster: Envoy Gateway has one place."""
    first: dict[str, str] = {}
    for name, gateway in sorted(documents.gateways.items()):
        for hub in gateway.spec.clusters if gateway.spec.limits else ():
            other = first.setdefault(hub, name)
            if documents.gateways[other].spec.limits != gateway.spec.limits:
                line = documents.where(KIND, other, "spec.limits")
                yield _problem(
                    name,
                    f"gateways {other}{f' ({line})' if line else ''} and {name} on cluster {hub} have "
                    "different limits, and Envoy Gateway counts in one place for all gateways of a cluster",
                    "Write the same limits, or name other clusters",
                    "spec.limits",
                )
                break


def _hub_problems(documents: Documents, name: str, gateway: InferenceGateway) -> Iterator[Problem]:
    for index, hub in enumerate(gateway.spec.clusters):
        state = documents.clusters[hub].spec.state
        if state in GIVEN_UP:
            yield _problem(
                name,
                f"gateway {name} stands on cluster {hub}, which is {state}: nothing of it changes there",
                "Send clients to another of its clusters, or name one more",
                f"spec.clusters[{index}]",
                severity="warning",
            )


def _caller_problems(
    name: str, gateway: InferenceGateway, services: dict[str, ModelService]
) -> Iterator[Problem]:
    for index, caller in enumerate(gateway.spec.callers):
        for position, service in enumerate(caller.services):
            if service not in services:
                yield _problem(
                    name,
                    f"caller {caller.name} may use service {service}, which is not behind gateway {name}",
                    f"Write gateways: [{name}] in that service, or one of: "
                    f"{listing(sorted(services), 8) or 'none'}",
                    f"spec.callers[{index}].services[{position}]",
                )


def _secret_problems(documents: Documents, name: str, gateway: InferenceGateway) -> Iterator[Problem]:
    """Yield what is wrong with Secrets of keys that the stack holds: entries that are missing, and such of no
    caller, for a gateway takes every entry of a Secret.
    """
    entries = {entry for caller in gateway.spec.callers for entry in caller.entries}
    held = documents.settings.secrets
    for index, caller in enumerate(gateway.spec.callers):
        for position, key in enumerate(caller.keys):
            secret = f"{names.SYSTEM_NAMESPACE}/{key.secret_ref.name}"
            if secret in held and key.secret_ref.key not in held[secret]:
                yield _problem(
                    name,
                    f"caller {caller.name} has key {key.secret_ref.key} of secret {key.secret_ref.name}, and "
                    f"the stack holds only {listing(sorted(held[secret])) or 'no key'} for {secret}",
                    "Run: pulumi config set --secret --path "
                    f'\'inferfleet:secrets["{secret}"]["{key.secret_ref.key}"]\'',
                    f"spec.callers[{index}].keys[{position}].secretRef.key",
                )
    for secret_name in sorted(
        {key.secret_ref.name for caller in gateway.spec.callers for key in caller.keys}
    ):
        secret = f"{names.SYSTEM_NAMESPACE}/{secret_name}"
        if strangers := sorted({*held.get(secret, ())} - entries):
            yield _problem(
                name,
                f"secret {secret} has {listing(strangers)}, which "
                f"{'is no key' if len(strangers) == 1 else 'are no keys'} of a caller, and a gateway lets in "
                "whoever has a key of any entry",
                "Write a caller for each, or take them out of the Secret",
                "spec.callers",
            )


def _name_problems(
    documents: Documents, name: str, services: dict[str, ModelService], selected: EndpointIndex
) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for key, service in services.items():
        declared = _common_names(documents, service, selected)
        deployments = _deployments(service, selected)
        for index, model in enumerate(service.spec.models):
            if deployments and model not in declared:
                lacking = [one for one in deployments if model not in model_names(documents.deployments[one])]
                line = documents.where("ModelDeployment", lacking[0], "spec.engine")
                yield Problem(
                    f"service {key} answers to model {model}, which {listing(lacking, 8)}"
                    f"{f' ({line})' if line else ''} {'does' if len(lacking) == 1 else 'do'} not serve: "
                    "engines refuse names that they do not know",
                    "Declare it in engine.servedNames of each, or in engine.adapters, or remove it here",
                    f"spec.models[{index}]",
                    kind="ModelService",
                    key=key,
                )
        if deployments and not service.spec.models and not declared:
            yield Problem(
                f"the deployments of service {key} declare no model name, so gateway {name} leads to it by "
                f"{names.service_path(key)} alone",
                "Declare one in engine.servedNames, unless that is enough",
                "spec.gateways",
                kind="ModelService",
                key=key,
                severity="warning",
            )
        for model in _models(documents, service, selected):
            other = first.setdefault(model, key)
            if other != key:
                line = documents.where("ModelService", other, "spec.gateways")
                yield Problem(
                    f"service {key} answers to model {model} at gateway {name}, and so does service {other}"
                    f"{f' ({line})' if line else ''}: a name leads to one of the two",
                    "Write models with other names in one of them, or other gateways",
                    "spec.models" if service.spec.models else "spec.gateways",
                    kind="ModelService",
                    key=key,
                )


def _backend_problems(documents: Documents, door: Door, reported: set[tuple[str, str]]) -> Iterator[Problem]:
    for route in door.routes:
        if not route.backends:
            yield Problem(
                f"service {route.service} has no endpoint on any cluster that answers, so gateway "
                f"{door.gateway} answers 503 for it",
                "Place replicas of a deployment that it selects",
                "spec.gateways",
                kind="ModelService",
                key=route.service,
                severity="warning",
            )
        if len(route.backends) > BACKEND_LIMIT:
            yield Problem(
                f"service {route.service} is on {len(route.backends)} clusters, and a route of gateway "
                f"{door.gateway} leads to at most {BACKEND_LIMIT}",
                "Select endpoints of fewer clusters, or write a second service for some of them",
                "spec.endpoints",
                kind="ModelService",
                key=route.service,
            )
    for cluster, _ in door.clusters:
        why = _unreachable(documents.clusters[door.hub], documents.clusters[cluster])
        if why and (door.hub, cluster) not in reported:
            reported.add((door.hub, cluster))
            yield Problem(
                f"gateway {door.gateway} on cluster {door.hub} does not reach the gateway of cluster "
                f"{cluster}, {why}",
                "Write serving.gateway.address, if there is an address at which it is reached from there",
                "spec.serving.gateway",
                kind="InferenceCluster",
                key=cluster,
            )


def _unreachable(hub: InferenceCluster, cluster: InferenceCluster) -> str:
    """Return why a hub cannot reach the gateway of a cluster, as far as documents say; else ""."""
    gateway = cluster.spec.serving.gateway
    if hub.metadata.name == cluster.metadata.name or gateway.address:
        return ""
    made = gateway.class_name is not None
    if made and gateway.provider in ("istio", "envoy") and gateway.service_type == "ClusterIP":
        return "which has serviceType: ClusterIP, and is reached from inside of its cluster alone"
    internal = made and (
        gateway.service_type == "Internal"
        or (gateway.provider == "gke" and "external" not in str(gateway.class_name))
    )
    gke = cluster.spec.cluster.gke
    if gke is None or not internal:
        return ""
    theirs, ours = gke.network.existing, hub.spec.cluster.gke
    if theirs is None:
        return "which is in a network of the cluster's own"
    existing = ours.network.existing if ours else None
    if ours and (existing is None or existing.name != theirs.name):
        return f"which is in network {theirs.name}, and the hub is in another one"
    return ""
