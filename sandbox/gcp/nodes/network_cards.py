"""What GKE's driver DRANET offers to claims: DeviceClasses of network cards, and the cards of each node.

https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24. The
conditions of GKE's own classes are on no page: these are by the attribute `rdma` of the open project
(https://github.com/kubernetes-sigs/dranet), which has interfaces called like gpu0rdma0.
"""

from typing import Any

from inferfleet.tables.devices import NETWORK_CLASS, NETWORK_DRIVER, RDMA_CLASS, RESOURCE_API
from inferfleet.tables.gke import NETWORK_DRIVER_LABELS
from sandbox.cluster.kubectl import Kubectl
from sandbox.devices.published import made, publish

Object = dict[str, Any]
# What GKE puts on nodes of the profile `auto`.
PROFILE_LABEL = "gke.networks.io/accelerator-network-profile"
# Cards of RDMA by the machine type of a node; the default card of a node is never offered.
CARDS = {"a3-ultragpu-8g": 8, "a4-highgpu-8g": 8, "a4x-highgpu-4g": 4}
_RDMA = f"device.attributes['{NETWORK_DRIVER}'].rdma"


def offer_cards(kubectl: Kubectl) -> None:
    """Make the cluster have GKE's DeviceClasses of network cards, and the cards of its nodes with DRANET."""
    wanted = ",".join(f"{key}={value}" for key, value in NETWORK_DRIVER_LABELS.items())
    nodes = kubectl.items("nodes", "-l", f"{wanted},{PROFILE_LABEL}=auto")
    publish(kubectl, [*device_classes(), *(one for node in nodes for one in cards_of(node))])


def device_classes() -> tuple[Object, ...]:
    """Return the DeviceClasses that GKE makes."""
    return tuple(
        made(
            {
                "apiVersion": RESOURCE_API,
                "kind": "DeviceClass",
                "metadata": {"name": name},
                "spec": {
                    "selectors": [{"cel": {"expression": f"device.driver == '{NETWORK_DRIVER}' && {which}"}}]
                },
            }
        )
        for name, which in ((RDMA_CLASS, _RDMA), (NETWORK_CLASS, f"!{_RDMA}"))
    )


def cards_of(node: Object) -> tuple[Object, ...]:
    """Return the ResourceSlice of a node with DRANET; none for a machine that has no cards of RDMA."""
    name, labels = node["metadata"]["name"], node["metadata"]["labels"]
    count = CARDS.get(labels["node.kubernetes.io/instance-type"], 0)
    devices = [_card(number) for number in range(count)]
    if not devices:
        return ()
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": NETWORK_DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    metadata = {"name": f"{name}-cards"}
    return (made({"apiVersion": RESOURCE_API, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}),)


def _card(number: int) -> Object:
    interface = f"gpu{number}rdma0"
    return {"name": interface, "attributes": {"ifName": {"string": interface}, "rdma": {"bool": True}}}
