"""What of the lock stands: replicas are kept where they are unless their document or cluster was given up."""

from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.lock import Lock
from inferfleet.fleet.shapes import DECODE
from inferfleet.fleet.spot import Spot


@dataclass(frozen=True)
class Retained:
    """`movable` replicas are planned with; `fixed` ones are on lost clusters and exactly as locked.

    `orphaned` ones stay in the lock and cannot be planned: each is a problem.
    """

    movable: dict[Spot, int]
    fixed: dict[Spot, int]
    orphaned: dict[Spot, int]
    problems: tuple[Problem, ...]


def retain(documents: Documents, lock: Lock) -> Retained:
    """Sorts the lock's replicas; those of removed deployments and abandoned clusters are in none."""
    movable: dict[Spot, int] = {}
    fixed: dict[Spot, int] = {}
    orphaned: dict[Spot, int] = {}
    problems = []
    for spot, replicas in sorted(lock.placements.items()):
        cluster = documents.clusters.get(spot.cluster)
        state = cluster.spec.state if cluster else ""
        if state == "abandoned":
            continue
        problem = _orphan(documents, spot, replicas)
        if problem:
            what, next_step = problem
            problems.append(Problem(what, next_step, where=lock.lines.get(f"placements/{spot}")))
            orphaned[spot] = replicas
        elif state == "lost":
            fixed[spot] = replicas
        elif spot.deployment in documents.deployments:
            movable[spot] = replicas
    return Retained(movable, fixed, orphaned, tuple(problems) + _services(documents, lock))


def _orphan(documents: Documents, spot: Spot, replicas: int) -> tuple[str, str] | None:
    has = f"the lock has {replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    cluster = documents.clusters.get(spot.cluster)
    if cluster is None:
        return (
            f"{has} on cluster {spot.cluster}, and no document of that cluster is there",
            "Put the document back with state: drained (or abandoned), run pulumi up, then remove it",
        )
    gone = [pool for _, pool in spot.pools if pool not in {one.name for one in cluster.spec.node_pools}]
    if gone:
        return (
            f"{has} on pool {gone[0]} of cluster {spot.cluster}, which has no such pool",
            "Put the pool back with nodeCount: 0, run pulumi up so that they move, then remove it",
        )
    if spot.deployment not in documents.deployments:
        if cluster.spec.state != "lost":
            return None
        return (
            f"cluster {spot.cluster} is lost and {has} there, whose document is gone",
            "Keep the document until the cluster is back, or set its state: abandoned",
        )
    roles = [role for role, _ in spot.pools]
    if roles != [DECODE]:
        what = f"{has} with roles {', '.join(roles)}; the deployment has the role {DECODE}"
        return what, "Restore the line from version control"
    return None


def _services(documents: Documents, lock: Lock) -> tuple[Problem, ...]:
    lost = {name for name, one in documents.clusters.items() if one.spec.state == "lost"}
    return tuple(
        Problem(
            f"cluster {cluster} is lost and the lock has service {service} there, whose document is gone",
            "Keep the document until the cluster is back, or set its state: abandoned",
            where=lock.lines.get(f"services/{service}"),
        )
        for service, clusters in sorted(lock.services.items())
        for cluster in clusters
        if cluster in lost and service not in documents.services
    )
