"""Problems of replicas that should leave their place and cannot, and of pools that are too small."""

from collections.abc import Iterator
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.reasons import Why, kept_free, listed
from inferfleet.fleet.placement.soundness import Checked
from inferfleet.fleet.placement.suitability import Consequence, Objection, Suitability
from inferfleet.fleet.roles import roles_of
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


def placement_problems(
    documents: Documents, ledger: Ledger, *, suitability: Suitability, checked: Checked, why: Why
) -> Iterator[Problem]:
    """Yield errors (replicas that cannot run on their pool) and warnings (replicas that should leave it)."""
    for pool in ledger.overfull():
        yield _overfull(documents, ledger, pool)
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            objection = suitability.objection(spot)
            if objection is None or objection.consequence == Consequence.CORDON:
                continue
            elsewhere = why.not_there(deployment)
            whole = len(spot.pools) == len(roles_of(documents.deployments[deployment]))
            if whole:
                elsewhere = _of_others(spot, elsewhere)
            yield _cannot_leave(spot, replicas, objection=objection, elsewhere=elsewhere)


def _of_others(spot: Spot, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Return the reasons against other places than those of the spot."""
    own = ("", *(pool for _, pool in spot.pools))
    return tuple(reason for reason in reasons if reason.cluster != spot.cluster or reason.pool not in own)


def _cannot_leave(
    spot: Spot, replicas: int, *, objection: Objection, elsewhere: tuple[Reason, ...]
) -> Problem:
    number = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{number} cannot leave {spot.place} ({objection.why}): "
        + (listed(elsewhere) or "there is no other pool"),
        "Make room on another cluster or pool, or lower replicas",
        kind="ModelDeployment",
        key=spot.deployment,
        severity="error" if objection.consequence == Consequence.IMPOSSIBLE else "warning",
    )


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey) -> Problem:
    """Return the error at the pool, or at the rollout of a deployment that alone makes it too small."""
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, document) for index, document in enumerate(pools) if document.name == name)
    replicas = ", ".join(f"{number} of {spot.deployment}" for spot, number in ledger.on_pool(pool).items())
    nodes = f"{document.size} {'node' if document.size == 1 else 'nodes'}"
    what = (
        f"pool {cluster}/{name} with {nodes} is too small for the replicas that are placed on it ({replicas})"
    )
    problem = Problem(
        f"{what}, and there is no room for them elsewhere",
        "Give it more nodes, make room on another pool, or lower replicas",
        f"spec.nodePools[{index}]",
        kind="InferenceCluster",
        key=cluster,
    )
    kept = kept_free(ledger, pool)
    if not kept or not ledger.holds_without_kept_free(pool):
        return problem
    problem = replace(
        problem,
        what=f"{what} and {kept}, and there is no room for them elsewhere",
        next_step="Give it more nodes, make room on another pool, lower replicas, "
        "or write rollout: DeleteFirst",
    )
    surging = list(ledger.kept_free(pool))
    if len(surging) > 1:
        return problem
    return replace(problem, path="spec.rollout", kind="ModelDeployment", key=surging[0])
