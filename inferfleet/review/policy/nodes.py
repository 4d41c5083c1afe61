"""Clusters and pools as policies see them, and what becomes of those in Google Cloud."""

from collections.abc import Iterator
from typing import TypedDict

from inferfleet.cloud.gke.changes.differences import CloudChange
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.wording import path_of
from inferfleet.fleet.shapes import node
from inferfleet.review.policy import facts
from inferfleet.review.policy.held import Held
from inferfleet.review.policy.things import Thing

_REGION = "topology.kubernetes.io/region"


def region(cluster: InferenceCluster) -> str:
    """Return the region of a cluster, "" where its document does not say it."""
    gke = cluster.spec.cluster.gke
    return gke.region if gke else cluster.metadata.labels.get(_REGION, "")


def pools(documents: Documents, desired: Desired, held: Held) -> Iterator[Thing]:
    """Yield the pools of documents, then those that are removed from Google Cloud."""
    changes = {(change.cluster, change.pool): change for change in desired.cloud_changes if change.pool}
    known = set()
    for name, cluster in documents.clusters.items():
        for place, pool in enumerate(cluster.spec.node_pools):
            key = (name, pool.name)
            known.add(key)
            empty = node(documents.classes[pool.class_name])
            gpus = pool.size * empty.gpus if empty else 0
            fact = facts.Pool(
                cluster=name,
                name=pool.name,
                class_name=pool.class_name,
                capacity=pool.capacity.model,
                region=region(cluster),
                labels=cluster.metadata.labels,
                nodes=pool.size,
                gpus=gpus,
                free_gpus=max(0, gpus - held.on_pool.get(key, 0)),
                **_change(changes.get(key)),
            )
            path = path_of(("spec", "nodePools", place))
            yield Thing(
                fact, f"pool {name}/{pool.name}", f"{name}/{pool.name}", "InferenceCluster", name, path
            )
    for (name, pool_name), change in sorted(changes.items()):
        if (name, pool_name) not in known:
            there = documents.clusters.get(name)
            gone = facts.Pool(
                cluster=name,
                name=pool_name,
                class_name="",
                capacity="",
                region=region(there) if there else "",
                labels=there.metadata.labels if there else {},
                nodes=0,
                gpus=0,
                free_gpus=0,
                **_change(change),
            )
            kind = "InferenceCluster" if there else ""
            path = "spec.nodePools" if there else ""
            yield Thing(gone, f"pool {name}/{pool_name}", f"{name}/{pool_name}", kind, name, path)


def clusters(documents: Documents, desired: Desired, held: Held, own: tuple[Thing, ...]) -> Iterator[Thing]:
    """Yield the clusters of documents with their `own` pools, then those removed from Google Cloud."""
    changes = {change.cluster: change for change in desired.cloud_changes if not change.pool}
    for name, cluster in documents.clusters.items():
        there = [thing.fact for thing in own if thing.fact.cluster == name]
        fact = facts.Cluster(
            name=name,
            labels=cluster.metadata.labels,
            state=cluster.spec.state,
            source=cluster.spec.cluster.source,
            region=region(cluster),
            replicas=held.on_cluster.get(name, 0),
            gpus=sum(pool.gpus for pool in there),
            free_gpus=sum(pool.free_gpus for pool in there),
            **_change(changes.get(name)),
        )
        yield Thing(fact, f"cluster {name}", name, "InferenceCluster", name)
    for name, change in sorted(changes.items()):
        if name not in documents.clusters:
            gone = facts.Cluster(
                name=name,
                labels={},
                state="",
                source="GKE",
                region="",
                replicas=0,
                gpus=0,
                free_gpus=0,
                **_change(change),
            )
            yield Thing(gone, f"cluster {name}", name)


class _Change(TypedDict):
    """The fields that tell what becomes of a cluster or pool."""

    change: str
    fields: tuple[str, ...]


def _change(change: CloudChange | None) -> _Change:
    if change is None:
        return {"change": "", "fields": ()}
    return {"change": change.kind, "fields": change.fields}
