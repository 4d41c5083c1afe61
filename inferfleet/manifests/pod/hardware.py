"""What a pod needs to be scheduled on one pool: devices, node selector, tolerations. Never optional."""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.api.kinds.base import Taint
from inferfleet.api.kinds.inference_class import Device
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.fleet import names
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


@dataclass(frozen=True)
class Hardware:
    """The devices of a pod: `gpus` of the extended resource `resource`, on nodes with `gpus_per_node`."""

    resource: str
    gpus: int
    gpus_per_node: int
    node_selector: Mapping[str, str]
    taints: tuple[Taint, ...] = ()

    @property
    def shares_node(self) -> bool:
        return self.gpus < self.gpus_per_node


def hardware(
    *, device: Device, gpus: int, pool: NodePool, label: str | None = None, taints: tuple[Taint, ...] = ()
) -> Hardware:
    """Return what a pod needs that asks for `gpus` of `device` on `pool`.

    `label` is the value of the pool label where it is not the pool's name; `taints` are those of nodes
    besides the pool's.

    Raises KeyError for a driver whose device plugin is not in `profiles.devices`.
    """
    return Hardware(
        resource=RESOURCE_BY_DRIVER[device.driver],
        gpus=gpus,
        gpus_per_node=device.count,
        node_selector=dict(pool.node_selector or {names.POOL: label or pool.name}),
        taints=(*pool.taints, *taints),
    )
