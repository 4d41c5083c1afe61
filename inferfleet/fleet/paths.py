"""Which requests the routes of deployments and services take, and where two take the same.

By default an engine's paths are behind a prefix, `/ml/chat/v1`, of which the gateway leaves `/v1`. Something
of a path always remains: GKE's reports of conformance list HTTPRoutePathRewrite as unsupported, whose test
rewrites `/strip-prefix` to `/`, and other gateways have made `//v1` of that.
https://github.com/kubernetes-sigs/gateway-api/blob/main/conformance/reports/v1.6/gke-gateway/v1.6.0-gke-report.yaml
(2026-07-23), conformance/tests/httproute-rewrite-path.yaml there, https://github.com/envoyproxy/gateway/issues/3807
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.serving.gateway import Gateway
from inferfleet.documents.kinds.serving.route import PATH_LIMIT, RouteForm
from inferfleet.documents.problems import Problem
from inferfleet.documents.work import take
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, ServiceRoute
from inferfleet.tables.engines import engine


@dataclass(frozen=True)
class Requests:
    """The requests of a route: an engine's paths behind a prefix, `""` where none is cut off.

    Without host names all are taken; headers are there with exactly these values.
    """

    prefix: str
    paths: tuple[str, ...]
    hostnames: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def of_deployment(deployment: ModelDeployment, gateway: Gateway) -> Requests:
    """Return the requests of a deployment's own route through a cluster's gateway."""
    form = deployment.spec.route
    return _requests(form, names.deployment_path(deployment.metadata.key), _paths(deployment), gateway)


def of_service(documents: Documents, route: ServiceRoute) -> Requests:
    """Return the requests of a service on a cluster; its paths are, by default, those of all its engines."""
    form = documents.services[route.service].spec.route
    behind = (documents.deployments[backend.deployment] for backend in route.backends)
    theirs = (path for deployment in behind for path in _paths(deployment))
    gateway = documents.clusters[route.cluster].spec.serving.gateway
    return _requests(form, names.service_path(route.service), tuple(sorted(set(theirs))), gateway)


def _requests(form: RouteForm, prefix: str, theirs: tuple[str, ...], gateway: Gateway) -> Requests:
    headers = sorted(form.headers.items())
    if form.model and gateway.model_header:
        headers.append((gateway.model_header, form.model))
    cut = "" if form.path else prefix.rstrip("/")
    # Deployments may have `/` where they cut nothing off; behind a prefix it would be an empty rest.
    paths = form.paths or tuple(path for path in theirs if form.path or path != "/")
    return Requests(cut, paths or ("/v1",), form.hostnames, tuple(headers))


def _paths(deployment: ModelDeployment) -> tuple[str, ...]:
    return deployment.spec.route.paths or engine(deployment.spec.engine.type).paths


@dataclass(frozen=True)
class _Taker:
    kind: str
    key: str
    form: RouteForm
    requests: Requests

    def __str__(self) -> str:
        return f"{'service' if self.kind == 'ModelService' else 'deployment'} {self.key}"


def path_problems(
    documents: Documents, endpoints: Iterable[Endpoint], services: Iterable[ServiceRoute]
) -> Iterator[Problem]:
    """Yield errors: routes by model where a gateway cannot read it, too many paths, and equal requests."""
    takers: dict[str, list[_Taker]] = {}
    for endpoint in endpoints:
        deployment = documents.deployments[endpoint.deployment]
        if deployment.spec.route.enabled:
            requests = of_deployment(deployment, documents.clusters[endpoint.cluster].spec.serving.gateway)
            taker = _Taker("ModelDeployment", endpoint.deployment, deployment.spec.route, requests)
            takers.setdefault(endpoint.cluster, []).append(taker)
    for route in services:
        form = documents.services[route.service].spec.route
        taker = _Taker("ModelService", route.service, form, of_service(documents, route))
        takers.setdefault(route.cluster, []).append(taker)
    told: set[tuple[str, str, str]] = set()
    for cluster, there in sorted(takers.items()):
        reads = documents.clusters[cluster].spec.serving.gateway.model_header
        for taker in there:
            if taker.form.model and not reads:
                yield _unread(documents, taker, cluster)
            if len(taker.requests.paths) > PATH_LIMIT:
                yield _too_many(taker, cluster)
        yield from _clashes(documents, there, cluster, told)


def _clashes(
    documents: Documents, takers: list[_Taker], cluster: str, told: set[tuple[str, str, str]]
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
        take(len(alike), "comparing paths")
        for index in alike if len(alike) > 1 else ():
            position = alike[alike[0] == index]
            first[index] = min(position, first.get(index, position))
    for index, position in sorted(first.items()):
        taker, other = takers[index], takers[position]
        clash = (taker.kind, taker.key, other.key)
        if clash not in told:
            told.add(clash)
            yield _taken(documents, taker, other, _same(taker.requests, other.requests), cluster)


def _each(requests: Requests) -> Iterator[tuple[object, ...]]:
    """Yield what a gateway tells requests apart by: path, host and headers."""
    headers = frozenset((name.lower(), value) for name, value in requests.headers)
    for host in {host.lower() for host in requests.hostnames or ("",)}:
        for path in set(requests.paths):
            yield f"{requests.prefix}{path}", host, headers


def _same(one: Requests, other: Requests) -> str:
    """Return the first request that both take, in words."""
    path, host, _ = min(
        {*_each(one)} & {*_each(other)}, key=lambda request: (str(request[1]), str(request[0]))
    )
    headers = "".join(f" with {name}: {value}" for name, value in one.headers)
    return f"{path}{f' for host {host}' if host else ''}{headers}"


def _taken(documents: Documents, taker: _Taker, other: _Taker, same: str, cluster: str) -> Problem:
    where = documents.where(other.kind, other.key, "spec.route")
    return Problem(
        f"{taker} takes requests to {same} on cluster {cluster}, and so does {other}"
        f"{f' ({where})' if where else ''}: its gateway would send all of them to one of the two",
        "Give one of them another host name, header or path",
        "spec.route",
        kind=taker.kind,
        key=taker.key,
    )


def _unread(documents: Documents, taker: _Taker, cluster: str) -> Problem:
    where = documents.where("InferenceCluster", cluster, "spec.serving.gateway")
    return Problem(
        f"{taker} is reached by the model {taker.form.model} that requests name, and the gateway of cluster "
        f"{cluster}{f' ({where})' if where else ''} has no modelHeader, so nothing there reads it",
        "Write the header that the gateway's payload processor sets as serving.gateway.modelHeader, or use "
        "headers or hostnames",
        "spec.route.model",
        kind=taker.kind,
        key=taker.key,
    )


def _too_many(taker: _Taker, cluster: str) -> Problem:
    return Problem(
        f"{taker} has {len(taker.requests.paths)} paths of engines on cluster {cluster}, "
        f"and a route takes at most {PATH_LIMIT}",
        "List those that clients use",
        "spec.route.paths",
        kind=taker.kind,
        key=taker.key,
    )
