"""What is paused stays as it stands: its components have what Pulumi's state has of them, unchanged.

Documents, classes, plugins and inferfleet itself may say something else meanwhile, and under other names. So
what stands is not worked out, but asked of the state. The engine ignores all that differs of objects that are
there. One that the state does not have is not made, and one that documents no longer have is registered by
its type and name alone. What is on a cluster that does not answer (`lost`) is kept like this too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
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
from inferfleet.serving.picker import POOL
from inferfleet.serving.routes import KIND as ROUTE

_EVERYTHING = ("*",)
_MODELS = ("ModelEndpoint", "ModelReplicas")
_NAMESPACE, _SECRET = "kubernetes:core/v1:Namespace", "kubernetes:core/v1:Secret"
_STASH = "pulumi:index:Stash"
_Ordered = TypeVar("_Ordered", KubeObject, CloudResource)


def held_cloud(cloud: CloudCluster, *, locked: bool) -> CloudCluster:
    """Return a GKE cluster of which an update changes nothing that is there.

    One that is not `locked` is new, as far as documents and lock say: it is not made, but it may stand.
    """
    components = (
        replace(part, resources=tuple(replace(made, ignore=_EVERYTHING) for made in part.resources))
        for part in cloud.components
    )
    if locked:
        return replace(cloud, components=tuple(components))
    return replace(cloud, components=(), unlocked=tuple(components))


def holds_any(desired: Desired) -> bool:
    """Return whether anything is held, so that the state has to be asked what stands.

    Documents and lock may yield no component of it any more, so what they yield does not matter.
    """
    return bool(desired.plan.paused) or any(cluster.connection.state in HELD for cluster in desired.clusters)


def kept(desired: Desired, standing: Standing) -> Desired:
    """Return what is desired, with exactly what stands of all that is held.

    Whether that serves is not asked at the end of an update: where it does not, no update did it.
    """
    clusters = [_kept(cluster, standing, desired.plan.paused) for cluster in desired.clusters]
    known = {made.key for cluster in clusters for made in cluster.objects}
    for cluster in clusters:
        cloud = cluster.connection.cloud
        known |= {made.key for part in cloud.components for made in part.resources} if cloud else set()
    return replace(desired, clusters=tuple(_after(cluster, known) for cluster in clusters))


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


def _kept(cluster: DesiredCluster, standing: Standing, paused: tuple[str, ...]) -> DesiredCluster:
    """Return the cluster with what stands there, which is nothing where it was never made."""
    name, state, cloud = cluster.connection.cluster, cluster.connection.state, cluster.connection.cloud
    whole = state in HELD
    if state == "abandoned" or not (whole or paused):
        return cluster
    here = {
        place: outputs
        for place, outputs in standing.items()
        if place.name == name or place.name.startswith(f"{name}/")
    }
    if cloud and state == "paused":
        cloud = _cloud_that_stands(cloud, here)
    components = tuple(_that_stand(cluster.components, here, name, None if whole else paused))
    if not whole:
        renamed = dict(_renamed_pools(cluster, here, paused))
        pools = set(_pools(components, here))
        components = tuple(_leading_to(component, renamed, pools) for component in components)
    made = {item.key for component in components for item in component.objects}
    return replace(
        cluster,
        connection=replace(cluster.connection, cloud=cloud),
        components=components,
        gateway=cluster.gateway if cluster.gateway and cluster.gateway.key in made else None,
        workloads=cluster.changing.workloads,
        served=cluster.changing.served,
    )


def _that_stand(
    components: tuple[Component, ...], here: Standing, cluster: str, paused: tuple[str, ...] | None
) -> Iterator[Component]:
    """Yield the components with those objects and hooks of held ones that stand, and all else that stands.

    Of `paused` deployments only, where other things on the cluster change (None: of all).
    """
    stay: dict[Resource, Component] = {}
    held_places = {
        place: outputs for place, outputs in here.items() if _is_held(place, here, cluster, paused)
    }
    for component in components:
        place = component.place
        if component.held and place not in here:
            continue
        if component.held:
            items = tuple(item for item in component.objects if component.place_of(item) in here)
            hooks = tuple(
                hook
                for hook in component.hooks
                if hook.workload in items and Resource(component.kind, _STASH, hook.name) in here
            )
            component = replace(component, objects=items, hooks=hooks)
        objects = map(component.place_of, component.objects)
        hooks_at = [Resource(component.kind, _STASH, hook.name) for hook in component.hooks]
        for known in (place, *objects, *hooks_at):
            held_places.pop(known, None)
        stay[place] = component
    for place in [place for place in held_places if not place.parent and place.token.startswith(COMPONENTS)]:
        kind = place.token.removeprefix(COMPONENTS)
        if kind in KINDS:
            stay[place] = Component(kind, place.name, (), held=True)
        del held_places[place]
    for place in held_places:
        if home := _home(place.parent, place, stay):
            stay[home] = replace(stay[home], standing=(*stay[home].standing, place))
    yield from stay.values()


def _is_held(place: Resource, here: Standing, cluster: str, paused: tuple[str, ...] | None) -> bool:
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
            and _is_held(other, here, cluster, paused)
            for other in here
        )
    if not place.parent:
        ends = [names.endpoint_component(cluster, key) for key in paused]
        # Names of replicas begin with that of their deployment; which pools follow shows in the state alone.
        replicas = place.token == f"{COMPONENTS}ModelReplicas"
        return place.name in {*ends, *map(names.route_component, ends)} or (
            replicas and any(place.name.startswith(f"{end}-") for end in ends)
        )
    metadata = here[place].get("metadata") or {}
    namespace, labels = metadata.get("namespace"), metadata.get("labels") or {}
    if place.parent == "ServingStack":
        if place.token == _NAMESPACE:
            namespace = metadata.get("name")
        return place.token in (_SECRET, _NAMESPACE) and namespace in {key.partition("/")[0] for key in paused}
    return place.parent in _MODELS and any(
        labels.get(names.DEPLOYMENT) == own and (namespace == of if namespace else f":{of}:" in place.name)
        for of, _, own in (key.partition("/") for key in paused)
    )


def _home(kind: str, place: Resource, components: Iterable[Resource]) -> Resource | None:
    """Return the component of a kind under which something stands: that whose name its own begins with.

    Which one it is shows in the state alone.
    """
    of_kind = [at for at in components if at.token == f"{COMPONENTS}{kind}"]
    return max(of_kind, key=lambda at: len(at.name) * place.name.startswith(at.name), default=None)


def _cloud_that_stands(cloud: CloudCluster, here: Standing) -> CloudCluster:
    """Return a GKE cluster with the parts and resources that stand, and those that no document has."""
    every_part = (*cloud.components, *cloud.unlocked)
    parts = {Resource("", f"{COMPONENTS}{part.kind}", part.name): part for part in every_part}
    stay = {place: part for place, part in parts.items() if place in here}
    for place in here:
        kind = place.token.removeprefix(COMPONENTS)
        if not place.parent and kind not in KINDS and place not in stay:
            stay[place] = CloudComponent(kind, place.name, ())
    every = {Resource(part.kind, made.token, made.name) for part in stay.values() for made in part.resources}
    for at, part in stay.items():
        resources = (made for made in part.resources if Resource(part.kind, made.token, made.name) in here)
        stay[at] = replace(part, resources=tuple(resources))
    for place in here:
        if place not in every and (home := _home(place.parent, place, stay)):
            stay[home] = replace(stay[home], standing=(*stay[home].standing, (place.token, place.name)))
    return replace(cloud, components=tuple(stay.values()), unlocked=())


def _renamed_pools(
    cluster: DesiredCluster, here: Standing, paused: tuple[str, ...]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield InferencePools of paused deployments that would have another name now, with the one they have."""
    objects = {item.key: item for item in cluster.objects}
    for key in paused:
        pools = (
            [objects[at] for at in cluster.served[key].members if objects[at].kind == POOL]
            if (key in cluster.served)
            else []
        )
        stand = [
            str(here[place]["metadata"]["name"])
            for place in here
            if place.parent == "ModelEndpoint"
            and place.token.endswith(f":{POOL}")
            and _is_held(place, here, cluster.connection.cluster, (key,))
        ]
        for pool in pools:
            if stand and pool.kubernetes_name not in stand:
                yield (key.partition("/")[0], pool.kubernetes_name), stand[0]


def _pools(components: Iterable[Component], here: Standing) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of each InferencePool that stands or is made."""
    for component in components:
        for item in component.objects:
            if item.kind == POOL:
                yield item.namespace or "", item.kubernetes_name
        for place in component.standing:
            if place.token.endswith(f":{POOL}"):
                metadata = here[place]["metadata"]
                yield str(metadata["namespace"]), str(metadata["name"])


def _leading_to(
    component: Component, renamed: Mapping[tuple[str, str], str], pools: Collection[tuple[str, str]]
) -> Component:
    """Return the component with routes of services that lead to `pools` alone, by their names there."""
    if component.kind != "ModelService":
        return component
    return replace(
        component,
        objects=tuple(
            _redirected(item, renamed, pools) if item.kind == ROUTE else item for item in component.objects
        ),
    )


def _redirected(
    item: KubeObject, renamed: Mapping[tuple[str, str], str], pools: Collection[tuple[str, str]]
) -> KubeObject:
    namespace = item.namespace or ""

    def named(value: Any) -> Any:
        if isinstance(value, list):
            changed = [named(each) for each in value]
            return [each for each in changed if not leads_nowhere(each)]
        if not isinstance(value, dict):
            return value
        changes = {key: named(each) for key, each in value.items()}
        if value.get("kind") == POOL:
            name = value.get("name")
            changes["name"] = renamed.get((namespace, str(name)), name)
        return changes

    def leads_nowhere(value: Any) -> bool:
        is_pool = isinstance(value, dict) and value.get("kind") == POOL
        return is_pool and (value.get("namespace", namespace), value["name"]) not in pools

    return replace(item, manifest=named(item.manifest))


def _after(cluster: DesiredCluster, known: set[str]) -> DesiredCluster:
    """Return the cluster with objects that come after what is registered, and nothing else."""

    def registered(items: Iterable[_Ordered]) -> tuple[_Ordered, ...]:
        return tuple(replace(item, after=tuple(key for key in item.after if key in known)) for item in items)

    components = (
        replace(component, objects=registered(component.objects)) for component in cluster.components
    )
    cloud = cluster.connection.cloud
    if cloud:
        parts = (replace(part, resources=registered(part.resources)) for part in cloud.components)
        cloud = replace(cloud, components=tuple(parts))
    return replace(cluster, components=tuple(components), connection=replace(cluster.connection, cloud=cloud))
