"""Rules of clusters: what GKE sets itself, the system pool, who reaches the API server, which pools go
together, and what GKE may upgrade by itself.
"""

from collections.abc import Iterator

from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool
from inferfleet.cloud.gke.facts.machines import is_arm, machine
from inferfleet.cloud.gke.facts.sources import (
    ARM_NODES,
    BLUEPRINTS,
    DRANET,
    GKE_GPUS,
    GPUS,
    NODE_POOL_API,
    Source,
)
from inferfleet.cloud.values import SYSTEM_POOL
from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.gke import is_private
from inferfleet.documents.problems import Problem, Severity, cluster_problem
from inferfleet.documents.wording import below, listing
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

# What Google's own blueprints write, with the start that they have.
_LINE = (
    'maintenancePolicy: {dailyMaintenanceWindow: {startTime: "09:00"}, maintenanceExclusions: [{name: '
    "no-minor-or-node-upgrades, scope: NO_MINOR_OR_NODE_UPGRADES, startTime: 2025-12-01T00:00:00Z, "
    "endTimeBehavior: UNTIL_END_OF_SUPPORT}]}"
)


def cluster_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    """Yield every such mistake of a GKE cluster and its pools, whatever their classes are."""
    yield from _system_pool_problems(cluster)
    yield from _open_endpoint_problems(cluster)
    yield from _taint_problems(
        cluster, f"cluster {cluster.name}", "spec.taints", cluster.document.spec.taints
    )
    for index, pool in enumerate(cluster.document.spec.node_pools):
        path, subject = f"spec.nodePools[{index}]", f"pool {pool.name} of cluster {cluster.name}"
        if pool.name == SYSTEM_POOL:
            yield _problem(
                cluster, f"{subject} has the name of the system pool", "Rename it", path=f"{path}.name"
            )
        for key in sorted(_OF_GKE.intersection(pool.labels)):
            what = f"{subject} has label {key}, which GKE sets itself ({NODE_POOL_API})"
            yield _problem(cluster, what, "Remove it", path=below(f"{path}.labels", key))
        yield from _taint_problems(cluster, subject, f"{path}.taints", pool.taints)


def network_way_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    """Yield that pools of a cluster use both ways: DRANET and the Network objects manage the same cards."""
    claiming_pools = [pool for pool in cluster.pools if pool.claims_cards]
    pools_with_networks = [pool.name for pool in cluster.pools if pool.interfaces]
    if not pools_with_networks:
        return
    pools = "pool" if len(pools_with_networks) == 1 else "pools"
    for pool in claiming_pools:
        yield cluster_problem(
            cluster.name,
            f"pool {pool.name} of cluster {cluster.name} has acceleratorNetworkProfile Auto (class "
            f"{pool.gke_class.name}), and {pools} {listing(pools_with_networks)} networks "
            f"that GKE does not make; one cluster takes one of the two ways ({DRANET})",
            "Use classes of one way for all pools of the cluster, or another cluster",
            pool.path("className"),
        )


def way_in_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    """Yield that nobody could reach the API server of a new cluster: the update makes the only way to it."""
    gke = cluster.gke
    if gke.control_plane_access == "Private" and gke.network.existing is None:
        yield cluster_problem(
            cluster.name,
            f"the API server of cluster {cluster.name} would be reached from its own network alone, which "
            "this update makes: no machine is in it that could go on",
            "Write network.existing, or controlPlaneAccess: Public until the network is connected",
            "spec.cluster.gke.controlPlaneAccess",
        )


def maintenance_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    """Yield a warning where GKE may upgrade nodes that Google's own blueprints keep from it.

    Any policy is an answer to it. None is written by itself: it keeps security fixes from all nodes of the
    cluster, which somebody has to decide.
    """
    if cluster.gke.maintenance_policy is not None:
        return
    kept = {pool.name: source for pool in cluster.pools if (source := _blueprint(pool))}
    if not kept:
        return
    names, source = ", ".join(kept), next(iter(kept.values()))
    pools = "pools" if len(kept) > 1 else "pool"
    what = (
        f"GKE may upgrade the nodes of {pools} {names} of cluster {cluster.name} at any time, which Google's "
        f"blueprint for such machines keeps it from ({source})"
    )
    step = f"Write {_LINE}; or one with a window alone, in which they may be upgraded"
    path = "spec.cluster.gke.maintenancePolicy"
    yield cluster_problem(cluster.name, what, step, path, severity="warning")


def _blueprint(pool: DescribedPool) -> Source | None:
    """Return the blueprint that keeps GKE from upgrading such nodes; that of A3 High has GPUDirect."""
    if pool.gke_class.machine.family == "A3 High" and pool.gke_class.fabric is None:
        return None
    return BLUEPRINTS.get(pool.gke_class.machine.family)


def _system_pool_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    machine_type = cluster.gke.system_pool.machine_type
    machine_facts = machine(machine_type) if machine_type else None
    if machine_type is None:
        return
    what, path = f"cluster {cluster.name} has a system pool of {machine_type}", f"{_SYSTEM_POOL}.machineType"
    next_step = f"Use a machine type of CPUs, such as {SYSTEM_MACHINE_TYPE}"
    # N1 machines have GPUs only where a pool attaches some.
    if machine_facts and machine_facts.accelerators and machine_facts.family != "N1":
        yield _problem(cluster, f"{what}, which comes with GPUs ({GPUS})", next_step, path=path)
    elif is_arm(machine_type):
        what += f", whose nodes are arm64: GKE taints them, and endpoint pickers stay Pending ({ARM_NODES})"
        yield _problem(cluster, what, f"Use one of x86, such as {SYSTEM_MACHINE_TYPE}", path=path)


def _open_endpoint_problems(cluster: DescribedCluster) -> Iterator[Problem]:
    """Yield a warning where the API server's address takes requests from everywhere, or from nowhere."""
    gke = cluster.gke
    if gke.control_plane_endpoint != "IP" or gke.control_plane_access == "Private":
        return
    if gke.authorized_networks and all(map(is_private, gke.authorized_networks)):
        ranges = ", ".join(gke.authorized_networks)
        what = f"the API server of cluster {cluster.name} has a public address, and authorizedNetworks has "
        what += f"private ranges alone ({ranges}), from which nothing reaches it there"
        step = "Write controlPlaneAccess: Private, or the public ranges that machines come from"
        path = "spec.cluster.gke.authorizedNetworks"
        yield _problem(cluster, what, step, path=path, severity="warning")
        return
    everywhere = next((block for block in gke.authorized_networks if block.endswith("/0")), None)
    if gke.authorized_networks and everywhere is None:
        return
    by = f"authorizedNetworks has {everywhere}" if everywhere else "no authorizedNetworks limit it"
    what = f"the API server of cluster {cluster.name} can be reached by its address from everywhere: {by}"
    next_step = "Write the ranges that need it into authorizedNetworks, or controlPlaneEndpoint: DNS"
    path = "spec.cluster.gke." + ("authorizedNetworks" if everywhere else "controlPlaneEndpoint")
    yield _problem(cluster, what, next_step, path=path, severity="warning")


def _taint_problems(
    cluster: DescribedCluster, subject: str, path: str, taints: tuple[Taint, ...]
) -> Iterator[Problem]:
    for index, taint in enumerate(taints):
        if taint.key == GPU_TAINT:
            what = f"{subject} has taint {GPU_TAINT}, which GKE sets on all GPU nodes ({GKE_GPUS})"
            yield _problem(cluster, what, "Remove it", path=f"{path}[{index}]")


def _problem(
    cluster: DescribedCluster, what: str, next_step: str, *, path: str, severity: Severity = "error"
) -> Problem:
    return cluster_problem(cluster.name, what, next_step, path, severity=severity)
