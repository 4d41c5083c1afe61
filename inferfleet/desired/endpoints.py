"""Endpoints of deployments and routes of services on one cluster: pickers, InferencePools, HTTPRoutes."""

from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.desired.clusters import Site
from inferfleet.desired.serving import ServingStack
from inferfleet.desired.values import Component, KubeObject
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


def model_endpoint(
    documents: Documents,
    endpoint: Endpoint,
    *,
    site: Site,
    profile: Profile,
    shared: ServingStack,
    joined: bool = False,
) -> Component:
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
    reads = [site.place(manifest, after=space) for manifest in (*picker.reads, pool)]
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
    objects = [
        *reads,
        *(site.place(manifest, after=space) for manifest in policies),
        site.place(picker.deployment, after=first, timeout=PICKER_SECONDS),
        site.place(picker.service, after=space),
        *(site.place(manifest, after=space) for manifest in extras),
        *(site.place(manifest, after=space) for manifest in services),
    ]
    if deployment.spec.route.enabled:
        route = deployment_route(
            deployment=deployment, gateway=serving.gateway, profile=profile, stack=stack, revision=revision
        )
        objects.append(_routed(site, route, shared))
    name = names.endpoint_component(site.cluster, endpoint.deployment)
    return Component("ModelEndpoint", name, tuple(objects))


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
