"""Whether a cluster can hand out devices by claims: the API for them, the DeviceClasses they name, and where
nodes share what is claimed, the label that says which nodes do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.resources import ApiKind, ApiResource
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.serving.claims import device_classes as claimed_classes
from inferfleet.serving.workload import WORKER_SET, templates_of
from inferfleet.tables.devices import (
    CHANNEL_CLASS,
    CLIQUE,
    COMPUTE_DOMAIN_API,
    INSTALLED_BY,
    RESOURCE_API,
    SINCE,
)

POOLS = "spec.nodePools"
DEVICE_CLASS: ApiKind = (RESOURCE_API, "DeviceClass")


def wanted_classes(cluster: DesiredCluster) -> tuple[str, ...]:
    """Return the DeviceClasses that claims of the stack name on the cluster."""
    return claimed_classes(wanted.manifest for wanted in cluster.objects)


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


def unlabelled_nodes(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a problem for each pool of which no node tells its NVLink domain, though its pods must share one.

    Pools without nodes are left out, and who may not list nodes is told nothing. On a cluster that the stack
    creates it is a warning, as above.
    """
    first = {selector: name for name, selector in _of_one_domain(cluster)}
    for selector, name in first.items():
        query = {"labelSelector": ",".join(f"{key}={value}" for key, value in selector)}
        try:
            nodes = list(api.items("/api/v1/nodes", metadata_only=True, query=query))
        except RefusedError as refused:
            if refused.status != 403:
                raise
            return
        if nodes and not any(CLIQUE in node["metadata"].get("labels", {}) for node in nodes):
            problem = cluster_problem(
                cluster.connection.cluster,
                f"none of the {len(nodes)} nodes of cluster {cluster.connection.cluster!r} with "
                f"{query['labelSelector']} has the label {CLIQUE}, and pods of a worker of {name} must be on "
                "nodes of one NVLink domain",
                "Install NVIDIA's GPU feature discovery there, or set gpuCliqueLabelEnabled: true in the "
                "chart dra-driver-nvidia-gpu",
                POOLS,
            )
            yield replace(problem, severity="warning") if cluster.connection.cloud else problem


def _of_one_domain(cluster: DesiredCluster) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Yield the workloads whose pods must share an NVLink domain, with the selector of their nodes."""
    for wanted in cluster.objects:
        if wanted.kind == WORKER_SET:
            spec = templates_of(wanted.manifest)[0]["spec"]
            together = spec.get("affinity", {}).get("podAffinity", {})
            terms = together.get("requiredDuringSchedulingIgnoredDuringExecution", [])
            if any(term["topologyKey"] == CLIQUE for term in terms):
                name = f"{wanted.namespace}/{wanted.kubernetes_name}"
                yield name, tuple(sorted(spec["nodeSelector"].items()))
