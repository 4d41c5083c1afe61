"""Phase two of the plan: what may happen to the replicas that the lock has."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import revision, roles_of
from inferfleet.fleet.spot import Spot

_LOST_POOL = "the pool is lost"


@dataclass(frozen=True)
class LockedReplicas:
    """The replicas of the lock, by what may happen to them."""

    movable: dict[Spot, int]
    """Those that are planned with. A spot has no role that its document lacks, but may lack one that it
    has: its replicas get a pool for that, or move.
    """
    fixed: dict[Spot, int]
    """Those on lost clusters, which stay exactly as locked."""
    orphaned: dict[Spot, int]
    """Those that stay in the lock and cannot be planned: each is an error."""
    left: dict[Spot, str]
    """Why those of deployments with a document are dropped."""
    revised: dict[Spot, Spot]
    """What spots of another revision have become."""
    ran: Mapping[str, int]
    """By deployment, replicas that should have a place because they ran: `movable` ones, and those on lost
    pools and abandoned clusters.
    """
    problems: tuple[Problem, ...]


def retain(documents: Documents, lock: Lock) -> LockedReplicas:
    """Sort the replicas of the lock; those of removed deployments, of abandoned clusters and of pools that
    are gone are in no group.
    """
    movable: dict[Spot, int] = {}
    fixed: dict[Spot, int] = {}
    orphaned: dict[Spot, int] = {}
    left: dict[Spot, str] = {}
    revised: dict[Spot, Spot] = {}
    ran: Counter[str] = Counter()
    problems = []
    for spot, replicas in sorted(lock.placements.items()):
        cluster = documents.clusters.get(spot.cluster)
        state = cluster.spec.state if cluster else ""
        lost = any((spot.cluster, pool) in lock.gone for _, pool in spot.pools)
        if state == "abandoned" or lost:
            if spot.deployment in documents.deployments:
                left[spot] = _LOST_POOL if lost else state
                ran[spot.deployment] += replicas
            continue
        if orphan := _orphan(documents, spot, replicas):
            problems.append(replace(orphan, where=lock.lines.get(f"placements/{spot}")))
            orphaned[spot] = replicas
        elif state == "lost":
            fixed[spot] = replicas
        elif spot.deployment in documents.deployments:
            kept = _as_documented(documents, spot)
            movable[kept] = movable.get(kept, 0) + replicas
            ran[spot.deployment] += replicas
            if kept.revision != spot.revision:
                left[spot] = _other_revision(spot, kept)
                revised[spot] = kept
    problems += _sharing(documents, lock, movable)
    problems += _kept_by_lost(documents, fixed)
    problems += _orphaned_services(documents, lock)
    return LockedReplicas(movable, fixed, orphaned, left, revised, ran, tuple(problems))


def _orphan(documents: Documents, spot: Spot, replicas: int) -> Problem | None:
    """Return the problem of replicas of the lock that cannot be planned, or None. It has no line yet."""
    has = f"the lock has {replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    cluster = documents.clusters.get(spot.cluster)
    if cluster is None:
        return Problem(
            f"{has} on cluster {spot.cluster}, but that cluster has no document",
            "Restore the document with state: drained (or abandoned), run pulumi up, then remove it",
        )
    removed = [name for _, name in spot.pools if name not in {pool.name for pool in cluster.spec.node_pools}]
    if removed:
        return Problem(
            f"{has} on pool {removed[0]} of cluster {spot.cluster}, but the cluster has no such pool",
            "Restore the pool with nodeCount: 0, run pulumi up so that the replicas move, then remove it",
        )
    if spot.deployment not in documents.deployments:
        if cluster.spec.state != "lost":
            return None
        return Problem(
            f"cluster {spot.cluster} is lost and {has} there, but that deployment has no document",
            "Restore the document until the cluster is reachable again, "
            "or set the cluster to state: abandoned",
        )
    roles = roles_of(documents.deployments[spot.deployment])
    unknown = [role for role, _ in spot.pools if role not in roles]
    if unknown and cluster.spec.state == "lost":
        return Problem(
            f"cluster {spot.cluster} is lost and {has} with role {unknown[0]} there, but the deployment has "
            f"{', '.join(roles)} only",
            "Restore the role until the cluster is reachable again, or set the cluster to state: abandoned",
        )
    if all(role in unknown for role, _ in spot.pools):
        what = f"{has} with role {', '.join(unknown)} alone, but the deployment has {', '.join(roles)} only"
        return Problem(what, "Restore the line from version control")
    return None


def _sharing(documents: Documents, lock: Lock, movable: dict[Spot, int]) -> Iterator[Problem]:
    """Yield placements whose workloads have the names of another's: somebody wrote or merged them so."""
    first: dict[tuple[str, str, str, str], Spot] = {}
    for spot in sorted(movable):
        if len(spot.pools) < len(roles_of(documents.deployments[spot.deployment])):
            continue  # its replicas join the other, or move
        for role, pool in spot.pools:
            other = first.setdefault((spot.deployment, spot.cluster, role, pool), spot)
            if other != spot:
                yield Problem(
                    f"the lock has {other} and {spot}, which share pool {pool} of role {role}: workloads are "
                    "named by role and pool, so both would have the same one",
                    "Restore the lines from version control, or write all of these replicas on one of them",
                    where=lock.lines.get(f"placements/{spot}"),
                )
                break


def _kept_by_lost(documents: Documents, fixed: dict[Spot, int]) -> Iterator[Problem]:
    """Yield a warning for each deployment that has more replicas on lost clusters than it should have."""
    clusters: dict[str, list[str]] = {}
    kept: Counter[str] = Counter()
    for spot, replicas in fixed.items():
        clusters.setdefault(spot.deployment, []).append(spot.cluster)
        kept[spot.deployment] += replicas
    for deployment, number in kept.items():
        replicas = documents.deployments[deployment].spec.wanted
        if number > replicas:
            lost = list(dict.fromkeys(clusters[deployment]))
            stay = "replica stays" if number == 1 else "replicas stay"
            clusters_lost = f"{listing(lost)}, which {'is' if len(lost) == 1 else 'are'} lost"
            yield Problem(
                f"replicas is {replicas}, but {number} {stay} on {clusters_lost}",
                "Surplus replicas end once their cluster is active again; "
                "write state: abandoned for one that will not come back",
                "spec.replicas",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
            )


def _as_documented(documents: Documents, spot: Spot) -> Spot:
    """Return the spot in the revision of the document, without pools of roles that are no longer in it."""
    document = documents.deployments[spot.deployment]
    roles, images = roles_of(document), documents.clusters[spot.cluster].spec.serving.images
    pools = tuple((role, pool) for role, pool in spot.pools if role in roles)
    return spot._replace(pools=pools, revision=revision(document, images))


def _other_revision(before: Spot, after: Spot) -> str:
    if not before.revision:
        return "prefill comes apart from decode, as a new set of pods"
    if not after.revision:
        return "prefill and decode become one, as a new set of pods"
    return f"prefill and decode exchange something else: revision {after.revision}"


def _orphaned_services(documents: Documents, lock: Lock) -> Iterator[Problem]:
    lost = {name for name, cluster in documents.clusters.items() if cluster.spec.state == "lost"}
    for service, clusters in sorted(lock.services.items()):
        for cluster in clusters:
            if cluster in lost and service not in documents.services:
                yield Problem(
                    f"cluster {cluster} is lost and the lock has service {service} there, "
                    "but that service has no document",
                    "Restore the document until the cluster is reachable again, "
                    "or set the cluster to state: abandoned",
                    where=lock.lines.get(f"services/{service}"),
                )
