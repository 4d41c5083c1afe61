"""How many networks a cluster takes of its project's: one of its own, and those between GPUs beside it.

Reports name limits of 5 (https://github.com/fortinet/fortigate-tutorial-gcp/issues/9, 2024-03-04: "Quota
'NETWORKS' exceeded. Limit: 5.0 globally") and of 30 (https://github.com/DefangLabs/pulumi-defang/issues/183,
2026-08-20). A project may have the network `default` already, which counts too.
"""

from collections.abc import Collection, Iterator

from inferfleet.cloud.gke.settings.network import NETWORK
from inferfleet.cloud.values import CloudCluster, CloudPool
from inferfleet.fleet.lock.lock import Lock

METRIC = "NETWORKS"
_INTERFACES = "networkConfig.additionalNodeNetworkConfigs"


def networks(cluster: CloudCluster, lock: Lock, existing: Collection[str]) -> tuple[int, int]:
    """Return how many networks the stack keeps for the cluster, and how many of them exist.

    Those exist that a pool of `existing` (names in Google Cloud) uses, and the cluster's own where it has
    any pool.
    """
    wanted = {resource.inputs["name"] for resource in cluster.resources if resource.token == NETWORK}
    if not existing:
        return len(wanted), 0
    there = wanted.difference(*(_between_gpus(pool) for pool in cluster.pools.values()))
    for pool in cluster.pools.values():
        if pool.name in existing:
            there |= wanted.intersection(_between_gpus(pool))
        elif (locked := lock.pools.get(pool.key)) and locked.name in existing:
            there |= wanted & {
                value
                for path, value in locked.settings.items()
                if path.startswith(_INTERFACES) and path.endswith(".network")
            }
    return len(wanted), len(there)


def _between_gpus(pool: CloudPool) -> Iterator[str]:
    config = pool.resource.inputs.get("networkConfig") or {}
    return (interface["network"] for interface in config.get("additionalNodeNetworkConfigs") or ())
