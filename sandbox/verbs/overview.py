"""What is there: the toolchain, the clusters, their nodes, and which pod uses which GPUs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.fleet.names import POOL
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER
from sandbox.cluster import companions
from sandbox.cluster.kwok import KwokCluster
from sandbox.clusters import created_names
from sandbox.gcp import lifecycle
from sandbox.gcp.access import cloud_exists
from sandbox.gcp.store import Store
from sandbox.places import StackPlaces
from sandbox.plans import cluster_plans
from sandbox.problem import SandboxProblem
from sandbox.toolchain.resolve import Resolved, resolve
from sandbox.toolchain.tools import Tools, present_tools

DEVICES = frozenset(RESOURCE_BY_DRIVER.values())


@dataclass(frozen=True)
class PodRow:
    """A pod and where it runs (`node` and `pool` are "" while it waits); `gpus` counts all devices."""

    namespace: str
    name: str
    node: str
    pool: str
    gpus: int
    phase: str
    ready: bool


@dataclass(frozen=True)
class NodeRow:
    """A node with how many of its devices pods have."""

    name: str
    pool: str
    gpus: int
    used: int
    ready: bool


@dataclass(frozen=True)
class ClusterRow:
    """A cluster; nodes and pods only of one that runs. `problem` says why a running one told nothing.

    `missing` are companions that do not run beside a running cluster: their work is not done.
    """

    name: str
    condition: str
    kubeconfig: str
    processes: int
    mebibytes: int
    nodes: tuple[NodeRow, ...] = ()
    pods: tuple[PodRow, ...] = ()
    missing: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class CloudRow:
    """The simulated Google Cloud: how much exists in it, and whether it answers and scales pools."""

    resources: int
    runs: bool
    mebibytes: int


@dataclass(frozen=True)
class Overview:
    """All of a stack's sandbox; `cloud` is None on a stack without clusters of Google's."""

    stack: str
    toolchain: tuple[Resolved, ...]
    clusters: tuple[ClusterRow, ...]
    cloud: CloudRow | None = None


def overview(root: Path, stack: str, documents: Documents | None) -> Overview:
    """Everything there is to see; without valid documents, of the clusters that were made already."""
    places = StackPlaces(root, stack)
    tools = present_tools()
    plans = {plan.name: plan.kubeconfig for plan in (cluster_plans(places, documents) if documents else ())}
    names = sorted({*plans, *created_names(places)})
    rows = (_cluster(KwokCluster(places, name), plans.get(name), tools) for name in names)
    return Overview(stack, tools.parts if tools else resolve(), tuple(rows), _cloud(places))


def _cloud(places: StackPlaces) -> CloudRow | None:
    if not cloud_exists(places):
        return None
    running = lifecycle.processes(places)
    used = sum(process.mebibytes for process in running)
    return CloudRow(len(Store(places.cloud).read()), bool(running), used)


def _cluster(cluster: KwokCluster, kubeconfig: Path | None, tools: Tools | None) -> ClusterRow:
    condition, processes = cluster.condition(), cluster.processes()
    nodes: tuple[NodeRow, ...] = ()
    pods: tuple[PodRow, ...] = ()
    problem = ""
    if condition == "running" and tools is not None:
        try:
            found = cluster.kubectl(tools).items("nodes,pods", "-A", "--request-timeout=10s")
            nodes, pods = node_and_pod_rows(found)
        except SandboxProblem as error:
            problem = str(error)
    return ClusterRow(
        name=cluster.name,
        condition=condition,
        kubeconfig=str(kubeconfig or ""),
        processes=len(processes),
        mebibytes=sum(process.mebibytes for process in processes),
        nodes=nodes,
        pods=pods,
        missing=companions.missing(cluster) if condition == "running" else (),
        problem=problem,
    )


def node_and_pod_rows(found: Iterable[dict[str, Any]]) -> tuple[tuple[NodeRow, ...], tuple[PodRow, ...]]:
    """Rows of Node and Pod objects, sorted by name. Pods that ended hold no device."""
    objects = list(found)
    node_objects = [one for one in objects if one["kind"] == "Node"]
    pool_of = {one["metadata"]["name"]: _pool(one) for one in node_objects}
    pods = sorted(
        (_pod(one, pool_of) for one in objects if one["kind"] == "Pod"),
        key=lambda pod: (pod.namespace, pod.name),
    )
    used: dict[str, int] = {}
    for pod in pods:
        if pod.phase not in ("Succeeded", "Failed"):
            used[pod.node] = used.get(pod.node, 0) + pod.gpus
    nodes = sorted((_node(one, used) for one in node_objects), key=lambda node: node.name)
    return tuple(nodes), tuple(pods)


def _node(node: dict[str, Any], used: dict[str, int]) -> NodeRow:
    name = node["metadata"]["name"]
    devices = _devices(node["status"].get("allocatable", {}))
    return NodeRow(name, _pool(node), devices, used.get(name, 0), _ready(node))


def _pod(pod: dict[str, Any], pool_of: dict[str, str]) -> PodRow:
    spec, status = pod["spec"], pod.get("status", {})
    node = spec.get("nodeName", "")
    gpus = sum(_devices(one.get("resources", {}).get("requests", {})) for one in spec.get("containers", []))
    phase = "Terminating" if pod["metadata"].get("deletionTimestamp") else status.get("phase", "Unknown")
    return PodRow(
        namespace=pod["metadata"].get("namespace", ""),
        name=pod["metadata"]["name"],
        node=node,
        pool=pool_of.get(node, ""),
        gpus=gpus,
        phase=phase,
        ready=_ready(pod),
    )


def _pool(node: dict[str, Any]) -> str:
    pool: str = node["metadata"].get("labels", {}).get(POOL, "")
    return pool


def _devices(resources: dict[str, str]) -> int:
    return sum(int(parse_quantity(str(count))) for name, count in resources.items() if name in DEVICES)


def _ready(found: dict[str, Any]) -> bool:
    conditions = found.get("status", {}).get("conditions", [])
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
