"""How much a pod asks for and a node offers, in whole units, so that packing is exact."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR
from typing import NamedTuple

from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.quantity import parse_quantity
from inferfleet.documents.kinds.workers import Position, Topology
from inferfleet.documents.problems import Where
from inferfleet.fleet.requests import PodSpec, requests
from inferfleet.tables.devices import CHANNEL_DRIVER, RESOURCE_BY_DRIVER, is_network


def accelerators(inference_class: InferenceClass) -> tuple[Device, ...]:
    """Return the claimable devices of a supported driver. A class that a pool uses has exactly one."""
    return tuple(
        device
        for device in inference_class.spec.all_devices
        if device.claim != "Synthetic" and device.driver in RESOURCE_BY_DRIVER
    )


def accelerator(inference_class: InferenceClass) -> Device | None:
    """Return the device that pods on this class request, or None unless there is exactly one."""
    devices = accelerators(inference_class)
    return devices[0] if len(devices) == 1 else None


def has_accelerators(deployment: ModelDeployment) -> bool:
    """Return whether pods of the deployment ask for accelerators."""
    return deployment.spec.accelerator == "Required"


def resource(inference_class: InferenceClass) -> str | None:
    """Return the extended resource that pods on this class request, such as `nvidia.com/gpu`."""
    device = accelerator(inference_class)
    return RESOURCE_BY_DRIVER[device.driver] if device else None


# Resources of a pod in the order of `Pod`, behind its GPUs, as Kubernetes names them.
RESOURCES = ("cpu", "memory", "hugepages-2Mi", "hugepages-1Gi")

PoolKey = tuple[str, str]  # (cluster, pool)


class Pod(NamedTuple):
    """What one pod requests: GPUs, thousandths of a core, bytes of memory and of huge pages of each size."""

    gpus: int
    cpu: int
    memory: int
    huge_2mi: int = 0
    huge_1gi: int = 0


class Node(NamedTuple):
    """What one node offers or has free: GPUs, thousandths of a core, bytes of memory, pods, bytes of huge
    pages of each size. Huge pages are not part of the memory.
    """

    gpus: int
    cpu: int
    memory: int
    pods: int
    huge_2mi: int = 0
    huge_1gi: int = 0

    def level(self, amounts: "Node | Pod") -> int:
        """Return the GPUs of what is free or asked for; where such nodes have none, thousandths of a core."""
        return amounts.gpus if self.gpus else amounts.cpu


def fit(node: Node, pod: Pod) -> int:
    """Return how many pods of a shape fit on a node."""
    gpus, cpu, memory, most, huge_2mi, huge_1gi = node
    # Written out, because plans of full fleets ask this a million times.
    if pod[0] and (number := gpus // pod[0]) < most:
        most = number
    if pod[1] and (number := cpu // pod[1]) < most:
        most = number
    if pod[2] and (number := memory // pod[2]) < most:
        most = number
    if pod[3] and (number := huge_2mi // pod[3]) < most:
        most = number
    if pod[4] and (number := huge_1gi // pod[4]) < most:
        most = number
    return most


def minus(node: Node, pod: Pod, number: int) -> Node:
    """Return what a node has free with so many more pods."""
    gpus, cpu, memory, pods, huge_2mi, huge_1gi = node
    return Node(
        gpus - pod[0] * number,
        cpu - pod[1] * number,
        memory - pod[2] * number,
        pods - number,
        huge_2mi - pod[3] * number,
        huge_1gi - pod[4] * number,
    )


@dataclass(frozen=True)
class Share:
    """What a plugin asks for: the pod would request so much less without it.

    `where` are the lines of its links, for messages.
    """

    plugin: str
    pod: Pod
    where: tuple[Where, ...] = ()


@dataclass(frozen=True)
class Demand:
    """What a role of a replica needs of its pool: `pods` pods, and `spare` more, once per placement, for
    rollouts.

    Pods stand in gangs of `gang`, the pods of a worker, each on a node of its own: an entry, which is `pod`,
    and followers like `follower`. `shares` are those of plugins in what an entry requests, in the order in
    which they run, `follower_shares` those in a follower. The plan counts each replica `sets` times: twice
    where another set of all pods comes beside them.
    """

    pod: Pod
    pods: int
    spare: int
    shares: tuple[Share, ...] = ()
    gang: int = 1
    follower: Pod | None = None
    follower_shares: tuple[Share, ...] = ()
    sets: int = 1

    @property
    def workers(self) -> int:
        """Return the workers of the role in a replica."""
        return self.pods // self.gang

    @property
    def shapes(self) -> tuple[Pod, ...]:
        """Return what pods request: an entry, and a follower where that differs."""
        return (self.pod,) if self.follower is None else (self.pod, self.follower)

    @property
    def gpus(self) -> int:
        """Return the GPUs of the role in a replica."""
        return self.pods * self.pod.gpus

    @property
    def cpu(self) -> int:
        """Return the thousandths of a core of the role in a replica."""
        follower = self.follower or self.pod
        return self.workers * (self.pod.cpu + (self.gang - 1) * follower.cpu)

    def size(self, empty: Node) -> int:
        """Return the GPUs of the role in a replica; on nodes that have none, the thousandths of a core."""
        return self.gpus if empty.gpus else self.cpu

    def of(self, position: Position) -> tuple[Pod, tuple[Share, ...]]:
        """Return what a pod in a position of a worker requests, and the shares of plugins in it."""
        if position == "Entry" or self.follower is None:
            return self.pod, self.shares
        return self.follower, self.follower_shares


RoleKey = tuple[str, str]  # (deployment, role)


@dataclass(frozen=True)
class Demands:
    """What each role of each deployment needs on each pool.

    `written` is by the documents alone. `spread` has what a role needs of nodes with fewer GPUs than a group
    of its `tensor`, by the GPUs of a node, and `node_gpus` these by pool, where a network joins the nodes.
    `edited` has the pools on which plugins run over its pods, with what they make of them.
    """

    written: Mapping[RoleKey, Demand] = field(default_factory=dict)
    edited: Mapping[RoleKey, Mapping[PoolKey, Demand]] = field(default_factory=dict)
    spread: Mapping[RoleKey, Mapping[int, Demand]] = field(default_factory=dict)
    node_gpus: Mapping[PoolKey, int] = field(default_factory=dict)

    def of(self, deployment: str, role: str, pool: PoolKey) -> Demand:
        """Return what a role needs on the pool. Raises KeyError for one that no document has."""
        edited = self.edited.get((deployment, role))
        return (edited.get(pool) if edited else None) or self.unedited(
            deployment, role, self.node_gpus.get(pool, 0)
        )

    def unedited(self, deployment: str, role: str, node_gpus: int) -> Demand:
        """Return what a role needs of nodes with so many GPUs where no plugin edits its pods."""
        spread = self.spread.get((deployment, role))
        return (spread.get(node_gpus) if spread else None) or self.written[deployment, role]

    def least_cpu(self, deployment: str, role: str) -> int:
        """Return the least thousandths of a core that a pod of the role asks for on any pool."""
        edited = self.edited.get((deployment, role), {})
        return min(demand.pod.cpu for demand in (self.written[deployment, role], *edited.values()))

    def has(self, deployment: str, role: str) -> bool:
        """Return whether a document says what the role needs."""
        return (deployment, role) in self.written


class Shape(NamedTuple):
    """The pods of one worker on nodes of a class: how many, and the GPUs of each."""

    pods: int
    gpus: int


def shape(topology: Topology, node_gpus: int) -> Shape:
    """Return the pods of a worker on nodes with so many GPUs. They need not fit there.

    On nodes without any, pods have none: `tensor` then says how an engine splits a model over cores.

    A group of `tensor` GPUs that a node cannot hold takes whole nodes. Where it does not divide into them, or
    a pod has several copies, it has the shape of the document, which fits on no such node.
    """
    if spans_nodes(topology, node_gpus) and topology.tensor % node_gpus == 0 and topology.data_local == 1:
        return Shape(topology.gpus_per_worker // node_gpus, node_gpus)
    return Shape(topology.pods_per_worker, topology.gpus_per_pod if node_gpus else 0)


def spans_nodes(topology: Topology, node_gpus: int) -> bool:
    """Return whether a group of `tensor` GPUs is larger than a node: a network joins it then."""
    return topology.tensor > node_gpus > 0


def has_fabric(inference_class: InferenceClass) -> bool:
    """Return whether a network joins the GPUs of different nodes of the class, as far as its document says:
    GPUDirect on GKE, a device that is a network card (`dra.net`, or one with a linkType), or IMEX channels.
    """
    spec = inference_class.spec
    gke = spec.provisioning.gke if spec.provisioning else None
    return bool(gke and gke.networking.gpu_direct != "None") or any(
        device.driver == CHANNEL_DRIVER or is_network(device.driver, device.attributes)
        for device in spec.all_devices
    )


def pod_of(spec: PodSpec, *, gpus: int) -> Pod:
    """Return what a pod with so many GPUs requests besides them."""
    return Pod(gpus, *(requests(spec, resource) for resource in RESOURCES))


def node(inference_class: InferenceClass) -> Node | None:
    """Return an empty node of the class; None where nothing is placed: the class has devices that pods could
    claim, and not exactly one kind of them is an accelerator.
    """
    device, devices = accelerator(inference_class), inference_class.spec.all_devices
    if device is None and any(other.claim != "Synthetic" for other in devices):
        return None
    size = inference_class.spec.node
    return Node(
        device.count if device else 0,
        int((parse_quantity(size.cpu) * 1000).to_integral_value(ROUND_FLOOR)),
        int(parse_quantity(size.memory).to_integral_value(ROUND_FLOOR)),
        size.pods,
        *(int(parse_quantity(amount)) for amount in (size.hugepages.size_2mi, size.hugepages.size_1gi)),
    )
