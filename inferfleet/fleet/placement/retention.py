"""Phase two of the plan: what may happen to the replicas that the lock has."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import UNTIL
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import revision, roles_of
from inferfleet.fleet.spot import Spot

_LOST_POOL = "the pool is lost"
# It is new, or it runs and the lock lost its lines.
_UNLOCKED = "so none is made, and what is there stays as it is"


@dataclass(frozen=True)
class LockedReplicas:
    """The replicas of the lock, by what may happen to them."""

    movable: dict[Spot, int]
    """Those that are planned with; of deployments that are paused they only take space. A spot has no role
    that its document lacks, but may lack one that it has: its replicas get a pool for that, or move.
    """
    fixed: dict[Spot, int]
    """Those on clusters that are paused or lost, which stay exactly as locked."""
    orphaned: dict[Spot, int]
    """Those that stay in the lock and cannot be planned: each is an error."""
    departure_reasons: dict[Spot, str]
    """Why those of deployments with a document are dropped."""
    revised: dict[Spot, Spot]
    """What spots of another revision have become."""
    ran: Mapping[str, int]
    """By deployment, replicas that should have a place because they ran: `movable` ones, and those on lost
    pools and abandoned clusters.
    """
    problems: tuple[Problem, ...]


def retain(documents: Documents, lock: Lock) -> LockedReplicas:
    """Return the replicas of the lock by what may happen to them.

    Those of removed deployments, of abandoned clusters and of pools that are gone are in no group.
    """
    movable: dict[Spot, int] = {}
    fixed: dict[Spot, int] = {}
    orphaned: dict[Spot, int] = {}
    departure_reasons: dict[Spot, str] = {}
    revised: dict[Spot, Spot] = {}
    ran: Counter[str] = Counter()
    problems = []
    for spot, replicas in sorted(lock.placements.items()):
        cluster = documents.clusters.get(spot.cluster)
        state = cluster.spec.state if cluster else ""
        lost = any((spot.cluster, pool) in lock.gone for _, pool in spot.pools)
        if state == "abandoned" or lost:
            if spot.deployment in documents.deployments:
                departure_reasons[spot] = _LOST_POOL if lost else state
                ran[spot.deployment] += replicas
            continue
        if orphan := _orphan(documents, spot, replicas):
            problems.append(replace(orphan, where=lock.lines.get(f"placements/{spot}")))
            orphaned[spot] = replicas
        elif cluster and cluster.spec.held:
            fixed[spot] = replicas
        elif spot.deployment in documents.deployments:
            paused = documents.deployments[spot.deployment].spec.paused
            kept = spot if paused else _as_documented(documents, spot)
            movable[kept] = movable.get(kept, 0) + replicas
            ran[spot.deployment] += replicas
            if kept.revision != spot.revision:
                departure_reasons[spot] = _other_revision(spot, kept)
                revised[spot] = kept
    problems += _shared_workload_problems(documents, lock, movable)
    problems += _surplus_problems(documents, fixed)
    problems += _paused_problems(documents, lock)
    problems += _orphaned_service_problems(documents, lock)
    return LockedReplicas(movable, fixed, orphaned, departure_reasons, revised, ran, tuple(problems))


def _orphan(documents: Documents, spot: Spot, replicas: int) -> Problem | None:
    """Return the problem of replicas of the lock that cannot be planned, or None. It has no line yet."""
    has = f"the lock has {replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    cluster = documents.clusters.get(spot.cluster)
    if cluster is None:
        return Problem(
            f"{has} on cluster {spot.cluster}, but that cluster has no document",
            "Restore the document with state: drained (or abandoned), run pulumi up, then remove it",
        )
    document = documents.deployments.get(spot.deployment)
    until, because = "", f"cluster {spot.cluster} is {cluster.spec.state}"
    if cluster.spec.held:
        until = UNTIL[cluster.spec.state]
    elif document and document.spec.paused:
        until, because = "until paused is removed", f"{spot.deployment} is paused"
    removed = [name for _, name in spot.pools if name not in {pool.name for pool in cluster.spec.node_pools}]
    if removed and until:
        what = f"{because} and {has} on pool {removed[0]} of cluster {spot.cluster}, which has no such pool"
        return Problem(what, f"Restore the pool {until}")
    if removed:
        return Problem(
            f"{has} on pool {removed[0]} of cluster {spot.cluster}, but the cluster has no such pool",
            "Restore the pool with nodeCount: 0, run pulumi up so that the replicas move, then remove it",
        )
    if document is None:
        if not until:
            return None
        what = f"{because} and {has} there, but that deployment has no document"
        return Problem(what, f"Restore the document {until}")
    roles = roles_of(document)
    unknown = [role for role, _ in spot.pools if role not in roles]
    if unknown and until:
        only = f"but the deployment has {', '.join(roles)} only"
        return Problem(
            f"{because} and {has} with role {unknown[0]} there, {only}", f"Restore the role {until}"
        )
    if all(role in unknown for role, _ in spot.pools):
        what = f"{has} with role {', '.join(unknown)} alone, but the deployment has {', '.join(roles)} only"
        return Problem(what, "Restore the line from version control")
    return None


def _shared_workload_problems(
    documents: Documents, lock: Lock, movable: dict[Spot, int]
) -> Iterator[Problem]:
    """Yield placements whose workloads have the names of another's: somebody wrote or merged them so."""
    first: dict[tuple[str, str, str, str], Spot] = {}
    for spot in sorted(movable):
        if len(spot.pools) < len(roles_of(documents.deployments[spot.deployment])):
            continue  # its replicas join the other, or move
        for role, pool in spot.pools:
            first_spot = first.setdefault((spot.deployment, spot.cluster, role, pool), spot)
            if first_spot != spot:
                yield Problem(
                    f"the lock has {first_spot} and {spot}, which share pool {pool} of role {role}: "
                    "workloads are named by role and pool, so both would have the same one",
                    "Restore the lines from version control, or write all of these replicas on one of them",
                    where=lock.lines.get(f"placements/{spot}"),
                )
                break


def _paused_problems(documents: Documents, lock: Lock) -> Iterator[Problem]:
    """Yield a notice for each cluster and deployment that is paused, and a warning for a deployment that
    loses replicas with a cluster that is abandoned.
    """
    for name, cluster in sorted(documents.clusters.items()):
        if cluster.spec.state == "paused":
            does = "nothing changes on it"
            if name not in lock.clusters:
                does = f"the lock has no such cluster, {_UNLOCKED}"
            what, step = f"cluster {name} is paused: {does}", "Write state: active to have it changed"
            yield cluster_problem(name, what, step, "spec.state", severity="notice")
    abandoned = {name for name, cluster in documents.clusters.items() if cluster.spec.state == "abandoned"}
    had, gone = Counter[str](), Counter[str]()
    for spot, replicas in lock.placements.items():
        had[spot.deployment] += replicas
        gone[spot.deployment] += replicas if spot.cluster in abandoned else 0
    for key, document in sorted(documents.deployments.items()):
        if not document.spec.paused:
            continue
        does = "nothing of it changes"
        if not had[key]:
            does = f"the lock has no replica of it, {_UNLOCKED}"
        if gone[key]:
            number = f"{gone[key]} {'replica' if gone[key] == 1 else 'replicas'}"
            does = f"the {number} on a cluster that is abandoned get no other place"
        yield Problem(
            f"{key} is paused: {does}",
            "Remove paused to have it changed",
            "spec.paused",
            kind="ModelDeployment",
            key=key,
            severity="warning" if gone[key] else "notice",
        )


def _surplus_problems(documents: Documents, fixed: dict[Spot, int]) -> Iterator[Problem]:
    """Yield a warning for each deployment that has more replicas on clusters where nothing changes than it
    should have.
    """
    clusters: dict[str, list[str]] = {}
    kept: Counter[str] = Counter()
    for spot, replicas in fixed.items():
        clusters.setdefault(spot.deployment, []).append(spot.cluster)
        kept[spot.deployment] += replicas
    for deployment, number in kept.items():
        spec = documents.deployments[deployment].spec
        if number > spec.wanted and not spec.paused:
            names = list(dict.fromkeys(clusters[deployment]))
            states = sorted({documents.clusters[name].spec.state for name in names})
            stay = "replica stays" if number == 1 else "replicas stay"
            which = f"{listing(names)}, which {'is' if len(names) == 1 else 'are'} {' or '.join(states)}"
            given_up = "; write state: abandoned for one that will not come back" if "lost" in states else ""
            yield Problem(
                f"replicas is {spec.wanted}, but {number} {stay} on {which}",
                f"Surplus replicas end once their cluster is active again{given_up}",
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


def _orphaned_service_problems(documents: Documents, lock: Lock) -> Iterator[Problem]:
    held = {name: cluster.spec.state for name, cluster in documents.clusters.items() if cluster.spec.held}
    for service, clusters in sorted(lock.services.items()):
        for cluster in clusters:
            if cluster in held and service not in documents.services:
                yield Problem(
                    f"cluster {cluster} is {held[cluster]} and the lock has service {service} there, "
                    "but that service has no document",
                    f"Restore the document {UNTIL[held[cluster]]}",
                    where=lock.lines.get(f"services/{service}"),
                )
