"""Endpoints of deployments, and how services share their traffic between them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.model_service import ModelService
from inferfleet.api.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Backend, Endpoint, Placement, ServiceRoute
from inferfleet.fleet.lock.lock import Lock

# Largest weight of a backend in Gateway API.
WEIGHT_LIMIT = 1_000_000


def endpoints(documents: Documents, placements: tuple[Placement, ...]) -> tuple[Endpoint, ...]:
    """One for each deployment and cluster with replicas."""
    replicas: Counter[tuple[str, str]] = Counter()
    for one in placements:
        replicas[one.spot.deployment, one.spot.cluster] += one.replicas
    return tuple(
        Endpoint(deployment, cluster, number, _labels(documents, deployment, cluster))
        for (deployment, cluster), number in sorted(replicas.items())
        if number
    )


def routes(documents: Documents, endpoints: tuple[Endpoint, ...], lock: Lock) -> tuple[ServiceRoute, ...]:
    """The route of every service on every cluster that has one, by service and cluster.

    A lost cluster has exactly the services that the lock has there.
    """
    made: list[ServiceRoute] = []
    for key, service in sorted(documents.services.items()):
        near = _near(service, endpoints)
        for cluster, document in sorted(documents.clusters.items()):
            backends = _backends(service, [one for one in near if one.cluster == cluster])
            if backends and (document.spec.state != "lost" or cluster in lock.services.get(key, ())):
                made.append(ServiceRoute(key, cluster, backends))
    return tuple(made)


def misrouted(
    documents: Documents, endpoints: tuple[Endpoint, ...], routes: tuple[ServiceRoute, ...], lock: Lock
) -> Iterator[Problem]:
    """Errors (a selector that matches nothing, a lost route) and warnings (no endpoints just now)."""
    for key, service in sorted(documents.services.items()):
        clusters = [route.cluster for route in routes if route.service == key]
        for cluster, document in sorted(documents.clusters.items()):
            locked = cluster in lock.services.get(key, ())
            if locked and document.spec.state == "lost" and cluster not in clusters:
                yield _unroutable(key, cluster)
        yield from _dangling(documents, key)
        yield from _dropped(key, service, near=_near(service, endpoints), clusters=clusters)


def _near(service: ModelService, endpoints: tuple[Endpoint, ...]) -> list[Endpoint]:
    """The endpoints of the service's namespace."""
    return [one for one in endpoints if one.deployment.startswith(f"{service.metadata.namespace}/")]


def shares(entries: Sequence[tuple[int, Mapping[str, int]]]) -> dict[str, int]:
    """Integer weights by deployment: each entry's weight, split over its deployments by their replicas.

    Exact, unless a weight would pass the limit: then the nearest whole parts of a million, none below 1.
    """
    exact: dict[str, Fraction] = {}
    for weight, replicas in entries:
        for deployment, number in replicas.items():
            share = Fraction(weight * number, sum(replicas.values()))
            exact[deployment] = exact.get(deployment, Fraction(0)) + share
    scale = lcm(*(one.denominator for one in exact.values()))
    whole = {deployment: int(one * scale) for deployment, one in exact.items()}
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
            {one.deployment: one.replicas for one in endpoints if entry.selector.matches(one.labels)},
        )
        for entry in service.spec.endpoints
    ]
    matched = [(weight, replicas) for weight, replicas in entries if replicas]
    return tuple(Backend(name, weight) for name, weight in shares(matched).items()) if matched else ()


def _dangling(documents: Documents, key: str) -> Iterator[Problem]:
    """Selectors that could match no endpoint, wherever the replicas were."""
    service = documents.services[key]
    namespace = service.metadata.namespace
    near = [one for one in sorted(documents.deployments) if one.startswith(f"{namespace}/")]
    possible = [_labels(documents, one, cluster) for one in near for cluster in documents.clusters]
    for index, entry in enumerate(service.spec.endpoints):
        if documents.clusters and not any(entry.selector.matches(labels) for labels in possible):
            what = f"selector {_said(entry.selector.match_labels)} matches no deployment of namespace"
            yield Problem(
                f"{what} {namespace}",
                _carried(documents, near),
                f"spec.endpoints[{index}].selector",
                kind="ModelService",
                key=key,
            )


def _carried(documents: Documents, near: list[str]) -> str:
    if not near:
        return "Write a ModelDeployment with these labels there"
    labels = {one: _said(documents.deployments[one].metadata.labels) for one in near}
    return f"Use labels that one carries: {'; '.join(f'{one}: {said}' for one, said in labels.items())}"


def _dropped(
    key: str, service: ModelService, *, near: list[Endpoint], clusters: list[str]
) -> Iterator[Problem]:
    if not clusters:
        yield Problem(
            f"service {key} has no endpoint on any cluster, so no route is made for it",
            "Place replicas of a deployment that it selects",
            kind="ModelService",
            key=key,
            severity="warning",
        )
        return
    for index, entry in enumerate(service.spec.endpoints):
        reached = {one.cluster for one in near if entry.selector.matches(one.labels)}
        missing = [cluster for cluster in clusters if cluster not in reached]
        if missing:
            on = f"on cluster {', '.join(missing)}" if reached else "on any cluster"
            yield Problem(
                f"service {key} has no endpoint of {_said(entry.selector.match_labels)} {on}; "
                "its weight goes to the others there",
                "Place replicas there if the service should reach them",
                f"spec.endpoints[{index}].selector",
                kind="ModelService",
                key=key,
                severity="warning",
            )


def _unroutable(key: str, cluster: str) -> Problem:
    return Problem(
        f"cluster {cluster} is lost, and service {key} no longer selects the endpoints of its route there",
        "Keep the selectors until the cluster is back, or set its state: abandoned",
        "spec.endpoints",
        kind="ModelService",
        key=key,
    )


def _said(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"
