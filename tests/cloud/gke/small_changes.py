"""A stack of GKE clusters that stands, and what a change of its documents is said to do."""

from typing import Any

from small_clouds import L4, clouds, clouds_of, recipe

from inferfleet.cloud.gke.changes import cloud_changes
from inferfleet.cloud.provider import locked
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.spot import Spot

CODER = Spot("ml/coder", "east", (("decode", "l4"),))
STANDING = "pool east/l4 with 2 replicas (2 of ml/coder)"
SPOT = "capacity.model (consumeReservationType unset -> NO_RESERVATION, spot unset -> true)"


def l4(*, count: int = 4, **gke: Any) -> InferenceClass:
    """The class of the standing pools, with another recipe."""
    return recipe("l4", "g2-standard-48", "nvidia-l4", count, **gke)


def standing(*clusters: InferenceCluster, replicas: int = 2) -> Lock:
    """What an update with these clusters leaves behind; `replicas` of one deployment are on east/l4."""
    sources = {one.metadata.name: LockedCluster(one.spec.cluster.source, "uid-1") for one in clusters}
    return after(Lock("prod", sources, {CODER: replicas} if replicas else {}), *clusters)


def after(lock: Lock, *clusters: InferenceCluster) -> Lock:
    """What the lock is after an update with these clusters."""
    documents = clouds(*clusters)
    return locked(documents, lock, clouds_of(documents, lock, Plan()))


def changes(
    lock: Lock, *clusters: InferenceCluster, recipe_of: InferenceClass = L4
) -> tuple[list[str], list[str], list[str]]:
    """Changes, problems and warnings as people read them."""
    documents = clouds(*clusters, classes=(recipe_of,))
    changed, problems = cloud_changes(documents, lock, clouds_of(documents, lock, Plan()))
    # Without a field is only what is said of a cluster that has no document any more.
    assert {(one.kind, bool(one.key)) for one in problems} <= {("InferenceCluster", True), ("", False)}
    return (
        [str(one) for one in changed],
        [str(one) for one in of_severity(problems, "error")],
        [str(one) for one in of_severity(problems, "warning")],
    )
