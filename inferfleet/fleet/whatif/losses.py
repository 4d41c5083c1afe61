"""What can be lost of a fleet, and the documents and lock of the fleet without it.

A cluster that is lost is one that somebody gives up: `state: abandoned`. A pool that is lost is in no
document, and so are all pools of a reservation that is lost. Replicas that ran there are placed again before
those that never ran, as those of abandoned clusters are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.node_pool import Reservation
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import one_of, shown
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import PoolKey

LossKind = Literal["cluster", "pool", "reservation"]
KINDS: tuple[LossKind, ...] = get_args(LossKind)


@dataclass(frozen=True, order=True)
class Loss:
    """A cluster, a pool (`<cluster>/<pool>`) or a reservation that is lost."""

    kind: LossKind
    name: str

    def __str__(self) -> str:
        """Return it as messages have it: `pool west/h100`."""
        return f"{self.kind} {self.name}"


def losses(documents: Documents) -> tuple[Loss, ...]:
    """Return all that can be lost by itself: clusters, pools beside which their cluster has others, and
    reservations that pools name. What is abandoned is lost already.
    """
    clusters = {name: one for name, one in documents.clusters.items() if one.spec.state != "abandoned"}
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
    """Return the fleet without what is lost. Raises InvalidDocuments for what there is not."""
    every = tuple(lost)
    if problems := list(_unknown(documents, every)):
        raise InvalidDocuments(problems)
    lost_pools = {key for loss in every for key in pools_of(documents, loss) if loss.kind != "cluster"}
    abandoned = {loss.name for loss in every if loss.kind == "cluster"}
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
    return frozenset(
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (loss.kind == "cluster" and name == loss.name)
        or (loss.kind == "pool" and f"{name}/{pool.name}" == loss.name)
        or (loss.kind == "reservation" and _reservation(pool.capacity.reservation) == loss.name)
    )


def _unknown(documents: Documents, lost: Iterable[Loss]) -> Iterator[Problem]:
    for loss in lost:
        known = _named(documents, loss.kind)
        if loss.name not in known:
            what = f"no pool names the reservation {shown(loss.name)!r}"
            if loss.kind != "reservation":
                what = f"there is no {loss.kind} {shown(loss.name)!r}"
            step = "Pools with capacity.reservation name one"
            yield Problem(what, one_of(loss.name, known, "There are") if known else step)


def _named(documents: Documents, kind: LossKind) -> list[str]:
    if kind == "cluster":
        return sorted(documents.clusters)
    pools = [(name, pool) for name, one in documents.clusters.items() for pool in one.spec.node_pools]
    if kind == "pool":
        return sorted(f"{name}/{pool.name}" for name, pool in pools)
    names = {_reservation(pool.capacity.reservation) for _, pool in pools}
    return sorted(names - {""})


def _reservation(named: Reservation | None) -> str:
    return named.name if named else ""
