"""Taints that GKE puts on nodes by itself, and that pods placed there must tolerate."""

from inferfleet.api.document import Taint
from inferfleet.api.node_pool import NodePool

# https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest
QUEUED = Taint(key="cloud.google.com/gke-queued", value="true", effect="NoSchedule")


def pod_taints(pool: NodePool) -> tuple[Taint, ...]:
    """Besides the taint of the accelerator, which every pod that asks for one tolerates."""
    return (QUEUED,) if pool.capacity.model == "Queued" else ()
