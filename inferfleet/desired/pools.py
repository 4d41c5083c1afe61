"""What the documents say of the nodes of existing clusters, for whoever looks at the nodes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.shapes import accelerator
from inferfleet.tables.devices import RESOURCE_BY_DRIVER


@dataclass(frozen=True)
class DeclaredPool:
    """The nodes of a pool as documents declare them, and how many `replicas` are placed there.

    `least` nodes are there without an autoscaler. Each offers `devices` of a `driver`, which publishes them
    where they are `claimed`, thousandths of a core and bytes of memory. `place` counts pools in the document.
    """

    name: str
    place: int
    class_name: str
    selector: Mapping[str, str]
    least: int
    replicas: int
    driver: str
    devices: int
    claimed: bool
    cpu: int
    memory: int

    @property
    def resource(self) -> str:
        """Return the extended resource of its devices, "" where nodes have none."""
        return RESOURCE_BY_DRIVER.get(self.driver, "")

    def path(self, field: str) -> str:
        """Return the path of a field of the pool in its document."""
        return f"spec.nodePools[{self.place}].{field}"


def declared_pools(
    documents: Documents, cluster: str, placements: Collection[Placement]
) -> tuple[DeclaredPool, ...]:
    """Return the pools of an existing cluster with what is placed on it; those of one that the stack creates
    are Google's to make.
    """
    spec = documents.clusters[cluster].spec
    if spec.cluster.existing is None:
        return ()
    declared = []
    for place, pool in enumerate(spec.node_pools):
        of_class = documents.classes[pool.class_name]
        device = accelerator(of_class)
        declared.append(
            DeclaredPool(
                pool.name,
                place,
                pool.class_name,
                dict(pool.node_selector or {names.POOL: pool.name}),
                (pool.min_node_count or 0) if pool.autoscaled else pool.size,
                sum(
                    placement.replicas
                    for placement in placements
                    if pool.name in dict(placement.spot.pools).values()
                ),
                device.driver if device else "",
                device.count if device else 0,
                of_class.spec.allocation == "DRA",
                int(parse_quantity(of_class.spec.node.cpu) * 1000),
                int(parse_quantity(of_class.spec.node.memory)),
            )
        )
    return tuple(declared)
