"""Where a cluster and its pools in Google Cloud differ from the documents, because somebody changed them."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.values import CloudCluster, CloudResource, Drift, shown

DAILY, EXCLUSIONS = "dailyMaintenanceWindow", "maintenanceExclusions"
# Names in the answers of the Container API by the beginning of a path, the longest first; None where nothing
# is compared, and why. Where the API has two names for one thing, it is the one that the provider reads:
# resource_container_cluster.go (flattenPrivateClusterConfig, flattenMasterAuthorizedNetworksConfig) of
# https://github.com/hashicorp/terraform-provider-google-beta at 93c65b2d60, 2026-08-21.
_WINDOW = "maintenancePolicy.window"
_CLUSTER: Mapping[str, str | None] = {
    "datapathProvider": "networkConfig.datapathProvider",
    # It is the provider's own, and Google does not know it.
    "deletionProtection": None,
    "enableMultiNetworking": "networkConfig.enableMultiNetworking",
    "gatewayApiConfig": "networkConfig.gatewayApiConfig",
    # The default pool is gone: this and the two of it below say how it began.
    "initialNodeCount": None,
    "nodeConfig": None,
    "removeDefaultNodePool": None,
    # Immutable, and answered as ranges under other names.
    "ipAllocationPolicy": None,
    # Where the answer comes from: the cluster was asked for by project, location and name.
    "location": None,
    "project": None,
    "loggingConfig.enableComponents": "loggingConfig.componentConfig.enableComponents",
    f"maintenancePolicy.{DAILY}": f"{_WINDOW}.{DAILY}",
    f"maintenancePolicy.{EXCLUSIONS}": f"{_WINDOW}.{EXCLUSIONS}",
    "maintenancePolicy.recurringWindow": f"{_WINDOW}.recurringWindow.window",
    "maintenancePolicy.recurringWindow.recurrence": f"{_WINDOW}.recurringWindow.recurrence",
    "masterAuthorizedNetworksConfig": (
        "controlPlaneEndpointsConfig.ipEndpointsConfig.authorizedNetworksConfig"
    ),
    # A floor, which channels leave behind.
    "minMasterVersion": None,
    "monitoringConfig.enableComponents": "monitoringConfig.componentConfig.enableComponents",
    "monitoringConfig.managedPrometheus": "monitoringConfig.managedPrometheusConfig",
    # Immutable; answered by its short name, and by a whole one in networkConfig.
    "network": None,
    "subnetwork": None,
    # It follows from the ranges, which are immutable.
    "networkingMode": None,
    "nodeLocations": "locations",
    "privateClusterConfig.enablePrivateNodes": "networkConfig.defaultEnablePrivateNodes",
}
_POOL: Mapping[str, str | None] = {
    # Where the answer comes from.
    "cluster": None,
    "location": None,
    "project": None,
    # It is the provider's own, and Google does not know it.
    "ignoreNodeCountChanges": None,
    # It says how the pool began.
    "initialNodeCount": None,
    "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
    # Interfaces of the nodes, which are immutable.
    "networkConfig": None,
    # The size of a fixed pool is its machines', asked for by themselves.
    "nodeCount": None,
    "nodeConfig.bootDisk.diskType": "config.diskType",
    "nodeConfig.bootDisk.sizeGb": "config.diskSizeGb",
    "nodeConfig.guestAccelerators": "config.accelerators",
    "nodeConfig.guestAccelerators.count": "config.accelerators.acceleratorCount",
    "nodeConfig.guestAccelerators.type": "config.accelerators.acceleratorType",
    "nodeConfig.linuxNodeConfig.hugepagesConfig": "config.linuxNodeConfig.hugepages",
    "nodeConfig": "config",
    "nodeLocations": "locations",
}
_TABLES = {CLUSTER: _CLUSTER, NODE_POOL: _POOL}
Path = tuple[str, ...]


def api_path(token: str, path: Path) -> Path | None:
    """Return the path that a field of a Cluster or NodePool has in the API's answer; None if not compared."""
    table = _TABLES[token]
    for length in range(len(path), 0, -1):
        beginning = ".".join(path[:length])
        if beginning in table:
            in_api = table[beginning]
            return None if in_api is None else (*in_api.split("."), *path[length:])
    return path


_NO_VALUE = "set"


def cloud_drift(
    cluster: CloudCluster, answer: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[Drift, ...]:
    """Return what differs in `answer`, what clusters.get says of a cluster, from what should exist.

    `sizes` has the numbers of nodes of fixed pools by their names in the cloud, where they are known.
    """
    actual_pools = {pool.get("name"): pool for pool in answer.get("nodePools") or ()}
    drifts: list[Drift] = []
    for resource in cluster.resources:
        if resource.token == CLUSTER:
            thing = f"cluster {cluster.cluster}"
            drifts += _differing(cluster.cluster, thing, declared=resource, actual=answer)
        if resource.token != NODE_POOL:
            continue
        name, thing = resource.inputs["name"], f"pool {resource.name}"
        if name not in actual_pools:
            drifts.append(
                Drift(cluster=cluster.cluster, thing=thing, field="node pool", found="not there", wanted=name)
            )
            continue
        drifts += _differing(cluster.cluster, thing, declared=resource, actual=actual_pools[name])
        pool = cluster.pools.get(resource.name.partition("/")[2])
        declared_size = pool.fixed_size if pool else None
        if declared_size is not None and sizes.get(name, declared_size) != declared_size:
            drifts.append(
                Drift(
                    cluster=cluster.cluster,
                    thing=thing,
                    field="size",
                    found=shown(sizes[name]),
                    wanted=shown(declared_size),
                )
            )
    return tuple(drifts)


def _differing(
    cluster: str, thing: str, *, declared: CloudResource, actual: Mapping[str, Any]
) -> Iterator[Drift]:
    """Yield each declared field that has another value in the API's answer for the cluster or pool."""
    for path, declared_value in _leaves(declared.inputs):
        field = ".".join(path)
        path_in_api = api_path(declared.token, path)
        if path_in_api is None or any(f"{field}.".startswith(f"{ignored}.") for ignored in declared.ignore):
            continue
        actual_value = _inside(actual, path_in_api)
        if _plain(actual_value, declared_value) != _plain(declared_value, declared_value):
            yield Drift(
                cluster=cluster,
                thing=thing,
                field=field,
                found=shown(actual_value),
                wanted=shown(declared_value),
            )


def _leaves(inputs: Mapping[str, Any], before: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf with its path.

    Taints go by key and effect, exclusions of maintenance by name; a pool has one kind of accelerator; other
    lists are one value.
    """
    for name, value in inputs.items():
        path = (*before, name)
        if isinstance(value, Mapping):
            yield from _leaves(value, path)
        elif name == "taints":
            yield from (
                ((*path, f"{taint['key']}:{taint['effect']}"), taint["value"] or _NO_VALUE) for taint in value
            )
        elif name == EXCLUSIONS:
            for exclusion in value:
                yield from _leaves(_in_api(exclusion), (*path, exclusion["exclusionName"]))
        elif name == "guestAccelerators":
            yield from _leaves(value[0], path)
        else:
            yield path, value


def _in_api(exclusion: Mapping[str, Any]) -> dict[str, Any]:
    """Return an exclusion of maintenance as the API has it, which holds them by name."""
    times = {name: exclusion[name] for name in ("startTime", "endTime") if name in exclusion}
    return {**times, "maintenanceExclusionOptions": exclusion["exclusionOptions"]}


def _inside(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, list):
            taints = {
                f"{taint.get('key')}:{taint.get('effect')}": taint.get("value") or _NO_VALUE
                for taint in value
            }
            value = taints[step] if step in taints else (value[0] if value else {}).get(step)
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _plain(value: Any, wanted: Any) -> Any:
    """Return a value in a form in which what is wanted and what Google answers compare equal.

    Answers leave out what is unset, false, zero or empty, and have 64-bit numbers as strings. Only the keys
    that we set count in items of a list, in any order.
    """
    if isinstance(value, list):
        keys = next((list(item) for item in wanted if isinstance(item, Mapping)), None)
        return sorted(str([item.get(key) for key in keys] if keys else item) for item in value) or None
    return None if value in (None, False, "", 0, "0", "0s", {}) else str(value)
