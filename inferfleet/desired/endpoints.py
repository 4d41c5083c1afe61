"""Endpoints of deployments and routes of services on one cluster: pickers, InferencePools, HTTPRoutes.

What serves a deployment there is a set: its InferencePool, its picker and its workloads. With another
revision all of them have other names, so Pulumi makes the new set, then changes the routes that lead to it,
and deletes the old set last: its workloads first, and once their pods have ended picker and pool, through
which the requests in hand go.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.desired.clusters import Site
from inferfleet.desired.replicas import Replicas
from inferfleet.desired.serving import ServingStack
from inferfleet.desired.values import Component, DesiredCluster, KubeObject, Served
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, ServiceRoute
from inferfleet.gke.settings.ranges import Ranges
from inferfleet.manifests import gateway_extras, network_policy
from inferfleet.manifests.picker import objects as endpoint_picker
from inferfleet.manifests.picker.pool import inference_pool
from inferfleet.manifests.role_service import role_service
from inferfleet.manifests.routes import deployment_route, service_route
from inferfleet.profiles.profile import Profile

# A picker starts in seconds; what takes longer is an image that cannot be pulled or a flag it refuses.
PICKER_SECONDS = 180
# A gateway's controller answers in seconds; after that it does not serve the gateway.
ROUTE_SECONDS = 120


@dataclass(frozen=True)
class ModelEndpoint:
    """The component of a deployment's endpoint on one cluster, and which of its objects are which.

    `stands` are the keys of InferencePool and endpoint picker, `outlived` those of what workloads need until
    their last request is answered; `route` is None where it has none of its own.
    """

    deployment: str
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
    joined: bool = False,
) -> ModelEndpoint:
    """Return the objects of a deployment's endpoint on one cluster. `joined`: workers there have many pods.

    The picker's Deployment comes after all that it reads: it is not ready until its InferencePool exists.
    """
    deployment = documents.deployments[endpoint.deployment]
    stack = documents.settings.stack
    serving = documents.clusters[site.cluster].spec.serving
    space = shared.keys(deployment.metadata.namespace)
    revision = endpoint.revision
    picker = endpoint_picker.objects(
        deployment=deployment, serving=serving, profile=profile, stack=stack, revision=revision
    )
    pool = inference_pool(deployment=deployment, profile=profile, stack=stack, revision=revision)
    placed_pool = site.place(pool, after=space)
    reads = [*(site.place(manifest, after=space) for manifest in picker.reads), placed_pool]
    first = (*space, *(made.key for made in reads))
    extras = gateway_extras.objects(
        deployment=deployment, serving=serving, profile=profile, stack=stack, revision=revision
    )
    policies = network_policy.policies(
        deployment=deployment,
        serving=serving,
        profile=profile,
        stack=stack,
        proxies=_proxies(documents, site),
        joined=joined,
        revision=revision,
    )
    services = (
        role_service(deployment=deployment, role=role, stack=stack) for role in sorted(deployment.spec.roles)
    )
    chooses = site.place(picker.deployment, after=first, timeout=PICKER_SECONDS)
    chosen = [
        *reads,
        *(site.place(manifest, after=space) for manifest in policies),
        chooses,
        site.place(picker.service, after=space),
        *(site.place(manifest, after=space) for manifest in extras),
    ]
    objects = [*chosen, *(site.place(manifest, after=space) for manifest in services)]
    route = None
    if deployment.spec.route.enabled:
        manifest = deployment_route(
            deployment=deployment, gateway=serving.gateway, profile=profile, stack=stack, revision=revision
        )
        route = _routed(site, manifest, shared)
        objects.append(route)
    name = names.endpoint_component(site.cluster, endpoint.deployment)
    return ModelEndpoint(
        endpoint.deployment,
        Component("ModelEndpoint", name, tuple(objects)),
        (placed_pool.key, chooses.key),
        # Models need not wait for a picker to start, but where pods of another revision may stand beside.
        tuple(made.key for made in chosen) if revision else (placed_pool.key,),
        route,
    )


def model_service(
    documents: Documents, route: ServiceRoute, *, site: Site, profile: Profile, shared: ServingStack
) -> Component:
    """Return the HTTPRoute of a service on one cluster."""
    manifest = service_route(
        route=route,
        gateway=documents.clusters[site.cluster].spec.serving.gateway,
        profile=profile,
        stack=documents.settings.stack,
    )
    name = names.service_component(site.cluster, route.service)
    return Component("ModelService", name, (_routed(site, manifest, shared),))


def _proxies(documents: Documents, site: Site) -> str | None:
    """Return the range of the proxy-only subnetwork; None where the stack creates none."""
    gke = documents.clusters[site.cluster].spec.cluster.gke
    if gke is None or gke.network.existing or site.cloud is None or site.cloud.block is None:
        return None
    return Ranges(site.cloud.block).proxies


def _routed(site: Site, manifest: dict[str, Any], shared: ServingStack) -> KubeObject:
    space = shared.keys(manifest["metadata"]["namespace"])
    return site.place(manifest, after=(*space, *shared.gateway_keys), timeout=ROUTE_SECONDS)


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
