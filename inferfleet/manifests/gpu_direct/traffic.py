"""Whether networks between GPUs carry any traffic: which pods are on them, and who makes what these name."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.gke.pool import GkePool
from inferfleet.gke.values import CloudCluster
from inferfleet.profiles.gke import FIRST_NETWORK, INTERFACES


def attached(template: Mapping[str, Any]) -> bool:
    """Return whether pods of a finished template have an interface beside that of the cluster's network."""
    written = template.get("metadata", {}).get("annotations", {}).get(INTERFACES, "[]")
    try:
        listed = json.loads(written)
    except ValueError:
        return False
    entries = listed if isinstance(listed, list) else []
    return any(isinstance(entry, dict) and entry.get("network") != FIRST_NETWORK for entry in entries)


def traffic_problems(cluster: CloudCluster, users: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    """Yield a warning for each pool whose networks no pod uses, and one where pods use what nobody makes.

    `users` are the deployments whose pods are attached to networks, by pool.
    """
    made_by: str | None = None
    using: dict[str, Collection[str]] = {}
    for name, cloud in cluster.gpu_pools.items():
        if not cloud.pool.networks:
            continue
        made_by = cloud.pool.gke.network.gpu_direct
        if users.get(name):
            using[name] = users[name]
        else:
            yield _unused(cloud.pool)
    if using and made_by is None:
        deployments = ", ".join(sorted({key for keys in using.values() for key in keys}))
        yield Problem(
            f"cluster {cluster.cluster} does not say who makes the Network objects that pods of "
            f"{deployments} name on {_pools(using)}, and who installs NCCL there; without them these pods "
            "never start",
            "Write network: {gpuDirect: Stack}, or gpuDirect: Existing where they are there already",
            "spec.cluster.gke.network",
            kind="InferenceCluster",
            key=cluster.cluster,
            severity="warning",
        )


def _unused(pool: GkePool) -> Problem:
    kind = pool.recipe.networking.gpu_direct
    count = len(pool.networks)
    what = (
        f"pool {pool.name} of cluster {pool.cluster} has GPUDirect-{kind} (class {pool.gke_class.name}): "
        f"{count} more network{'' if count == 1 else 's'}, and no pod that is placed there uses any"
    )
    plain = "for a new pool, use a class without networking.gpuDirect"
    next_step = (
        f"Nothing that comes with inferfleet puts pods on TCPX: {plain}, or write a plugin"
        if kind == "TCPX"
        else f"Add the plugin network-fabric to deployments there; or, {plain}"
    )
    return Problem(
        what,
        next_step,
        pool.path("className"),
        kind="InferenceCluster",
        key=pool.cluster,
        severity="warning",
    )


def _pools(named: Collection[str]) -> str:
    return f"pool{'' if len(named) == 1 else 's'} {', '.join(sorted(named))}"
