"""Whether a cluster can hand out devices by claims: the API for them, and the DeviceClasses they name."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inferfleet.api.problems import Problem
from inferfleet.desired.values import DesiredCluster
from inferfleet.profiles.dra import (
    CHANNEL_CLASS,
    COMPUTE_DOMAIN,
    COMPUTE_DOMAIN_API,
    INSTALLED_BY,
    RESOURCE_API,
    SINCE,
)
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.connect import Api
from inferfleet.reach.resources import ApiKind, ApiResource

POOLS = "spec.nodePools"
DEVICE_CLASS: ApiKind = (RESOURCE_API, "DeviceClass")
_TEMPLATE: ApiKind = (RESOURCE_API, "ResourceClaimTemplate")


def wanted_classes(cluster: DesiredCluster) -> tuple[str, ...]:
    """Return the DeviceClasses that claims of the stack name on the cluster."""
    classes = set()
    for wanted in cluster.objects:
        kind = (wanted.api_version, wanted.kind)
        if kind == (COMPUTE_DOMAIN_API, COMPUTE_DOMAIN):
            classes.add(CHANNEL_CLASS)
        elif kind == _TEMPLATE:
            requests = wanted.manifest["spec"]["spec"]["devices"]["requests"]
            classes |= {request["exactly"]["deviceClassName"] for request in requests}
    return tuple(sorted(classes))


def missing_kind(version: str) -> str | None:
    """Return what to do on a cluster that does not serve kinds of claims, None for another API version."""
    if version == RESOURCE_API:
        return f"Bring the cluster to Kubernetes {SINCE}, or use classes with allocation: DevicePlugin there"
    if version == COMPUTE_DOMAIN_API:
        return f"Install {INSTALLED_BY[CHANNEL_CLASS]}, or leave out the class's device of IMEX channels"
    return None


def device_classes(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[Problem]:
    """Yield a problem for each DeviceClass that claims name and the cluster lacks.

    On a cluster that the stack creates it is a warning: whoever installs the driver there can do so only once
    the cluster exists.
    """
    resource = resources.get(DEVICE_CLASS)
    wanted = wanted_classes(cluster)
    if not wanted or resource is None:
        return
    present = {item["metadata"]["name"] for item in api.items(resource.path(), metadata_only=True)}
    for name in wanted:
        if name not in present:
            problem = cluster_problem(
                cluster.connection.cluster,
                f"cluster {cluster.connection.cluster!r} has no DeviceClass {name!r}, which claims of pods "
                f"name (it has: {', '.join(sorted(present)) or 'none'})",
                f"Install {INSTALLED_BY.get(name, 'the DRA driver that brings it')}, or correct "
                "deviceClassName in the class",
                POOLS,
            )
            yield replace(problem, severity="warning") if cluster.connection.cloud else problem
