"""Reads what a stack's sandbox has: toolchain, clusters and nodes, and which pods use which GPUs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inferfleet.documents.documents import Documents
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.names import POOL
from inferfleet.tables.devices import VENDOR_BY_DRIVER, is_accelerator
from sandbox.cluster import companions
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import Object, is_ready
from sandbox.clusters import created_names
from sandbox.gcp import lifecycle
from sandbox.gcp.access import cloud_exists
from sandbox.gcp.store import Store
from sandbox.places import StackPlaces
from sandbox.plans import cluster_plans
from sandbox.problem import SandboxProblem
from sandbox.toolchain.resolve import Resolved, resolve
from sandbox.toolchain.tools import Tools, present_tools
from sandbox.vllm import forks

_KINDS = "nodes,pods,resourceslices,resourceclaims"


@dataclass(frozen=True)
class PodRow:
    """A pod and where it runs. `node` and `pool` are "" while it is pending; `gpus` counts all devices."""

    namespace: str
    name: str
    node: str
    pool: str
    gpus: int
    phase: str
    ready: bool


@dataclass(frozen=True)
class NodeRow:
    """A node. `gpus` is the number of its devices, and `used` how many of them pods have."""

    name: str
    pool: str
    gpus: int
    used: int
    ready: bool


@dataclass(frozen=True)
class ClusterRow:
    """A cluster; only a running one has nodes and pods. `problem` says why a running cluster does not answer.

    `missing` names the companions that should run beside a running cluster and do not.
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
    """The simulated Google Cloud: how many resources it has, and whether it answers and scales pools."""

    resources: int
    runs: bool
    mebibytes: int


@dataclass(frozen=True)
class VllmRow:
    """vLLM itself: how many pods have it, the memory of all, and whether the process runs that forks it."""

    engines: int
    runs: bool
    mebibytes: int


@dataclass(frozen=True)
class Overview:
    """All of a stack's sandbox.

    `cloud` is None for a stack without clusters of source GKE, and `vllm` for one whose pods have stand-ins.
    """

    stack: str
    toolchain: tuple[Resolved, ...]
    clusters: tuple[ClusterRow, ...]
    cloud: CloudRow | None = None
    vllm: VllmRow | None = None


def overview(root: Path, stack: str, documents: Documents | None) -> Overview:
    """Return everything a sandbox has. Without valid documents, its clusters are those created already."""
    places = StackPlaces(root, stack)
    tools = present_tools()
    plans = {plan.name: plan.kubeconfig for plan in (cluster_plans(places, documents) if documents else ())}
    names = sorted({*plans, *created_names(places)})
    rows = (_cluster(KwokCluster(places, name), plans.get(name), tools) for name in names)
    return Overview(stack, tools.parts if tools else resolve(), tuple(rows), _cloud(places), _vllm(places))


def _cloud(places: StackPlaces) -> CloudRow | None:
    if not cloud_exists(places):
        return None
    running = lifecycle.processes(places)
    used = sum(process.mebibytes for process in running)
    return CloudRow(len(Store(places.cloud).read()), bool(running), used)


def _vllm(places: StackPlaces) -> VllmRow | None:
    if not forks.wanted(places):
        return None
    running = forks.processes(places)
    used = sum(process.mebibytes for process in running)
    return VllmRow(forks.engines(running), forks.runs(places), used)


def _cluster(cluster: KwokCluster, kubeconfig: Path | None, tools: Tools | None) -> ClusterRow:
    condition, processes = cluster.condition(), cluster.processes()
    nodes: tuple[NodeRow, ...] = ()
    pods: tuple[PodRow, ...] = ()
    problem = ""
    if condition == "running" and tools is not None:
        try:
            objects = cluster.kubectl(tools).items(_KINDS, "-A", "--request-timeout=10s")
            nodes, pods = node_and_pod_rows(objects)
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


def node_and_pod_rows(objects: Iterable[Object]) -> tuple[tuple[NodeRow, ...], tuple[PodRow, ...]]:
    """Return rows of Node and Pod objects, sorted by name. Pods that have ended use no device.

    ResourceSlices and ResourceClaims add the devices that drivers published on nodes, and that pods were
    given.
    """
    by_kind: dict[str, list[Object]] = {"Node": [], "Pod": [], "ResourceSlice": [], "ResourceClaim": []}
    for kube_object in objects:
        by_kind[kube_object["kind"]].append(kube_object)
    pool_of = {node["metadata"]["name"]: _pool(node) for node in by_kind["Node"]}
    published, claimed = _published(by_kind["ResourceSlice"]), _claimed(by_kind["ResourceClaim"])
    pods = sorted(
        (_pod(pod, pool_of, claimed) for pod in by_kind["Pod"]),
        key=lambda pod: (pod.namespace, pod.name),
    )
    used: dict[str, int] = {}
    for pod in pods:
        if pod.phase not in ("Succeeded", "Failed"):
            used[pod.node] = used.get(pod.node, 0) + pod.gpus
    nodes = sorted((_node(node, used, published) for node in by_kind["Node"]), key=lambda node: node.name)
    return tuple(nodes), tuple(pods)


def _published(slices: list[Object]) -> dict[str, int]:
    """Return how many accelerators drivers published, by node."""
    counts: dict[str, int] = {}
    for spec in (one["spec"] for one in slices):
        if spec["driver"] in VENDOR_BY_DRIVER and (node := spec.get("nodeName")):
            counts[node] = counts.get(node, 0) + len(spec.get("devices", []))
    return counts


def _claimed(claims: list[Object]) -> dict[tuple[str, str], int]:
    """Return how many accelerators pods have by claims, by namespace and name."""
    counts: dict[tuple[str, str], int] = {}
    for claim in claims:
        status, namespace = claim.get("status", {}), claim["metadata"]["namespace"]
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        gpus = sum(result["driver"] in VENDOR_BY_DRIVER for result in results)
        for user in status.get("reservedFor", []):
            pod = (namespace, user["name"])
            counts[pod] = counts.get(pod, 0) + gpus
    return counts


def _node(node: Object, used: dict[str, int], published: dict[str, int]) -> NodeRow:
    name = node["metadata"]["name"]
    devices = _devices(node["status"].get("allocatable", {})) + published.get(name, 0)
    return NodeRow(name, _pool(node), devices, used.get(name, 0), is_ready(node))


def _pod(pod: Object, pool_of: dict[str, str], claimed: dict[tuple[str, str], int]) -> PodRow:
    spec, status = pod["spec"], pod.get("status", {})
    node = spec.get("nodeName", "")
    resources = [container.get("resources", {}) for container in spec.get("containers", [])]
    gpus = sum(_devices(resource.get("requests", {})) for resource in resources)
    gpus += claimed.get((pod["metadata"].get("namespace", ""), pod["metadata"]["name"]), 0)
    phase = "Terminating" if pod["metadata"].get("deletionTimestamp") else status.get("phase", "Unknown")
    return PodRow(
        namespace=pod["metadata"].get("namespace", ""),
        name=pod["metadata"]["name"],
        node=node,
        pool=pool_of.get(node, ""),
        gpus=gpus,
        phase=phase,
        ready=is_ready(pod),
    )


def _pool(node: Object) -> str:
    pool: str = node["metadata"].get("labels", {}).get(POOL, "")
    return pool


def _devices(resources: dict[str, str]) -> int:
    return sum(int(parse_quantity(str(count))) for name, count in resources.items() if is_accelerator(name))
