"""Every resource that an update creates, changes, replaces or deletes, and the fields that make it do so.

Manifests and inputs of both sides are compared, which is what the engine does with its state. Pulumi's own
groups and providers are left out: they are nothing on a cluster or in a cloud.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from inferfleet.cloud.gke.changes.differences import differences, in_words
from inferfleet.cloud.gke.facts.create_only import forcing, leaves, without_places
from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.cloud.gke.values import CloudResource
from inferfleet.desired.values import KubeObject
from inferfleet.documents.pods.diff import compared
from inferfleet.review.digest.update import Update, clouds
from inferfleet.review.digest.values import ResourceChange, ResourceOperation
from inferfleet.serving.comparison import differing


def resources(update: Update) -> tuple[ResourceChange, ...]:
    """Return the resources, sorted by name; nothing is touched on clusters that are lost or abandoned."""
    return tuple(sorted((*_in_clouds(update), *_on_clusters(update)), key=lambda change: change.resource))


def differing_fields(before: Any, after: Any) -> tuple[str, ...]:
    """Return the paths of what differs between two manifests or templates, as people write them, sorted.

    Items of lists have their names in brackets. Amounts that are equal in another form are no difference.
    """
    if before == after:
        return ()
    changes = compared(before, after).changes
    return tuple(
        sorted(
            {
                change.path
                for change in changes
                if any(differing(change.after, change.before, f".{change.path}"))
            }
        )
    )


def cloud_pairs(update: Update) -> dict[str, tuple[CloudResource | None, CloudResource | None]]:
    """Return the resources in Google Cloud by their names, before and after."""
    untouched = _untouched(update)
    old, new = (
        {
            _title_in_cloud(resource): resource
            for cluster in clouds(desired)
            if cluster.cluster not in untouched
            for component in cluster.components
            for resource in component.resources
        }
        for desired in (update.base.desired, update.desired)
    )
    return {name: (old.get(name), new.get(name)) for name in sorted({*old, *new})}


def updates_in_place(
    update: Update, resources: Iterable[ResourceChange]
) -> dict[str, tuple[ResourceChange, str]]:
    """Return by name the resources in Google Cloud that change without a replacement, and how, in words such
    as `releaseChannel (channel REGULAR -> RAPID)`.
    """
    updated = {change.resource: change for change in resources if change.operation == "update"}
    return {
        name: (updated[name], _in_words(before, after))
        for name, (before, after) in cloud_pairs(update).items()
        if name in updated and before and after
    }


def _in_words(before: CloudResource, after: CloudResource) -> str:
    kind: Literal["Cluster", "NodePool"] = "Cluster" if after.token == CLUSTER else "NodePool"
    changed = set(_changed(before, after))
    every = differences(kind, leaves(after.token, before.inputs), leaves(after.token, after.inputs))
    return in_words(difference for difference in every if difference.path in changed)


def _in_clouds(update: Update) -> Iterator[ResourceChange]:
    for before, after in cloud_pairs(update).values():
        yield from _cloud_resource(before, after)


def _cloud_resource(before: CloudResource | None, after: CloudResource | None) -> Iterator[ResourceChange]:
    if before is None or after is None:
        if resource := after or before:
            operation: ResourceOperation = "delete" if after is None else "create"
            yield ResourceChange(_title_in_cloud(resource), operation, ())
        return
    changed = tuple(_changed(before, after))
    if not changed:
        return
    token = after.token
    forced = _differing(forcing(token, before.inputs), forcing(token, after.inputs))
    if forced or "name" in changed:
        yield ResourceChange(
            _title_in_cloud(after), "replace", _once(path for path in forced if path != "name")
        )
    else:
        yield ResourceChange(_title_in_cloud(after), "update", _once(changed))


def _changed(before: CloudResource, after: CloudResource) -> Iterator[str]:
    """Yield the paths of settings that differ and that the engine is not told to ignore."""
    for path in _differing(leaves(after.token, before.inputs), leaves(after.token, after.inputs)):
        if not any(f"{without_places(path)}.".startswith(f"{ignored}.") for ignored in after.ignore):
            yield path


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]


def _once(paths: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(without_places(path) for path in paths))


def _title_in_cloud(resource: CloudResource) -> str:
    return f"{resource.token.rpartition(':')[2]} {resource.name}"


def _on_clusters(update: Update) -> Iterator[ResourceChange]:
    untouched = _untouched(update)
    old, new = (
        {
            cluster.connection.cluster: {kube_object.key: kube_object for kube_object in cluster.objects}
            for cluster in desired.clusters
        }
        for desired in (update.base.desired, update.desired)
    )
    for cluster in sorted({*old, *new} - untouched):
        before, after = old.get(cluster, {}), new.get(cluster, {})
        replaced = cluster in old and cluster in new and cluster not in update.workloads
        for key in sorted({*before, *after}):
            yield from _kube_object(before.get(key), after.get(key), replaced=replaced)


def _kube_object(
    before: KubeObject | None, after: KubeObject | None, *, replaced: bool
) -> Iterator[ResourceChange]:
    if before is None or after is None:
        if kube_object := after or before:
            operation: ResourceOperation = "delete" if after is None else "create"
            yield ResourceChange(title_of(kube_object), operation, ())
    elif replaced:
        yield ResourceChange(title_of(after), "replace", ())
    elif before.manifest != after.manifest and (paths := _own_fields(before, after)):
        yield ResourceChange(title_of(after), "update", paths)


def _own_fields(before: KubeObject, after: KubeObject) -> tuple[str, ...]:
    """Return the paths of what differs between two objects, without fields of somebody else.

    A field that was somebody else's may have any value, and differs.
    """
    paths = {*differing_fields(before.manifest, after.manifest), *before.ignore}
    return tuple(sorted(paths - {*after.ignore}))


def title_of(kube_object: KubeObject) -> str:
    """Return an object as people and Pulumi name it: `Deployment east/ml/chat-decode-l4`."""
    return f"{kube_object.kind} {kube_object.name}"


def _untouched(update: Update) -> set[str]:
    documents = update.head.documents
    return {
        name for name, cluster in documents.clusters.items() if cluster.spec.state in ("lost", "abandoned")
    }
