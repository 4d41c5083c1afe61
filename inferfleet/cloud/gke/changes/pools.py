"""What an update does to the node pools of a GKE cluster, and to the replicas that run on them."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from inferfleet.cloud.gke.changes.differences import differences
from inferfleet.cloud.gke.facts import schema
from inferfleet.cloud.gke.facts.change_table import field_table
from inferfleet.cloud.gke.facts.create_only import ZONES, is_create_only, only_adds, recreates, without_places
from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.gke.pool import GkePool, gke_clusters
from inferfleet.cloud.values import (
    ChangeKind,
    CloudChange,
    CloudCluster,
    CloudPool,
    Difference,
    in_words,
)
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Replace
from inferfleet.documents.kinds.inference_cluster import State
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import one_of
from inferfleet.fleet.lock.lock import Lock, LockedPool

_ALLOW = "spec.cluster.gke.replace.allow"
_RESERVED = "nodeConfig.reservationAffinity.values"
_LOST = "Change it back until the cluster answers, or set state: abandoned"
_KIND = "InferenceCluster"
_WITH_CLUSTER = "with its cluster"


def pool_changes(documents: Documents, lock: Lock, cluster: CloudCluster) -> Iterator[CloudChange | Problem]:
    """Yield what happens to the pools of a cluster that stays, what is refused, and what has a risk."""
    state = documents.clusters[cluster.cluster].spec.state
    before = {key: pool for key, pool in lock.pools.items() if key.partition("/")[0] == cluster.cluster}
    now = {pool.key: pool for pool in cluster.pools.values()}
    described = gke_clusters(documents)[cluster.cluster]
    for key in sorted({*before, *now}):
        if key not in before or key not in now:
            kind: ChangeKind = "created" if key in now else "removed"
            yield _created_or_removed(CloudChange(cluster.cluster, key.partition("/")[2], kind), state)
        elif before[key] != _locked(now[key]):
            pool = described.pool(now[key].pool)
            yield from _changed(lock, pool, _locked(now[key]), state)


def replaced_with_cluster(
    lock: Lock, cluster: CloudCluster, why: tuple[Difference, ...]
) -> Iterator[CloudChange]:
    """Yield what happens to pools of a cluster that is replaced by another, which has its own."""
    before = {key for key in lock.pools if key.partition("/")[0] == cluster.cluster}
    now = {pool.key for pool in cluster.pools.values()}
    for key in sorted(before | now):
        kind: ChangeKind = "replaced" if key in before & now else "created" if key in now else "removed"
        yield CloudChange(cluster.cluster, key.partition("/")[2], kind, why, _WITH_CLUSTER)


def allow_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each entry of `replace.allow` that names nothing whose change replaces a pool."""
    names = {row.name for row in field_table() if any(map(_replaces, row.wire))}
    paths = set(filter(partial(is_create_only, NODE_POOL), schema.replacing(NODE_POOL)))
    for name, cluster in sorted(documents.clusters.items()):
        allowed = cluster.spec.cluster.gke.replace.allow if cluster.spec.cluster.gke else ()
        for place, entry in enumerate(allowed):
            if entry not in names | paths:
                path = f"{_ALLOW}[{place}]"
                what = f"{entry!r} does not name a field whose change replaces a pool"
                yield Problem(what, one_of(entry, names, "Fields that do"), path, kind=_KIND, key=name)


def _replaces(wire: str) -> bool:
    """Return whether the path, or one inside it, is of a node pool and cannot change in place."""
    resource, _, path = wire.partition(".")
    inside = [field for field in schema.replacing(NODE_POOL) if f"{field}.".startswith(f"{path}.")]
    return resource == "NodePool" and any(is_create_only(NODE_POOL, field) for field in (path, *inside))


def _created_or_removed(change: CloudChange, state: State) -> CloudChange | Problem:
    if state != "lost":
        return change
    what = f"cluster {change.cluster} is lost, and {change} by the documents"
    return Problem(what, _LOST, "spec.nodePools", kind=_KIND, key=change.cluster)


def _changed(lock: Lock, pool: GkePool, now: LockedPool, state: State) -> Iterator[CloudChange | Problem]:
    """Yield what happens to a pool whose settings are not those of the lock."""
    before = lock.pools[pool.key]
    changed = _differences(before, now)
    replacing = tuple(difference for difference in changed if not recreates(difference.path))
    on_it = _replicas(lock, pool)
    thing = f"pool {pool.key} with {on_it}" if on_it else f"pool {pool.key}"
    problem = partial(Problem, path=pool.path(), kind=_KIND, key=pool.cluster)
    if state == "lost":
        what = f"cluster {pool.cluster} is lost, and {thing} would change: {in_words(changed)}"
        yield problem(what, _LOST)
    elif not replacing:
        touching = tuple(
            difference
            for difference in changed
            if not only_adds(difference.path, difference.before, difference.after)
        )
        if touching:
            yield CloudChange(pool.cluster, pool.name, "nodes replaced", touching, on_it)
        if on_it and touching:
            of_zones = all(difference.path == ZONES for difference in touching)
            does = "deletes the nodes of removed zones of" if of_zones else "replaces the nodes of"
            what = f"GKE {does} {thing}, some at a time: {in_words(touching)}"
            step = "Expect the replicas on them to restart on other nodes"
            yield problem(what, step, severity="warning")
    elif on_it and (missing := _not_allowed(replacing, pool.gke.replace)):
        what = f"{thing} would be replaced, for this cannot change in place: {in_words(replacing)}"
        allow = f"{_ALLOW}: [{', '.join(missing)}]"
        yield problem(what, f"Allow it with {allow}; or change it back, and add a second pool to move to")
    else:
        first = pool.gke.replace.order == "CreateFirst"
        order = "new nodes are created first" if first else "old nodes are deleted first"
        note = f"{order}; the new nodes take over {on_it}" if on_it else order
        yield CloudChange(pool.cluster, pool.name, "replaced", changed, note)
        if on_it and not first:
            what = f"{thing} is replaced, and its old nodes are deleted before new ones are created"
            step = "Expect a gap in serving, or set spec.cluster.gke.replace.order: CreateFirst"
            yield problem(what, step, severity="warning")
        if on_it and first and _shares_reservation(before, changed):
            what = f"{thing} is replaced, and its old nodes hold the reservation that the new ones need"
            step = "Make room for both in it, or set spec.cluster.gke.replace.order: DeleteFirst"
            yield problem(what, step, severity="warning")


def _locked(pool: CloudPool) -> LockedPool:
    return LockedPool(pool.name, pool.settings)


def _differences(before: LockedPool, now: LockedPool) -> tuple[Difference, ...]:
    changed = differences("NodePool", before.settings, now.settings)
    return changed or (Difference("name", before.name, now.name),)


def _shares_reservation(before: LockedPool, changed: tuple[Difference, ...]) -> bool:
    paths = {difference.path for difference in changed}
    return _RESERVED in before.settings and _RESERVED not in paths


def _replicas(lock: Lock, pool: GkePool) -> str:
    """Return `3 replicas (2 of ml/coder, 1 of ml/chat)`: those with a role on the pool now; "" for none."""
    by_deployment: Counter[str] = Counter()
    for spot, replicas in lock.placements.items():
        if spot.cluster == pool.cluster and pool.name in (name for _, name in spot.pools):
            by_deployment[spot.deployment] += replicas
    total = by_deployment.total()
    of = ", ".join(f"{replicas} of {deployment}" for deployment, replicas in sorted(by_deployment.items()))
    return f"{total} {'replica' if total == 1 else 'replicas'} ({of})" if total else ""


def _not_allowed(changed: tuple[Difference, ...], replace: Replace) -> tuple[str, ...]:
    """Return the entries `allow` lacks: the first field that may have caused each difference, or its path."""
    missing = (
        difference.names[0] if difference.names else without_places(difference.path)
        for difference in changed
        if not {*difference.names, without_places(difference.path)} & set(replace.allow)
    )
    return tuple(dict.fromkeys(missing))
