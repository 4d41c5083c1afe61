"""Rules of devices: does the class describe the nodes it will get, and can GPUs be shared the way it asks."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.machine_table import PARTITIONS
from inferfleet.cloud.gke.facts.sources import (
    DRA,
    GCLOUD_SYSTEM_CONFIG,
    GKE_GPUS,
    GPUS,
    MIG,
    PODS_PER_NODE,
    SYSTEM_CONFIG,
)
from inferfleet.cloud.gke.pool import GkeClass
from inferfleet.cloud.gke.recipes.findings import GKE, ClassRule, Finding
from inferfleet.documents.kinds.gke import GkeAccelerator
from inferfleet.documents.kinds.inference_class import NVIDIA_DRIVER
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.shapes import accelerator, node

_GIB = 2**30


def _node(gke_class: GkeClass) -> Iterator[Finding]:
    if not gke_class.machine.known:
        return
    node, machine = gke_class.document.spec.node, gke_class.machine
    has = (
        ("cpu", node.cpu, float(parse_quantity(node.cpu)), machine.vcpus, "vCPUs"),
        ("memory", node.memory, float(parse_quantity(node.memory)) / _GIB, machine.memory_gib, "GB"),
    )
    next_step = "Write what such a node shows as allocatable, which is less"
    for field, written, number, whole, unit in has:
        if number > whole:
            what = f"says {written} of {field} per node; {machine.type} has {whole:g} {unit}"
            yield Finding("fact", f"spec.node.{field}", what, GPUS, next_step)


# Of clusters that are not Autopilot: Google's page on quotas, by a copy that names 110 for versions before
# 1.23.5-gke.1300.
MOST_PODS = 256


def _pods(gke_class: GkeClass) -> Iterator[Finding]:
    pods = gke_class.document.spec.node.pods
    if pods > MOST_PODS:
        what = f"has {pods} pods per node, and GKE takes at most {MOST_PODS}"
        yield Finding("rule", "spec.node.pods", what, str(PODS_PER_NODE), f"Write at most {MOST_PODS}")


# Of machines with less memory GKE gives less of it to huge pages. Of those with more, one of Google's pages
# says 80 %, and the one of gcloud 60 % as of all.
_SMALL_GIB = 30


def _huge_pages(gke_class: GkeClass) -> Iterator[Finding]:
    hugepages, path = gke_class.document.spec.node.hugepages, "spec.node.hugepages"
    for field, size in (("size_2mi", "2Mi"), ("size_1gi", "1Gi")):
        if field in hugepages.model_fields_set and not parse_quantity(getattr(hugepages, field)):
            what = f"writes 0 of huge pages of {size}, and GKE takes numbers from 1 on"
            next_step = f"Leave out {size}; for nodes without pages that a pool has, give the pool a new name"
            yield Finding("fact", f"{path}.{size}", what, GCLOUD_SYSTEM_CONFIG, next_step)
    if not gke_class.machine.known:
        return
    node, machine = gke_class.document.spec.node, gke_class.machine
    pages = float(parse_quantity(hugepages.size_2mi) + parse_quantity(hugepages.size_1gi)) / _GIB
    share = 0.6 if machine.memory_gib < _SMALL_GIB else 0.8
    memory = float(parse_quantity(node.memory)) / _GIB
    what = f"has {pages:g}Gi in huge pages; "
    if pages > share * machine.memory_gib:
        what += f"GKE gives them at most {share:.0%} of the {machine.memory_gib:g} GB of {machine.type}"
        next_step = f"Write at most {int(share * machine.memory_gib)}Gi for both sizes together"
        yield Finding("fact", path, what, SYSTEM_CONFIG, next_step)
    elif pages and pages + memory > machine.memory_gib:
        what += f"with the {node.memory} of memory beside them that is more than {machine.type} has"
        next_step = "Write what such a node shows as allocatable memory, which is without huge pages"
        yield Finding("fact", "spec.node.memory", what, SYSTEM_CONFIG, next_step)


def _devices(gke_class: GkeClass) -> Iterator[Finding]:
    device, gpu = accelerator(gke_class.document), gke_class.recipe.accelerator
    path = "spec.devices" if gke_class.document.spec.devices else "spec.resources.gpu"
    if gpu is None:
        if device:
            what = f"has devices of driver {device.driver}, and its recipe names no accelerator for its nodes"
            yield Finding("rule", path, what, "", f"Add {GKE}.accelerator, or remove the devices")
        return
    if device is None:
        if node(gke_class.document):
            what = f"describes no devices, and its recipe makes nodes with {gpu.type}"
            next_step = "Describe them in spec.devices, or remove accelerator from the recipe"
            yield Finding("rule", f"{GKE}.accelerator", what, "", next_step)
        return  # Placement reports devices of several drivers.
    if device.driver != NVIDIA_DRIVER:
        what = f"has devices of driver {device.driver}, but its nodes get {gpu.type}"
        yield Finding("rule", path, what, "", f"Write driver: {NVIDIA_DRIVER}")
        return
    if (count := _per_node(gpu)) not in (None, device.count):
        what = f"says {device.count} devices per node, but its accelerator makes {count}{_product(gpu)}"
        yield Finding("rule", path, what, "", f"Write count: {count} for device {device.name}")
    whole = gke_class.machine.accelerator(gpu.type)
    if gke_class.machine.known and whole and "memory" in device.capacity:
        size = _partition_gib(gpu.partition_size) if gpu.partition_size else whole.memory_gib
        written = device.capacity["memory"].value
        if parse_quantity(written) / _GIB > size:
            what = f"says {written} of memory per device; {gpu.partition_size or gpu.type} has {size} GB"
            yield Finding("fact", path, what, GPUS, "Write what the driver reports, which is less")


def _per_node(gpu: GkeAccelerator) -> int | None:
    """Return how many devices the plugin counts on a node; None for partitions that the table lacks."""
    clients = gpu.sharing.max_clients_per_gpu if gpu.sharing else 1
    parts = PARTITIONS.get(gpu.type, {}).get(gpu.partition_size) if gpu.partition_size else 1
    return parts and gpu.count * parts * clients


def _product(gpu: GkeAccelerator) -> str:
    split = f", each split into {gpu.partition_size}" if gpu.partition_size else ""
    shared = f", each for {gpu.sharing.max_clients_per_gpu} pods" if gpu.sharing else ""
    return f" (count {gpu.count}{split}{shared})" if split or shared else ""


def _partition_gib(size: str) -> int:
    """Return the memory of a partition in GB: 10 for `1g.10gb`."""
    return int(size.partition(".")[2].removesuffix("gb"))


def _partition(gke_class: GkeClass) -> Iterator[Finding]:
    gpu, path = gke_class.recipe.accelerator, f"{GKE}.accelerator.partitionSize"
    if gpu is None:
        return
    size, sizes = gpu.partition_size, PARTITIONS.get(gpu.type, {})
    if size is None or not gke_class.machine.known:
        return
    if not sizes:
        what = f"splits {gpu.type} into {size}, but GKE does not split such GPUs"
        yield Finding("fact", path, what, MIG, "Remove partitionSize, or use sharing")
    elif size not in sizes:
        what = f"splits {gpu.type} into {size}; its partitions are {', '.join(sizes)}"
        yield Finding("fact", path, what, MIG, "Choose one of these")


def _allocation(gke_class: GkeClass) -> Iterator[Finding]:
    gpu, driver = gke_class.recipe.accelerator, gke_class.recipe.driver
    if gpu is None:
        if driver not in (None, "DEFAULT"):
            what = f"asks for driver {driver}, and names no accelerator that it would be for"
            yield Finding("rule", f"{GKE}.driver", what, "", "Remove driver")
        return
    if gke_class.document.spec.allocation == "DRA":
        ways = (
            ("sharing", gpu.sharing and f"shares them by {gpu.sharing.strategy}"),
            ("partitionSize", gpu.partition_size and f"splits them into {gpu.partition_size}"),
        )
        for field, way in ways:
            if way:
                what = f"hands out GPUs by DRA and {way}; GKE does only one of the two"
                next_step = f"Remove {field}, or write allocation: DevicePlugin"
                yield Finding("rule", f"{GKE}.accelerator.{field}", what, DRA, next_step)
        if driver != "INSTALLATION_DISABLED":
            named = f" ({driver})" if driver else ""
            what = f"hands out GPUs by DRA and has GKE's own driver{named}, which Google asks to leave out"
            next_step = "Write driver: INSTALLATION_DISABLED, and install one by Google's DaemonSet"
            yield Finding("doubt", f"{GKE}.driver", what, DRA, next_step)
    elif driver == "INSTALLATION_DISABLED":
        what = "leaves out GKE's own driver; nodes offer no GPUs until another one is installed"
        next_step = "Install one by Google's DaemonSet, or remove driver"
        yield Finding("doubt", f"{GKE}.driver", what, GKE_GPUS, next_step)


RULES: tuple[ClassRule, ...] = (_node, _pods, _huge_pages, _devices, _partition, _allocation)
