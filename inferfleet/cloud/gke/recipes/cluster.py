"""Rules of the cluster's own fields: what GKE sets itself, the system pool, who reaches the API server."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.machines import is_arm, machine
from inferfleet.cloud.gke.facts.sources import ARM_NODES, GKE_GPUS, GPUS, NODE_POOL_API
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.values import SYSTEM_POOL
from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.problems import Problem, Severity
from inferfleet.documents.wording import below
from inferfleet.tables.gke import GPU_TAINT, SYSTEM_MACHINE_TYPE

_SYSTEM_POOL = "spec.cluster.gke.systemPool"
# What GKE labels nodes with by what their pool is.
_OF_GKE = frozenset(
    f"cloud.google.com/gke-{part}"
    for part in (
        *("accelerator", "flex-start", "gpu-driver-version", "nodepool"),
        *("provisioning", "queued", "spot"),
    )
)


def cluster_problems(cluster: GkeCluster) -> Iterator[Problem]:
    """Yield every such mistake of a GKE cluster and its pools, whatever their classes are."""
    yield from _system_pool(cluster)
    yield from _open_to_all(cluster)
    yield from _taints(cluster, f"cluster {cluster.name}", "spec.taints", cluster.document.spec.taints)
    for place, pool in enumerate(cluster.document.spec.node_pools):
        path, subject = f"spec.nodePools[{place}]", f"pool {pool.name} of cluster {cluster.name}"
        if pool.name == SYSTEM_POOL:
            yield _problem(
                cluster, f"{subject} has the name of the system pool", "Rename it", path=f"{path}.name"
            )
        for key in sorted(_OF_GKE.intersection(pool.labels)):
            what = f"{subject} has label {key}, which GKE sets itself ({NODE_POOL_API})"
            yield _problem(cluster, what, "Remove it", path=below(f"{path}.labels", key))
        yield from _taints(cluster, subject, f"{path}.taints", pool.taints)


def _system_pool(cluster: GkeCluster) -> Iterator[Problem]:
    machine_type = cluster.gke.system_pool.machine_type
    known = machine(machine_type) if machine_type else None
    if machine_type is None:
        return
    what, path = f"cluster {cluster.name} has a system pool of {machine_type}", f"{_SYSTEM_POOL}.machineType"
    next_step = f"Use a machine type of CPUs, such as {SYSTEM_MACHINE_TYPE}"
    # N1 machines have GPUs only where a pool attaches some.
    if known and known.accelerators and known.family != "N1":
        yield _problem(cluster, f"{what}, which comes with GPUs ({GPUS})", next_step, path=path)
    elif is_arm(machine_type):
        what += f", whose nodes are arm64: GKE taints them, and endpoint pickers stay Pending ({ARM_NODES})"
        yield _problem(cluster, what, f"Use one of x86, such as {SYSTEM_MACHINE_TYPE}", path=path)


def _open_to_all(cluster: GkeCluster) -> Iterator[Problem]:
    """Yield a warning where the API server's address takes requests from everywhere."""
    gke = cluster.gke
    if gke.control_plane_endpoint != "IP":
        return
    everywhere = next((block for block in gke.authorized_networks if block.endswith("/0")), None)
    if gke.authorized_networks and everywhere is None:
        return
    by = f"authorizedNetworks has {everywhere}" if everywhere else "no authorizedNetworks limit it"
    what = f"the API server of cluster {cluster.name} can be reached by its address from everywhere: {by}"
    next_step = "Write the ranges that need it into authorizedNetworks, or controlPlaneEndpoint: DNS"
    path = "spec.cluster.gke." + ("authorizedNetworks" if everywhere else "controlPlaneEndpoint")
    yield _problem(cluster, what, next_step, path=path, severity="warning")


def _taints(cluster: GkeCluster, subject: str, path: str, taints: tuple[Taint, ...]) -> Iterator[Problem]:
    for place, taint in enumerate(taints):
        if taint.key == GPU_TAINT:
            what = f"{subject} has taint {GPU_TAINT}, which GKE sets on all GPU nodes ({GKE_GPUS})"
            yield _problem(cluster, what, "Remove it", path=f"{path}[{place}]")


def _problem(
    cluster: GkeCluster, what: str, next_step: str, *, path: str, severity: Severity = "error"
) -> Problem:
    return Problem(what, next_step, path, kind="InferenceCluster", key=cluster.name, severity=severity)
