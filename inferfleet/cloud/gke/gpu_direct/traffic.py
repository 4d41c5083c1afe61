"""Whether networks between GPUs carry any traffic: which pods are on them, and who makes what these name."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.pool import GkeCluster, GkePool
from inferfleet.cloud.values import CloudPool
from inferfleet.documents.problems import Problem
from inferfleet.serving.claims import DEVICES
from inferfleet.tables.gke import FIRST_NETWORK, INTERFACES


def attached(template: Mapping[str, Any], pool: CloudPool) -> bool:
    """Return whether pods of a finished template have an interface beside that of the cluster's network.

    Where the pool's cards are claimed, each pod with GPUs has as many of them as it has GPUs.
    """
    if pool.claims_cards:
        return any(claim["name"] == DEVICES for claim in template["spec"].get("resourceClaims", []))
    written = template.get("metadata", {}).get("annotations", {}).get(INTERFACES, "[]")
    try:
        listed = json.loads(written)
    except (ValueError, RecursionError):
        return False
    entries = listed if isinstance(listed, list) else []
    return any(isinstance(entry, dict) and entry.get("network") != FIRST_NETWORK for entry in entries)


def traffic_problems(cluster: GkeCluster, users: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    """Yield a warning for each pool whose networks no pod uses, and one where pods use what nobody makes.

    `users` are the deployments whose pods are attached to networks, by pool.
    """
    made_by: str | None = None
    using: dict[str, Collection[str]] = {}
    claiming: dict[str, Collection[str]] = {}
    for pool in sorted(cluster.pools, key=lambda pool: pool.name):
        if not (pool.networks or pool.claims_cards):
            continue
        made_by = cluster.gke.network.gpu_direct
        if users.get(pool.name):
            (claiming if pool.claims_cards else using)[pool.name] = users[pool.name]
        else:
            yield _unused(pool)
    if made_by is not None:
        return
    for pools, what in (
        (
            using,
            f"who makes the Network objects that pods of {_deployments(using)} name on {_pools(using)}, and "
            "who installs NCCL there; without them these pods never start",
        ),
        (
            claiming,
            f"who installs Google's NCCL on {_pools(claiming)}, where pods of {_deployments(claiming)} claim "
            "network cards; without it engines with the plugin network-fabric do not start",
        ),
    ):
        if not pools:
            continue
        yield Problem(
            f"cluster {cluster.name} does not say {what}",
            "Write network: {gpuDirect: Stack}, or gpuDirect: Existing where they are there already",
            "spec.cluster.gke.network",
            kind="InferenceCluster",
            key=cluster.name,
            severity="warning",
        )


def _unused(pool: GkePool) -> Problem:
    kind = pool.recipe.networking.gpu_direct
    count = len(pool.networks)
    has = f"{count} more network{'' if count == 1 else 's'}, and no pod that is placed there uses any"
    if pool.claims_cards:
        has = "networks that GKE makes, and no pod that is placed there claims a network card"
    where = f"pool {pool.name} of cluster {pool.cluster}"
    what = f"{where} has GPUDirect-{kind} (class {pool.gke_class.name}): {has}"
    plain = "for a new pool, use a class without networking.gpuDirect"
    next_step = (
        f"Place a deployment there; or, {plain}"
        if pool.claims_cards
        else f"Nothing that comes with inferfleet puts pods on TCPX: {plain}, or write a plugin"
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


def _deployments(using: Mapping[str, Collection[str]]) -> str:
    return ", ".join(sorted({key for keys in using.values() for key in keys}))


def _pools(named: Collection[str]) -> str:
    return f"pool{'' if len(named) == 1 else 's'} {', '.join(sorted(named))}"
