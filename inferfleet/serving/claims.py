"""What the pods of a role claim: templates of ResourceClaims, and the ComputeDomain of workers over nodes.

A class with `allocation: DRA` has its accelerators claimed: as many as a pod of the shape has, so that the
plan, which counts GPUs, counts what claims ask. Its other devices with `claim: DRA` are claimed by the share
of the node's GPUs that the pod has, rounded down, so that pods that fill a node never ask for more than it
has. So are network cards that GKE offers (`acceleratorNetworkProfile: Auto`), whatever the allocation. A
device of the driver of IMEX channels is claimed on classes of either allocation, by pods of workers that span
nodes, through a ComputeDomain: the driver writes the claim template for it.

A ResourceClaimTemplate cannot be changed, so its name ends in a digest of its contents: a changed one is a
new object beside the old, and pods roll from one to the other. A ComputeDomain has nothing that could change.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.texts import DNS_LABEL, SUBDOMAIN
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import shown
from inferfleet.fleet import names
from inferfleet.fleet.roles import path_of_role, selector_of
from inferfleet.fleet.selectors.claims import ClaimConditions, claim_conditions
from inferfleet.fleet.shapes import Shape, accelerator
from inferfleet.fleet.spot import Spot
from inferfleet.serving.metadata import metadata
from inferfleet.serving.pod.hardware import PodClaim
from inferfleet.tables.devices import (
    CHANNEL_CLASS,
    CHANNEL_DRIVER,
    CLIQUE,
    COMPUTE_DOMAIN,
    COMPUTE_DOMAIN_API,
    MOST_DEVICES,
    RESOURCE_API,
)

DEVICES, CHANNEL = "devices", "channel"


@dataclass(frozen=True)
class Claims:
    """What pods of a role claim."""

    pods: tuple[PodClaim, ...] = ()
    """The claims as pods name them."""
    objects: tuple[dict[str, Any], ...] = ()
    """What stands before the workload."""
    problems: tuple[Problem, ...] = ()


def claims(
    deployment: ModelDeployment,
    spot: Spot,
    role: str,
    *,
    inference_class: InferenceClass,
    shape: Shape,
    stack: str,
) -> Claims:
    """Return the claims of the pods of a role, entries and followers alike, on nodes of the class."""
    first = accelerator(inference_class)
    if first is None:
        return Claims()  # a problem of the plan
    workload = names.workload(spot, role)
    pods: list[PodClaim] = []
    objects: list[dict[str, Any]] = []
    problems: list[Problem] = []
    counts = counted(inference_class, shape)
    if counts:
        selector = selector_of(deployment, role)
        conditions = (
            claim_conditions(selector.cel, inference_class, devices=counts.keys())
            if selector
            else ClaimConditions()
        )
        problems += _problems(deployment, role, inference_class, counts=counts)
        template = _template(inference_class, counts, conditions)
        name = names.by_contents(workload, names.digest(template))
        pods.append(PodClaim(DEVICES, name, counts.get(first.name, 0)))
        described = metadata(
            name,
            stack=stack,
            namespace=spot.namespace,
            deployment=spot.deployment,
            labels=names.workload_selector(spot, role),
            annotations=_left_out(conditions),
        )
        objects.append(
            {
                "apiVersion": RESOURCE_API,
                "kind": "ResourceClaimTemplate",
                "metadata": described,
                "spec": template,
            }
        )
    if shape.pods > 1 and _has_channels(inference_class):
        problems += _shared_channel_problems(deployment, role, inference_class, shape=shape, gpus=first.count)
        name = names.channel_template(workload)
        pods.append(PodClaim(CHANNEL, name, shared_by=CLIQUE))
        objects.append(
            {
                "apiVersion": COMPUTE_DOMAIN_API,
                "kind": COMPUTE_DOMAIN,
                "metadata": metadata(
                    workload,
                    stack=stack,
                    namespace=spot.namespace,
                    deployment=spot.deployment,
                    labels=names.workload_selector(spot, role),
                ),
                # 0 is what NVIDIA asks for: nodes join as pods come to them, and workers wait for each other.
                "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": name}}},
            }
        )
    return Claims(tuple(pods), tuple(objects), tuple(problems))


def device_classes(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the DeviceClasses that pods claim by these objects, other kinds among them or not."""
    classes = set()
    for manifest in objects:
        kind = (manifest["apiVersion"], manifest["kind"])
        if kind == (COMPUTE_DOMAIN_API, COMPUTE_DOMAIN):
            classes.add(CHANNEL_CLASS)
        elif kind == (RESOURCE_API, "ResourceClaimTemplate"):
            requests = manifest["spec"]["spec"]["devices"]["requests"]
            classes |= {request["exactly"]["deviceClassName"] for request in requests}
    return tuple(sorted(classes))


def counted(inference_class: InferenceClass, shape: Shape) -> dict[str, int]:
    """Return how many devices of a class a pod of this shape claims, by name; 0 is left out."""
    first = accelerator(inference_class)
    if first is None:
        return {}
    shares = {
        device.name: shape.gpus if device == first else device.count * shape.gpus // first.count
        for device in inference_class.spec.claimed_devices
    }
    return {name: share for name, share in shares.items() if share}


def _has_channels(inference_class: InferenceClass) -> bool:
    return any(
        device.claim == "DRA" and device.driver == CHANNEL_DRIVER
        for device in inference_class.spec.all_devices
    )


def _template(
    inference_class: InferenceClass, counts: dict[str, int], conditions: ClaimConditions
) -> dict[str, Any]:
    return {
        "spec": {
            "devices": {
                "requests": [
                    _request(device, counts[device.name], conditions.expression(device.name))
                    for device in inference_class.spec.all_devices
                    if device.name in counts
                ]
            }
        }
    }


def _request(device: Device, count: int, expression: str) -> dict[str, Any]:
    exactly: dict[str, Any] = {
        "deviceClassName": device.device_class_name,
        "allocationMode": "ExactCount",
        "count": count,
    }
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": device.name, "exactly": exactly}


def _left_out(conditions: ClaimConditions) -> dict[str, str] | None:
    """Return the annotation that says which conditions of the selector the claim does without."""
    if not conditions.left_out:
        return None
    return {names.NOT_CLAIMED: "; ".join(f"{text}: {why}" for text, why in conditions.left_out)}


def _problems(
    deployment: ModelDeployment, role: str, inference_class: InferenceClass, *, counts: dict[str, int]
) -> Iterator[Problem]:
    """Yield what the API server or the scheduler would refuse of the claim template."""
    name = inference_class.metadata.name
    yield from _device_name_problems(inference_class, counts)
    if (number := sum(counts.values())) > MOST_DEVICES:
        listed = " and ".join(f"{count} {device}" for device, count in counts.items())
        yield Problem(
            f"each pod claims {number} devices of class {name} ({listed}); a claim gets {MOST_DEVICES}",
            "Make the topology smaller, or let devices of the class be claim: Synthetic",
            f"{path_of_role(role)}.workers.topology",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )


def _device_name_problems(inference_class: InferenceClass, counts: dict[str, int]) -> Iterator[Problem]:
    """Yield names of devices of the class that claims cannot have. The shorthand `resources` has none."""
    for at, device in enumerate(inference_class.spec.devices):
        if device.name not in counts:
            continue
        rules = (
            ("name", device.name, DNS_LABEL, "gpu"),
            ("deviceClassName", device.device_class_name or "", SUBDOMAIN, "gpu.nvidia.com"),
        )
        for field, written, rule, example in rules:
            if not rule.allows(written):
                yield Problem(
                    f"{field} {shown(written)!r} of a device that pods claim must be {rule.words}",
                    f"Write it like {example}",
                    f"spec.devices[{at}].{field}",
                    kind="InferenceClass",
                    key=inference_class.metadata.name,
                )


def _shared_channel_problems(
    deployment: ModelDeployment, role: str, inference_class: InferenceClass, *, shape: Shape, gpus: int
) -> Iterator[Problem]:
    """Yield that pods with a channel leave GPUs to others, which the node's one channel would keep away."""
    if shape.gpus < gpus:
        yield Problem(
            f"each pod has {shape.gpus} of the {gpus} GPUs of a node of class "
            f"{inference_class.metadata.name}; a node has one IMEX channel, so no other worker of several "
            "pods could have the rest",
            f"Choose a topology whose pods have all {gpus} GPUs: tensor x dataLocal",
            f"{path_of_role(role)}.workers.topology",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )
