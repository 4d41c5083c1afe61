"""What GPUDirect needs inside a GKE cluster beside the pods that use it, where its document says that the
stack makes it: Networks, and the DaemonSets that put NCCL on nodes; and whether any pod uses the networks.

Pods are put on these networks by the plugin network-fabric alone. Tables of images are in `facts`. Networks
and their parameters are as cluster-toolkit makes them, `modules/scheduler/gke-cluster/templates` and
`main.tf` at commit 10470803 (2026-06-25); annotations of pods name them. Types:
https://github.com/GoogleCloudPlatform/gke-networking-api, apis/network/v1, v0.2.11.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool, Interface
from inferfleet.cloud.gke.facts.installers import Daemon, Installer, Step, installers_for
from inferfleet.cloud.values import CloudPool
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.serving.claims import DEVICES
from inferfleet.serving.metadata import SKIP_AWAIT, metadata
from inferfleet.tables.gke import FIRST_NETWORK, INTERFACES

# Where pods may have the priority of the system, and where Google's manifests have them.
NAMESPACE = "kube-system"
_APP = "k8s-app"
_ACCELERATOR, _ARCHITECTURE = "cloud.google.com/gke-accelerator", "kubernetes.io/arch"
_GROUP = "networking.gke.io"
PARAMETERS, NETWORK = "GKENetworkParamSet", "Network"


def objects(cluster: DescribedCluster) -> tuple[dict[str, Any], ...]:
    """Return networks and installers of all pools with GPUDirect, whatever is placed on them.

    So a replica that moves takes no network away from pods that still end there. Networks that GKE makes
    itself have no objects, and need the installers all the same (cluster-toolkit, examples/gke-a4x at commit
    10470803, 2026-06-25).
    """
    pools = [pool for pool in cluster.pools if pool.interfaces or pool.claims_cards]
    if not pools or cluster.gke.network.gpu_direct != "Stack":
        return ()
    gpus = {pool.gke_class.recipe.accelerator.type for pool in pools if pool.gke_class.recipe.accelerator}
    interfaces = {interface.name: interface for pool in pools for interface in pool.interfaces}
    return (
        *networks((interfaces[name] for name in sorted(interfaces)), stack=cluster.stack),
        *(installer(row, stack=cluster.stack) for row in installers_for(gpus)),
    )


def networks(interfaces: Iterable[Interface], *, stack: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of the networks of these interfaces, in their order.

    Each Network follows the parameters that it refers to. GKE gives pods the whole interface (type Device).
    """
    return tuple(manifest for interface in interfaces for manifest in _both(interface, stack=stack))


def _both(interface: Interface, *, stack: str) -> Iterator[dict[str, Any]]:
    parameters = {
        "vpc": interface.network,
        "vpcSubnet": interface.subnetwork,
        "deviceMode": "RDMA" if interface.rdma else "NetDevice",
    }
    reference = {"group": _GROUP, "kind": PARAMETERS, "name": interface.name}
    specs = {PARAMETERS: parameters, NETWORK: {"type": "Device", "parametersRef": reference}}
    for kind, spec in specs.items():
        yield {
            "apiVersion": f"{_GROUP}/v1",
            "kind": kind,
            "metadata": metadata(interface.name, stack=stack),
            "spec": spec,
        }


def installer(row: Installer, *, stack: str) -> dict[str, Any]:
    """Return the DaemonSet of an installer under Google's name, so that one made by hand is found.

    Nothing waits for it: nodes may be there hours later, and engines wait for the libraries of theirs.
    """
    object_metadata = metadata(
        row.name,
        stack=stack,
        namespace=NAMESPACE,
        labels={_APP: row.name},
        annotations={SKIP_AWAIT: "true"},
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": object_metadata,
        "spec": {
            "selector": {"matchLabels": {_APP: row.name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"name": row.name, _APP: row.name}}, "spec": _pod(row)},
        },
    }


def _pod(row: Installer) -> dict[str, Any]:
    wanted = [{"key": _ACCELERATOR, "operator": "In", "values": list(row.accelerators)}]
    if row.architecture:
        wanted.append({"key": _ARCHITECTURE, "operator": "In", "values": [row.architecture]})
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    return {
        "priorityClassName": "system-node-critical",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "volumes": [
            {"name": name, "hostPath": {"path": folder} | ({"type": kind} if kind else {})}
            for name, folder, kind in row.volumes
        ],
        **({"initContainers": [_container(step) for step in row.steps]} if row.steps else {}),
        "containers": [_daemon(row.daemon)],
    }


def _daemon(daemon: Daemon) -> dict[str, Any]:
    daemon_container = {"name": daemon.name, "image": daemon.image}
    return daemon_container | (_as_root(daemon.mounts) if daemon.mounts else {})


def _as_root(mounts: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {
        "resources": {"requests": {"cpu": "150m"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts],
    }


def _container(step: Step) -> dict[str, Any]:
    step_container = {"name": step.name, "image": step.image}
    if step.on_node:
        command = ["nsenter", "-at", "1", "--", "sh", "-c", step.script]
        return step_container | {"securityContext": {"privileged": True}, "command": command}
    return step_container | _as_root(step.mounts) | {"command": ["/bin/sh", "-c"], "args": [step.script]}


def attached(template: Mapping[str, Any], pool: CloudPool) -> bool:
    """Return whether pods of a finished template have an interface beside that of the cluster's network.

    Where the pool's cards are claimed, each pod with GPUs has as many of them as it has GPUs.
    """
    if pool.claims_cards:
        return any(claim["name"] == DEVICES for claim in template["spec"].get("resourceClaims", []))
    interfaces_text = template.get("metadata", {}).get("annotations", {}).get(INTERFACES, "[]")
    try:
        listed = json.loads(interfaces_text)
    except (ValueError, RecursionError):
        return False
    entries = listed if isinstance(listed, list) else []
    return any(isinstance(entry, dict) and entry.get("network") != FIRST_NETWORK for entry in entries)


def traffic_problems(cluster: DescribedCluster, users: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    """Yield a warning for each pool whose networks no pod uses, and one where pods use what nobody makes.

    `users` are the deployments whose pods are attached to networks, by pool.
    """
    made_by: str | None = None
    using: dict[str, Collection[str]] = {}
    claiming: dict[str, Collection[str]] = {}
    for pool in sorted(cluster.pools, key=lambda pool: pool.name):
        if not (pool.interfaces or pool.claims_cards):
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
        yield cluster_problem(
            cluster.name,
            f"cluster {cluster.name} does not say {what}",
            "Write network: {gpuDirect: Stack}, or gpuDirect: Existing where they are there already",
            "spec.cluster.gke.network",
            severity="warning",
        )


def _unused(pool: DescribedPool) -> Problem:
    """Return the warning that a pool has networks between GPUs which no pod there uses."""
    kind = pool.gke_class.recipe.networking.gpu_direct
    count = len({interface.network for interface in pool.interfaces})
    has = f"{count} more network{'' if count == 1 else 's'}, and no pod that is placed there uses any"
    if pool.claims_cards:
        has = "networks that GKE makes, and no pod that is placed there claims a network card"
    pool_in_words = f"pool {pool.name} of cluster {pool.cluster}"
    what = f"{pool_in_words} has GPUDirect-{kind} (class {pool.gke_class.name}): {has}"
    plain = "for a new pool, use a class without networking.gpuDirect"
    next_step = (
        f"Place a deployment there; or, {plain}"
        if pool.claims_cards
        else f"Nothing that comes with inferfleet puts pods on TCPX: {plain}, or write a plugin"
        if kind == "TCPX"
        else f"Add the plugin network-fabric to deployments there; or, {plain}"
    )
    return cluster_problem(pool.cluster, what, next_step, pool.path("className"), severity="warning")


def _deployments(using: Mapping[str, Collection[str]]) -> str:
    return ", ".join(sorted({key for keys in using.values() for key in keys}))


def _pools(pool_names: Collection[str]) -> str:
    return f"pool{'' if len(pool_names) == 1 else 's'} {', '.join(sorted(pool_names))}"
