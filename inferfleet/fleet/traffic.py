"""Which requests go where: endpoints of deployments, routes of services, and the requests that each route
takes.

A deployment has one *endpoint* on each cluster where it has replicas. A service selects endpoints by labels;
on each cluster where it finds any it has a route, and shares its traffic among them by the weights of its
entries and by their numbers of replicas. A cluster's gateway leads nowhere but to its own cluster.

By default an engine's paths are behind a prefix, `/ml/chat/v1`, of which the gateway leaves `/v1`. Something
of a path always remains: GKE's reports of conformance list HTTPRoutePathRewrite as unsupported, whose test
rewrites `/strip-prefix` to `/`, and other gateways have made `//v1` of that.
https://github.com/kubernetes-sigs/gateway-api/blob/main/conformance/reports/v1.6/gke-gateway/v1.6.0-gke-report.yaml
(2026-07-23), conformance/tests/httproute-rewrite-path.yaml there,
https://github.com/envoyproxy/gateway/issues/3807
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TypeVar

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import LabelSelector
from inferfleet.documents.kinds.inference_cluster import UNTIL, State
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import PATH_LIMIT, ModelService, RouteForm
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.documents.work import spend
from inferfleet.fleet import names
from inferfleet.fleet.adapters import adapter_names
from inferfleet.fleet.decisions import Backend, Endpoint, ExposedPath, Placement, ServiceRoute
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import served_names
from inferfleet.tables.engines import engine

# Largest weight of a backend in Gateway API.
WEIGHT_LIMIT = 1_000_000
# Most backends of a rule in the CRD of HTTPRoute. A second rule or route with the same match would not share
# the traffic: the first that matches takes all of it. So a service cannot be split over several.
BACKEND_LIMIT = 16
# The time limit of requests in routes. Envoy Gateway ends requests after 15 s and the charts after 5 minutes;
# long generations stream for longer.
REQUEST_SECONDS = 3600
# Units for a selector on one endpoint, and for an endpoint behind a service.
_EACH_SELECTOR, _EACH_ENDPOINT = 4, 20
# Deployments whose labels are told where a selector matches none.
_NAMED = 8
# Where SGLang loads adapters for everybody (python/sglang/srt/entrypoints/http_server.py of 0.5.23).
SGLANG_LOADS = "/load_lora_adapter"


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


def everywhere(documents: Documents, deployments: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Return the endpoints of deployments that may have a replica on any cluster."""
    return tuple(
        Endpoint(deployment, cluster, 1, _labels(documents, deployment, cluster))
        for deployment in deployments
        for cluster in documents.clusters
    )


def _labels(documents: Documents, deployment: str, cluster: str) -> dict[str, str]:
    return {
        **documents.clusters[cluster].metadata.labels,
        **documents.deployments[deployment].metadata.labels,
        **names.endpoint_labels(deployment, cluster),
    }


class EndpointIndex:
    """Finds what selectors of services match, by indexes of labels, each selector once: endpoints, and
    deployments by documents alone.
    """

    def __init__(self, documents: Documents, endpoints: tuple[Endpoint, ...]) -> None:
        self._documents = documents
        self._near: dict[str, list[Endpoint]] = {}
        self._labelled: dict[tuple[str, str, str], list[Endpoint]] = {}
        self._found: dict[tuple[str, str], list[Endpoint]] = {}
        for endpoint in endpoints:
            namespace = endpoint.deployment.partition("/")[0]
            self._near.setdefault(namespace, []).append(endpoint)
            for key, value in endpoint.labels.items():
                self._labelled.setdefault((namespace, key, value), []).append(endpoint)
        self._selectable: dict[tuple[str, str], tuple[str, ...]] = {}
        self._deployments: dict[str, list[str]] = {}
        self._deployments_labelled: dict[tuple[str, str, str], list[str]] = {}
        for key, document in sorted(documents.deployments.items()):
            namespace = document.metadata.namespace
            self._deployments.setdefault(namespace, []).append(key)
            of_endpoints = names.endpoint_labels(key, "")
            for label in {**document.metadata.labels, **of_endpoints}.items():
                self._deployments_labelled.setdefault((namespace, *label), []).append(key)
        of_clusters = (cluster.metadata.labels for cluster in documents.clusters.values())
        self._of_clusters = {names.CLUSTER}.union(*of_clusters)

    def of(self, namespace: str, selector: LabelSelector) -> list[Endpoint]:
        """Return the endpoints of a namespace that a selector matches, in their order."""
        query = namespace, selector.model_dump_json()
        if query not in self._found:
            labelled = [
                self._labelled.get((namespace, key, value), [])
                for key, value in selector.match_labels.items()
            ]
            tried = min(labelled or [self._near.get(namespace, [])], key=len)
            spend(_EACH_SELECTOR * (1 + len(tried)), "matching endpoints")
            self._found[query] = [endpoint for endpoint in tried if selector.matches(endpoint.labels)]
        return self._found[query]

    def selectable(self, namespace: str, selector: LabelSelector) -> tuple[str, ...]:
        """Return the deployments of a namespace that a selector matches on a cluster where they may run, with
        replicas there or without.
        """
        query = namespace, selector.model_dump_json()
        if query not in self._selectable:
            labelled = [
                self._deployments_labelled.get((namespace, key, value), [])
                for key, value in selector.match_labels.items()
                if key not in self._of_clusters
            ]
            tried = min(labelled or [self._deployments.get(namespace, [])], key=len)
            alike = self._alike_clusters(selector)
            spend(_EACH_SELECTOR * (1 + len(tried)) * (1 + len(alike)), "matching endpoints")
            self._selectable[query] = tuple(key for key in tried if self._is_selectable(key, selector, alike))
        return self._selectable[query]

    def _alike_clusters(self, selector: LabelSelector) -> list[list[str]]:
        """Return the clusters, those together that are alike in all labels that a selector names."""
        keys = {*selector.match_labels, *(condition.key for condition in selector.match_expressions)}
        named = keys & self._of_clusters
        alike: dict[tuple[str | None, ...], list[str]] = {}
        for name, cluster in self._documents.clusters.items():
            labels = {**cluster.metadata.labels, names.CLUSTER: name}
            alike.setdefault(tuple(labels.get(key) for key in named), []).append(name)
        return list(alike.values())

    def _is_selectable(self, deployment: str, selector: LabelSelector, alike: list[list[str]]) -> bool:
        clusters = self._documents.clusters
        may_run = self._documents.deployments[deployment].spec.cluster_selector
        return any(
            selector.matches(_labels(self._documents, deployment, group[0]))
            and any(may_run.matches(clusters[name].metadata.labels) for name in group)
            for group in alike
        )


def routes(documents: Documents, selected: EndpointIndex, lock: Lock) -> tuple[ServiceRoute, ...]:
    """Return the route of each service on each cluster with an endpoint of it, by service and cluster.

    A cluster that is paused or lost has exactly the services that the lock has there. Of a service behind a
    front door each route has those shares of the service's traffic that its endpoints have in all.
    """
    all_routes: list[ServiceRoute] = []
    for key, service in sorted(documents.services.items()):
        locked = lock.services.get(key, ())
        in_all = shares_in_all(documents, service, selected) if service.spec.gateways else {}
        for cluster, entries in sorted(_by_cluster(service, selected).items()):
            if not documents.clusters[cluster].spec.held or cluster in locked:
                root = service.spec.route.path == "/"
                backends = _backends(entries, in_all.get(cluster))
                all_routes.append(ServiceRoute(key, cluster, backends, root=root))
    return tuple(all_routes)


def shares_in_all(
    documents: Documents, service: ModelService, selected: EndpointIndex, *, regional: bool | None = None
) -> dict[str, dict[str, int]]:
    """Return the shares of a service's traffic that its deployments have on each cluster, by cluster.

    They are relative to each other within a region, and with `prefer: Weight` (or not `regional`) on all
    clusters. Those that are lost get nothing.
    """
    if regional is None:
        regional = service.spec.prefer == "SameRegion"
    regions: dict[str | None, list[tuple[int, dict[tuple[str, str], int]]]] = {}
    for entry in service.spec.endpoints:
        of_entry: dict[str | None, dict[tuple[str, str], int]] = {}
        for endpoint in selected.of(service.metadata.namespace, entry.selector):
            cluster = documents.clusters[endpoint.cluster]
            if cluster.spec.state != "lost":
                region = cluster.region if regional else None
                spot = endpoint.cluster, endpoint.deployment
                of_entry.setdefault(region, {})[spot] = endpoint.replicas
        for region, replicas in of_entry.items():
            regions.setdefault(region, []).append((entry.weight, replicas))
    by_cluster: dict[str, dict[str, int]] = {}
    for entries in regions.values():
        for (name, deployment), weight in shares(entries).items():
            by_cluster.setdefault(name, {})[deployment] = weight
    return by_cluster


def _by_cluster(
    service: ModelService, selected: EndpointIndex
) -> dict[str, list[tuple[int, list[Endpoint]]]]:
    """Return the endpoints of each entry of a service with its weight, by cluster."""
    by_cluster: dict[str, list[tuple[int, list[Endpoint]]]] = {}
    for entry in service.spec.endpoints:
        of_entry: dict[str, list[Endpoint]] = {}
        for endpoint in selected.of(service.metadata.namespace, entry.selector):
            of_entry.setdefault(endpoint.cluster, []).append(endpoint)
        for cluster, matched in of_entry.items():
            spend(_EACH_ENDPOINT * len(matched), "sharing traffic")
            by_cluster.setdefault(cluster, []).append((entry.weight, matched))
    return by_cluster


def _backends(
    entries: list[tuple[int, list[Endpoint]]], in_all: Mapping[str, int] | None
) -> tuple[Backend, ...]:
    """Return the backends of a service on one cluster, of entries with at least one endpoint each, by their
    shares of all of its traffic where these are known.
    """
    revisions = {endpoint.deployment: endpoint.revision for _, matched in entries for endpoint in matched}
    if in_all is not None:
        divisor = gcd(*in_all.values())
        return tuple(
            Backend(name, weight // divisor, revisions[name]) for name, weight in sorted(in_all.items())
        )
    weights = shares(
        [
            (weight, {endpoint.deployment: endpoint.replicas for endpoint in matched})
            for weight, matched in entries
        ]
    )
    return tuple(Backend(name, weight, revisions[name]) for name, weight in weights.items())


_Sharing = TypeVar("_Sharing", str, tuple[str, str])


def shares(entries: Sequence[tuple[int, Mapping[_Sharing, int]]]) -> dict[_Sharing, int]:
    """Return integer weights by deployment: the weight of each entry, split over its deployments by replicas.

    They are exact, unless one would exceed the limit: then they are the nearest millionths, none below 1.
    """
    exact: dict[_Sharing, Fraction] = {}
    for weight, replicas in entries:
        for deployment, number in replicas.items():
            share = Fraction(weight * number, sum(replicas.values()))
            exact[deployment] = exact.get(deployment, Fraction(0)) + share
    scale = lcm(*(share.denominator for share in exact.values()))
    whole = {deployment: int(share * scale) for deployment, share in exact.items()}
    divisor = gcd(*whole.values())
    reduced = {deployment: weight // divisor for deployment, weight in sorted(whole.items())}
    return reduced if max(reduced.values()) <= WEIGHT_LIMIT else _largest_remainder(reduced)


def _largest_remainder(weights: Mapping[_Sharing, int]) -> dict[_Sharing, int]:
    total = sum(weights.values())
    whole = {name: weight * WEIGHT_LIMIT // total for name, weight in weights.items()}
    missing = WEIGHT_LIMIT - sum(whole.values())
    by_remainder = sorted(weights, key=lambda name: (-(weights[name] * WEIGHT_LIMIT % total), name))
    for name in by_remainder[:missing]:
        whole[name] += 1
    return {name: max(1, weight) for name, weight in whole.items()}


def route_problems(
    documents: Documents, selected: EndpointIndex, routes: tuple[ServiceRoute, ...], lock: Lock
) -> Iterator[Problem]:
    """Yield errors (a selector that can match nothing, a route with too many backends) and warnings (a
    selector that matches nothing yet).
    """
    by_service: dict[str, list[ServiceRoute]] = {}
    for route in routes:
        by_service.setdefault(route.service, []).append(route)
    for key, service in sorted(documents.services.items()):
        of_service = by_service.get(key, [])
        clusters = [route.cluster for route in of_service]
        for cluster in sorted(lock.services.get(key, ())):
            document = documents.clusters.get(cluster)
            if document and document.spec.held and cluster not in clusters:
                yield _route_without_endpoints(key, cluster, document.spec.state)
        for route in of_service:
            if not documents.clusters[route.cluster].spec.held:
                yield from _backend_count_problems(route)
        yield from _unmatched_selector_problems(documents, service, selected)
        yield from _served_name_problems(documents, service, selected)
        yield from _adapter_name_problems(documents, service, selected)
        yield from _missing_endpoint_problems(service, selected, clusters=clusters)


def _route_without_endpoints(key: str, cluster: str, state: State) -> Problem:
    return Problem(
        f"cluster {cluster} is {state}, and service {key} no longer selects the endpoints of its route there",
        f"Restore the selectors {UNTIL[state]}",
        "spec.endpoints",
        kind="ModelService",
        key=key,
    )


def _backend_count_problems(route: ServiceRoute) -> Iterator[Problem]:
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


def _unmatched_selector_problems(
    documents: Documents, service: ModelService, selected: EndpointIndex
) -> Iterator[Problem]:
    """Yield a problem for each selector that matches no endpoint, on whichever clusters replicas run."""
    namespace = service.metadata.namespace
    for index, entry in enumerate(service.spec.endpoints):
        if not documents.clusters or selected.of(namespace, entry.selector):
            continue
        if not selected.selectable(namespace, entry.selector):
            deployments = [name for name in sorted(documents.deployments) if name.startswith(f"{namespace}/")]
            labels = str(entry.selector) or "no labels"
            yield Problem(
                f"selector {labels} matches no deployment of namespace {namespace} where it may run",
                _labels_to_use(documents, deployments),
                f"spec.endpoints[{index}].selector",
                kind="ModelService",
                key=service.metadata.key,
            )


def _served_name_problems(
    documents: Documents, service: ModelService, selected: EndpointIndex
) -> Iterator[Problem]:
    """Yield an error for a service over deployments that share no served name: whichever one a request has,
    some of them do not know it.

    Only declared names count, also beside a command of a team's own, which is never read; and all deployments
    that are selected where they may run, because where replicas are today makes no document wrong.
    """
    namespace = service.metadata.namespace
    keys = {key for entry in service.spec.endpoints for key in selected.selectable(namespace, entry.selector)}
    names_by_key = {key: served_names(documents.deployments[key]) for key in sorted(keys)}
    if len(keys) < 2 or set.intersection(*map(set, names_by_key.values())):
        return
    each = [_served_as(documents, key, names) for key, names in list(names_by_key.items())[:_NAMED]]
    more = f"; and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
    yield Problem(
        f"service {service.metadata.key} is one address, where clients ask for one model, and the "
        f"deployments that it selects have no served name in common: {'; '.join(each)}{more}",
        "Declare one name for all of them in engine.servedNames, which restarts their pods, also those with "
        "a command of your own; or write a service for each",
        "spec.endpoints",
        kind="ModelService",
        key=service.metadata.key,
    )


def _adapter_name_problems(
    documents: Documents, service: ModelService, selected: EndpointIndex
) -> Iterator[Problem]:
    """Yield a warning for names of adapters that some deployments of a service serve and others do not: by
    its path a request for one goes to any of them.
    """
    namespace = service.metadata.namespace
    keys = {key for entry in service.spec.endpoints for key in selected.selectable(namespace, entry.selector)}
    by_key = {key: set(adapter_names(documents.deployments[key])) for key in sorted(keys)}
    for key, of_deployment in by_key.items():
        lacking = [other for other, theirs in by_key.items() if not of_deployment <= theirs]
        if lacking:
            line = documents.where("ModelDeployment", key, "spec.engine.adapters")
            missing = sorted(of_deployment.difference(*(by_key[other] for other in lacking[:1])))
            yield Problem(
                f"{key} serves {listing(missing, _NAMED)}{f' ({line})' if line else ''}, and {lacking[0]} "
                f"does not: service {service.metadata.key} sends requests to both, and one of them answers "
                "404",
                "List the adapters in both, or write a service of its own",
                "spec.endpoints",
                kind="ModelService",
                key=service.metadata.key,
                severity="warning",
            )
            return


def _served_as(documents: Documents, key: str, names: tuple[str, ...]) -> str:
    """Return a deployment with the line that declares its served names, and what they are."""
    path = "servedNames" if documents.deployments[key].spec.engine.served_names else "model"
    line = documents.where("ModelDeployment", key, f"spec.engine.{path}" if names else "spec.engine")
    who = f"{key} ({line})" if line else key
    return f"{who} has {listing(names)}" if names else f"{who} declares none"


def _labels_to_use(documents: Documents, deployments: list[str]) -> str:
    if not deployments:
        return "Write a ModelDeployment with these labels there"
    labels = [
        f"{name} has {_text(documents.deployments[name].metadata.labels)}" for name in deployments[:_NAMED]
    ]
    rest = f"; and {len(deployments) - _NAMED:,} more" if len(deployments) > _NAMED else ""
    return f"Use labels that a deployment has: {'; '.join(labels)}{rest}"


def _text(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"


def _missing_endpoint_problems(
    service: ModelService, selected: EndpointIndex, *, clusters: list[str]
) -> Iterator[Problem]:
    """Yield a problem for a service without a route, or for selectors that lack an endpoint on a cluster."""
    key = service.metadata.key
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
        reached = {endpoint.cluster for endpoint in selected.of(service.metadata.namespace, entry.selector)}
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


# The requests that routes take, and where two routes of a cluster take the same.


@dataclass(frozen=True)
class Requests:
    """The requests of a route: an engine's paths behind a prefix, `""` where none is cut off.

    Without host names all are taken; headers are there with exactly these values.
    """

    prefix: str
    paths: tuple[str, ...]
    hostnames: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def of_deployment(deployment: ModelDeployment) -> Requests:
    """Return the requests of a deployment's own route."""
    form = deployment.spec.route
    return _requests(form, names.deployment_path(deployment.metadata.key), _paths(deployment))


def of_service(documents: Documents, route: ServiceRoute) -> Requests:
    """Return the requests of a service on a cluster; its paths are, by default, those of all its engines."""
    form = documents.services[route.service].spec.route
    behind = (documents.deployments[backend.deployment] for backend in route.backends)
    paths = (path for deployment in behind for path in _paths(deployment))
    return _requests(form, names.service_path(route.service), tuple(sorted(set(paths))))


def exposed_paths(
    documents: Documents, endpoints: Iterable[Endpoint], services: Iterable[ServiceRoute]
) -> dict[tuple[str, str], tuple[ExposedPath, ...]]:
    """Return the paths of engines under which requests reach each endpoint, by deployment and cluster: those
    of its own route, and of the services there that lead to it.

    A path that several routes expose is that of the deployment, or else of the first service.
    """
    found: dict[tuple[str, str], dict[str, ExposedPath]] = {}
    for endpoint in endpoints:
        key = endpoint.deployment
        deployment = documents.deployments[key]
        paths = of_deployment(deployment).paths if deployment.spec.route.enabled else ()
        found[key, endpoint.cluster] = {
            path: ExposedPath(path, "ModelDeployment", key, "spec.route.paths") for path in paths
        }
    for route in services:
        # By default a service has the paths of all deployments that it selects.
        form = documents.services[route.service].spec.route
        field = "spec.route.paths" if form.paths else "spec.endpoints"
        for path in of_service(documents, route).paths:
            exposed = ExposedPath(path, "ModelService", route.service, field)
            for backend in route.backends:
                found[backend.deployment, route.cluster].setdefault(path, exposed)
    return {key: tuple(sorted(by_path.values())) for key, by_path in found.items()}


def exposed_loading_problems(
    documents: Documents, endpoints: Iterable[Endpoint], services: Iterable[ServiceRoute]
) -> Iterator[Problem]:
    """Yield a warning for each route by which anybody has SGLang load adapters. vLLM refuses it to all but
    its own pod.
    """
    reported: set[ExposedPath] = set()
    for (key, _), paths in sorted(exposed_paths(documents, endpoints, services).items()):
        engine_ = documents.deployments[key].spec.engine
        for exposed in paths if engine_.type == "SGLang" and engine_.adapters else ():
            loads = exposed.path == "/" or exposed.path.startswith(SGLANG_LOADS)
            if loads and exposed not in reported:
                reported.add(exposed)
                yield Problem(
                    f"{exposed.key} exposes {exposed.path} of SGLang engines with adapters, by which whoever "
                    f"reaches the gateway has {key} load adapters of any folder ({SGLANG_LOADS})",
                    "List the paths that clients use, such as /v1",
                    exposed.field,
                    kind=exposed.kind,
                    key=exposed.key,
                    severity="warning",
                )


def _requests(form: RouteForm, prefix: str, engine_paths: tuple[str, ...]) -> Requests:
    cut = "" if form.path else prefix.rstrip("/")
    # Deployments may have `/` where they cut nothing off; behind a prefix it would be an empty rest.
    paths = form.paths or tuple(path for path in engine_paths if form.path or path != "/")
    return Requests(cut, paths or ("/v1",), form.hostnames, tuple(sorted(form.headers.items())))


def _paths(deployment: ModelDeployment) -> tuple[str, ...]:
    return deployment.spec.route.paths or engine(deployment.spec.engine.type).paths


@dataclass(frozen=True)
class _Taker:
    kind: str
    key: str
    requests: Requests

    def __str__(self) -> str:
        return f"{'service' if self.kind == 'ModelService' else 'deployment'} {self.key}"


def path_problems(
    documents: Documents, endpoints: Iterable[Endpoint], services: Iterable[ServiceRoute]
) -> Iterator[Problem]:
    """Yield errors: too many paths, and requests that two routes of a cluster take."""
    takers: dict[str, list[_Taker]] = {}
    for endpoint in endpoints:
        deployment = documents.deployments[endpoint.deployment]
        if deployment.spec.route.enabled:
            taker = _Taker("ModelDeployment", endpoint.deployment, of_deployment(deployment))
            takers.setdefault(endpoint.cluster, []).append(taker)
    for route in services:
        taker = _Taker("ModelService", route.service, of_service(documents, route))
        takers.setdefault(route.cluster, []).append(taker)
    reported: set[tuple[str, str, str]] = set()
    for cluster, on_cluster in sorted(takers.items()):
        for taker in on_cluster:
            if len(taker.requests.paths) > PATH_LIMIT:
                yield _too_many_paths(taker, cluster)
        yield from _clash_problems(documents, on_cluster, cluster, reported)


def _too_many_paths(taker: _Taker, cluster: str) -> Problem:
    return Problem(
        f"{taker} has {len(taker.requests.paths)} paths of engines on cluster {cluster}, "
        f"and a route takes at most {PATH_LIMIT}",
        "List those that clients use",
        "spec.route.paths",
        kind=taker.kind,
        key=taker.key,
    )


def _clash_problems(
    documents: Documents, takers: list[_Taker], cluster: str, reported: set[tuple[str, str, str]]
) -> Iterator[Problem]:
    """Yield an error at each one on a cluster that takes requests of others, with the first of these.

    They are found by their requests, so that those which share none are not compared.
    """
    by_request: dict[tuple[object, ...], list[int]] = {}
    for index, taker in enumerate(takers):
        for request in _each(taker.requests):
            by_request.setdefault(request, []).append(index)
    first: dict[int, int] = {}
    for alike in by_request.values():
        spend(len(alike), "comparing paths")
        for index in alike if len(alike) > 1 else ():
            position = alike[alike[0] == index]
            first[index] = min(position, first.get(index, position))
    for index, position in sorted(first.items()):
        taker, first_taker = takers[index], takers[position]
        clash = (taker.kind, taker.key, first_taker.key)
        if clash not in reported:
            reported.add(clash)
            yield _taken_twice(
                documents, taker, first_taker, _same(taker.requests, first_taker.requests), cluster
            )


def _each(requests: Requests) -> Iterator[tuple[object, ...]]:
    """Yield each request that a route takes, as a gateway tells them apart: path, host and headers."""
    headers = frozenset((name.lower(), value) for name, value in requests.headers)
    for host in {host.lower() for host in requests.hostnames or ("",)}:
        for path in set(requests.paths):
            yield f"{requests.prefix}{path}", host, headers


def _same(requests: Requests, other_requests: Requests) -> str:
    """Return the first request that both take, in words."""
    path, host, _ = min(
        {*_each(requests)} & {*_each(other_requests)}, key=lambda request: (str(request[1]), str(request[0]))
    )
    headers = "".join(f" with {name}: {value}" for name, value in requests.headers)
    return f"{path}{f' for host {host}' if host else ''}{headers}"


def _taken_twice(
    documents: Documents, taker: _Taker, first_taker: _Taker, same: str, cluster: str
) -> Problem:
    first_line = documents.where(first_taker.kind, first_taker.key, "spec.route")
    return Problem(
        f"{taker} takes requests to {same} on cluster {cluster}, and so does {first_taker}"
        f"{f' ({first_line})' if first_line else ''}: its gateway would send all of them to one of the two",
        "Give one of them another host name, header or path",
        "spec.route",
        kind=taker.kind,
        key=taker.key,
    )
