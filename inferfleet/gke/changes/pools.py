"""A GKE node pool that would be replaced, or have its nodes replaced, and the replicas that stand on it."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.gke_cluster import Replace
from inferfleet.api.problems import Problem
from inferfleet.api.wording import one_of
from inferfleet.fleet.lock.lock import Lock, LockedPool
from inferfleet.gke.changes.differences import CloudChange, Difference, differences, told
from inferfleet.gke.changes.remembered import pool_settings
from inferfleet.gke.facts import schema
from inferfleet.gke.facts.change_table import field_table
from inferfleet.gke.facts.create_only import counts, recreates, without_places
from inferfleet.gke.values import NODE_POOL, CloudCluster

Found = tuple[list[CloudChange], list[Problem], list[Problem]]
_ALLOW = "spec.cluster.gke.replace.allow"
_RESERVED = "nodeConfig.reservationAffinity.values"
_LOST = "Change it back until the cluster answers, or set state: abandoned"


def pool_changes(documents: Documents, lock: Lock, made: CloudCluster) -> Found:
    """Of one cluster that stays: what happens to its pools, what of it is refused, what should be known."""
    found: Found = [], [], []
    before = {key: one for key, one in lock.pools.items() if key.partition("/")[0] == made.cluster}
    now = {
        f"{made.cluster}/{pool}": LockedPool(made.pools[pool], settings)
        for pool, settings in pool_settings(made).items()
    }
    for key in sorted({*before, *now}):
        pool = key.partition("/")[2]
        if key not in before or key not in now:
            change = CloudChange(made.cluster, pool, "created" if key in now else "removed")
            _come_or_gone(documents, change, found)
        elif before[key] != now[key]:
            _judge(documents, lock, key, _differences(before[key], now[key]), found)
    return found


def allow_problems(documents: Documents) -> Iterator[Problem]:
    """Entries of `replace.allow` that name nothing that ever replaces a pool."""
    names = {row.name for row in field_table() if any(map(_replaces, row.wire))}
    paths = set(filter(partial(counts, NODE_POOL), schema.replacing(NODE_POOL)))
    for name, cluster in sorted(documents.clusters.items()):
        allowed = cluster.spec.cluster.gke.replace.allow if cluster.spec.cluster.gke else ()
        for place, entry in enumerate(allowed):
            if entry not in names | paths:
                path = f"{_ALLOW}[{place}]"
                yield Problem(
                    f"{entry!r} is no field whose change replaces a pool",
                    one_of(entry, names, "Those are"),
                    path,
                    documents.where("InferenceCluster", name, path),
                )


def _replaces(wire: str) -> bool:
    """Whether the path, or one inside it, is of a node pool and cannot change in place."""
    resource, _, path = wire.partition(".")
    inside = [one for one in schema.replacing(NODE_POOL) if f"{one}.".startswith(f"{path}.")]
    return resource == "NodePool" and any(counts(NODE_POOL, one) for one in (path, *inside))


def _differences(before: LockedPool, now: LockedPool) -> tuple[Difference, ...]:
    found = differences("NodePool", before.settings, now.settings)
    return found or (Difference("name", before.name, now.name),)


def _come_or_gone(documents: Documents, change: CloudChange, found: Found) -> None:
    if documents.clusters[change.cluster].spec.state != "lost":
        found[0].append(change)
        return
    path = "spec.nodePools"
    what = f"cluster {change.cluster} is lost, and {change} by the documents"
    found[1].append(Problem(what, _LOST, path, documents.where("InferenceCluster", change.cluster, path)))


def _judge(documents: Documents, lock: Lock, key: str, changed: tuple[Difference, ...], found: Found) -> None:
    """Adds to what is `found` what the differences of one pool mean."""
    cluster, _, pool = key.partition("/")
    spec = documents.clusters[cluster].spec
    place = [one.name for one in spec.node_pools].index(pool)
    path = f"spec.nodePools[{place}]"
    where = documents.where("InferenceCluster", cluster, path)
    standing = _standing(lock, cluster, pool)
    thing = f"pool {key} with {standing}" if standing else f"pool {key}"
    replace = spec.cluster.gke.replace if spec.cluster.gke else Replace()
    replacing = tuple(one for one in changed if not recreates(one.path))
    changes, problems, warnings = found
    if spec.state == "lost":
        what = f"cluster {cluster} is lost, and {thing} would change: {told(changed)}"
        problems.append(Problem(what, _LOST, path, where))
    elif not replacing:
        changes.append(CloudChange(cluster, pool, "nodes replaced", changed, standing))
        if standing:
            what = f"GKE replaces the nodes of {thing}, some at a time: {told(changed)}"
            step = "Expect the replicas to start again on the new nodes"
            warnings.append(Problem(what, step, path, where))
    elif standing and (missing := _not_allowed(replacing, replace)):
        what = f"{thing} would be replaced, for this cannot change in place: {told(replacing)}"
        allow = f"{_ALLOW}: [{', '.join(missing)}]"
        step = f"Allow it with {allow}; or change it back, and add a second pool to move to"
        problems.append(Problem(what, step, path, where))
    else:
        first = replace.order == "CreateFirst"
        order = "the new nodes come first" if first else "the old nodes end first"
        note = f"{order}; {standing} move over" if standing else order
        changes.append(CloudChange(cluster, pool, "replaced", changed, note))
        if standing and not first:
            what = f"{thing} is replaced, and its old nodes end before new ones start"
            step = "Expect a gap, or set spec.cluster.gke.replace.order: CreateFirst"
            warnings.append(Problem(what, step, path, where))
        if standing and first and _shares_reservation(lock.pools[key], changed):
            what = f"{thing} is replaced, and its old nodes hold the reservation that the new ones need"
            step = "Make room for both in it, or set spec.cluster.gke.replace.order: DeleteFirst"
            warnings.append(Problem(what, step, path, where))


def _shares_reservation(before: LockedPool, changed: tuple[Difference, ...]) -> bool:
    return _RESERVED in before.settings and _RESERVED not in (one.path for one in changed)


def _standing(lock: Lock, cluster: str, pool: str) -> str:
    """`3 replicas (2 of ml/coder, 1 of ml/chat)` that have a role on the pool now; "" for none."""
    by_deployment: Counter[str] = Counter()
    for spot, replicas in lock.placements.items():
        if spot.cluster == cluster and pool in (one for _, one in spot.pools):
            by_deployment[spot.deployment] += replicas
    total = by_deployment.total()
    of = ", ".join(f"{replicas} of {deployment}" for deployment, replicas in sorted(by_deployment.items()))
    return f"{total} {'replica' if total == 1 else 'replicas'} ({of})" if total else ""


def _not_allowed(changed: tuple[Difference, ...], replace: Replace) -> tuple[str, ...]:
    """What `allow` lacks: of each difference the first field that may have caused it, or its path."""
    missing = (
        one.names[0] if one.names else without_places(one.path)
        for one in changed
        if not {*one.names, without_places(one.path)} & set(replace.allow)
    )
    return tuple(dict.fromkeys(missing))
