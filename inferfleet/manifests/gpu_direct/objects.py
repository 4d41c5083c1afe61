"""Everything that GPUDirect needs on one GKE cluster, where its document says that the stack makes it."""

from typing import Any

from inferfleet.gke.fabrics import shared
from inferfleet.gke.facts.installers import installers_for
from inferfleet.gke.values import CloudCluster
from inferfleet.manifests.gpu_direct.installers import installer
from inferfleet.manifests.gpu_direct.networks import networks


def objects(cluster: CloudCluster, *, stack: str) -> tuple[dict[str, Any], ...]:
    """Return networks and installers of all pools with GPUDirect, whatever is placed on them.

    So a replica that moves takes no network away from pods that still end there. Networks that GKE makes
    itself have no objects, and need the installers all the same (cluster-toolkit, examples/gke-a4x at commit
    10470803, 2026-06-25).
    """
    pools = [pool.pool for pool in cluster.gpu_pools.values() if pool.pool.networks or pool.pool.claims_cards]
    if not any(pool.gke.network.gpu_direct == "Stack" for pool in pools):
        return ()
    gpus = {pool.recipe.accelerator.type for pool in pools if pool.recipe.accelerator}
    extras = shared(extra for pool in pools for extra in pool.networks)
    return (
        *networks(extras, cloud_name=cluster.cloud_name, stack=stack),
        *(installer(row, stack=stack) for row in installers_for(gpus)),
    )
