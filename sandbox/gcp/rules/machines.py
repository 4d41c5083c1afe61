"""Machine types: the cores, memory, local SSDs and accelerators of a machine, and what pods may use of it.

They are those of the table of machines, so that every type that a recipe may name can be tried here; beside
them there is the default of pools, which is too small for one. Memory is in GiB, which Google prints as GB.
"""

from dataclasses import dataclass

from inferfleet.cloud.gke.facts import machines


@dataclass(frozen=True)
class Machine:
    """What a machine of one type has; `memory` is in GiB.

    `accelerators` pairs each type that fits with the counts in which it may be asked for. `built_in` ones are
    part of the machine and must be asked for in exactly that count. `ssds` is the only number of local SSDs
    that it may have, 0 where it may have several or none.
    """

    vcpu: int
    memory: float
    accelerators: tuple[tuple[str, tuple[int, ...]], ...] = ()
    built_in: bool = False
    ssds: int = 0
    arch: str = "amd64"
    shared_cores: bool = False


# Families whose local SSDs GKE attaches, and writes into the pool, when nobody asked for them.
_FAMILIES_WITH_SSDS = ("a3-", "a4")
DEFAULT = "e2-medium"


def machine_of(machine_type: str) -> Machine | None:
    """Return the machine of a type, None for one that Google does not have."""
    if machine_type == DEFAULT:
        return Machine(2, 4, shared_cores=True)
    known = machines.machine(machine_type)
    if known is None:
        return None
    return Machine(
        known.vcpus,
        known.memory_gib,
        tuple((gpu.type, gpu.counts) for gpu in known.accelerators),
        # N1 machines have accelerators only where a pool attaches some.
        built_in=bool(known.accelerators) and known.family != "N1",
        ssds=known.ssds.counts[0] if len(known.ssds.counts) == 1 else 0,
        arch=known.architecture,
    )


def known_machine(machine_type: str) -> Machine:
    """Return the machine of a type with which there is a pool."""
    machine = machine_of(machine_type)
    if machine is None:
        raise ValueError(f"no pool can have been made of machine type {machine_type!r}")
    return machine


def fills_in_ssds(machine_type: str) -> bool:
    """Return True when GKE sets the pool's local SSDs by itself."""
    return machine_type.startswith(_FAMILIES_WITH_SSDS) and known_machine(machine_type).ssds > 0


def allocatable(machine: Machine) -> tuple[int, int]:
    """Return the CPU in millicores and the memory in MiB that pods may use of a node.

    The rest is what GKE reserves: cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
    """
    cores = [60, 10, 5, 5, *[2.5] * max(machine.vcpu - 4, 0)]
    cpu = machine.vcpu * 1000 - (1060 if machine.shared_cores else round(sum(cores[: machine.vcpu])))
    left, reserved = machine.memory, 0.0
    for size, share in ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06), (float("inf"), 0.02)):
        part = min(left, size)
        reserved += part * share
        left -= part
    return cpu, round((machine.memory - reserved) * 1024) - 100
