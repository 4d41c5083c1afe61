"""Where deployments and services are reached on one cluster: pickers, pools and routes."""

from inferfleet.api.documents import Documents
from inferfleet.desired.serving import gateway_keys, namespace_keys
from inferfleet.desired.values import Component, KubeObject, kube_object
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, ServiceRoute
from inferfleet.manifests import gateway_extras
from inferfleet.manifests.picker import objects as endpoint_picker
from inferfleet.manifests.picker.pool import inference_pool
from inferfleet.manifests.routes import deployment_route, service_route
from inferfleet.profiles.profile import Profile

# A picker starts in seconds; what takes longer is an image that cannot be pulled or a flag it refuses.
PICKER_SECONDS = 180
# A gateway's controller answers in seconds; one that is silent for longer does not serve the gateway.
ROUTE_SECONDS = 120


def model_endpoint(
    documents: Documents, endpoint: Endpoint, *, profile: Profile, shared: Component
) -> Component:
    """The picker's Deployment comes after all it reads: it reports NotServing until its pool is there."""
    deployment = documents.deployments[endpoint.deployment]
    cluster, stack = endpoint.cluster, documents.settings.stack
    serving = documents.clusters[cluster].spec.serving
    space = namespace_keys(shared, deployment.metadata.namespace)
    picker = endpoint_picker.objects(deployment=deployment, serving=serving, profile=profile, stack=stack)
    needed = [one for one in picker if one["kind"] not in ("Deployment", "Service")]
    needed.append(inference_pool(deployment=deployment, profile=profile, stack=stack))
    objects = [kube_object(cluster, one, after=space) for one in needed]
    first = (*space, *(one.key for one in objects))
    for one in picker:
        if one["kind"] == "Deployment":
            objects.append(kube_object(cluster, one, after=first, timeout=PICKER_SECONDS))
        elif one["kind"] == "Service":
            objects.append(kube_object(cluster, one, after=space))
    extras = gateway_extras.objects(deployment=deployment, serving=serving, profile=profile, stack=stack)
    objects += [kube_object(cluster, one, after=space) for one in extras]
    if deployment.spec.route.enabled:
        route = deployment_route(deployment=deployment, gateway=serving.gateway, profile=profile, stack=stack)
        objects.append(_routed(cluster, route, shared, space))
    return Component("ModelEndpoint", names.endpoint_component(cluster, endpoint.deployment), tuple(objects))


def model_service(
    documents: Documents, route: ServiceRoute, *, profile: Profile, shared: Component
) -> Component:
    manifest = service_route(
        route=route,
        gateway=documents.clusters[route.cluster].spec.serving.gateway,
        profile=profile,
        stack=documents.settings.stack,
    )
    space = namespace_keys(shared, manifest["metadata"]["namespace"])
    name = names.service_component(route.cluster, route.service)
    return Component("ModelService", name, (_routed(route.cluster, manifest, shared, space),))


def _routed(
    cluster: str, manifest: dict[str, object], shared: Component, space: tuple[str, ...]
) -> KubeObject:
    after = (*space, *gateway_keys(shared))
    return kube_object(cluster, manifest, after=after, timeout=ROUTE_SECONDS)
