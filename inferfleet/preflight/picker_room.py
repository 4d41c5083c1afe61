"""Whether nodes of a cluster have room for the endpoint pickers that an update starts there.

Only nodes that exist are seen, and pods that are on them: an update waits in vain for a picker without room,
unless an autoscaler adds a node. Clusters that the stack creates are left out: the maximum of their system
pool, which is autoscaled, follows the pickers (`gke/settings/system.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.desired.values import DesiredCluster
from inferfleet.fleet.names import PICKER
from inferfleet.fleet.requests import requests
from inferfleet.manifests.differing import differing
from inferfleet.manifests.picker.costs import Cost, cost_of_pod, deployment_of
from inferfleet.profiles.devices import ACCELERATED_NODE_LABELS, ACCELERATOR_DOMAINS
from inferfleet.reach.api import Api, RefusedError
from inferfleet.reach.resources import exists

Workload = Mapping[str, Any]

# What the Cluster Autoscaler writes of itself, GKE's too (cluster-autoscaler/FAQ.md of kubernetes/autoscaler,
# "How can I check what is going on in CA?").
_AUTOSCALER = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
# On nodes that Karpenter made (https://karpenter.sh/docs/concepts/scheduling/, well-known labels).
_KARPENTER = "karpenter.sh/nodepool"


def picker_room(api: Api, cluster: DesiredCluster, workloads: Iterable[Workload]) -> Iterator[Problem]:
    """Yield that pods of pickers find no room, or room beside GPUs alone. Pickers that run and stay as they
    are need none. Who may not list nodes and pods of a whole cluster is told nothing.

    `workloads` are those of the stack that run on the cluster.
    """
    running = {_name(item): item for item in workloads if deployment_of(item)}
    to_come = _to_come(cluster, running)
    if not to_come or cluster.connection.cloud:
        return
    try:
        nodes = list(api.items("/api/v1/nodes"))
        phases = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
        pods = list(api.items("/api/v1/pods", query=phases)) if nodes else []
        autoscaled = bool(nodes) and _has_autoscaler(api, nodes)
    except RefusedError as refused:
        if refused.status not in (403, 404):
            raise
        return
    # Without any node nothing is known of those to come.
    if nodes:
        # A pod of theirs may have its node already.
        starting = {name for name, picker in running.items() if not _is_ready(picker)}
        counted = [pod for pod in pods if _picker_of(pod) not in starting]
        yield from _problems(cluster.connection.cluster, to_come, _free(nodes, counted), autoscaled)


def _name(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _picker_of(pod: Mapping[str, Any]) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata["namespace"], (metadata.get("labels") or {}).get(PICKER, "")


def _is_ready(picker: Workload) -> bool:
    return bool((picker.get("status") or {}).get("readyReplicas"))


def _to_come(cluster: DesiredCluster, running: Mapping[tuple[str, str], Workload]) -> list[Cost]:
    """Return what each pod requests that must start: of new pickers, of those that are not ready, and of
    those that are replaced the largest, since each needs room for two only until its successor is ready.
    """
    new: list[Cost] = []
    replaced = Cost()
    for wanted in cluster.objects:
        if wanted.kind != "Deployment" or deployment_of(wanted.manifest) is None:
            continue
        one, before = cost_of_pod(wanted.manifest), running.get(_name(wanted.manifest))
        if before is None or not _is_ready(before):
            new += [one] * wanted.manifest["spec"]["replicas"]
        elif any(differing(wanted.manifest["spec"]["template"], before["spec"]["template"])):
            replaced = max(replaced, one)
    return sorted([*new, *([replaced] if replaced.pods else [])], reverse=True)


def _problems(
    cluster: str, to_come: Sequence[Cost], free: Mapping[bool, list[Cost]], autoscaled: bool
) -> Iterator[Problem]:
    beside = _placed(to_come, free[False])
    without = _placed(beside, free[True])
    whole = sum(to_come, Cost())
    there = _there(free[False])
    asked = (
        f"on cluster {cluster!r} an update starts {len(to_come)} pod{'' if len(to_come) == 1 else 's'} of "
        f"endpoint pickers, for which {whole} are requested"
    )
    if without and autoscaled:
        yield cluster_problem(
            cluster,
            f"{asked}: {_of_them(without)} no room on nodes that exist; {there}. An autoscaler runs there; "
            "whether it adds nodes for them is not known here",
            "If they stay Pending, look at the limits of the autoscaler",
            severity="notice",
        )
    elif without:
        yield cluster_problem(
            cluster,
            f"{asked}: {_of_them(without)} no room; {there}, and none with GPUs has room either. The update "
            "would wait in vain, and fail",
            "Add nodes without GPUs, or make pickers smaller by endpointPicker.resources",
            severity="warning",
        )
    elif beside:
        yield cluster_problem(
            cluster,
            f"{asked}: {_of_them(beside)} room on nodes with GPUs alone; {there}",
            "Add nodes without GPUs, so that they take no cores and memory that models need",
            severity="notice",
        )


def _of_them(pods: Sequence[Cost]) -> str:
    return f"{len(pods)} of them {'has' if len(pods) == 1 else 'have'}"


def _there(free: Sequence[Cost]) -> str:
    if not free:
        return "no node without GPUs takes them"
    largest = max(free)
    one = "1 node without GPUs has" if len(free) == 1 else f"{len(free)} nodes without GPUs have"
    at_most = "" if len(free) == 1 else f", at most {largest} on one"
    return f"{one} {sum(free, Cost())} free{at_most}"


def _placed(pods: Sequence[Cost], free: list[Cost]) -> list[Cost]:
    """Put pods where they fit first, and return those that fit nowhere. `free` stays as it is."""
    rooms, left = list(free), []
    for pod in pods:
        for at, room in enumerate(rooms):
            if pod.cpu <= room.cpu and pod.memory <= room.memory and room.pods:
                rooms[at] = Cost(room.cpu - pod.cpu, room.memory - pod.memory, room.pods - 1)
                break
        else:
            left.append(pod)
    return left


def _free(nodes: Iterable[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]) -> dict[bool, list[Cost]]:
    """Return what each node that takes pickers has free, by whether it has accelerators."""
    used: dict[str, Cost] = {}
    for pod in pods:
        if name := pod["spec"].get("nodeName"):
            asked = Cost(requests(pod["spec"], "cpu"), requests(pod["spec"], "memory"), 1)
            used[name] = used.get(name, Cost()) + asked
    free: dict[bool, list[Cost]] = {False: [], True: []}
    for node in filter(_takes_pickers, nodes):
        has, taken = node["status"].get("allocatable") or {}, used.get(node["metadata"]["name"], Cost())
        free[_is_accelerated(node)].append(
            Cost(
                max(0, int(parse_quantity(has.get("cpu", "0")) * 1000) - taken.cpu),
                max(0, int(parse_quantity(has.get("memory", "0"))) - taken.memory),
                max(0, int(parse_quantity(has.get("pods", "0"))) - taken.pods),
            )
        )
    return free


def _is_accelerated(node: Mapping[str, Any]) -> bool:
    labels, has = node["metadata"].get("labels") or {}, node["status"].get("allocatable") or {}
    return any(label in labels for label in ACCELERATED_NODE_LABELS) or any(
        name.partition("/")[0] in ACCELERATOR_DOMAINS and amount != "0" for name, amount in has.items()
    )


def _takes_pickers(node: Mapping[str, Any]) -> bool:
    """Return whether a node is ready and has no taint: pickers tolerate none."""
    conditions = node["status"].get("conditions") or ()
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    taints = [taint.get("effect") for taint in node["spec"].get("taints") or ()]
    closed = node["spec"].get("unschedulable") or {"NoSchedule", "NoExecute"} & set(taints)
    return not closed and ready in ([], ["True"])


def _has_autoscaler(api: Api, nodes: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether there is a sign of an autoscaler of nodes. GKE's Autopilot names its nodes `gk3-`."""
    return any(
        _KARPENTER in (node["metadata"].get("labels") or {}) or node["metadata"]["name"].startswith("gk3-")
        for node in nodes
    ) or exists(api, _AUTOSCALER)
