"""What is paused stays as it stands: its components have what Pulumi's state has of them, unchanged.

Documents, classes, plugins and inferfleet itself may say something else meanwhile, and under other names. So
what stands is not worked out, but asked of the state. The engine ignores all that differs of objects that are
there. One that the state does not have is not made, and one that documents no longer have is registered by
its type and name alone. What is on a cluster that does not answer (`lost`) is kept like this too.

A service follows its own document, and leads to what stands of deployments that are paused: its routes keep
their pools, on clusters too where the lock has none of their replicas.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, TypeVar

from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudResource
from inferfleet.desired.values import (
    COMPONENTS,
    KINDS,
    Component,
    Desired,
    DesiredCluster,
    KubeObject,
    Resource,
    Standing,
)
from inferfleet.documents.kinds.inference_cluster import HELD
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan, ServiceRoute
from inferfleet.serving.picker import POOL
from inferfleet.serving.routes import KIND as ROUTE

_EVERYTHING = ("*",)
_MODELS = ("ModelEndpoint", "ModelReplicas")
_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_NAMESPACE, _SECRET = "kubernetes:core/v1:Namespace", "kubernetes:core/v1:Secret"
_STASH = "pulumi:index:Stash"
_Ordered = TypeVar("_Ordered", KubeObject, CloudResource)
# A backend of a rule of a route.
_Backend = dict[str, Any]


def held_cloud(cloud: CloudCluster, *, locked: bool) -> CloudCluster:
    """Return a GKE cluster of which an update changes nothing that is there.

    One that is not `locked` is new, as far as documents and lock say: it is not made, but it may stand.
    """
    components = (
        replace(part, resources=tuple(replace(resource, ignore=_EVERYTHING) for resource in part.resources))
        for part in cloud.components
    )
    if locked:
        return replace(cloud, components=tuple(components))
    return replace(cloud, components=(), unlocked=tuple(components))


def holds_any(desired: Desired) -> bool:
    """Return whether anything is held, so that the state has to be asked what stands.

    Documents and lock may yield no component of it any more, so what they yield does not matter.
    """
    return bool(desired.plan.paused) or any(
        cluster.connection.state in HELD or any(addon.left for addon in cluster.addons)
        for cluster in desired.clusters
    )


def kept(desired: Desired, standing: Standing) -> Desired:
    """Return what is desired, with exactly what stands of all that is held.

    Whether that serves is not asked at the end of an update: where it does not, no update did it.
    """
    clusters = [_kept(cluster, standing, desired.plan) for cluster in desired.clusters]
    registered = {item.key for cluster in clusters for item in cluster.objects}
    registered |= {resource.key for bucket in desired.buckets for resource in bucket.resources}
    for cluster in clusters:
        cloud = cluster.connection.cloud
        registered |= {resource.key for resource in cloud.resources} if cloud else set()
    return replace(
        desired,
        clusters=tuple(_after(cluster, registered) for cluster in clusters),
        plan=replace(desired.plan, services=_service_routes(desired.plan, clusters)),
    )


def as_it_was(desired: Desired, before: Desired) -> Desired:
    """Return what is desired, with what another version made in place of all that is held."""
    objects: dict[Resource, KubeObject] = {}
    standing: dict[Resource, Mapping[str, Any]] = {}
    for cluster in before.clusters:
        for component in cluster.components:
            standing[component.place] = {}
            for item in component.objects:
                objects[component.place_of(item)] = item
    standing |= {place: item.manifest for place, item in objects.items()}

    def was(component: Component) -> Component:
        if not component.held:
            return component
        places = {*map(component.place_of, component.objects)}
        held = tuple(item for place, item in objects.items() if place in places | {*component.standing})
        return replace(component, objects=held, standing=())

    clusters = (
        replace(cluster, components=tuple(map(was, cluster.components)))
        for cluster in kept(desired, standing).clusters
    )
    return replace(desired, clusters=tuple(clusters))


def _service_routes(plan: Plan, clusters: Iterable[DesiredCluster]) -> tuple[ServiceRoute, ...]:
    """Return the routes of services that there are."""
    registered = {
        component.name
        for cluster in clusters
        for component in cluster.components
        if component.kind == "ModelService"
    }
    by_name = {
        names.service_component(route.cluster, route.service): route
        for route in (*plan.routes_to_paused, *plan.services)
    }
    routes = (route for name, route in by_name.items() if name in registered)
    return tuple(sorted(routes, key=lambda route: (route.service, route.cluster)))


def _kept(cluster: DesiredCluster, standing: Standing, plan: Plan) -> DesiredCluster:
    """Return the cluster with what stands there, which is nothing where it was never made."""
    name, state, cloud = cluster.connection.cluster, cluster.connection.state, cluster.connection.cloud
    is_held = state in HELD
    if state == "abandoned":
        return cluster
    if not (is_held or plan.paused):
        return replace(cluster, components=tuple(_with_left_addons(cluster.components, standing)))
    on_cluster = {
        place: outputs
        for place, outputs in standing.items()
        if place.name == name or place.name.startswith(f"{name}/")
    }
    if cloud and state == "paused":
        cloud = _standing_cloud(cloud, on_cluster)
    paused = None if is_held else plan.paused
    components = tuple(
        _with_left_addons(_standing_components(cluster.components, on_cluster, name, paused), standing)
    )
    if not is_held:
        components = tuple(_ServiceRoutes(cluster, on_cluster, plan).led(components))
    registered = {item.key for component in components for item in component.objects}
    return replace(
        cluster,
        connection=replace(cluster.connection, cloud=cloud),
        components=components,
        gateway=cluster.gateway if cluster.gateway and cluster.gateway.key in registered else None,
        workloads=cluster.changing.workloads,
        served=cluster.changing.served,
    )


def _with_left_addons(components: Iterable[Component], standing: Standing) -> Iterator[Component]:
    """Yield the components, with what stands of add-ons that are left to others."""
    for component in components:
        if component.kind == "ClusterAddon" and component.held and not component.objects:
            stands = [
                place
                for place in standing
                if place.parent == component.kind and place.name.startswith(f"{component.name}/")
            ]
            if stands:
                yield replace(component, standing=tuple(stands))
        else:
            yield component


def _standing_components(
    components: tuple[Component, ...], on_cluster: Standing, cluster: str, paused: tuple[str, ...] | None
) -> Iterator[Component]:
    """Yield the components with those objects and hooks of held ones that stand, and all else that stands.

    Of `paused` deployments only, where other things on the cluster change (None: of all).
    """
    by_place: dict[Resource, Component] = {}
    unknown = {
        place: outputs
        for place, outputs in on_cluster.items()
        if _is_held(place, on_cluster, cluster, paused)
    }
    for component in components:
        if component.held and component.place not in on_cluster:
            continue
        if component.held:
            items = tuple(item for item in component.objects if component.place_of(item) in on_cluster)
            hooks = tuple(
                hook
                for hook in component.hooks
                if hook.workload in items and Resource(component.kind, _STASH, hook.name) in on_cluster
            )
            component = replace(component, objects=items, hooks=hooks)
        objects = map(component.place_of, component.objects)
        stashes = [Resource(component.kind, _STASH, hook.name) for hook in component.hooks]
        for place in (component.place, *objects, *stashes):
            unknown.pop(place, None)
        by_place[component.place] = component
    for place in [place for place in unknown if not place.parent and place.token.startswith(COMPONENTS)]:
        kind = place.token.removeprefix(COMPONENTS)
        if kind in KINDS:
            by_place[place] = Component(kind, place.name, (), held=True)
        del unknown[place]
    for place in unknown:
        home = _home(place.parent, place, by_place)
        if home and place.token == _CLAIM:
            stays = _standing_claim(place, on_cluster[place])
            by_place[home] = replace(by_place[home], objects=(*by_place[home].objects, stays))
        elif home:
            by_place[home] = replace(by_place[home], standing=(*by_place[home].standing, place))
    yield from by_place.values()


def _is_held(place: Resource, on_cluster: Standing, cluster: str, paused: Collection[str] | None) -> bool:
    """Return whether something that stands is of a paused deployment.

    Namespaces, and Secrets in them, are of all deployments there.
    """
    if paused is None:
        return True
    if place.token == _STASH:
        workload = place.name.rpartition("/")[0]
        return any(
            other.name == workload
            and other.parent == place.parent
            and other.token != _STASH
            and _is_held(other, on_cluster, cluster, paused)
            for other in on_cluster
        )
    if not place.parent:
        endpoints = [names.endpoint_component(cluster, key) for key in paused]
        if place.token == f"{COMPONENTS}ModelEndpoint":
            return place.name in {*endpoints, *map(names.route_component, endpoints)}
        # Names of replicas begin with that of their deployment; which pools follow shows in the state alone.
        return place.token == f"{COMPONENTS}ModelReplicas" and place.name.startswith(
            tuple(f"{endpoint}-" for endpoint in endpoints)
        )
    metadata = on_cluster[place].get("metadata") or {}
    namespace, labels = metadata.get("namespace"), metadata.get("labels") or {}
    if place.parent == "ServingStack":
        if place.token == _NAMESPACE:
            namespace = metadata.get("name")
        return place.token in (_SECRET, _NAMESPACE) and namespace in {key.partition("/")[0] for key in paused}
    if place.token == _CLAIM:
        # Pods of a former commit have it until those of the next are there.
        return place.parent == "ModelCache" and namespace in {key.partition("/")[0] for key in paused}
    return place.parent in _MODELS and any(
        labels.get(names.DEPLOYMENT) == own and (namespace == of if namespace else f":{of}:" in place.name)
        for of, _, own in (key.partition("/") for key in paused)
    )


def _standing_claim(place: Resource, outputs: Mapping[str, Any]) -> KubeObject:
    """Return a claim of weights as it stands, with what is to become of it once it leaves the program."""
    manifest = _manifest(outputs)
    ends = (manifest["metadata"].get("annotations") or {}).get(names.WHEN_REMOVED) == "Delete"
    return KubeObject(place.name, manifest, ignore=_EVERYTHING, retain=not ends)


def _home(kind: str, place: Resource, components: Iterable[Resource]) -> Resource | None:
    """Return the component of a kind under which something stands: that whose name its own begins with.

    Which one it is shows in the state alone.
    """
    of_kind = [component for component in components if component.token == f"{COMPONENTS}{kind}"]
    return max(
        of_kind,
        key=lambda component: len(component.name) * place.name.startswith(component.name),
        default=None,
    )


def _standing_cloud(cloud: CloudCluster, on_cluster: Standing) -> CloudCluster:
    """Return a GKE cluster with the parts and resources that stand, and those that no document has."""
    every_part = (*cloud.components, *cloud.unlocked)
    parts = {Resource("", f"{COMPONENTS}{part.kind}", part.name): part for part in every_part}
    by_place = {place: part for place, part in parts.items() if place in on_cluster}
    for place in on_cluster:
        kind = place.token.removeprefix(COMPONENTS)
        if not place.parent and kind not in KINDS and place not in by_place:
            by_place[place] = CloudComponent(kind, place.name, ())
    documented = {
        Resource(part.kind, resource.token, resource.name)
        for part in by_place.values()
        for resource in part.resources
    }
    for place, part in by_place.items():
        resources = (
            resource
            for resource in part.resources
            if Resource(part.kind, resource.token, resource.name) in on_cluster
        )
        by_place[place] = replace(part, resources=tuple(resources))
    for place in on_cluster:
        if place not in documented and (home := _home(place.parent, place, by_place)):
            standing = (*by_place[home].standing, (place.token, place.name))
            by_place[home] = replace(by_place[home], standing=standing)
    return replace(cloud, components=tuple(by_place.values()), unlocked=())


class _ServiceRoutes:
    """The routes of services on a cluster, and the pools there of deployments that are paused."""

    def __init__(self, cluster: DesiredCluster, on_cluster: Standing, plan: Plan) -> None:
        self._cluster = cluster.connection.cluster
        self._selected = {
            (route.service, backend.deployment)
            for route in plan.routes_to_paused
            if route.cluster == self._cluster
            for backend in route.backends
        }
        # Names of the pools that stand, by paused deployment.
        self._pools: dict[str, list[str]] = {key: [] for key in plan.paused}
        # By services the routes that stand, with their manifests.
        self._standing: dict[str, tuple[Resource, dict[str, Any]]] = {}
        for place, outputs in on_cluster.items():
            if place.parent == "ModelEndpoint" and place.token.endswith(f":{POOL}"):
                for key in plan.paused:
                    if _is_held(place, on_cluster, self._cluster, (key,)):
                        self._pools[key].append(str(outputs["metadata"]["name"]))
            elif place.parent == "ModelService" and place.token.endswith(f":{ROUTE}"):
                manifest = _manifest(outputs)
                service = (manifest["metadata"].get("labels") or {}).get(names.SERVICE, "")
                self._standing[f"{manifest['metadata']['namespace']}/{service}"] = place, manifest
        # Paused deployments by namespace and name of the pool that the plan has of them.
        self._planned: dict[tuple[str, str], str] = {}
        objects = {item.key: item for item in cluster.objects}
        for key in cluster.served.keys() & {*plan.paused}:
            for item in (objects[member] for member in cluster.served[key].members):
                if item.kind == POOL:
                    self._planned[key.partition("/")[0], item.kubernetes_name] = key

    def led(self, components: Iterable[Component]) -> Iterator[Component]:
        """Yield the components, with routes of services that lead to what stands of paused deployments.

        A route that leads nowhere is none. One that the plan does not have, because the lock has all replicas
        that it leads to elsewhere or not at all, stays for the pools of paused deployments alone.
        """
        planned = set()
        for component in components:
            if component.kind != "ModelService":
                yield component
                continue
            service = component.name.removeprefix(f"{self._cluster}/")
            planned.add(service)
            routes = [self._led(route, service) for route in component.objects]
            if any(map(_backends, routes)):
                yield replace(component, objects=tuple(routes))
        for service, (place, manifest) in self._standing.items():
            route = self._led(KubeObject(place.name, _with_backends(manifest, [])), service)
            if service not in planned and _backends(route):
                name = names.service_component(self._cluster, service)
                yield Component("ModelService", name, (route,), held=route.manifest == manifest)

    def _led(self, route: KubeObject, service: str) -> KubeObject:
        """Return a route with the backends of paused deployments as they stand."""
        stay = self._staying(service)
        backends: list[_Backend] = []
        for backend in _backends(route):
            deployment = self._planned.get((route.namespace or "", backend["name"]))
            if deployment is None:
                backends.append(backend)
            elif standing := stay.pop(deployment, None):
                backends.append({**backend, "name": standing["name"]})
            elif pools := self._pools[deployment]:
                name = backend["name"] if backend["name"] in pools else pools[0]
                backends.append({**backend, "name": name})
        if stay:
            backends = sorted([*backends, *stay.values()], key=itemgetter("name"))
        return replace(route, manifest=_with_backends(route.manifest, backends))

    def _staying(self, service: str) -> dict[str, _Backend]:
        """Return the backends of a route as it stands, by paused deployment that its service selects, and of
        which the pool stands.
        """
        if service not in self._standing:
            return {}
        place, manifest = self._standing[service]
        return {
            deployment: backend
            for backend in _backends(KubeObject(place.name, manifest))
            for deployment, pools in self._pools.items()
            if backend["name"] in pools and (service, deployment) in self._selected
        }


def _manifest(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an update writes of an object, as far as its outputs have it: no status, nothing of whoever
    wrote it last.
    """
    metadata = {
        field: outputs["metadata"][field]
        for field in ("name", "namespace", "labels", "annotations")
        if field in outputs["metadata"]
    }
    return {
        "apiVersion": outputs["apiVersion"],
        "kind": outputs["kind"],
        "metadata": metadata,
        "spec": outputs["spec"],
    }


def _backends(route: KubeObject) -> list[_Backend]:
    """Return the backends of a route, which all of its rules share; of one that stands maybe none."""
    rules = route.manifest["spec"].get("rules") or [{}]
    return rules[0].get("backendRefs") or []


def _with_backends(manifest: dict[str, Any], backends: list[_Backend]) -> dict[str, Any]:
    rules = [{**rule, "backendRefs": backends} for rule in manifest["spec"].get("rules") or []]
    return {**manifest, "spec": {**manifest["spec"], "rules": rules}}


def _after(cluster: DesiredCluster, registered: set[str]) -> DesiredCluster:
    """Return the cluster with objects that come after what is registered, and nothing else."""

    def ordered(items: Iterable[_Ordered]) -> tuple[_Ordered, ...]:
        return tuple(
            replace(item, after=tuple(key for key in item.after if key in registered)) for item in items
        )

    components = (replace(component, objects=ordered(component.objects)) for component in cluster.components)
    cloud = cluster.connection.cloud
    if cloud:
        parts = (replace(part, resources=ordered(part.resources)) for part in cloud.components)
        cloud = replace(cloud, components=tuple(parts))
    return replace(cluster, components=tuple(components), connection=replace(cluster.connection, cloud=cloud))
