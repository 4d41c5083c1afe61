"""Endpoints of deployments and routes of services on one cluster: pickers, InferencePools, HTTPRoutes.

What serves a deployment there is a set: its InferencePool, its picker and its workloads. With another
revision all of them have other names, so Pulumi makes the new set, then changes the routes that lead to it,
and deletes the old set last: its workloads first, and once their pods have ended picker and pool, through
which the requests in hand go. Another edition of a picker is a new InferencePool and picker for the same
workloads, in the same order; the old picker's pods have ended before what leads to them goes.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.desired.clusters import Site
from inferfleet.desired.pods import Pods
from inferfleet.desired.replicas import Replicas
from inferfleet.desired.serving_stack import ROUTE_SECONDS, ServingStack
from inferfleet.desired.values import Component, DesiredCluster, KubeObject, Served
from inferfleet.documents.documents import Documents
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, ExposedPath, ServiceRoute
from inferfleet.fleet.roles import picker_of
from inferfleet.fleet.traffic import of_service
from inferfleet.serving import adapters, monitors, network_policy, workload
from inferfleet.serving.gateway import provider_objects
from inferfleet.serving.picker import Picker, edition, inference_pool
from inferfleet.serving.picker import objects as picker_objects
from inferfleet.serving.routes import deployment_route, service_route
from inferfleet.tables.pickers import Profile

# A picker starts in seconds; what takes longer is an image that cannot be pulled or a flag it refuses.
PICKER_SECONDS = 180


@dataclass(frozen=True)
class ModelEndpoint:
    """The component of a deployment's endpoint on one cluster, and which of its objects are which."""

    deployment: str
    edition: str
    """The edition of the picker, "" where it has none."""
    component: Component
    members: tuple[str, ...]
    """Keys of InferencePool and endpoint picker."""
    outlived: tuple[str, ...]
    """Keys of what workloads need until their last request is answered."""
    route: KubeObject | None
    """The deployment's own route, if it has one."""


def model_endpoint(
    documents: Documents,
    endpoint: Endpoint,
    *,
    site: Site,
    picker: Picker,
    shared: ServingStack,
    pods: Collection[Pods],
) -> ModelEndpoint:
    """Return the objects of a deployment's endpoint on one cluster, where its engines have these pods.

    The picker's Deployment comes after all that it reads: it is not ready until its InferencePool exists. Its
    route comes after both, so that it never leads to a pool whose picker is not ready. What leads to its pods
    goes once they have ended, so it comes first too.
    """
    picker = replace(picker, edition=edition(picker))
    deployment, serving = picker.deployment, picker.serving
    namespace = [shared.namespaces[deployment.metadata.namespace].key]

    def placed(manifests: Iterable[dict[str, Any]]) -> list[KubeObject]:
        return [site.place(manifest, after=namespace) for manifest in manifests]

    objects_of_picker = picker_objects(picker)
    pool = site.place(inference_pool(picker), after=namespace)
    policies = network_policy.policies(
        picker,
        proxies=site.cloud.proxies if site.cloud else None,
        # Where pods of one engine talk to each other.
        joined=any(each.placed.shape.pods > 1 for each in pods),
    )
    leads = [objects_of_picker.service, *provider_objects(picker)]
    listed = adapters.config_map(deployment, stack=picker.stack)
    first = [*placed(objects_of_picker.rights), pool, *placed(policies), *placed(leads)]
    first += placed([listed] if listed else [])
    after = (*namespace, *(item.key for item in first))
    pulled = [
        item.key
        for (of, name), item in shared.secrets.items()
        if of == deployment.metadata.namespace and name in serving.image_pull_secrets
    ]
    chooser = site.place(objects_of_picker.deployment, after=(*after, *pulled), timeout=PICKER_SECONDS)
    members = (pool.key, chooser.key)
    services = (
        workload.role_service(deployment=deployment, role=role, stack=picker.stack)
        for role in sorted(deployment.spec.roles)
    )
    scraped = monitors.engine_monitors(
        deployment=deployment, monitoring=serving.monitoring, stack=picker.stack
    )
    budgets = workload.disruption_budgets(
        deployment=deployment,
        stack=picker.stack,
        replicas=endpoint.replicas,
        elsewhere={each.role for each in pods if each.brings(workload.DISRUPTION_BUDGET)},
    )
    beside = placed([*services, *scraped, *monitors.picker_monitors(picker), *budgets])
    objects = [*first, chooser, *beside]
    route = None
    if deployment.spec.route.enabled:
        manifest = deployment_route(
            deployment=deployment,
            gateway=serving.gateway,
            profile=picker.profile,
            stack=picker.stack,
            revision=picker.revised,
        )
        route = _routed(site, manifest, shared, provider=serving.gateway.provider, after=members)
        objects.append(route)
    name = names.endpoint_component(site.cluster, endpoint.deployment)
    return ModelEndpoint(
        endpoint.deployment,
        picker.edition,
        Component("ModelEndpoint", name, tuple(objects)),
        members,
        # Models need not wait for a picker to start, but where pods of another revision may stand beside.
        tuple(item.key for item in (*first, chooser)) if picker.revision else (pool.key,),
        route,
    )


def endpoint_picker(
    documents: Documents, endpoint: Endpoint, pods: Iterable[Pods], *, paths: tuple[ExposedPath, ...]
) -> Picker:
    """Return the picker of an endpoint whose engines have these pods, and whose routes expose these paths."""
    deployment = documents.deployments[endpoint.deployment]
    serving = documents.clusters[endpoint.cluster].spec.serving
    return Picker(
        deployment=deployment,
        serving=serving,
        profile=picker_of(deployment, serving),
        stack=documents.settings.stack,
        replicas=endpoint.replicas,
        drain=max(
            (each.outcome.template["spec"]["terminationGracePeriodSeconds"] for each in pods), default=0
        ),
        revision=endpoint.revision,
        paths=paths,
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
    by_deployment = {endpoint.deployment: endpoint for endpoint in endpoints}
    backends = tuple(
        replace(backend, revision=names.revised(backend.revision, by_deployment[backend.deployment].edition))
        for backend in route.backends
    )
    members = tuple(key for backend in backends for key in by_deployment[backend.deployment].members)
    gateway = documents.clusters[site.cluster].spec.serving.gateway
    manifest = service_route(
        route=replace(route, backends=backends),
        requests=of_service(documents, route),
        gateway=gateway,
        profile=profile,
        stack=documents.settings.stack,
    )
    name = names.service_component(site.cluster, route.service)
    placed = _routed(site, manifest, shared, provider=gateway.provider, after=members)
    return Component("ModelService", name, (placed,))


def _routed(
    site: Site,
    manifest: dict[str, Any],
    shared: ServingStack,
    *,
    provider: str,
    after: tuple[str, ...],
) -> KubeObject:
    """Return a route that leads to pools once they have their pickers."""
    namespace = shared.namespaces[manifest["metadata"]["namespace"]].key
    gateway = [shared.gateway.key] if shared.gateway else []
    return site.place(manifest, after=(namespace, *gateway, *after), timeout=ROUTE_SECONDS[provider])


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
            routes[backend.deployment] = (*before, *(item.key for item in component.objects))
    return {
        endpoint.deployment: Served(
            (*endpoint.members, *workloads.get(endpoint.deployment, ())),
            (*([endpoint.route.key] if endpoint.route else []), *routes.get(endpoint.deployment, ())),
        )
        for endpoint in endpoints
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
            first[route] = (*first.get(route, ()), *served.members)
    if not first:
        return cluster
    stay: list[Component] = []
    follow: list[Component] = []
    for component in cluster.components:
        routes = tuple(_following(item, first) for item in component.objects if item.key in first)
        rest = tuple(item for item in component.objects if item.key not in first)
        if component.kind == "ModelService" or (routes and not rest):
            follow.append(replace(component, objects=(*rest, *routes)))
        elif routes:
            stay.append(replace(component, objects=rest))
            name = names.route_component(component.name)
            follow.insert(0, Component(component.kind, name, routes, held=component.held))
        else:
            stay.append(component)
    return replace(cluster, components=(*stay, *follow))


def _following(route: KubeObject, first: Mapping[str, tuple[str, ...]]) -> KubeObject:
    return replace(route, after=tuple(dict.fromkeys([*route.after, *first[route.key]])))
