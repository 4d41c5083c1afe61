"""What a fact about Cluster Toolkit is, where it was read, and for which recipes and capacities it holds."""

from dataclasses import dataclass
from typing import Any

REPOSITORY = "https://github.com/GoogleCloudPlatform/cluster-toolkit"
COMMIT = "1047080375afbb44da4b596be314634e7486af4a"
DATE = "2026-06-25"


@dataclass(frozen=True)
class Fact:
    """The value that a field gets there, None where nothing sets it.

    `source` is the file of the repository that decides it. `field` may end in `*`, for all that begin so. No
    `recipes` or `capacities` are all of them. Of the facts of a field the first that holds counts.
    """

    field: str
    value: Any
    source: str
    recipes: tuple[str, ...] = ()
    capacities: tuple[str, ...] = ()


class Choice:
    """The blueprint asks whoever uses it, as our document or recipe does."""

    def __repr__(self) -> str:
        return "asked of the user"


CHOICE = Choice()


def holds(entry: Any, field: str, recipe: str, capacity: str) -> bool:
    """Return whether a fact or reason is about a field of a recipe in a capacity model."""
    if entry.field.endswith("*"):
        if not field.startswith(entry.field[:-1]):
            return False
    elif entry.field != field:
        return False
    return (not entry.recipes or recipe in entry.recipes) and (
        not entry.capacities or capacity in entry.capacities
    )


# Recipes by the blueprint or machine that says something of them alone, and capacity models by theirs.
A3_HIGH = ("A3 High", "A3 High TCPX")
A3_MEGA = ("A3 Mega", "A3 Mega TCPXO")
A3_ULTRA = ("A3 Ultra", "A3 Ultra RDMA")
A4 = ("A4", "A4 RDMA", "A4 DRANET")
A4X = ("A4X", "A4X RDMA", "A4X DRANET")
RDMA = ("A3 Ultra RDMA", "A4 RDMA")
TCP = ("A3 High TCPX", "A3 Mega TCPXO")
WAITED = ("FlexStart", "Queued")
NAMED = ("Reservation, named", "Reservation, sub-block")
RESERVED = ("Reservation, any", *NAMED)

POOL = "modules/compute/gke-node-pool/main.tf"
POOL_DEFAULTS = "modules/compute/gke-node-pool/variables.tf"
POOL_RESERVATIONS = "modules/compute/gke-node-pool/reservation_definitions.tf"
POOL_DISKS = "modules/compute/gke-node-pool/disk_definitions.tf"
POOL_THREADS = "modules/compute/gke-node-pool/threads_per_core_calc.tf"
CLUSTER = "modules/scheduler/gke-cluster/main.tf"
CLUSTER_DEFAULTS = "modules/scheduler/gke-cluster/variables.tf"
GPUS_OF_MACHINES = "modules/internal/gpu-definition/main.tf"
POLICY = "modules/compute/resource-policy/outputs.tf"
VPC = "modules/network/vpc/main.tf"
VPC_DEFAULTS = "modules/network/vpc/variables.tf"
MULTIVPC_DEFAULTS = "modules/network/multivpc/variables.tf"
RDMA_VPC = "modules/network/gpu-rdma-vpc/main.tf"
RDMA_VPC_DEFAULTS = "modules/network/gpu-rdma-vpc/variables.tf"
_WAITING = "examples/gke-consumption-options/dws-flex-start"
FLEX = f"{_WAITING}/gke-a3-ultragpu.yaml"
QUEUE = f"{_WAITING}-queued-provisioning/gke-a3-ultragpu.yaml"
SPOT_TESTS = "tools/cloud-build/daily-tests/builds/gke-{}-onspot.yaml"
OF_CPU = "examples/hpc-gke.yaml"
OF_L4 = "examples/ml-gke.yaml"
OF_G4 = "examples/gke-g4/gke-g4.yaml"
OF_A2 = "tools/cloud-build/daily-tests/blueprints/gke-a2-highgpu.yaml"
OF_A3_HIGH = "examples/gke-a3-highgpu/gke-a3-highgpu.yaml"
OF_A3_MEGA = "examples/gke-a3-megagpu/gke-a3-megagpu.yaml"
OF_A3_ULTRA = "examples/gke-a3-ultragpu/gke-a3-ultragpu.yaml"
OF_A4 = "examples/gke-a4/gke-a4.yaml"
OF_A4X = "examples/gke-a4x/gke-a4x.yaml"
OF_GATEWAY = "examples/gke-a3-highgpu-inference-gateway.yaml"
