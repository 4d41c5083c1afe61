"""What a pod needs to be scheduled on one pool: devices, node selector, tolerations. Never optional."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from inferfleet.documents.kinds.base import Taint
from inferfleet.documents.kinds.inference_class import Device
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.fleet import names
from inferfleet.fleet.node_conditions import Labels
from inferfleet.tables.devices import VENDOR_BY_DRIVER, is_accelerator, is_network


@dataclass(frozen=True)
class PodClaim:
    """A claim of a pod by the name that it has there, and the template that it is made from.

    `gpus` is how many accelerators it gives, 0 for a claim of something else. What it gives is shared by
    nodes with the same value of the label `shared_by`.
    """

    name: str
    template: str
    gpus: int = 0
    shared_by: str | None = None


# `RDMA` stands for adapters that the class describes in any way, `GKE` for those of GPUDirect RDMA there.
Fabric = Literal["None", "RDMA", "GKE"]


@dataclass(frozen=True)
class Hardware:
    """The devices of a pod, and the nodes that have them."""

    resource: str | None
    """Extended resource of its accelerators; None for a pod without any, which is on nodes that have none."""
    gpus: int
    """Accelerators of the pod."""
    gpus_per_node: int
    node_selector: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    others: tuple[str, ...] = ()
    """Extended resources that nodes of the class have besides."""
    labels: Labels = field(default_factory=dict)
    """Labels that nodes of the pool are known to have besides its selector, each with the values that one of
    them can have.
    """
    allocation: Literal["DevicePlugin", "DRA"] = "DevicePlugin"
    """With DRA nodes have no such resource, only a taint that is called like it, and a claim gives the pod
    its accelerators.
    """
    whole: str | None = None
    """Extended resource of a whole device, after which nodes are tainted that hand out slices of it too."""
    claims: tuple[PodClaim, ...] = ()
    fabric: Fabric = "None"
    """What nodes have for copying memory between them."""

    @property
    def node_labels(self) -> Labels:
        """Return the values that labels are known to have on nodes of the pool."""
        return {**self.labels, **{key: (value,) for key, value in self.node_selector.items()}}

    @property
    def taint_keys(self) -> tuple[str, ...]:
        """Return the keys of taints that keep pods without accelerators away from nodes that have them."""
        return tuple(dict.fromkeys(key for key in (self.resource, self.whole) if key))

    @property
    def shares_node(self) -> bool:
        """Return whether other pods may be on the node: those without accelerators never have a whole one."""
        return self.gpus < self.gpus_per_node or self.resource is None


def hardware(
    *,
    device: Device | None,
    gpus: int,
    pool: NodePool,
    label: str | None = None,
    taints: tuple[Taint, ...] = (),
    devices: Iterable[Device] = (),
    labels: Labels = MappingProxyType({}),
    allocation: Literal["DevicePlugin", "DRA"] = "DevicePlugin",
    claims: tuple[PodClaim, ...] = (),
    gpu_direct: str = "None",
) -> Hardware:
    """Return what a pod needs that asks for `gpus` of `device` on `pool`, or for none of any without one.

    `label` is the value of the pool label where it is not the pool's name; `taints` are those of nodes
    besides the pool's, `labels` what is known of their labels. `allocation` is the class's, and `claims` are
    those that the pod is to have. `devices` are all of the class: one that only selectors see, and whose
    driver is the name of an extended resource, says that nodes have that. `gpu_direct` is the kind of
    GPUDirect that GKE gives to nodes of the class.
    """
    described, vendor = tuple(devices), VENDOR_BY_DRIVER.get(device.driver) if device else None
    synthetic_drivers = tuple(
        each.driver for each in described if each.claim == "Synthetic" and "/" in each.driver
    )
    networks = [each for each in described if is_network(each.driver, each.attributes)]
    fabric: Fabric = "GKE" if gpu_direct == "RDMA" else "RDMA" if synthetic_drivers or networks else "None"
    return Hardware(
        resource=device.asked_as if device else None,
        gpus=gpus,
        gpus_per_node=device.count if device else 0,
        node_selector=dict(pool.node_selector or {names.POOL: label or pool.name}),
        taints=(*pool.taints, *taints),
        others=synthetic_drivers,
        labels=dict(labels),
        allocation=allocation,
        claims=claims,
        fabric=fabric,
        whole=vendor.resource if vendor else None,
    )


def ask_for_devices(spec: dict[str, Any], container: dict[str, Any], hardware: Hardware) -> None:
    """Let the engine's container ask for the devices of the pod, and the pod have its claims.

    Nothing asks for the extended resource beside claims: the two would be given different devices.
    """
    if hardware.resource is None:
        return
    resources = container.setdefault("resources", {})
    if hardware.allocation == "DevicePlugin":
        for kind in ("limits", "requests"):
            resources.setdefault(kind, {})[hardware.resource] = str(hardware.gpus)
    if hardware.claims:
        spec["resourceClaims"] = generated_claims(hardware)
        resources["claims"] = [{"name": claim.name} for claim in hardware.claims]


def generated_claims(hardware: Hardware) -> list[dict[str, str]]:
    """Return the claims of the pod, as its spec has them."""
    return [{"name": claim.name, "resourceClaimTemplateName": claim.template} for claim in hardware.claims]


def counted_gpus(hardware: Hardware) -> dict[str, str]:
    """Return the annotation of how many accelerators a pod has, where no other part of it says so: by claims,
    or by a resource that no vendor is known to hand accelerators out as.
    """
    if claimed := sum(claim.gpus for claim in hardware.claims):
        return {names.CLAIMED_GPUS: str(claimed)}
    unknown = hardware.allocation == "DevicePlugin" and not is_accelerator(hardware.resource or "")
    return {names.GPUS: str(hardware.gpus)} if unknown and hardware.gpus else {}
