"""What becomes of clusters and pools, the field that forces it, and which clusters replicas should leave."""

from collections.abc import Iterator, Mapping

from inferfleet.cloud.gke.changes.differences import CloudChange
from inferfleet.cloud.gke.facts.create_only import ZONES, recreates
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.fleet.shapes import counted
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values.models import Drain
from inferfleet.review.digest.values.nodes import Cluster, ClusterChange, Pool, PoolChange, Resource

_LEFT = ("drained", "lost", "abandoned")


# What changes in place, by the name of the resource: the fields, and the same in words.
InPlace = Mapping[str, tuple[Resource, str]]


def cluster_changes(update: Update, updated: InPlace) -> tuple[Cluster, ...]:
    """Return the clusters that come, go, are replaced, or have another state or other settings in place."""
    old, new = update.base.documents.clusters, update.head.documents.clusters
    clouds = {change.cluster: change for change in update.desired.cloud_changes if not change.pool}
    return tuple(
        made
        for name in sorted({*old, *new})
        for made in _cluster(name, old.get(name), new.get(name), clouds.get(name), updated)
    )


def _cluster(
    name: str,
    old: InferenceCluster | None,
    new: InferenceCluster | None,
    cloud: CloudChange | None,
    updated: InPlace,
) -> Iterator[Cluster]:
    if cloud and cloud.kind != "nodes replaced":
        yield Cluster(name, cloud.kind, cloud.fields, str(cloud))
    elif old is None or new is None:
        change: ClusterChange = "added" if old is None else "removed"
        yield Cluster(name, change, (), f"cluster {name} is {change}")
    else:
        if old.spec.state != new.spec.state:
            told = f"cluster {name} is {new.spec.state}, and was {old.spec.state}"
            yield Cluster(name, "changed", ("spec.state",), told)
        for resource, thing in (
            (f"Cluster {name}", f"cluster {name}"),
            (f"NodePool {name}/system", f"the system pool of cluster {name}"),
        ):
            if resource in updated:
                made, words = updated[resource]
                yield Cluster(name, "changed", made.fields, f"{thing} {_in_place(made)}: {words}")


def pool_changes(update: Update, updated: InPlace) -> tuple[Pool, ...]:
    """Return the pools that come, go, are replaced, or have other sizes or settings in place.

    Those of a cluster that comes or goes as a whole are not listed; those of one that is replaced are.
    """
    old, new = _pools(update.base.documents), _pools(update.head.documents)
    clouds = {(change.cluster, change.pool): change for change in update.desired.cloud_changes if change.pool}
    whole = {change.cluster for change in update.desired.cloud_changes if not change.pool}
    stay = update.base.documents.clusters.keys() & update.head.documents.clusters.keys() - whole
    made: list[Pool] = []
    for key in sorted({*old, *new}):
        if key[0] in stay or key in clouds:
            made += _pool(key, old.get(key), new.get(key), clouds.get(key), updated)
    return tuple(made)


def _pool(
    key: tuple[str, str],
    old: NodePool | None,
    new: NodePool | None,
    cloud: CloudChange | None,
    updated: InPlace,
) -> Iterator[Pool]:
    place = "/".join(key)
    before, after = old.size if old else 0, new.size if new else 0
    made, words = updated.get(f"NodePool {place}", (None, ""))
    if cloud:
        yield Pool(*key, cloud.kind, before, after, cloud.fields, str(cloud))
    elif old is None or new is None:
        change: PoolChange = "added" if old is None else "removed"
        yield Pool(*key, change, before, after, (), f"pool {place} is {change}")
    elif made:
        nodes = f"; {before} -> {after} nodes in all" if before != after else ""
        told = f"pool {place} {_in_place(made)}: {words}{nodes}"
        yield Pool(*key, "changed", before, after, made.fields, told)
    elif fields := tuple(_fields(old, new)):
        told = f"pool {place} has another {', another '.join(fields)} in its document"
        if before != after:
            told = f"pool {place} has {after} nodes in its document, and had {before}"
        yield Pool(*key, "changed", before, after, fields, told)


def _in_place(resource: Resource) -> str:
    # Zones of a pool that lose nodes are a change in the cloud, and told as one.
    fields = set(resource.fields) - {ZONES}
    nodes = resource.resource.startswith("NodePool ") and any(map(recreates, fields))
    return "changes in place, and GKE replaces its nodes, some at a time" if nodes else "changes in place"


def _fields(old: NodePool, new: NodePool) -> Iterator[str]:
    """Yield the fields of a pool that differ, as documents have them, but for their order."""
    before, after = (pool.model_dump(by_alias=True, mode="json") for pool in (old, new))
    for name in before:
        was, will = before[name], after[name]
        if isinstance(was, list) and isinstance(will, list):
            was, will = sorted(was, key=repr), sorted(will, key=repr)
        if was != will:
            yield name


def _pools(documents: Documents) -> dict[tuple[str, str], NodePool]:
    return {
        (name, pool.name): pool
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }


def drains(update: Update) -> tuple[Drain, ...]:
    """Return the clusters that replicas should leave or that are given up, where the base says otherwise or
    replicas are still there.
    """
    old = update.base.documents.clusters
    made = []
    for name, cluster in sorted(update.head.documents.clusters.items()):
        state = cluster.spec.state
        if state not in _LEFT:
            continue
        before, after = (
            sum(replicas for spot, replicas in lock.placements.items() if spot.cluster == name)
            for lock in (update.lock, update.desired.plan.lock)
        )
        if name not in old or old[name].spec.state != state or before != after:
            made.append(Drain(name, state, before, after, _staying(update, name)))
    return tuple(made)


def _staying(update: Update, cluster: str) -> tuple[str, ...]:
    return tuple(
        f"{counted(placement.replicas, 'replica')} of {placement.spot.deployment} on {placement.spot.place}"
        for placement in update.desired.plan.placements
        if placement.spot.cluster == cluster
    )
