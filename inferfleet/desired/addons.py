"""The add-ons that a cluster of the stack gets: which its objects need, in which versions, and their objects.

One that documents let inferfleet install is installed where an object on the cluster needs it, and stays from
then on: the lock has it. One that was installed and that documents leave to others again stays as it stands:
its component is held, so nothing changes or deletes it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from inferfleet.desired.clusters import Site
from inferfleet.desired.values import ClusterAddon, Component, DesiredCluster, KubeObject
from inferfleet.documents.documents import Documents, Rendered
from inferfleet.documents.kinds.addons import Addon
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.fleet import names
from inferfleet.fleet.lock.lock import LockedCluster
from inferfleet.serving.envoy_gateway import CONFIG_FILE, CONFIG_MAP
from inferfleet.serving.metadata import WAIT_FOR
from inferfleet.tables.addons import ADDONS, NAMES, AddonName

DEFINITION = "CustomResourceDefinition"
# The version of an add-on by which a definition was written: none is written by an older one again.
VERSION = f"{names.DOMAIN}/addon-version"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
# Kinds that wait for those before them; all that is not named comes in the middle. A Job makes what the
# Deployment starts with. Webhooks come after it: while nobody answers them the API server refuses what they
# are for, in previews too. A class is there once its controller has accepted it.
_MADE, _CONTROLLER, _CLASS = "Job", "Deployment", "GatewayClass"
_FIRST, _LAST = ((DEFINITION,), ("Namespace",)), ((_MADE,), (_CONTROLLER,), WEBHOOKS, (_CLASS,))
_AWAITED = (_MADE, _CONTROLLER, _CLASS)
_STAYS = (DEFINITION, "Namespace")
_PATH = "spec.serving.stack"
# Their images are small. Pulumi's own ten minutes are long for one that does not start.
_READY_SECONDS = 300


def cluster_addons(
    documents: Documents, cluster: DesiredCluster, locked: LockedCluster | None
) -> tuple[ClusterAddon, ...]:
    """Return the add-ons that the stack installs on a cluster, or once has, in the order of their table."""
    managed = documents.clusters[cluster.connection.cluster].spec.addons
    installed = locked.installed if locked else {}
    addons = []
    for name in NAMES:
        before = installed.get(name)
        if name not in managed:
            if before is not None:
                addons.append(ClusterAddon(name, before, "", left=True))
            continue
        needs = [item for item in cluster.objects if _group(item) in ADDONS[name].groups]
        needs = [*_gateways(cluster, name), *needs]
        if needs or before is not None:
            version = _version(managed[name], before, documents.rendered(name), name)
            addons.append(ClusterAddon(name, version, _why(needs)))
    return tuple(addons)


def _gateways(cluster: DesiredCluster, name: AddonName) -> Iterator[KubeObject]:
    """Yield the Gateways that the controller of an add-on serves: that of the cluster, by its provider, and
    those of InferenceGateways, which are Envoy Gateway's.
    """
    provider = ADDONS[name].provider
    if cluster.gateway and provider and cluster.gateway_provider == provider:
        yield cluster.gateway
    if provider == "envoy":
        yield from (gateway for _, gateway in sorted(cluster.front_doors.items()))


def _group(item: KubeObject) -> str:
    return item.api_version.rpartition("/")[0]


def _why(needs: Sequence[KubeObject]) -> str:
    """Return what needs an add-on: its first object in words, and how many there are besides."""
    if not needs:
        return ""
    more = f" and {len(needs) - 1} more" if len(needs) > 1 else ""
    return f"{needs[0].title}{more}"


def _version(addon: Addon, before: str | None, rendered: Mapping[str, Rendered], name: AddonName) -> str:
    """Return the version to install: that of the document, else the one that is there or rendered already."""
    if addon.version is not None:
        return addon.version
    if before is not None:
        return before
    releases = [release.version for release in ADDONS[name].releases]
    return next((version for version in releases if version in rendered), releases[0])


def addon_components(
    documents: Documents, site: Site, cluster: DesiredCluster, addons: Iterable[ClusterAddon]
) -> tuple[Component, ...]:
    """Return the components of the add-ons of a cluster, each after the one before it. Those that are not
    rendered yet, which stops an update, have none.
    """
    components: list[Component] = []
    after: tuple[str, ...] = ()
    for addon in addons:
        component = names.addon_component(site.cluster, addon.name)
        if addon.left:
            components.append(Component("ClusterAddon", component, (), held=True))
            continue
        rendered = documents.rendered(addon.name).get(addon.version)
        if rendered is None:
            continue
        configured = (_configured(manifest, cluster.envoy_gateway) for manifest in rendered.objects)
        manifests = [*configured, *_classes(cluster, addon.name)]
        objects = tuple(_objects(manifests, addon, site, stack=documents.settings.stack, after=after))
        held = documents.clusters[site.cluster].spec.held
        components.append(Component("ClusterAddon", component, objects, held=held))
        after = _ends(objects) or after
    return tuple(components)


def _configured(manifest: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return Envoy Gateway's configuration with fields that InferenceGateways need; another object as it is.

    Not by values of its chart, because clusters of a stack have one version with the same values. Envoy
    Gateway follows the file, so its pod stays.
    """
    if (manifest["kind"], manifest["metadata"]["name"]) != ("ConfigMap", CONFIG_MAP):
        return manifest
    written = yaml.safe_load(manifest["data"][CONFIG_FILE])
    if (wanted := _with(written, fields)) == written:
        return manifest
    return {**manifest, "data": {**manifest["data"], CONFIG_FILE: yaml.safe_dump(wanted)}}


def _with(written: Any, fields: Any) -> Any:
    if not (isinstance(written, Mapping) and isinstance(fields, Mapping)):
        return fields
    changed = {name: _with(written.get(name), value) for name, value in fields.items()}
    return {**written, **changed}


def _classes(cluster: DesiredCluster, name: AddonName) -> Iterator[dict[str, Any]]:
    """Yield the GatewayClasses by which Gateways name the controller of an add-on that makes none itself."""
    controller = ADDONS[name].class_controller
    classes = {gateway.manifest["spec"]["gatewayClassName"] for gateway in _gateways(cluster, name)}
    for class_name in sorted(classes) if controller else ():
        yield {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": _CLASS,
            "metadata": {"name": class_name},
            "spec": {"controllerName": controller},
        }


def _objects(
    rendered: Iterable[dict[str, Any]],
    addon: ClusterAddon,
    site: Site,
    *,
    stack: str,
    after: tuple[str, ...],
) -> Iterator[KubeObject]:
    """Yield the objects of an add-on, each after all of those kinds that come before its own.

    Definitions come one after the other: an API server builds its schema anew after each of them, and
    Pulumi's provider asks for it before it writes the next object.
    """
    by_phase: dict[int, list[dict[str, Any]]] = {}
    for manifest in rendered:
        by_phase.setdefault(_phase(manifest["kind"]), []).append(manifest)
    for _, manifests in sorted(by_phase.items()):
        placed: list[KubeObject] = []
        for manifest in manifests:
            in_turn = manifest["kind"] == DEFINITION and placed
            item = site.place(
                _labelled(manifest, stack=stack, version=addon.version),
                after=(placed[-1].key,) if in_turn else after,
                timeout=_READY_SECONDS if manifest["kind"] in _AWAITED else None,
                retain=manifest["kind"] in _STAYS,
            )
            placed.append(replace(item, name=_name(site.cluster, addon, manifest["metadata"])))
        yield from placed
        after = tuple(item.key for item in placed)


def _name(cluster: str, addon: ClusterAddon, metadata: Mapping[str, Any]) -> str:
    """Return the name of an object in Pulumi's state, by which it is known whose it is."""
    component = names.addon_component(cluster, addon.name)
    return names.pulumi_object(component, metadata["name"], namespace=metadata.get("namespace"))


def _phase(kind: str) -> int:
    """Return the place of a kind in the order of phases."""
    for place, kinds in enumerate((*_FIRST, (), *_LAST)):
        if kind in kinds:
            return place
    return len(_FIRST)


def _labelled(manifest: Mapping[str, Any], *, stack: str, version: str) -> dict[str, Any]:
    """Return the manifest with the labels of the stack; a definition with the version that wrote it."""
    metadata = dict(manifest["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **names.object_labels(stack)}
    annotations: dict[str, str] = {}
    if manifest["kind"] == DEFINITION:
        annotations = {VERSION: version, WAIT_FOR: "condition=Established"}
    if manifest["kind"] == _CLASS:
        annotations = {WAIT_FOR: "condition=Accepted"}
    if manifest["kind"] in WEBHOOKS:
        # Their controllers enter it themselves.
        annotations = {WAIT_FOR: "jsonpath={.webhooks[0].clientConfig.caBundle}"}
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    # What an API server writes by itself.
    return {key: value for key, value in manifest.items() if key != "status"} | {"metadata": metadata}


def _ends(objects: Sequence[KubeObject]) -> tuple[str, ...]:
    """Return the keys of the objects that nothing of the add-on comes after: once they stand, it serves."""
    last = max((_phase(item.kind) for item in objects), default=0)
    return tuple(item.key for item in objects if _phase(item.kind) == last)


def with_addons(cluster: DesiredCluster, addons: Sequence[Component]) -> tuple[Component, ...]:
    """Return the add-ons and components of a cluster, with objects that come after the add-ons that serve
    their kinds.
    """
    ends: dict[str, tuple[str, ...]] = {}
    of_gateways: dict[str, tuple[str, ...]] = {}
    webhooks: dict[str, tuple[KubeObject, ...]] = {}
    for component in addons:
        if component.held or not component.objects:
            continue
        name = next(name for name in NAMES if component.name.endswith(f"/{name}"))
        configured = tuple(item for item in component.objects if item.kind in WEBHOOKS)
        for group in ADDONS[name].groups:
            ends[group] = _ends(component.objects)
            webhooks[group] = configured
        for gateway in _gateways(cluster, name):
            of_gateways[gateway.key] = _ends(component.objects)

    def ordered(item: KubeObject) -> KubeObject:
        own = (*ends.get(_group(item), ()), *of_gateways.get(item.key, ()))
        if not own:
            return item
        return replace(
            item,
            after=tuple(dict.fromkeys([*own, *item.after])),
            webhooks=webhooks.get(_group(item), ()),
        )

    return (
        *addons,
        *(
            replace(
                component,
                objects=tuple(map(ordered, component.objects)),
                hooks=tuple(replace(hook, workload=ordered(hook.workload)) for hook in component.hooks),
            )
            for component in cluster.components
        ),
    )


def unrendered_problems(
    documents: Documents, wanted: Mapping[str, tuple[ClusterAddon, ...]]
) -> Iterator[Problem]:
    """Yield a problem for each add-on of a cluster whose manifests are not in the project, or are of other
    values. Documents that are named by path have no project.
    """
    if documents.installed is None:
        return
    for cluster, addon in ((cluster, addon) for cluster, addons in wanted.items() for addon in addons):
        if addon.left:
            continue
        project = ADDONS[addon.name].project
        path = f"{_PATH}.{addon.name}"
        step = f"Run `inferfleet stack render {documents.options}`, and commit what it writes"
        rendered = documents.rendered(addon.name).get(addon.version)
        values = documents.clusters[cluster].spec.addons[addon.name].values
        if rendered is None:
            what = f"{project} {addon.version} is to be installed on cluster {cluster!r}, and is not rendered"
            yield cluster_problem(cluster, what, step, path)
        elif rendered.values != values:
            what = (
                f"{project} {addon.version} is rendered with other values than those of cluster {cluster!r}"
            )
            yield cluster_problem(cluster, what, step, path)


def value_problems(documents: Documents, wanted: Mapping[str, tuple[ClusterAddon, ...]]) -> Iterator[Problem]:
    """Yield a problem for each cluster with other values for a version than a cluster before it."""
    first: dict[tuple[str, str], str] = {}
    for cluster, addons in sorted(wanted.items()):
        for addon in addons:
            if addon.left:
                continue
            other = first.setdefault((addon.name, addon.version), cluster)
            values, others = (
                documents.clusters[name].spec.addons[addon.name].values for name in (cluster, other)
            )
            if values != others:
                what = (
                    f"clusters {other!r} and {cluster!r} have {ADDONS[addon.name].project} {addon.version} "
                    "with different values, and a stack renders each version once"
                )
                step = "Write the same values, or put one of the clusters into a stack of its own"
                yield cluster_problem(cluster, what, step, f"{_PATH}.{addon.name}.values")
