"""Does a GKE cluster use names, labels and taints that are taken, or GPUs where CPUs are meant."""

from collections.abc import Iterator

from inferfleet.api.kinds.base import Taint
from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.problems import Problem
from inferfleet.api.wording import below
from inferfleet.gke.facts.machines import machine
from inferfleet.gke.facts.sources import GKE_GPUS, GPUS, NODE_POOL_API
from inferfleet.gke.values import SYSTEM_POOL
from inferfleet.profiles.gke import GPU_TAINT, SYSTEM_MACHINE_TYPE

# What GKE labels nodes with by what their pool is.
_OF_GKE = frozenset(
    f"cloud.google.com/gke-{part}"
    for part in (
        *("accelerator", "flex-start", "gpu-driver-version", "nodepool"),
        *("provisioning", "queued", "spot"),
    )
)


def cluster_problems(name: str, cluster: InferenceCluster) -> Iterator[Problem]:
    """Every such mistake of a GKE cluster and its pools, without the lines."""
    yield from _system_pool(name, cluster)
    yield from _taints(f"cluster {name}", "spec.taints", cluster.spec.taints)
    for place, pool in enumerate(cluster.spec.node_pools):
        path, subject = f"spec.nodePools[{place}]", f"pool {pool.name} of cluster {name}"
        if pool.name == SYSTEM_POOL:
            yield Problem(f"{subject} has the name of the CPU pool", "Rename it", f"{path}.name")
        for key in sorted(_OF_GKE.intersection(pool.labels)):
            what = f"{subject} has label {key}, which GKE sets itself ({NODE_POOL_API})"
            yield Problem(what, "Remove it", below(f"{path}.labels", key))
        yield from _taints(subject, f"{path}.taints", pool.taints)


def _system_pool(name: str, cluster: InferenceCluster) -> Iterator[Problem]:
    asked = cluster.spec.cluster.gke.system_pool.machine_type if cluster.spec.cluster.gke else None
    found = machine(asked) if asked else None
    # N1 machines have GPUs only where a pool attaches some.
    if found and found.accelerators and found.family != "N1":
        what = f"cluster {name} has a system pool of {asked}, which comes with GPUs ({GPUS})"
        next_step = f"Use a machine type of CPUs, such as {SYSTEM_MACHINE_TYPE}"
        yield Problem(what, next_step, "spec.cluster.gke.systemPool.machineType")


def _taints(subject: str, path: str, taints: tuple[Taint, ...]) -> Iterator[Problem]:
    for place, taint in enumerate(taints):
        if taint.key == GPU_TAINT:
            what = f"{subject} has taint {GPU_TAINT}, which all its GPU nodes have anyway ({GKE_GPUS})"
            yield Problem(what, "Remove it", f"{path}[{place}]")
