"""What has to be said about replicas that stand where they should not, and why they did not move."""

from collections.abc import Iterable

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.ledger import Ledger, PoolKey
from inferfleet.fleet.reasons import reasons
from inferfleet.fleet.soundness import Sound
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.suitability import Objection, Suitability, Weight


def remarks(
    documents: Documents, ledger: Ledger, *, suitability: Suitability, checked: Sound
) -> tuple[list[Problem], list[Problem]]:
    """Problems (cannot run there, pool too small) and warnings (run, though not wanted there)."""
    problems = [_overfull(documents, ledger, pool) for pool in ledger.overfull()]
    warnings: list[Problem] = []
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            objection = suitability.objection(spot)
            if objection is None or objection.weight == Weight.CLOSED:
                continue
            found = reasons(
                suitability.spots(deployment),
                ledger,
                suitability=suitability,
                demand=checked.demands[deployment],
            )
            remark = _stays(documents, spot, replicas, objection=objection, elsewhere=found)
            (problems if objection.weight == Weight.IMPOSSIBLE else warnings).append(remark)
    return problems, warnings


def _stays(
    documents: Documents,
    spot: Spot,
    replicas: int,
    *,
    objection: Objection,
    elsewhere: tuple[Reason, ...],
) -> Problem:
    pools = [pool for _, pool in spot.pools]
    others = [one for one in elsewhere if one.cluster != spot.cluster or one.pool not in ("", *pools)]
    stay = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{stay} cannot leave {spot.cluster}/{'-'.join(pools)} ({objection.why}): "
        + (listed(others) or "there is no other pool"),
        "Make room on another cluster or pool, or ask for fewer replicas",
        where=documents.where("ModelDeployment", spot.deployment),
    )


def listed(reasons: Iterable[Reason]) -> str:
    """Reasons in one line: `east/h100: 2 of 2 nodes full: ...; west: cordoned`."""
    return "; ".join(f"{one.cluster}{'/' if one.pool else ''}{one.pool}: {one.why}" for one in reasons)


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey) -> Problem:
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, one) for index, one in enumerate(pools) if one.name == name)
    standing = ", ".join(f"{number} of {spot.deployment}" for spot, number in ledger.standing(pool).items())
    path = f"spec.nodePools[{index}]"
    return Problem(
        f"pool {cluster}/{name} of {document.size} nodes is too small for the replicas that stand in it "
        f"({standing}), and they find no room elsewhere",
        "Give it more nodes, make room on another pool, or ask for fewer replicas",
        path,
        documents.where("InferenceCluster", cluster, path),
    )
