"""What the provider's fields are called in the Container API, where that is not the same.

https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from collections.abc import Mapping

from inferfleet.gke.values import CLUSTER, NODE_POOL

# By the beginning of a path, the longest first; None: it is not a setting of the object, or cannot be changed
# by hand and is told in another form.
_CLUSTER: Mapping[str, str | None] = {
    "datapathProvider": "networkConfig.datapathProvider",
    "deletionProtection": None,
    "enableMultiNetworking": "networkConfig.enableMultiNetworking",
    "gatewayApiConfig": "networkConfig.gatewayApiConfig",
    "initialNodeCount": None,
    "ipAllocationPolicy": None,
    "location": None,
    "loggingConfig.enableComponents": "loggingConfig.componentConfig.enableComponents",
    # A floor, which channels leave behind.
    "minMasterVersion": None,
    "monitoringConfig.enableComponents": "monitoringConfig.componentConfig.enableComponents",
    "monitoringConfig.managedPrometheus": "monitoringConfig.managedPrometheusConfig",
    "network": None,
    # Told by the ranges, which a cluster keeps for life.
    "networkingMode": None,
    "nodeConfig": None,
    "nodeLocations": "locations",
    "project": None,
    "removeDefaultNodePool": None,
    "subnetwork": None,
}
_POOL: Mapping[str, str | None] = {
    "cluster": None,
    "ignoreNodeCountChanges": None,
    "initialNodeCount": None,
    "location": None,
    "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
    "networkConfig": None,
    # The size of a fixed pool is its machines', asked for by themselves.
    "nodeCount": None,
    "nodeConfig.bootDisk.diskType": "config.diskType",
    "nodeConfig.bootDisk.sizeGb": "config.diskSizeGb",
    "nodeConfig.guestAccelerators": "config.accelerators",
    "nodeConfig.guestAccelerators.count": "config.accelerators.acceleratorCount",
    "nodeConfig.guestAccelerators.type": "config.accelerators.acceleratorType",
    "nodeConfig": "config",
    "nodeLocations": "locations",
    "project": None,
}
_TABLES = {CLUSTER: _CLUSTER, NODE_POOL: _POOL}
Path = tuple[str, ...]


def api_path(token: str, path: Path) -> Path | None:
    """The path in the API's answer of a field of a Cluster or NodePool; None for what is not compared."""
    table = _TABLES[token]
    for length in range(len(path), 0, -1):
        beginning = ".".join(path[:length])
        if beginning in table:
            called = table[beginning]
            return None if called is None else (*called.split("."), *path[length:])
    return path
