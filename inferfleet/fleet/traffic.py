"""Endpoints of deployments, and how services share their traffic between them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.model_service import ModelService
from inferfleet.api.problems import Problem
from inferfleet.api.work import take
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Backend, Endpoint, Placement, ServiceRoute
from inferfleet.fleet.lock.lock import Lock

# Largest weight of a backend in Gateway API.
WEIGHT_LIMIT = 1_000_000
# Most backends of a rule in the CRD of HTTPRoute. A second rule or route with the same match would not share
# the traffic: the first that matches takes all of it. So a service cannot be split over several.
BACKEND_LIMIT = 16
# The time limit of requests in routes. Envoy Gateway ends requests after 15 s and the charts after 5 minutes;
# long generations stream for longer.
REQUEST_SECONDS = 3600
# Steps for a selector, and for a service, on one deployment.
_EACH_SELECTOR, _EACH_SERVICE = 4, 20
# Deployments whose labels are told where a selector matches none.
_NAMED = 8


def endpoints(documents: Documents, placements: tuple[Placement, ...]) -> tuple[Endpoint, ...]:
    """Return one endpoint for each deployment and cluster with replicas."""
    replicas: Counter[tuple[str, str]] = Counter()
    revisions: dict[tuple[str, str], str] = {}
    for placement in placements:
        spot = placement.spot
        replicas[spot.deployment, spot.cluster] += placement.replicas
        revisions[spot.deployment, spot.cluster] = spot.revision
    return tuple(
        Endpoint(
            deployment,
            cluster,
            number,
            _labels(documents, deployment, cluster),
            revisions[deployment, cluster],
        )
        for (deployment, cluster), number in sorted(replicas.items())
        if number
    )


def routes(documents: Documents, endpoints: tuple[Endpoint, ...], lock: Lock) -> tuple[ServiceRoute, ...]:
    """Return the route of every service on every cluster with an endpoint of it, by service and cluster.

    A lost cluster has exactly the services that the lock has there.
    """
    services, deployments = documents.services.values(), len(documents.deployments)
    selectors = sum(len(service.spec.endpoints) for service in services)
    take(deployments * (_EACH_SELECTOR * selectors + _EACH_SERVICE * len(services)), "matching endpoints")
    all_routes: list[ServiceRoute] = []
    for key, service in sorted(documents.services.items()):
        near: dict[str, list[Endpoint]] = {}
        for endpoint in _near(service, endpoints):
            near.setdefault(endpoint.cluster, []).append(endpoint)
        for cluster, document in sorted(documents.clusters.items()):
            backends = _backends(service, near.get(cluster, []))
            if backends and (document.spec.state != "lost" or cluster in lock.services.get(key, ())):
                all_routes.append(ServiceRoute(key, cluster, backends, root=service.spec.route.path == "/"))
    return tuple(all_routes)


def route_problems(
    documents: Documents, endpoints: tuple[Endpoint, ...], routes: tuple[ServiceRoute, ...], lock: Lock
) -> Iterator[Problem]:
    """Yield errors (a selector that can match nothing, a route with too many backends) and warnings (a
    selector that matches nothing yet).
    """
    for key, service in sorted(documents.services.items()):
        clusters = [route.cluster for route in routes if route.service == key]
        for cluster, document in sorted(documents.clusters.items()):
            locked = cluster in lock.services.get(key, ())
            if locked and document.spec.state == "lost" and cluster not in clusters:
                yield _route_without_endpoints(key, cluster)
        for route in routes:
            if route.service == key and documents.clusters[route.cluster].spec.state != "lost":
                yield from _too_many(route)
        yield from _matching_nothing(documents, key)
        yield from _without_endpoints(key, service, near=_near(service, endpoints), clusters=clusters)


def _near(service: ModelService, endpoints: tuple[Endpoint, ...]) -> list[Endpoint]:
    """Return the endpoints in the service's namespace."""
    namespace = f"{service.metadata.namespace}/"
    return [endpoint for endpoint in endpoints if endpoint.deployment.startswith(namespace)]


def shares(entries: Sequence[tuple[int, Mapping[str, int]]]) -> dict[str, int]:
    """Return integer weights by deployment: the weight of each entry, split over its deployments by replicas.

    They are exact, unless one would exceed the limit: then they are the nearest millionths, none below 1.
    """
    exact: dict[str, Fraction] = {}
    for weight, replicas in entries:
        for deployment, number in replicas.items():
            share = Fraction(weight * number, sum(replicas.values()))
            exact[deployment] = exact.get(deployment, Fraction(0)) + share
    scale = lcm(*(share.denominator for share in exact.values()))
    whole = {deployment: int(share * scale) for deployment, share in exact.items()}
    divisor = gcd(*whole.values())
    reduced = {deployment: weight // divisor for deployment, weight in sorted(whole.items())}
    return reduced if max(reduced.values()) <= WEIGHT_LIMIT else _largest_remainder(reduced)


def _largest_remainder(weights: Mapping[str, int]) -> dict[str, int]:
    total = sum(weights.values())
    whole = {name: weight * WEIGHT_LIMIT // total for name, weight in weights.items()}
    missing = WEIGHT_LIMIT - sum(whole.values())
    by_remainder = sorted(weights, key=lambda name: (-(weights[name] * WEIGHT_LIMIT % total), name))
    for name in by_remainder[:missing]:
        whole[name] += 1
    return {name: max(1, weight) for name, weight in whole.items()}


def _labels(documents: Documents, deployment: str, cluster: str) -> dict[str, str]:
    return {
        **documents.clusters[cluster].metadata.labels,
        **documents.deployments[deployment].metadata.labels,
        **names.endpoint_labels(deployment, cluster),
    }


def _backends(service: ModelService, endpoints: list[Endpoint]) -> tuple[Backend, ...]:
    entries = [
        (
            entry.weight,
            {
                endpoint.deployment: endpoint.replicas
                for endpoint in endpoints
                if entry.selector.matches(endpoint.labels)
            },
        )
        for entry in service.spec.endpoints
    ]
    matched = [(weight, replicas) for weight, replicas in entries if replicas]
    revisions = {endpoint.deployment: endpoint.revision for endpoint in endpoints}
    weights = shares(matched) if matched else {}
    return tuple(Backend(name, weight, revisions[name]) for name, weight in weights.items())


def _matching_nothing(documents: Documents, key: str) -> Iterator[Problem]:
    """Yield a problem for each selector that matches no endpoint, on whichever clusters replicas run."""
    service = documents.services[key]
    namespace = service.metadata.namespace
    near = [name for name in sorted(documents.deployments) if name.startswith(f"{namespace}/")]
    for index, entry in enumerate(service.spec.endpoints):
        # One after the other: most selectors match the first deployments that they are tried on.
        if documents.clusters and not any(
            entry.selector.matches(_labels(documents, name, cluster))
            for name in near
            for cluster in documents.clusters
        ):
            labels = str(entry.selector) or "no labels"
            yield Problem(
                f"selector {labels} matches no deployment of namespace {namespace}",
                _labels_to_use(documents, near),
                f"spec.endpoints[{index}].selector",
                kind="ModelService",
                key=key,
            )


def _labels_to_use(documents: Documents, near: list[str]) -> str:
    if not near:
        return "Write a ModelDeployment with these labels there"
    labels = [f"{name} has {_text(documents.deployments[name].metadata.labels)}" for name in near[:_NAMED]]
    more = f"; and {len(near) - _NAMED:,} more" if len(near) > _NAMED else ""
    return f"Use labels that a deployment has: {'; '.join(labels)}{more}"


def _without_endpoints(
    key: str, service: ModelService, *, near: list[Endpoint], clusters: list[str]
) -> Iterator[Problem]:
    """Yield a problem for a service without a route, or for selectors that lack an endpoint on a cluster."""
    if not clusters:
        yield Problem(
            f"service {key} has no endpoint on any cluster, so it gets no route",
            "Place replicas of a deployment that it selects, or remove the service",
            kind="ModelService",
            key=key,
            severity="warning",
        )
        return
    for index, entry in enumerate(service.spec.endpoints):
        reached = {endpoint.cluster for endpoint in near if entry.selector.matches(endpoint.labels)}
        missing = [cluster for cluster in clusters if cluster not in reached]
        if missing:
            on = f"on cluster {', '.join(missing)}" if reached else "on any cluster"
            yield Problem(
                f"service {key} has no endpoint with {entry.selector or 'no labels'} {on}; "
                "its other endpoints get that share of the traffic",
                "Place replicas there if the service should reach them",
                f"spec.endpoints[{index}].selector",
                kind="ModelService",
                key=key,
                severity="warning",
            )


def _too_many(route: ServiceRoute) -> Iterator[Problem]:
    """Yield an error for a route that Kubernetes would refuse. On a lost cluster nothing is written."""
    count = len(route.backends)
    if count > BACKEND_LIMIT:
        yield Problem(
            f"service {route.service} selects {count} deployments with replicas on cluster {route.cluster}, "
            f"and its route there takes at most {BACKEND_LIMIT}",
            f"Select at least {count - BACKEND_LIMIT} fewer there, serve the same model by fewer deployments "
            "with more replicas, or write a second service for some of them",
            "spec.endpoints",
            kind="ModelService",
            key=route.service,
        )


def _route_without_endpoints(key: str, cluster: str) -> Problem:
    return Problem(
        f"cluster {cluster} is lost, and service {key} no longer selects the endpoints of its route there",
        "Restore the selectors until the cluster is reachable again, or set the cluster to state: abandoned",
        "spec.endpoints",
        kind="ModelService",
        key=key,
    )


def _text(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"
