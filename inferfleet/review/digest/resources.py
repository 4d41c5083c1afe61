"""Every resource that an update creates, changes, replaces or deletes, and the fields that make it do so.

Manifests and inputs of both sides are compared, which is what the engine does with its state. Pulumi's own
groups and providers are left out: they are nothing on a cluster or in a cloud.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import SYSTEM_POOL, Comparison
from inferfleet.desired.values import KubeObject
from inferfleet.documents.pods.diff import compared
from inferfleet.review.digest.update import Update, clouds
from inferfleet.review.digest.values import ResourceChange, ResourceOperation
from inferfleet.serving.comparison import differences
from inferfleet.serving.weights import CLAIM


def resources(update: Update) -> tuple[ResourceChange, ...]:
    """Return the resources, sorted by name; nothing is touched on paused, lost and abandoned clusters."""
    every = (*_buckets(update), *_in_clouds(update), *_on_clusters(update))
    return tuple(sorted(every, key=lambda change: change.resource))


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
                if any(differences(change.after, change.before, f".{change.path}"))
            }
        )
    )


def updates_in_place(update: Update) -> dict[tuple[str, str], Comparison]:
    """Return what changes in clouds without a replacement, by cluster and pool ("" for the cluster)."""
    old = {cluster.cluster: cluster for cluster in clouds(update.base.desired)}
    updated: dict[tuple[str, str], Comparison] = {}
    for cluster in clouds(update.desired):
        if cluster.cluster not in old or cluster.cluster in _untouched(update):
            continue
        keys = {"": cluster.key, SYSTEM_POOL: cluster.system_key}
        keys |= {name: pool.resource.key for name, pool in cluster.pools.items()}
        before = {resource.key: resource for resource in old[cluster.cluster].resources}
        for pool, key in keys.items():
            comparison = key in before and provider_of(cluster).compared(before[key], cluster.resource(key))
            if comparison and not comparison.replaced:
                updated[cluster.cluster, pool] = comparison
    return updated


def _in_clouds(update: Update) -> Iterator[ResourceChange]:
    old, new = (
        {
            resource.title: (resource, cluster)
            for cluster in clouds(desired)
            if cluster.cluster not in _untouched(update)
            for resource in cluster.resources
        }
        for desired in (update.base.desired, update.desired)
    )
    for title in sorted({*old, *new}):
        if title not in old or title not in new:
            yield ResourceChange(title, "create" if title in new else "delete", ())
            continue
        (before, _), (after, cluster) = old[title], new[title]
        if comparison := provider_of(cluster).compared(before, after):
            operation: ResourceOperation = "replace" if comparison.replaced else "update"
            yield ResourceChange(title, operation, comparison.fields)


def _buckets(update: Update) -> Iterator[ResourceChange]:
    """Yield the stack's own buckets that are created, and who is to read and write them or no longer is.

    A bucket is never deleted, and no document says anything else of one that is there.
    """
    old, new = (
        {resource.title: resource for bucket in desired.buckets for resource in bucket.resources}
        for desired in (update.base.desired, update.desired)
    )
    for title in sorted({*old, *new}):
        if title not in old:
            yield ResourceChange(title, "create", ())
        elif title not in new and not old[title].retain:
            yield ResourceChange(title, "delete", ())


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
        if before and before.retain and before.kind == CLAIM:
            return  # weights of a former commit stay on their cluster
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
        name
        for name, cluster in documents.clusters.items()
        if cluster.spec.held or cluster.spec.state == "abandoned"
    }
