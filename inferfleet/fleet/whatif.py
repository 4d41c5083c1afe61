"""What a plan would be if a cluster, a pool or a reservation were lost: other documents and another lock,
planned as always.

A cluster that is lost is one that somebody gives up: `state: abandoned`. A pool that is lost is in no
document, and so are all pools of a reservation that is lost; reservations of two projects may have one name.
Replicas that ran there are placed again before those that never ran, as those of abandoned clusters are.
Nothing here changes a file or asks a cluster.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, get_args

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, one_of, shown
from inferfleet.fleet.advice.summaries import fix_step
from inferfleet.fleet.decisions import MoreNodes, Plan
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

LossKind = Literal["cluster", "pool", "reservation"]
KINDS: tuple[LossKind, ...] = get_args(LossKind)


@dataclass(frozen=True, order=True)
class Loss:
    """A cluster, a pool (`<cluster>/<pool>`) or a reservation (`<project>/<name>`) that is lost.

    The project of a reservation may be left out where one project alone has a reservation of that name.
    """

    kind: LossKind
    name: str

    def __str__(self) -> str:
        """Return it as messages have it: `pool west/h100`."""
        return f"{self.kind} {self.name}"


def losses(documents: Documents) -> tuple[Loss, ...]:
    """Return all that can be lost by itself.

    That is clusters, pools beside which their cluster has others, and reservations that pools name. What is
    abandoned is lost already.
    """
    clusters = {
        name: cluster for name, cluster in documents.clusters.items() if cluster.spec.state != "abandoned"
    }
    return (
        *(Loss("cluster", name) for name in clusters),
        *(
            Loss("pool", f"{name}/{pool.name}")
            for name, cluster in clusters.items()
            for pool in cluster.spec.node_pools
            if len(cluster.spec.node_pools) > 1
        ),
        *(Loss("reservation", name) for name in _named(documents, "reservation")),
    )


def without(documents: Documents, lock: Lock, lost: Iterable[Loss]) -> tuple[Documents, Lock]:
    """Return documents and lock of the fleet without what is lost.

    Raises InvalidDocuments for a loss of something that does not exist.
    """
    all_losses = tuple(lost)
    if problems := list(_unknown_loss_problems(documents, all_losses)):
        raise InvalidDocuments(problems)
    lost_pools = {key for loss in all_losses for key in pools_of(documents, loss) if loss.kind != "cluster"}
    abandoned = {loss.name for loss in all_losses if loss.kind == "cluster"}
    clusters, gone = dict(documents.clusters), dict(lock.gone)
    for name in sorted({*abandoned, *(cluster for cluster, _ in lost_pools)}):
        spec = clusters[name].spec
        gone |= {(name, pool.name): pool for pool in spec.node_pools if (name, pool.name) in lost_pools}
        pools = tuple(pool for pool in spec.node_pools if (name, pool.name) not in lost_pools)
        state = "abandoned" if name in abandoned else spec.state
        changed = spec.model_copy(update={"state": state, "node_pools": pools})
        clusters[name] = clusters[name].model_copy(update={"spec": changed})
    return replace(documents, clusters=clusters), replace(lock, gone=gone)


def pools_of(documents: Documents, loss: Loss) -> frozenset[PoolKey]:
    """Return the pools whose nodes are lost."""
    meant = _meant(documents, loss.name) if loss.kind == "reservation" else []
    return frozenset(
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (loss.kind == "cluster" and name == loss.name)
        or (loss.kind == "pool" and f"{name}/{pool.name}" == loss.name)
        or (loss.kind == "reservation" and _reservation(cluster, pool) in meant)
    )


def _unknown_loss_problems(documents: Documents, lost: Iterable[Loss]) -> Iterator[Problem]:
    for loss in lost:
        names = _named(documents, loss.kind)
        meant = _meant(documents, loss.name) if loss.kind == "reservation" else []
        if len(meant) > 1:
            what = f"pools name reservations {shown(loss.name)!r} of {len(meant)} projects"
            yield Problem(what, f"Write one of {listing(meant)}")
        elif not meant and loss.name not in names:
            what = f"no pool names the reservation {shown(loss.name)!r}"
            if loss.kind != "reservation":
                what = f"there is no {loss.kind} {shown(loss.name)!r}"
            step = "Pools with capacity.reservation name one"
            yield Problem(what, one_of(loss.name, names, "There are") if names else step)


def _named(documents: Documents, kind: LossKind) -> list[str]:
    if kind == "cluster":
        return sorted(documents.clusters)
    pools = [
        (name, cluster, pool)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    ]
    if kind == "pool":
        return sorted(f"{name}/{pool.name}" for name, _, pool in pools)
    names = {_reservation(cluster, pool) for _, cluster, pool in pools}
    return sorted(names - {""})


def _reservation(cluster: InferenceCluster, pool: NodePool) -> str:
    """Return the reservation of a pool with its project, as far as that is known; "" where it names none."""
    reservation, gke = pool.capacity.reservation, cluster.spec.cluster.gke
    if reservation is None:
        return ""
    project = reservation.project or (gke.project if gke else "")
    return f"{project}/{reservation.name}" if project else reservation.name


def _meant(documents: Documents, name: str) -> list[str]:
    """Return the reservations that somebody may mean who wrote one with its project or without."""
    names = _named(documents, "reservation")
    return [name] if name in names else [full for full in names if full.endswith(f"/{name}")]


# What becomes of the models with each loss, one at a time, planned from what the plan at hand has placed,
# with the demands that it counted. A repair is made of the smallest fixes of all deployments that lack
# replicas then: of each pool the largest of these, or all of them together where that does not do. The
# planner places all of them with it, or there is none.


@dataclass(frozen=True)
class WithoutPlace:
    """Replicas of a deployment that ran and have no place any more."""

    deployment: str
    replicas: int
    replicas_left: int
    """Replicas of it that have one."""
    step: str
    """What would place them."""


@dataclass(frozen=True)
class Outcome:
    """What a loss does."""

    loss: Loss
    replicas: int
    """How many ran there."""
    lacking: tuple[WithoutPlace, ...] = ()
    repair: tuple[MoreNodes, ...] | None = ()
    """Nodes with which all of these have a place: None where no nodes do, empty where none lack."""

    @property
    def unserved(self) -> tuple[str, ...]:
        """Return the deployments of which nothing runs any more."""
        return tuple(lacking.deployment for lacking in self.lacking if not lacking.replicas_left)

    @property
    def costs(self) -> dict[str, Decimal]:
        """Return what the repair costs in an hour by currency, as far as nodes have a price."""
        sums: dict[str, Decimal] = {}
        for more_nodes in self.repair or ():
            if more_nodes.per_hour:
                sums[more_nodes.currency] = sums.get(more_nodes.currency, Decimal(0)) + Decimal(
                    more_nodes.per_hour
                )
        return sums


def n_minus_one(documents: Documents, lock: Lock, planned: Plan) -> Iterator[Outcome]:
    """Yield the outcome of each single loss for the fleet as it is planned."""
    standing = replace(planned.lock, seen=lock.seen, gone=lock.gone)
    for loss in losses(documents):
        yield outcome(documents, standing, planned.demands, loss)


def outcome(documents: Documents, standing: Lock, demands: Demands, loss: Loss) -> Outcome:
    """Return the outcome of a loss for the replicas of a lock."""
    gone, cluster = pools_of(documents, loss), loss.name if loss.kind == "cluster" else ""
    ran = sum(
        replicas
        for spot, replicas in standing.placements.items()
        if spot.deployment in documents.deployments
        and (spot.cluster == cluster or not gone.isdisjoint(_pools(spot)))
    )
    if not ran:
        return Outcome(loss, 0)
    changed, lock = without(documents, standing, [loss])
    after = plan(changed, lock, demands)
    replicas_left: Counter[str] = Counter()
    for placement in after.placements:
        replicas_left[placement.spot.deployment] += placement.replicas
    lacking = tuple(
        WithoutPlace(
            missing.deployment,
            missing.running,
            replicas_left[missing.deployment],
            fix_step(after.fixes.get(missing.deployment), missing.reasons),
        )
        for missing in after.unplaced
        if missing.running
    )
    return Outcome(loss, ran, lacking, _repair(changed, lock, after))


def _pools(spot: Spot) -> set[PoolKey]:
    return {(spot.cluster, pool) for _, pool in spot.pools}


def _repair(documents: Documents, lock: Lock, after: Plan) -> tuple[MoreNodes, ...] | None:
    """Return nodes with which no replica that ran lacks a place, None where none were found."""
    deployments = [missing.deployment for missing in after.unplaced if missing.running]
    if not deployments:
        return ()
    fixes = [after.fixes.get(deployment) for deployment in deployments]
    parts = [fix.pools for fix in fixes if fix is not None]
    if len(parts) < len(deployments):
        return None
    largest: dict[PoolKey, MoreNodes] = {}
    sums: dict[PoolKey, MoreNodes] = {}
    for more_nodes in (more_nodes for pools in parts for more_nodes in pools):
        key = (more_nodes.cluster, more_nodes.pool)
        largest[key] = max(more_nodes, largest.get(key, more_nodes), key=lambda more_nodes: more_nodes.nodes)
        sums[key] = _together(sums[key], more_nodes) if key in sums else more_nodes
    for tried in (largest, sums):
        grown = plan(_grown(documents, tried), lock, after.demands)
        if not {missing.deployment for missing in grown.unplaced if missing.running}:
            return tuple(more_nodes for _, more_nodes in sorted(tried.items()))
    return None


def _together(one_need: MoreNodes, other_need: MoreNodes) -> MoreNodes:
    cost = f"{Decimal(one_need.per_hour) + Decimal(other_need.per_hour):f}" if one_need.per_hour else ""
    return replace(
        one_need,
        nodes=one_need.nodes + other_need.nodes,
        size=one_need.size + other_need.nodes,
        per_hour=cost,
    )


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
