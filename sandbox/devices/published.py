"""What DRA drivers publish on a cluster: DeviceClasses, and a ResourceSlice per node and driver.

The real kube-scheduler allocates claims from them. Names and conditions of NVIDIA's classes are those of its
driver (dra-driver-nvidia-gpu 0.4, deployments/helm); what a device is like, its class says.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from inferfleet.tables.devices import CHANNEL_CLASS, CHANNEL_DRIVER, RESOURCE_API
from sandbox.cluster.kubectl import Kubectl

if TYPE_CHECKING:
    from inferfleet.documents.kinds.inference_class import AttributeValue, Device, InferenceClass
    from inferfleet.documents.kinds.inference_cluster import InferenceCluster

Object = dict[str, Any]

# On slices and classes that the sandbox made: a digest of what they say.
MADE_FROM = "sandbox.inferfleet.dev/devices"
_NVIDIA = "gpu.nvidia.com"
_CONDITIONS = {
    _NVIDIA: f"device.driver == '{_NVIDIA}' && device.attributes['{_NVIDIA}'].type == 'gpu'",
    CHANNEL_CLASS: f"device.driver == '{CHANNEL_DRIVER}' && device.attributes['{CHANNEL_DRIVER}'].type == "
    f"'channel' && device.attributes['{CHANNEL_DRIVER}'].id == 0",
}
# What drivers publish besides, of each device.
_OWN: dict[str, dict[str, Object]] = {
    _NVIDIA: {"type": {"string": "gpu"}},
    CHANNEL_DRIVER: {"type": {"string": "channel"}, "id": {"int": 0}},
}
_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 64  # bytes of a text; no driver can publish a longer one


def published(cluster: "InferenceCluster", classes: "Mapping[str, InferenceClass]") -> tuple[Object, ...]:
    """Return the DeviceClasses of the cluster, and the ResourceSlices of the nodes of all its pools."""
    device_classes: dict[str, Object] = {}
    slices: list[Object] = []
    for pool in cluster.spec.node_pools:
        for device in _published(classes[pool.class_name]):
            of_device = _device_class(device)
            device_classes[of_device["metadata"]["name"]] = of_device
            slices += [
                _slice(f"{cluster.metadata.name}-{pool.name}-{number}", device) for number in range(pool.size)
            ]
    return (*(device_classes[name] for name in sorted(device_classes)), *slices)


def has_channels(objects: Iterable[Object]) -> bool:
    """Return whether among these objects are nodes with IMEX channels, which ComputeDomains hand out."""
    return any(one["spec"].get("driver") == CHANNEL_DRIVER for one in objects)


def publish(kubectl: Kubectl, wanted: Iterable[Object]) -> None:
    """Make the cluster have exactly these of the DeviceClasses and ResourceSlices that the sandbox makes."""
    by_digest = {_digest_of(one): one for one in wanted}
    existing = kubectl.items("deviceclasses,resourceslices")
    for one in existing:
        digest = _digest_of(one)
        if digest and by_digest.pop(digest, None) is None:
            kubectl("delete", one["kind"].lower(), one["metadata"]["name"])
    if by_digest:
        kubectl.create([*by_digest.values()])


def _published(inference_class: "InferenceClass") -> "Iterator[Device]":
    """Yield the devices that drivers publish: those that pods claim, and channels with any allocation."""
    for device in inference_class.spec.all_devices:
        channels = device.claim == "DRA" and device.driver == CHANNEL_DRIVER
        if channels or device in inference_class.spec.claimed_devices:
            yield device


def _device_class(device: "Device") -> Object:
    name = device.device_class_name or CHANNEL_CLASS
    condition = _CONDITIONS.get(name, f"device.driver == '{device.driver}'")
    spec = {"selectors": [{"cel": {"expression": condition}}]}
    return made({"apiVersion": RESOURCE_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})


def _slice(node: str, device: "Device") -> Object:
    pool = {"name": f"{node}-{device.name}", "generation": 1, "resourceSliceCount": 1}
    devices = [_device(node, device, number) for number in range(device.count)]
    return made(
        {
            "apiVersion": RESOURCE_API,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{device.name}"},
            "spec": {"driver": device.driver, "nodeName": node, "pool": pool, "devices": devices},
        }
    )


def _device(node: str, device: "Device", number: int) -> Object:
    attributes = dict(_OWN.get(device.driver, {}))
    if device.driver == _NVIDIA:
        attributes["uuid"] = {"string": f"GPU-{_hex(f'{node}/{device.name}/{number}')}"}
    for name, attribute in device.attributes.items():
        if (value := _value(attribute)) and _NAME.fullmatch(name):
            attributes[name] = value
    published_one: Object = {"name": f"{device.name}-{number}", "attributes": attributes}
    if capacity := {name: {"value": amount.value} for name, amount in device.capacity.items()}:
        published_one["capacity"] = capacity
    return published_one


def _value(attribute: "AttributeValue") -> Object | None:
    """Return an attribute as a slice has it, None for a text that is too long for one."""
    values = attribute.model_dump(by_alias=True, exclude_none=True)
    text = attribute.string or attribute.version or ""
    return values if len(text.encode()) <= _LONGEST else None


def made(one: Object) -> Object:
    """Return the object with the annotation by which `publish` knows it."""
    digest = _hex(json.dumps(one, sort_keys=True))
    return {**one, "metadata": {**one["metadata"], "annotations": {MADE_FROM: digest}}}


def _digest_of(one: Object) -> str:
    digest: str = one["metadata"].get("annotations", {}).get(MADE_FROM, "")
    return digest


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
