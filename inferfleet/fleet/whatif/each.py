"""What becomes of models with the loss of each cluster, pool and reservation, one at a time.

Each loss is planned from what the plan at hand has placed, with the demands that it counted. A repair is made
of the smallest fixes of all deployments that lack replicas then: of each pool the largest of these, or all of
them together where that does not do. The planner places all of them with it, or there is none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from inferfleet.documents.documents import Documents
from inferfleet.fleet.advice.short import fix_step
from inferfleet.fleet.decisions import MoreNodes, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import Demands, PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.whatif.losses import Loss, losses, pools_of, without


@dataclass(frozen=True)
class Lacking:
    """Replicas of a deployment that ran and have no place any more; `left` are those that have one. `step`
    says what would place them.
    """

    deployment: str
    replicas: int
    left: int
    step: str


@dataclass(frozen=True)
class Consequence:
    """What a loss does: so many replicas ran there, and of some there is `lacking` a place.

    `repair` are nodes with which all of these have one, None where no nodes do, and empty where none lack.
    """

    loss: Loss
    replicas: int
    lacking: tuple[Lacking, ...] = ()
    repair: tuple[MoreNodes, ...] | None = ()

    @property
    def unserved(self) -> tuple[str, ...]:
        """Return the deployments of which nothing runs any more."""
        return tuple(lacking.deployment for lacking in self.lacking if not lacking.left)

    @property
    def costs(self) -> dict[str, Decimal]:
        """Return what the repair costs in an hour by currency, as far as nodes have a price."""
        sums: dict[str, Decimal] = {}
        for more in self.repair or ():
            if more.per_hour:
                sums[more.currency] = sums.get(more.currency, Decimal(0)) + Decimal(more.per_hour)
        return sums


def n_minus_one(documents: Documents, lock: Lock, planned: Plan) -> Iterator[Consequence]:
    """Yield what each loss does to the fleet that the plan made of the documents and the lock."""
    standing = replace(planned.lock, seen=lock.seen, gone=lock.gone)
    for loss in losses(documents):
        yield consequence(documents, standing, planned.demands, loss)


def consequence(documents: Documents, standing: Lock, demands: Demands, loss: Loss) -> Consequence:
    """Return what a loss does to the replicas of a lock."""
    gone, cluster = pools_of(documents, loss), loss.name if loss.kind == "cluster" else ""
    ran = sum(
        replicas
        for spot, replicas in standing.placements.items()
        if spot.deployment in documents.deployments
        and (spot.cluster == cluster or not gone.isdisjoint(_pools(spot)))
    )
    if not ran:
        return Consequence(loss, 0)
    changed, lock = without(documents, standing, [loss])
    after = plan(changed, lock, demands)
    left: Counter[str] = Counter()
    for placement in after.placements:
        left[placement.spot.deployment] += placement.replicas
    lacking = tuple(
        Lacking(
            missing.deployment,
            missing.running,
            left[missing.deployment],
            fix_step(after.fixes.get(missing.deployment), missing.reasons),
        )
        for missing in after.unplaced
        if missing.running
    )
    return Consequence(loss, ran, lacking, _repair(changed, lock, after))


def _pools(spot: Spot) -> set[PoolKey]:
    return {(spot.cluster, pool) for _, pool in spot.pools}


def _repair(documents: Documents, lock: Lock, after: Plan) -> tuple[MoreNodes, ...] | None:
    """Return nodes with which no replica that ran lacks a place, None where none were found."""
    wanted = [missing.deployment for missing in after.unplaced if missing.running]
    if not wanted:
        return ()
    fixes = [after.fixes.get(deployment) for deployment in wanted]
    parts = [fix.pools for fix in fixes if fix is not None]
    if len(parts) < len(wanted):
        return None
    largest: dict[PoolKey, MoreNodes] = {}
    every: dict[PoolKey, MoreNodes] = {}
    for more in (more for pools in parts for more in pools):
        key = (more.cluster, more.pool)
        largest[key] = max(more, largest.get(key, more), key=lambda asked: asked.nodes)
        every[key] = _together(every[key], more) if key in every else more
    for tried in (largest, every):
        grown = plan(_grown(documents, tried), lock, after.demands)
        if not {missing.deployment for missing in grown.unplaced if missing.running}:
            return tuple(more for _, more in sorted(tried.items()))
    return None


def _together(more: MoreNodes, other: MoreNodes) -> MoreNodes:
    cost = f"{Decimal(more.per_hour) + Decimal(other.per_hour):f}" if more.per_hour else ""
    return replace(more, nodes=more.nodes + other.nodes, size=more.size + other.nodes, per_hour=cost)


def _grown(documents: Documents, nodes: Mapping[PoolKey, MoreNodes]) -> Documents:
    """Return the documents with pools of the sizes that they have with more nodes."""
    clusters = dict(documents.clusters)
    for name in sorted({cluster for cluster, _ in nodes}):
        spec = clusters[name].spec
        pools = tuple(
            pool.model_copy(
                update={
                    "node_count" if pool.node_count is not None else "max_node_count": nodes[
                        name, pool.name
                    ].size
                }
            )
            if (name, pool.name) in nodes
            else pool
            for pool in spec.node_pools
        )
        clusters[name] = clusters[name].model_copy(
            update={"spec": spec.model_copy(update={"node_pools": pools})}
        )
    return replace(documents, clusters=clusters)
