"""An InferenceGateway on one of its clusters, as components: the gateway itself, and each service behind it.

What guards comes before what is guarded: keys before all routes, who may use a service before its own. A
route waits for clusters that are new to its service, and for nothing else on clusters that it leads to: one
that failed must not keep the others from their share.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from inferfleet.desired.clusters import Site
from inferfleet.desired.serving_stack import GATEWAY_SECONDS, ROUTE_SECONDS, ServingStack
from inferfleet.desired.values import Component, KubeObject, ObjectNeed
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.front_door import Door, DoorRoute
from inferfleet.serving.envoy_gateway import NAMESPACE as ENVOY_GATEWAY_NAMESPACE
from inferfleet.serving.front_door import CONFIRMING, FrontDoor

# The router starts in seconds; what takes longer is an image that cannot be pulled.
_ROUTER_SECONDS = 180


def door_secrets(
    documents: Documents, doors: Iterable[Door], cluster: str
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the Secrets of the stack that gateways on a cluster read, with the keys that it has of each."""
    held = documents.settings.secrets
    return {
        (names.SYSTEM_NAMESPACE, name): held[f"{names.SYSTEM_NAMESPACE}/{name}"]
        for door in doors
        if door.hub == cluster
        for name in documents.gateways[door.gateway].spec.secrets
        if f"{names.SYSTEM_NAMESPACE}/{name}" in held
    }


def door_needs(documents: Documents, doors: Iterable[Door], cluster: str) -> Iterator[ObjectNeed]:
    """Yield the Secrets that gateways on a cluster read and the stack does not hold.

    Without one of keys a gateway answers 500 to everybody, without that of a certificate nothing listens, and
    without that of Redis's password nothing counts.
    """
    for door in doors:
        spec = documents.gateways[door.gateway].spec
        if door.hub == cluster and spec.limits and (password := spec.limits.redis.secret_ref):
            yield ObjectNeed(
                "Secret",
                ENVOY_GATEWAY_NAMESPACE,
                password.name,
                keys=(password.key,),
                deployments=(f"gateway {door.gateway}",),
                kind="InferenceGateway",
                key=door.gateway,
                path="spec.limits.redis.secretRef",
            )
        for name in spec.secrets if door.hub == cluster else ():
            if f"{names.SYSTEM_NAMESPACE}/{name}" in documents.settings.secrets:
                continue
            entries = {
                key.secret_ref.key: f"spec.callers[{index}].keys[{position}].secretRef"
                for index, caller in enumerate(spec.callers)
                for position, key in enumerate(caller.keys)
                if key.secret_ref.name == name
            }
            yield ObjectNeed(
                "Secret",
                names.SYSTEM_NAMESPACE,
                name,
                keys=tuple(sorted(entries)),
                deployments=(f"gateway {door.gateway}",),
                kind="InferenceGateway",
                key=door.gateway,
                path=next(iter(entries.values()), "spec.listeners.https.certificate.secretRef"),
            )


def key_problems(
    documents: Documents, values: Mapping[tuple[str, str], Mapping[str, str]]
) -> Iterator[Problem]:
    """Yield keys of callers that would never match, or that a gateway takes for another caller's. One of
    these has it answer 500 to everybody.

    `values` are those of the stack's Secrets. What clusters have besides is not known.
    """
    for name, gateway in sorted(documents.gateways.items()):
        first: dict[str, str] = {}
        for index, caller in enumerate(gateway.spec.callers):
            for position, key in enumerate(caller.keys):
                entry = key.secret_ref.key
                value = values.get((names.SYSTEM_NAMESPACE, key.secret_ref.name), {}).get(entry)
                if value is None:
                    continue
                why = ""
                if not value.strip():
                    why = "is empty"
                elif value != value.strip() or "\n" in value:
                    why = "has blanks or a newline at an end, with which no client's key is equal to it"
                elif (other := first.setdefault(value, entry)) != entry:
                    why = f"is that of {other} too"
                if why:
                    yield Problem(
                        f"key {entry} of gateway {name} {why}",
                        "Set another with pulumi config set --secret --path "
                        f'\'inferfleet:secrets["{names.SYSTEM_NAMESPACE}/{key.secret_ref.name}"]'
                        f'["{entry}"]\'',
                        f"spec.callers[{index}].keys[{position}]",
                        kind="InferenceGateway",
                        key=name,
                    )


def front_door(
    documents: Documents,
    door: Door,
    *,
    site: Site,
    shared: ServingStack,
    routes: Mapping[tuple[str, str], str],
) -> tuple[Component, ...]:
    """Return the components of a gateway on one of its clusters. `routes` are the keys of services' own
    routes, by service and cluster.
    """
    made = FrontDoor(documents.gateways[door.gateway], door, stack=documents.settings.stack)
    system = shared.namespaces[names.SYSTEM_NAMESPACE].key
    secrets = [
        shared.secrets[names.SYSTEM_NAMESPACE, name].key
        for name in documents.gateways[door.gateway].spec.secrets
        if (names.SYSTEM_NAMESPACE, name) in shared.secrets
    ]
    objects: list[KubeObject] = []

    def place(manifest: dict[str, Any], *after: str, timeout: int | None = None) -> str:
        item = site.place(manifest, after=(system, *after), timeout=timeout)
        objects.append(item)
        return item.key

    proxy = place(made.proxy())
    gateway = place(made.gateway(), proxy, *secrets, timeout=GATEWAY_SECONDS["envoy"])
    seconds = ROUTE_SECONDS["envoy"]
    if own := made.confirming():
        item = replace(site.place(own, after=(system,)), invented=CONFIRMING, ignore=("data",))
        objects.append(item)
        secrets.append(item.key)
    keys = made.keys()
    guards = [place(keys, gateway, *secrets, timeout=seconds)] if keys else []
    guards += [place(policy, gateway, timeout=seconds) for policy in (made.clients(), made.traffic())]
    answers = [place(manifest) for manifest in made.answers()]
    before = (*guards, *answers)
    for manifest in made.steady():
        before = (*before, place(manifest, *before, timeout=seconds))
    *beside, deployment = made.router()
    first = [place(manifest) for manifest in beside]
    router = place(deployment, *first, timeout=_ROUTER_SECONDS)
    place(made.list_route(), *before, timeout=seconds)
    catch_all = place(made.catch_all(), *before, timeout=seconds)
    reads = place(made.reads_models(), catch_all, router, timeout=seconds)
    backends: dict[tuple[str, bool], str] = {}
    for cluster in sorted({cluster for cluster, _ in door.clusters}):
        backends |= _backends(documents, door, made, cluster, site, system, objects)
    whole = documents.clusters[site.cluster].spec.held
    component = Component("FrontDoor", f"{site.cluster}/{made.name}", tuple(objects), held=whole)
    return (
        component,
        *(
            replace(
                _service(
                    documents,
                    door,
                    route,
                    made,
                    site=site,
                    after=(
                        system,
                        *before,
                        reads,
                        *(backends[backend.cluster, backend.fallback] for backend in route.backends),
                    ),
                    routes=routes,
                ),
                held=whole,
            )
            for route in door.routes
        ),
    )


def _backends(
    documents: Documents,
    door: Door,
    made: FrontDoor,
    cluster: str,
    site: Site,
    system: str,
    objects: list[KubeObject],
) -> dict[tuple[str, bool], str]:
    """Add the objects by which a cluster is reached, and return the keys of its Backends.

    Where no document says an address, the one that the cluster's gateway gets is known only once it is there.
    """
    gateway = documents.clusters[cluster].spec.serving.gateway
    # Envoy Gateway does not fail over between host names and addresses, so an address gets a name too.
    host = None if gateway.address is None or _is_address(gateway.address) else gateway.address
    after = [system]
    if host is None:
        service, endpoint_slice = made.service_of(cluster, gateway.address)
        placed = site.place(service, after=after)
        addressed = site.place(endpoint_slice, after=[system, placed.key])
        objects += [placed, replace(addressed, address_of=None if gateway.address else cluster)]
        # Not the address: a cluster that failed has none, and holds nobody's route.
        after = [*after, placed.key]
    keys: dict[tuple[str, bool], str] = {}
    for name, fallback in door.clusters:
        if name == cluster:
            manifest = made.backend(cluster, host=host, port=gateway.port, fallback=fallback)
            item = site.place(manifest, after=after)
            objects.append(item)
            keys[cluster, fallback] = item.key
    return keys


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _service(
    documents: Documents,
    door: Door,
    route: DoorRoute,
    made: FrontDoor,
    *,
    site: Site,
    after: tuple[str, ...],
    routes: Mapping[tuple[str, str], str],
) -> Component:
    new = tuple(routes[route.service, cluster] for cluster in route.new if (route.service, cluster) in routes)
    timeouts = documents.services[route.service].spec.timeouts
    policies = [site.place(manifest, after=after) for manifest in made.service_policies(route, timeouts)]
    guarded = (*after, *(policy.key for policy in policies), *new)
    objects = (
        *policies,
        *(
            site.place(manifest, after=guarded, timeout=ROUTE_SECONDS["envoy"])
            for manifest in made.service_routes(route)
        ),
    )
    name = f"{site.cluster}/{names.of_front_door(door.gateway, *route.service.split('/'))}"
    return Component("FrontDoorService", name, objects)
