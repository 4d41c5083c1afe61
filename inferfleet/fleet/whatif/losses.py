"""What can be lost of a fleet, and the documents and lock of the fleet without it.

A cluster that is lost is one that somebody gives up: `state: abandoned`. A pool that is lost is in no
document, and so are all pools of a reservation that is lost; reservations of two projects may have one name.
Replicas that ran there are placed again before
those that never ran, as those of abandoned clusters are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.node_pool import NodePool
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, one_of, shown
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import PoolKey

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
    """Return all that can be lost by itself: clusters, pools beside which their cluster has others, and
    reservations that pools name. What is abandoned is lost already.
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
    meant = _meant(documents, loss.name) if loss.kind == "reservation" else []
    return frozenset(
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (loss.kind == "cluster" and name == loss.name)
        or (loss.kind == "pool" and f"{name}/{pool.name}" == loss.name)
        or (loss.kind == "reservation" and _reservation(cluster, pool) in meant)
    )


def _unknown(documents: Documents, lost: Iterable[Loss]) -> Iterator[Problem]:
    for loss in lost:
        known = _named(documents, loss.kind)
        meant = _meant(documents, loss.name) if loss.kind == "reservation" else []
        if len(meant) > 1:
            what = f"pools name reservations {shown(loss.name)!r} of {len(meant)} projects"
            yield Problem(what, f"Write one of {listing(meant)}")
        elif not meant and loss.name not in known:
            what = f"no pool names the reservation {shown(loss.name)!r}"
            if loss.kind != "reservation":
                what = f"there is no {loss.kind} {shown(loss.name)!r}"
            step = "Pools with capacity.reservation name one"
            yield Problem(what, one_of(loss.name, known, "There are") if known else step)


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
    named, gke = pool.capacity.reservation, cluster.spec.cluster.gke
    if named is None:
        return ""
    project = named.project or (gke.project if gke else "")
    return f"{project}/{named.name}" if project else named.name


def _meant(documents: Documents, written: str) -> list[str]:
    """Return the reservations that somebody may mean who wrote one with its project or without."""
    known = _named(documents, "reservation")
    return [written] if written in known else [name for name in known if name.endswith(f"/{written}")]
