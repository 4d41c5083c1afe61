"""What an update does to GKE clusters and pools that exist, which of it is refused, and why a pool is as it
is.

What exists is what the lock says. Settings that differ are told by the fields of documents that may have
caused it, by the table of changes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

from inferfleet.cloud.gke import rolls
from inferfleet.cloud.gke.described import SOURCE, DescribedPool, described_clusters
from inferfleet.cloud.gke.facts import schema
from inferfleet.cloud.gke.facts.change_table import ROWS, Effect, fields_of
from inferfleet.cloud.gke.facts.create_only import (
    ZONES,
    forcing,
    is_create_only,
    leaves,
    only_adds,
    recreates,
    without_places,
)
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.rolls import pod_seconds, roll_seconds
from inferfleet.cloud.values import (
    ChangeKind,
    CloudChange,
    CloudCluster,
    CloudPool,
    CloudResource,
    Comparison,
    Difference,
    Setting,
    in_words,
)
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import Replace
from inferfleet.documents.kinds.inference_cluster import State
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import one_of
from inferfleet.fleet.lock.lock import Lock, LockedPool

# Settings that make it another cluster: its objects are created again in the new one.
_ELSEWHERE = ("source", "project", "location")
_ALLOW = "spec.cluster.gke.replace.allow"
_KIND = "InferenceCluster"
_LOST = "Change it back until the cluster answers, or set state: abandoned"
_WITH_CLUSTER = "with its cluster"
_RESERVED = "nodeConfig.reservationAffinity.values"
_IN_PLACE = "changes in place"
# Where a pool takes reservations before and after, another one is no other capacity model.
_MODEL = "capacity.model"
_CONSUMES = "nodeConfig.reservationAffinity.consumeReservationType"
_RESERVING = {"ANY_RESERVATION_THEN_FAIL", "SPECIFIC_RESERVATION"}


def cloud_changes(
    documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
) -> tuple[tuple[CloudChange, ...], tuple[Problem, ...]]:
    """Return what is created, replaced or removed, sorted by name; and what is refused or has a risk.

    `lock` is the one that was loaded, which says what exists. Pools of a cluster that is created or removed
    are not listed by themselves; those of one that is replaced are, after it. Nothing changes on a cluster
    that is paused or abandoned, but a paused one cannot become another.
    """
    outcomes = tuple(_outcomes(documents, lock, clusters))
    return (
        tuple(outcome for outcome in outcomes if isinstance(outcome, CloudChange)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Problem)),
    )


def _outcomes(
    documents: Documents, lock: Lock, clusters: tuple[CloudCluster, ...]
) -> Iterator[CloudChange | Problem]:
    yield from allow_problems(documents)
    planned = {cluster.cluster: cluster for cluster in clusters}
    for name in sorted({*documents.clusters, *lock.clusters}):
        document, before = documents.clusters.get(name), lock.clusters.get(name)
        sources = {document and document.spec.cluster.source, before and before.source}
        if SOURCE not in sources or (document and document.spec.state == "abandoned"):
            continue
        whole = cluster_change(documents, lock, name, planned.get(name))
        if document and document.spec.state == "paused":
            if isinstance(whole, Problem):
                yield whole
            continue
        if whole:
            yield whole
            if isinstance(whole, CloudChange) and whole.kind == "replaced" and name in planned:
                yield from replaced_with_cluster(lock, planned[name], whole.differences)
        elif name in planned:
            yield from pool_changes(documents, lock, planned[name])


def cluster_change(
    documents: Documents, lock: Lock, name: str, planned: CloudCluster | None
) -> CloudChange | Problem | None:
    """Return what happens to the cluster as a whole, or why it is refused; None where it stays as it is.

    `planned` is None for a cluster that the stack does not create on GKE. Another source, project or region
    is another cluster: allowed once no replica is placed there. A change of any other immutable setting is
    always refused: under the same project, region and name, Google takes the new cluster for the old one,
    and so do the objects in it.
    """
    document, locked = documents.clusters.get(name), lock.clusters.get(name)
    if locked is None:
        return CloudChange(name, "", "created", note=_pools(planned)) if planned else None
    if document is None:
        if locked.protected:
            # Pulumi would delete gateways and forget pools before it finds that the cluster is protected.
            return _protected(lock, name)
        return CloudChange(name, "", "removed") if locked.source == "GKE" else None
    source = document.spec.cluster.source
    if source != locked.source:
        changed = [Difference("source", locked.source, source, ("source",))]
    elif planned and locked.settings:
        changed = [*differences("Cluster", locked.settings, planned.settings)]
        # Another place changes addresses of networks too, which says nothing more.
        changed = [difference for difference in changed if difference.path in _ELSEWHERE] or changed
    else:
        changed = []
    if not changed:
        return None
    refused = _refused(documents, lock, name, changed)
    if refused:
        what, next_step = refused
        path = "spec.cluster.gke" if source == locked.source else "spec.cluster.source"
        what = f"cluster {name} {what}: {in_words(changed)}"
        return cluster_problem(name, what, next_step, path)
    return CloudChange(name, "", "replaced", tuple(changed), "the old one is deleted with everything on it")


def _refused(
    documents: Documents, lock: Lock, name: str, changed: list[Difference]
) -> tuple[str, str] | None:
    """Return what is wrong with replacing the cluster, and the next step; None where it may be replaced."""
    spec = documents.clusters[name].spec
    if spec.held:
        until = "is active again" if spec.state == "paused" else "answers, or set state: abandoned"
        return (
            f"is {spec.state} and would be replaced by another",
            f"Change it back until the cluster {until}",
        )
    if not any(difference.path in _ELSEWHERE for difference in changed):
        return (
            "has immutable settings that would change, so it would have to be replaced",
            "Change them back; or add a cluster of another name, and remove this one once it is drained; "
            "where no update has made it, put placement.lock back as it was before it",
        )
    replicas = sum(count for spot, count in lock.placements.items() if spot.cluster == name)
    if replicas:
        return (
            f"has {replicas} {'replica' if replicas == 1 else 'replicas'} and would be replaced by another",
            "Move them first: change it back, set state: drained, run pulumi up, then change it",
        )
    gke = spec.cluster.gke
    stays_on_gke = gke is not None and all(difference.path != "source" for difference in changed)
    if lock.clusters[name].protected or (stays_on_gke and gke and gke.deletion_protection):
        return (
            "would be replaced by another, and its deletionProtection forbids deleting the old one",
            "Change it back, set deletionProtection: false, run pulumi up, then change it",
        )
    return None


def _protected(lock: Lock, name: str) -> Problem:
    return Problem(
        f"cluster {name} has no document any more, and its deletionProtection forbids deleting it",
        "Put the document back with deletionProtection: false, run pulumi up, then remove it",
        where=lock.lines.get(f"clusters/{name}"),
    )


def _pools(cluster: CloudCluster) -> str:
    pools = cluster.pools
    return f"with {'pools' if len(pools) > 1 else 'pool'} {', '.join(pools)}" if pools else ""


def pool_changes(documents: Documents, lock: Lock, cluster: CloudCluster) -> Iterator[CloudChange | Problem]:
    """Yield the changes of the pools of a cluster that stays, and problems for refused and risky ones."""
    state = documents.clusters[cluster.cluster].spec.state
    before = {key: pool for key, pool in lock.pools.items() if key.partition("/")[0] == cluster.cluster}
    now = {pool.key: pool for pool in cluster.pools.values()}
    described = described_clusters(documents)[cluster.cluster]
    for key in sorted({*before, *now}):
        if key not in before or key not in now:
            kind: ChangeKind = "created" if key in now else "removed"
            yield _created_or_removed(CloudChange(cluster.cluster, key.partition("/")[2], kind), state)
        elif before[key] != _locked(now[key]):
            pool = described.pool(now[key].pool)
            roll = roll_seconds(pool, pod_seconds(documents, lock.placements))
            yield from _pool_change(lock, pool, _locked(now[key]), state, roll)


def _created_or_removed(change: CloudChange, state: State) -> CloudChange | Problem:
    if state != "lost":
        return change
    what = f"cluster {change.cluster} is lost, and {change} by the documents"
    return Problem(what, _LOST, "spec.nodePools", kind=_KIND, key=change.cluster)


def _pool_change(
    lock: Lock, pool: DescribedPool, now: LockedPool, state: State, roll: int | None
) -> Iterator[CloudChange | Problem]:
    """Yield the change of a pool whose settings differ from the lock, or the problem that refuses it.

    `roll` is how many seconds GKE may take to replace its nodes, None where nobody knows.
    """
    before = lock.pools[pool.key]
    changed = _pool_differences(before, now)
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
            lasts = f", in up to {rolls.in_words(roll)}" if roll else ""
            what = f"GKE {does} {thing}, some at a time{lasts}: {in_words(touching)}"
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


def _pool_differences(before: LockedPool, now: LockedPool) -> tuple[Difference, ...]:
    changed = differences("NodePool", before.settings, now.settings)
    return changed or (Difference("name", before.name, now.name),)


def _shares_reservation(before: LockedPool, changed: tuple[Difference, ...]) -> bool:
    paths = {difference.path for difference in changed}
    return _RESERVED in before.settings and _RESERVED not in paths


def _replicas(lock: Lock, pool: DescribedPool) -> str:
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


def replaced_with_cluster(
    lock: Lock, cluster: CloudCluster, why: tuple[Difference, ...]
) -> Iterator[CloudChange]:
    """Yield the changes of the pools of a cluster that is replaced by another, which has its own."""
    before = {key for key in lock.pools if key.partition("/")[0] == cluster.cluster}
    now = {pool.key for pool in cluster.pools.values()}
    for key in sorted(before | now):
        kind: ChangeKind = "replaced" if key in before & now else "created" if key in now else "removed"
        yield CloudChange(cluster.cluster, key.partition("/")[2], kind, why, _WITH_CLUSTER)


def allow_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each entry of `replace.allow` that names nothing whose change replaces a pool."""
    names = {row.name for row in ROWS if any(map(_replaces, row.wire))}
    paths = set(filter(partial(is_create_only, NODE_POOL), schema.replacing(NODE_POOL)))
    for name, cluster in sorted(documents.clusters.items()):
        allowed = cluster.spec.cluster.gke.replace.allow if cluster.spec.cluster.gke else ()
        for index, entry in enumerate(allowed):
            if entry not in names | paths:
                path = f"{_ALLOW}[{index}]"
                what = f"{entry!r} does not name a field whose change replaces a pool"
                yield Problem(what, one_of(entry, names, "Fields that do"), path, kind=_KIND, key=name)


def _replaces(wire: str) -> bool:
    """Return whether the path, or one inside it, is of a node pool and cannot change in place."""
    resource, _, path = wire.partition(".")
    inside = [field for field in schema.replacing(NODE_POOL) if f"{field}.".startswith(f"{path}.")]
    return resource == "NodePool" and any(is_create_only(NODE_POOL, field) for field in (path, *inside))


def differences(
    resource: Literal["Cluster", "NodePool"], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Difference, ...]:
    """Return the settings that differ, sorted by path.

    A setting that several fields may have changed is put down to the one that another difference names
    with certainty, if there is one.
    """
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    stays = {_MODEL} if {before.get(_CONSUMES), after.get(_CONSUMES)} <= _RESERVING else set()
    causes = {
        path: tuple(name for name in _names(f"{resource}.{without_places(path)}") if name not in stays)
        for path in changed
    }
    certain = {names[0] for names in causes.values() if len(names) == 1}
    return tuple(
        Difference(
            path,
            before.get(path),
            after.get(path),
            tuple(name for name in names if name in certain) or names,
        )
        for path, names in causes.items()
    )


def _names(wire: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for row in fields_of(wire)))


def compared(before: CloudResource, after: CloudResource) -> Comparison | None:
    """Return what becomes of a resource whose inputs change, as the engine finds it by its state."""
    token = after.token
    changed = tuple(_changed(before, after))
    if not changed:
        return None
    forced = _differing(forcing(token, before.inputs), forcing(token, after.inputs))
    if forced or "name" in changed:
        return Comparison(True, _once(path for path in forced if path != "name"), "")
    kind: Literal["Cluster", "NodePool"] = "Cluster" if token == CLUSTER else "NodePool"
    every = differences(kind, leaves(token, before.inputs), leaves(token, after.inputs))
    fields = _once(changed)
    return Comparison(
        False,
        fields,
        in_words(difference for difference in every if difference.path in changed),
        # Zones of a pool that lose nodes are a change in the cloud, and told as one.
        _IN_PLACE
        if token != NODE_POOL or not any(map(recreates, set(fields) - {ZONES}))
        else f"{_IN_PLACE}, and GKE replaces its nodes, some at a time",
    )


def _changed(before: CloudResource, after: CloudResource) -> Iterator[str]:
    """Yield the paths of settings that differ and that the engine is not told to ignore."""
    for path in _differing(leaves(after.token, before.inputs), leaves(after.token, after.inputs)):
        if not any(f"{without_places(path)}.".startswith(f"{ignored}.") for ignored in after.ignore):
            yield path


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(without_places(path) for path in paths))


def pool_settings(cluster: CloudCluster, pool: str) -> tuple[Setting, ...]:
    """Return every setting of a pool of the document, in the order of the NodePool's inputs."""
    inputs = cluster.pools[pool].resource.inputs
    return tuple(_setting(path, value) for path, value in _leaves(inputs))


def _setting(path: str, value: Any) -> Setting:
    rows = fields_of(f"NodePool.{without_places(path)}")
    effects = sorted({row.effect for row in rows}, key=list(Effect).index)
    # Of several fields behind a setting that may change in place, the mildest can do just that.
    lasting = is_create_only(NODE_POOL, without_places(path)) or recreates(path)
    return Setting(
        path,
        value,
        tuple(dict.fromkeys(row.name for row in rows)),
        (effects[-1] if lasting else effects[0]) if effects else None,
    )


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{at}[{index}]")
    else:
        yield at, value
