"""Add-ons that an update installs on a cluster: whose what is there is, and which definitions stay newer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.clusters.connections.api import Api, ApiKind, readable
from inferfleet.clusters.preflight.ownership import ExistingObject
from inferfleet.desired.addons import DEFINITION, VERSION
from inferfleet.desired.values import DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK
from inferfleet.tables.addons import ADDONS, AddonName

_NAMED = 5
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# What Kubernetes adds to a definition by itself, and nobody writes.
_OF_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


def addon_objects(cluster: DesiredCluster) -> dict[AddonName, tuple[KubeObject, ...]]:
    """Return the objects of each add-on that is installed."""
    by_component = {
        component.name.rpartition("/")[2]: component.objects
        for component in cluster.components
        if component.kind == "ClusterAddon"
    }
    return {name: by_component[name] for name in ADDONS if by_component.get(name)}


def defined_kinds(cluster: DesiredCluster) -> frozenset[ApiKind]:
    """Return the kinds that an update defines on the cluster before it writes any object of them."""
    return frozenset(
        (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        for item in cluster.objects
        if item.kind == DEFINITION
        for spec in (item.manifest["spec"],)
        for version in spec["versions"]
        if version.get("served")
    )


def taken_over_problems(
    cluster: DesiredCluster, stack: str, existing: Iterable[ExistingObject]
) -> Iterator[Problem]:
    """Yield a problem for each add-on of which something is there that is not the stack's: somebody else has
    installed it. Namespaces are used as they are.
    """
    others = {
        (item.kind, item.namespace, item.name): item
        for item in existing
        if item.kind != "Namespace"
        and not (item.labels.get(MANAGED_BY) == MANAGER and item.labels.get(STACK) == stack)
    }
    name = cluster.connection.cluster
    for addon, objects in addon_objects(cluster).items():
        foreign = [
            str(others[key])
            for item in objects
            if (key := (item.kind, item.namespace or "", item.kubernetes_name)) in others
        ]
        if foreign:
            yield cluster_problem(
                name,
                f"{ADDONS[addon].project} is on cluster {name!r} already, and not of this stack: "
                f"{listing(foreign, _NAMED)}",
                f"Write {addon}: Provided, so that it stays whose it is, or uninstall it there",
                f"spec.serving.stack.{addon}",
            )


def is_of_addon(cluster: DesiredCluster, item: ExistingObject) -> bool:
    """Return whether an object that exists has the name of one of an add-on."""
    return any(
        (item.kind, item.namespace, item.name) == (each.kind, each.namespace or "", each.kubernetes_name)
        for objects in addon_objects(cluster).values()
        for each in objects
    )


def unserved(cluster: DesiredCluster, existing: Iterable[ExistingObject]) -> frozenset[str]:
    """Return the keys of objects whose webhooks may not answer yet, as a controller is not ready there."""
    ready = {
        (item.namespace, item.name)
        for item in existing
        if item.kind == "Deployment" and (item.item.get("status") or {}).get("availableReplicas")
    }
    waiting = {
        group
        for addon, objects in addon_objects(cluster).items()
        if any(
            item.kind == "Deployment" and (item.namespace, item.kubernetes_name) not in ready
            for item in objects
        )
        for group in ADDONS[addon].groups
    }
    return frozenset(
        item.key
        for item in cluster.objects
        if item.webhooks and item.api_version.rpartition("/")[0] in waiting
    )


def newer_definitions(
    api: Api, cluster: DesiredCluster, existing: Iterable[ExistingObject]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield definitions as they are on the cluster, by key, where a newer version wrote them: they stay."""
    for item, written in _written_by(cluster, existing):
        if _is_newer(written, item):
            live = readable(api, f"{_DEFINITIONS}/{item.kubernetes_name}")
            if live is not None:
                metadata = {key: value for key, value in live["metadata"].items() if key not in _OF_SERVER}
                kept = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
                yield item.key, {**kept, "spec": live["spec"]}


def stored_version_problems(
    api: Api, cluster: DesiredCluster, existing: Iterable[ExistingObject]
) -> Iterator[Problem]:
    """Yield a problem for each definition that would lose a version in which objects are stored. One that
    stays as a newer version wrote it loses none.
    """
    name = cluster.connection.cluster
    for item, written in _written_by(cluster, existing):
        if written == _version(item) or _is_newer(written, item):
            continue
        live = readable(api, f"{_DEFINITIONS}/{item.kubernetes_name}") or {}
        stored = (live.get("status") or {}).get("storedVersions") or ()
        lost = sorted({*stored} - {version["name"] for version in item.manifest["spec"]["versions"]})
        if lost:
            yield cluster_problem(
                name,
                f"on cluster {name!r} objects of {item.kubernetes_name} are stored as {listing(lost)}, which "
                "the new definition does not have",
                "Store them anew as a version that both have, and remove the old one from storedVersions: "
                "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/"
                "custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version",
                "spec.serving.stack",
            )


def _written_by(
    cluster: DesiredCluster, existing: Iterable[ExistingObject]
) -> Iterator[tuple[KubeObject, str | None]]:
    """Yield the definitions that are on the cluster already, with the version that wrote them there."""
    wanted = {item.kubernetes_name: item for item in cluster.objects if item.kind == DEFINITION}
    for present in existing:
        if present.kind == DEFINITION and present.name in wanted:
            annotations = present.item["metadata"].get("annotations") or {}
            yield wanted[present.name], annotations.get(VERSION)


def _version(definition: KubeObject) -> str:
    return str(definition.manifest["metadata"]["annotations"][VERSION])


def _is_newer(written: str | None, definition: KubeObject) -> bool:
    """Return whether a newer version wrote a definition than the one to install."""
    return written is not None and _numbers(written) > _numbers(_version(definition))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def provided_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield what is configured otherwise of add-ons that somebody else has installed: an istiod that does not
    know InferencePools. Who may not read its Deployment is told nothing.
    """
    if cluster.gateway_provider != "istio" or "istio" in addon_objects(cluster):
        return
    deployments = readable(api, "/apis/apps/v1/namespaces/istio-system/deployments")
    istiods = [
        item
        for item in (deployments or {}).get("items") or ()
        if (item["metadata"].get("labels") or {}).get("app") == "istiod"
    ]
    if istiods and not any(map(_knows_pools, istiods)):
        name = cluster.connection.cluster
        yield cluster_problem(
            name,
            f"istiod of cluster {name!r} has no ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true, so its gateways "
            "refuse routes to InferencePools",
            "Run `istioctl install -y --set values.pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true` "
            "there",
            "spec.serving.gateway.provider",
        )


def _knows_pools(istiod: Mapping[str, Any]) -> bool:
    return any(
        entry.get("name") in _SWITCHES and entry.get("value") == "true"
        for container in istiod["spec"]["template"]["spec"]["containers"]
        for entry in container.get("env") or ()
    )


# The second is that of Istio 1.27 and older.
_SWITCHES = ("ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "SUPPORT_GATEWAY_API_INFERENCE_EXTENSION")
