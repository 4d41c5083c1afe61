"""Endpoints of deployments and routes of services on one cluster: pickers, InferencePools, HTTPRoutes.

What serves a deployment there is a set: its InferencePool, its picker and its workloads. With another
revision all of them have other names, so Pulumi makes the new set, then changes the routes that lead to it,
and deletes the old set last: its workloads first, and once their pods have ended picker and pool, through
which the requests in hand go. Another edition of a picker is a new InferencePool and picker for the same
workloads, in the same order; the old picker's pods have ended before what leads to them goes.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.gke.settings.ranges import Ranges
from inferfleet.desired.clusters import Site
from inferfleet.desired.pods import Pods, drain_seconds
from inferfleet.desired.replicas import Replicas
from inferfleet.desired.serving import ServingStack, route_seconds
from inferfleet.desired.values import Component, DesiredCluster, KubeObject, Served
from inferfleet.documents.documents import Documents
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, ServiceRoute
from inferfleet.fleet.traffic import of_service
from inferfleet.serving import gateway, monitors, network_policy, workload
from inferfleet.serving.picker import objects as endpoint_picker
from inferfleet.serving.routes import deployment_route, service_route
from inferfleet.serving.workload import role_service
from inferfleet.tables.pickers import Profile

# A picker starts in seconds; what takes longer is an image that cannot be pulled or a flag it refuses.
PICKER_SECONDS = 180


@dataclass(frozen=True)
class ModelEndpoint:
    """The component of a deployment's endpoint on one cluster, and which of its objects are which.

    `edition` is that of the picker, "" where it has none. `stands` are the keys of InferencePool and endpoint
    picker, `outlived` those of what workloads need until their last request is answered; `route` is None
    where it has none of its own.
    """

    deployment: str
    edition: str
    component: Component
    stands: tuple[str, ...]
    outlived: tuple[str, ...]
    route: KubeObject | None


def model_endpoint(
    documents: Documents,
    endpoint: Endpoint,
    *,
    site: Site,
    profile: Profile,
    shared: ServingStack,
    pods: Iterable[Pods],
) -> ModelEndpoint:
    """Return the objects of a deployment's endpoint on one cluster, where its engines have these pods.

    The picker's Deployment comes after all that it reads: it is not ready until its InferencePool exists. Its
    route comes after both, so that it never leads to a pool whose picker is not ready.
    """
    every = tuple(pods)
    drain = drain_seconds(every)
    deployment = documents.deployments[endpoint.deployment]
    stack = documents.settings.stack
    serving = documents.clusters[site.cluster].spec.serving
    space = shared.keys(deployment.metadata.namespace)
    revision = endpoint.revision
    unedited = endpoint_picker.Picker(
        deployment=deployment,
        serving=serving,
        profile=profile,
        stack=stack,
        replicas=endpoint.replicas,
        drain=drain,
        revision=revision,
    )
    edition = endpoint_picker.edition(unedited)
    named = names.revised(revision, edition)
    picker = endpoint_picker.objects(replace(unedited, revision=named))
    pool = endpoint_picker.inference_pool(
        deployment=deployment, profile=profile, stack=stack, revision=revision, edition=edition
    )
    placed_pool = site.place(pool, after=space)
    reads = [*(site.place(manifest, after=space) for manifest in picker.reads), placed_pool]
    extras = gateway.provider_objects(
        deployment=deployment, serving=serving, profile=profile, stack=stack, drain=drain, revision=named
    )
    policies = network_policy.policies(
        deployment=deployment,
        serving=serving,
        profile=profile,
        stack=stack,
        proxies=_proxies(documents, site),
        # Where pods of one engine talk to each other.
        joined=any(one.shape.pods > 1 for one in every),
        revision=revision,
        edition=edition,
    )
    services = (
        role_service(deployment=deployment, role=role, stack=stack) for role in sorted(deployment.spec.roles)
    )
    guards = [site.place(manifest, after=space) for manifest in policies]
    leads = [site.place(manifest, after=space) for manifest in (picker.service, *extras)]
    # What leads to its pods goes once they have ended, so it comes first.
    first = [*reads, *guards, *leads]
    after = (*space, *(made.key for made in first))
    chooses = site.place(picker.deployment, after=after, timeout=PICKER_SECONDS)
    chosen = [*first, chooses]
    stands = (placed_pool.key, chooses.key)
    watch = [
        *monitors.engine_monitors(
            deployment=deployment,
            monitoring=serving.monitoring,
            stack=stack,
        ),
        *monitors.picker_monitors(
            deployment=deployment, serving=serving, profile=profile, stack=stack, revision=named
        ),
    ]
    budgets = workload.disruption_budgets(
        deployment=deployment,
        stack=stack,
        replicas=endpoint.replicas,
        elsewhere={of_role.role for of_role in every if of_role.brings(workload.DISRUPTION_BUDGET)},
    )
    objects = [*chosen, *(site.place(manifest, after=space) for manifest in (*services, *watch, *budgets))]
    route = None
    if deployment.spec.route.enabled:
        manifest = deployment_route(
            deployment=deployment, gateway=serving.gateway, profile=profile, stack=stack, revision=named
        )
        route = _routed(site, manifest, shared, provider=serving.gateway.provider, after=stands)
        objects.append(route)
    name = names.endpoint_component(site.cluster, endpoint.deployment)
    return ModelEndpoint(
        endpoint.deployment,
        edition,
        Component("ModelEndpoint", name, tuple(objects)),
        stands,
        # Models need not wait for a picker to start, but where pods of another revision may stand beside.
        tuple(made.key for made in chosen) if revision else (placed_pool.key,),
        route,
    )


def model_service(
    documents: Documents,
    route: ServiceRoute,
    *,
    site: Site,
    profile: Profile,
    shared: ServingStack,
    endpoints: Iterable[ModelEndpoint],
) -> Component:
    """Return the HTTPRoute of a service on one cluster, which leads to some of the endpoints there."""
    there = {made.deployment: made for made in endpoints}
    backends = tuple(
        replace(backend, revision=names.revised(backend.revision, there[backend.deployment].edition))
        for backend in route.backends
    )
    stands = tuple(key for backend in backends for key in there[backend.deployment].stands)
    gateway = documents.clusters[site.cluster].spec.serving.gateway
    manifest = service_route(
        route=replace(route, backends=backends),
        requests=of_service(documents, route),
        gateway=gateway,
        profile=profile,
        stack=documents.settings.stack,
    )
    name = names.service_component(site.cluster, route.service)
    placed = _routed(site, manifest, shared, provider=gateway.provider, after=stands)
    return Component("ModelService", name, (placed,))


def _proxies(documents: Documents, site: Site) -> str | None:
    """Return the range of the proxy-only subnetwork; None where the stack creates none."""
    gke = documents.clusters[site.cluster].spec.cluster.gke
    if gke is None or gke.network.existing or site.cloud is None or site.cloud.block is None:
        return None
    return Ranges(site.cloud.block).proxies


def _routed(
    site: Site,
    manifest: dict[str, Any],
    shared: ServingStack,
    *,
    provider: str,
    after: tuple[str, ...],
) -> KubeObject:
    """Return a route that leads to pools once they have their pickers."""
    space = shared.keys(manifest["metadata"]["namespace"])
    return site.place(manifest, after=(*space, *shared.gateway_keys, *after), timeout=route_seconds(provider))


def what_serves(
    endpoints: Iterable[ModelEndpoint],
    placed: Iterable[Replicas],
    services: Iterable[tuple[ServiceRoute, Component]],
) -> dict[str, Served]:
    """Return what serves each deployment that has an endpoint, of all that is placed on a cluster."""
    workloads: dict[str, tuple[str, ...]] = {}
    for replicas in placed:
        deployment = replicas.spot.deployment
        workloads[deployment] = (*workloads.get(deployment, ()), *replicas.keys)
    routes: dict[str, tuple[str, ...]] = {}
    for service, component in services:
        for backend in service.backends:
            before = routes.get(backend.deployment, ())
            routes[backend.deployment] = (*before, *(made.key for made in component.objects))
    return {
        made.deployment: Served(
            (*made.stands, *workloads.get(made.deployment, ())),
            (*([made.route.key] if made.route else []), *routes.get(made.deployment, ())),
        )
        for made in endpoints
    }


def routes_follow(cluster: DesiredCluster, deployments: AbstractSet[str]) -> DesiredCluster:
    """Return the cluster with all routes to these deployments after the sets that they lead to.

    Workloads come after what chooses among them, so the route of an endpoint is a component of its own then.
    Its URN stays the same: that has the types of its parents and not their names.
    """
    first: dict[str, tuple[str, ...]] = {}
    for deployment in sorted(cluster.served.keys() & deployments):
        served = cluster.served[deployment]
        for route in served.routes:
            first[route] = (*first.get(route, ()), *served.stands)
    if not first:
        return cluster
    stay: list[Component] = []
    follow: list[Component] = []
    for component in cluster.components:
        routes = tuple(_following(made, first) for made in component.objects if made.key in first)
        rest = tuple(made for made in component.objects if made.key not in first)
        if component.kind == "ModelService" or (routes and not rest):
            follow.append(replace(component, objects=(*rest, *routes)))
        elif routes:
            stay.append(replace(component, objects=rest))
            follow.insert(0, Component(component.kind, names.route_component(component.name), routes))
        else:
            stay.append(component)
    return replace(cluster, components=(*stay, *follow))


def _following(route: KubeObject, first: Mapping[str, tuple[str, ...]]) -> KubeObject:
    return replace(route, after=tuple(dict.fromkeys([*route.after, *first[route.key]])))
