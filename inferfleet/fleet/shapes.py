"""How much a pod asks for and a node offers, in whole units, so that packing is exact."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

from inferfleet.api.kinds.inference_class import Device, InferenceClass
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


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


def resource(inference_class: InferenceClass) -> str | None:
    """Return the extended resource that pods on this class request, such as `nvidia.com/gpu`."""
    device = accelerator(inference_class)
    return RESOURCE_BY_DRIVER[device.driver] if device else None


# The role of a deployment that does not split its work.
DECODE = "decode"


class Pod(NamedTuple):
    """What one pod requests: GPUs, thousandths of a core, bytes of memory."""

    gpus: int
    cpu: int
    memory: int


class Node(NamedTuple):
    """What one node offers or has free: GPUs, thousandths of a core, bytes of memory, pods."""

    gpus: int
    cpu: int
    memory: int
    pods: int


@dataclass(frozen=True)
class Demand:
    """What a replica needs of its pool: `pods` alike pods; `spare` more, once per placement, for rollouts."""

    pod: Pod
    pods: int
    spare: int


def demand(deployment: ModelDeployment) -> Demand:
    """Return what one replica needs."""
    spec = deployment.spec
    topology = spec.workers.topology
    pod = Pod(
        topology.gpus_per_pod,
        _whole(_requested(spec.workers.template.spec, "cpu") * 1000, ROUND_CEILING),
        _whole(_requested(spec.workers.template.spec, "memory"), ROUND_CEILING),
    )
    spare = topology.pods_per_worker if spec.rollout == "Surge" else 0
    return Demand(pod, spec.workers.count * topology.pods_per_worker, spare)


def node(inference_class: InferenceClass) -> Node | None:
    """Return an empty node of the class, or None without exactly one accelerator: nothing is placed there."""
    device = accelerator(inference_class)
    if device is None:
        return None
    size = inference_class.spec.node
    return Node(
        device.count,
        _whole(parse_quantity(size.cpu) * 1000, ROUND_FLOOR),
        _whole(parse_quantity(size.memory), ROUND_FLOOR),
        size.pods,
    )


def _requested(pod_spec: Mapping[str, Any], resource: str) -> Decimal:
    """Return what the pod requests, as kube-scheduler counts it.

    Containers and sidecars count together, or the largest init container if that is more.
    """
    containers = _containers(pod_spec, "containers")
    running = sum((_request(container, resource) for container in containers), Decimal(0))
    largest = Decimal(0)
    for container in _containers(pod_spec, "initContainers"):
        if container.get("restartPolicy") == "Always":
            running += _request(container, resource)
        else:
            largest = max(largest, _request(container, resource))
    return max(running, largest)


def _containers(pod_spec: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    yield from pod_spec.get(field, ())


def _request(container: Mapping[str, Any], resource: str) -> Decimal:
    resources = container.get("resources", {})
    for field in ("requests", "limits"):
        amounts = resources.get(field, {})
        if resource in amounts:
            return parse_quantity(str(amounts[resource]))
    return Decimal(0)


def _whole(value: Decimal, rounding: str) -> int:
    return int(value.to_integral_value(rounding=rounding))
