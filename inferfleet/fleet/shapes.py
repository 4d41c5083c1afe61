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
    """The claimable devices of a known driver. A class that can be used has exactly one such entry."""
    return tuple(
        device
        for device in inference_class.spec.all_devices
        if device.claim != "Synthetic" and device.driver in RESOURCE_BY_DRIVER
    )


def accelerator(inference_class: InferenceClass) -> Device | None:
    """The one device entry that pods on this class ask for; None where there is none, or no single one."""
    found = accelerators(inference_class)
    return found[0] if len(found) == 1 else None


def resource(inference_class: InferenceClass) -> str | None:
    """The extended resource that pods request, such as `nvidia.com/gpu`."""
    device = accelerator(inference_class)
    return RESOURCE_BY_DRIVER[device.driver] if device else None


# The role of a deployment that does not split its work.
DECODE = "decode"


class Pod(NamedTuple):
    """What one pod asks for: GPUs, thousandths of a core, bytes."""

    gpus: int
    cpu: int
    memory: int


class Node(NamedTuple):
    """What one node offers, or has left: GPUs, thousandths of a core, bytes, pods."""

    gpus: int
    cpu: int
    memory: int
    pods: int


@dataclass(frozen=True)
class Demand:
    """What a replica asks of its pool: `pods` alike pods; `spare` more once per placement, for rollouts."""

    pod: Pod
    pods: int
    spare: int


def demand(deployment: ModelDeployment) -> Demand:
    """Raises ValueError when a container's resources cannot be read."""
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
    """None for a class without exactly one accelerator: nothing can be placed on it."""
    device = accelerator(inference_class)
    if device is None:
        return None
    offer = inference_class.spec.node
    return Node(
        device.count,
        _whole(parse_quantity(offer.cpu) * 1000, ROUND_FLOOR),
        _whole(parse_quantity(offer.memory), ROUND_FLOOR),
        offer.pods,
    )


def _requested(pod_spec: Mapping[str, Any], resource: str) -> Decimal:
    """As kube-scheduler counts: containers and sidecars together, or the largest init container."""
    running = sum((_request(one, resource) for one in _containers(pod_spec, "containers")), Decimal(0))
    largest = Decimal(0)
    for one in _containers(pod_spec, "initContainers"):
        if one.get("restartPolicy") == "Always":
            running += _request(one, resource)
        else:
            largest = max(largest, _request(one, resource))
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
