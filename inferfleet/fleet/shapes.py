"""How much a pod asks for and a node offers, in whole units, so that packing is exact; and these amounts
in words.
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.workers import Topology
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.quantity import parse_quantity
from inferfleet.tables.devices import CHANNEL_DRIVER, is_network

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

    def main_amount(self, amounts: "Node | Pod") -> int:
        """Return the amount by which such nodes are filled: GPUs, or without any thousandths of a core."""
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


def accelerators(inference_class: InferenceClass) -> tuple[Device, ...]:
    """Return the devices that pods can ask for as accelerators. A class that a pool uses has exactly one."""
    return tuple(device for device in inference_class.spec.all_devices if device.asked_as)


def accelerator(inference_class: InferenceClass) -> Device | None:
    """Return the device that pods on this class request, or None unless there is exactly one."""
    devices = accelerators(inference_class)
    return devices[0] if len(devices) == 1 else None


def node(inference_class: InferenceClass) -> Node | None:
    """Return an empty node of the class; None where nothing is placed: the class has devices that pods could
    claim, and not exactly one kind of them is an accelerator.
    """
    device, devices = accelerator(inference_class), inference_class.spec.all_devices
    if device is None and any(device_of_class.claim != "Synthetic" for device_of_class in devices):
        return None
    size = inference_class.spec.node
    return Node(
        device.count if device else 0,
        int((parse_quantity(size.cpu) * 1000).to_integral_value(ROUND_FLOOR)),
        int(parse_quantity(size.memory).to_integral_value(ROUND_FLOOR)),
        size.pods,
        *(int(parse_quantity(amount)) for amount in (size.hugepages.size_2mi, size.hugepages.size_1gi)),
    )


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


class Shape(NamedTuple):
    """The pods of one worker on nodes of a class: how many, and the GPUs of each."""

    pods: int
    gpus: int


def shape(topology: Topology, node_gpus: int, per_pod: int | None = None) -> Shape:
    """Return the pods of a worker on nodes with so many GPUs. They need not fit there.

    On nodes without any, pods have none: `tensor` then says how an engine splits a model over cores.

    Pods of a group of `tensor` GPUs have `per_pod` each where the document says so, wherever they are. Else a
    group that a node cannot hold takes whole nodes. Where it does not divide into them, or a pod has several
    copies, it has the shape of the document, which fits on no such node.
    """
    divides = topology.data_local == 1
    if per_pod and node_gpus and per_pod < topology.tensor and topology.tensor % per_pod == 0 and divides:
        return Shape(topology.gpus_per_worker // per_pod, per_pod)
    if not per_pod and spans_nodes(topology, node_gpus) and topology.tensor % node_gpus == 0 and divides:
        return Shape(topology.gpus_per_worker // node_gpus, node_gpus)
    return Shape(topology.pods_per_worker, topology.gpus_per_pod if node_gpus else 0)


def spans_nodes(topology: Topology, node_gpus: int) -> bool:
    """Return whether a group of `tensor` GPUs is larger than a node: a network joins it then."""
    return topology.tensor > node_gpus > 0


# What a whole pod requests of a node, as kube-scheduler counts it. The rules are those of `PodRequests` in
# component-helpers/resource/helpers.go and of the defaults in pkg/apis/core/v1/defaults.go of Kubernetes
# 1.36. A sidecar, which is an init container with `restartPolicy: Always`, runs beside every init container
# that follows it. Requests of the whole pod (`spec.resources`) take the place of what its containers request,
# and the overhead of a RuntimeClass comes on top.

PodSpec = Mapping[str, Any]
_NONE = Decimal(0)


def pod_of(spec: PodSpec, *, gpus: int) -> Pod:
    """Return what a pod with so many GPUs requests besides them."""
    return Pod(gpus, *(requests(spec, resource) for resource in RESOURCES))


def requests(spec: PodSpec, resource: str) -> int:
    """Return how much of a resource a pod requests: thousandths of a core of `cpu`, bytes of others."""
    whole = _of_pod(spec, resource)
    amount = _of_containers(spec, resource) if whole is None else whole
    if (overhead := spec.get("overhead", {}).get(resource)) is not None:
        amount += parse_quantity(str(overhead))
    return int((amount * (1000 if resource == "cpu" else 1)).to_integral_value(rounding=ROUND_CEILING))


def _of_pod(spec: PodSpec, resource: str) -> Decimal | None:
    """Return the request of the whole pod, None where that of its containers counts.

    A limit of the whole pod is its request where no container requests anything of the resource; of huge
    pages, which are never more than what is there, also where one does (`defaultPodRequests` in Kubernetes'
    pkg/apis/core/v1/defaults.go).
    """
    resources = spec.get("resources", {})
    amount = resources.get("requests", {}).get(resource)
    if amount is None and (
        resource.startswith("hugepages-")
        or not any(_request(container, resource) is not None for _, container in containers_of(spec))
    ):
        amount = resources.get("limits", {}).get(resource)
    return None if amount is None else parse_quantity(str(amount))


def _of_containers(spec: PodSpec, resource: str) -> Decimal:
    """Return what the containers request while they run, or while they start if that is more."""
    sidecars = starting = _NONE
    for container in spec.get("initContainers", ()):
        amount = _request(container, resource) or _NONE
        starting = max(starting, sidecars + amount)
        if container.get("restartPolicy") == "Always":
            sidecars += amount
    running = sum((_request(container, resource) or _NONE for container in spec["containers"]), sidecars)
    return max(starting, running)


def _request(container: Mapping[str, Any], resource: str) -> Decimal | None:
    """Return what a container requests; its limit where it has no request, as the API server fills it in."""
    resources = container.get("resources", {})
    for field in ("requests", "limits"):
        amounts = resources.get(field, {})
        if resource in amounts:
            return parse_quantity(str(amounts[resource]))
    return None


# Amounts in words, as messages and tables have them.

# The size of huge pages by the field of a pod and of a node that counts them.
HUGE_PAGES: Mapping[str, str] = {"huge_2mi": "2Mi", "huge_1gi": "1Gi"}


def gpus(number: int) -> str:
    """Return `1 GPU`, `8 GPUs`."""
    return f"{number} GPU" if number == 1 else f"{number} GPUs"


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `1,200 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cores(thousandths: int) -> str:
    """Return thousandths of a core as cores: `1.5`."""
    return f"{thousandths / 1000:g}"


def gib(amount: int) -> str:
    """Return bytes as GiB, rounded to a tenth: `79.6Gi`; less than a tenth as MiB, such as `64Mi`."""
    if 0 < amount < 2**30 / 10:
        return f"{round(amount / 2**20, 1):g}Mi"
    return f"{round(amount / 2**30, 1):g}Gi"


def amounts(field: str) -> Callable[[int], str]:
    """Return how amounts of a field of a pod other than GPUs are written."""
    return cores if field == "cpu" else gib
