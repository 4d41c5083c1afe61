"""Rules of classes: does the machine have what the recipe asks for, and does the class describe the nodes
that it will get.

Networks that GKE makes between GPUs itself (`acceleratorNetworkProfile: Auto`):
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24
"""

import re
from collections.abc import Iterator

from inferfleet.cloud.gke.described import DescribedClass
from inferfleet.cloud.gke.facts.machines import (
    HYPERDISK,
    NETWORK_PROFILE_FAMILIES,
    PARTITIONS,
    known_types,
    with_gpus,
)
from inferfleet.cloud.gke.facts.sources import (
    A4X_DISKS,
    BOOT_DISKS,
    DRA,
    DRANET,
    GCLOUD_SYSTEM_CONFIG,
    GENERAL,
    GKE_GPUS,
    GPUS,
    LOCAL_SSD,
    MIG,
    PODS_PER_NODE,
    PRELOADING,
    SYSTEM_CONFIG,
    TOOLKIT,
    VERIFIED,
)
from inferfleet.cloud.gke.recipes.problems import GKE, ClassRule, RecipeProblem, either
from inferfleet.documents.kinds.gke import GkeAccelerator
from inferfleet.documents.kinds.inference_class import NVIDIA_DRIVER
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing, nearest
from inferfleet.fleet.shapes import accelerator, node
from inferfleet.tables.devices import NETWORK_DRIVER, RDMA_CLASS
from inferfleet.tables.gke import GPU_TAINT

# What GKE boots nodes from, beside Hyperdisk.
_PERSISTENT = ("pd-balanced", "pd-ssd", "pd-standard")

# https://cloud.google.com/kubernetes-engine/docs/concepts/tpus: ct5lp-hightpu-4t, tpu7x-standard-4t.
_TPU_MACHINE, _TPU = re.compile(r"ct[0-9]|tpu"), "tpu"

_TRY = "Try it, then write in verified where and when it worked"

# Of clusters that are not Autopilot: Google's page on quotas, by a copy that names 110 for versions before
# 1.23.5-gke.1300.
MOST_PODS = 256

# Of machines with less memory GKE gives less of it to huge pages. Of those with more, one of Google's pages
# says 80 %, and the one of gcloud 60 % as of all.
_SMALL_GIB = 30

_GIB = 2**30

_PROFILE = f"{GKE}.networking.acceleratorNetworkProfile"


def tpu_problem(gke_class: DescribedClass) -> Problem | None:
    """Return that nodes with TPUs are not offered: all that the rules below would ask for are GPUs."""
    gpu = gke_class.recipe.accelerator
    if not (_TPU_MACHINE.match(gke_class.machine.type) or (gpu and gpu.type.startswith(_TPU))):
        return None
    return Problem(
        f"class {gke_class.name} has machine type {gke_class.machine.type}, and nodes with TPUs are not "
        "offered",
        "Use a class with GPUs, or one of CPUs alone; `inferfleet classes` lists them",
        f"{GKE}.machineType",
        kind="InferenceClass",
        key=gke_class.name,
    )


def _machine_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    path, machine = f"{GKE}.machineType", gke_class.machine
    if not gke_class.machine.known:
        close = nearest(machine.type, known_types())
        what = (
            f"has machine type {machine.type}, which is not in the table of {VERIFIED}: what "
            "the class says of it is not checked"
        )
        yield RecipeProblem(
            "doubt", path, what, "", f"Did you mean {close}? Or, if it is new: {_TRY}" if close else _TRY
        )
    elif machine.unsupported:
        what = f"has machine type {machine.type}, which {machine.unsupported}"
        yield RecipeProblem("rule", path, what, TOOLKIT, "Use another machine type")
    if machine.architecture == "arm64":
        what = f"has machine type {machine.type}, whose nodes are arm64"
        yield RecipeProblem("doubt", path, what, GPUS, "Use images that are built for arm64 too")


def _accelerator_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    asked, machine = gke_class.recipe.accelerator, gke_class.machine
    if asked is None:
        # N1 machines have GPUs only where a pool attaches some.
        if machine.accelerators and machine.family != "N1":
            types = either([gpu.type for gpu in machine.accelerators])
            what = f"names no accelerator, and {machine.type} comes with {types}"
            next_step = "Add accelerator, or use a machine type of CPUs such as n4-standard-32"
            yield RecipeProblem("fact", f"{GKE}.machineType", what, GPUS, next_step)
        return
    has, name = machine.accelerator(asked.type), machine.type
    if not machine.accelerators:
        other_machines = with_gpus(asked.type)
        next_step = (
            f"Use one with {asked.type}: {', '.join(other_machines)}"
            if other_machines
            else "Use a machine type with GPUs"
        )
        what = f"has machine type {name}, which takes no GPUs"
        yield RecipeProblem("fact", f"{GKE}.machineType", what, GPUS, next_step)
    elif has is None:
        types, other_machines = either([gpu.type for gpu in machine.accelerators]), with_gpus(asked.type)
        or_other_machines = (
            f", or use a machine type with {asked.type}: {', '.join(other_machines)}"
            if other_machines
            else ""
        )
        what = f"asks for {asked.type} on {name}, which has {types}"
        yield RecipeProblem(
            "fact", f"{GKE}.accelerator.type", what, GPUS, f"Write {types}{or_other_machines}"
        )
    elif asked.count not in has.counts:
        counts, other_machines = either(has.counts), with_gpus(asked.type, asked.count)
        or_other_machines = f", or use {either(other_machines)}" if other_machines else ""
        what = f"asks for {asked.count} {asked.type} per node on {name}, which has {counts}"
        yield RecipeProblem(
            "fact", f"{GKE}.accelerator.count", what, GPUS, f"Write count: {counts}{or_other_machines}"
        )


def _local_ssd_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    recipe_ssds, ssds = gke_class.recipe.local_ssd, gke_class.machine.ssds
    if recipe_ssds is None or recipe_ssds.count in ssds.counts:
        return
    counts = either(ssds.counts) if ssds.counts else "none"
    takes = "comes with" if ssds.attached else "takes"
    what = f"asks for {recipe_ssds.count} local SSDs on {gke_class.machine.type}, which {takes} {counts}"
    next_step = f"Write count: {counts}, or remove localSsd" if ssds.counts else "Remove localSsd"
    yield RecipeProblem("fact", f"{GKE}.localSsd.count", what, LOCAL_SSD, next_step)


def _boot_disk_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    disk, machine, path = gke_class.recipe.disk_type, gke_class.machine, f"{GKE}.diskType"
    if disk is None or disk == HYPERDISK:
        return
    boots, next_step = f"boots {machine.type} from {disk}", f"Write diskType: {HYPERDISK}"
    if disk.startswith("hyperdisk-"):
        what = f"{boots}, but the only Hyperdisk that nodes boot from is {HYPERDISK}"
        yield RecipeProblem("rule", path, what, TOOLKIT, next_step)
    elif disk not in _PERSISTENT:
        what = f"{boots}, which is no type of disk that GKE boots nodes from"
        choices = (machine.boot_disk,) if machine.boot_disk else (*_PERSISTENT, HYPERDISK)
        yield RecipeProblem("fact", path, what, str(BOOT_DISKS), f"Write diskType: {either(choices)}")
    elif machine.boot_disk:
        source = GENERAL if machine.family == "N4" else A4X_DISKS
        what = f"{boots}, but it boots from {machine.boot_disk} only"
        yield RecipeProblem("fact", path, what, source, next_step)


def _image_cache_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    recipe = gke_class.recipe
    if recipe.secondary_boot_disks and not recipe.image_streaming:
        what = "has secondaryBootDisks with images, which GKE reads by image streaming alone"
        yield RecipeProblem(
            "rule", f"{GKE}.secondaryBootDisks", what, str(PRELOADING), "Write imageStreaming: true"
        )


def _gpu_direct_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    kind, fabric = gke_class.recipe.networking.gpu_direct, gke_class.machine.fabric
    if kind != "None" and (fabric is None or fabric.kind != kind):
        has = fabric.kind if fabric else "none"
        what = f"asks for GPUDirect {kind} on {gke_class.machine.type}, which has {has}"
        next_step = f"Write gpuDirect: {fabric.kind if fabric else 'None'}"
        yield RecipeProblem("fact", f"{GKE}.networking.gpuDirect", what, TOOLKIT, next_step)


def _network_profile_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    if not gke_class.auto_network:
        return
    kind, machine = gke_class.recipe.networking.gpu_direct, gke_class.machine
    if kind != "RDMA":
        what = f"has acceleratorNetworkProfile Auto with gpuDirect {kind}; it is offered for RDMA alone"
        next_step = "Write gpuDirect: RDMA, or remove acceleratorNetworkProfile"
        yield RecipeProblem("rule", _PROFILE, what, str(DRANET), next_step)
    elif machine.known and machine.family not in NETWORK_PROFILE_FAMILIES:
        families = listing(NETWORK_PROFILE_FAMILIES)
        what = f"has acceleratorNetworkProfile Auto on {machine.type}; pods claim network cards on {families}"
        yield RecipeProblem("fact", _PROFILE, what, str(DRANET), "Remove acceleratorNetworkProfile")


def _network_card_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    """Yield that the class does not describe the cards that pods are to claim, one for each GPU of a node."""
    fabric = gke_class.fabric
    if fabric is None or fabric.kind != "RDMA" or not gke_class.auto_network:
        return
    cards = [
        device
        for device in gke_class.document.spec.all_devices
        if device.claim == "DRA" and device.device_class_name == RDMA_CLASS
    ]
    wanted = fabric.interfaces - 1
    card = f"{{name: nic, driver: {NETWORK_DRIVER}, deviceClassName: {RDMA_CLASS}, count: {wanted}}}"
    if len(cards) != 1:
        what = f"has acceleratorNetworkProfile Auto and {len(cards)} devices of DeviceClass {RDMA_CLASS}"
        yield RecipeProblem("rule", "spec.devices", what, "", f"Describe the network cards once: {card}")
    elif cards[0].driver != NETWORK_DRIVER:
        what = f"says that device {cards[0].name} of DeviceClass {RDMA_CLASS} has driver {cards[0].driver}"
        yield RecipeProblem("rule", "spec.devices", what, str(DRANET), f"Write driver: {NETWORK_DRIVER}")
    elif cards[0].count != wanted:
        what = f"says {cards[0].count} network cards per node, but {gke_class.machine.type} has {wanted}"
        next_step = f"Write count: {wanted} for device {cards[0].name}"
        yield RecipeProblem("fact", "spec.devices", what, str(DRANET), next_step)


def _node_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    if not gke_class.machine.known:
        return
    node, machine = gke_class.document.spec.node, gke_class.machine
    has = (
        ("cpu", node.cpu, float(parse_quantity(node.cpu)), machine.vcpus, "vCPUs"),
        ("memory", node.memory, float(parse_quantity(node.memory)) / _GIB, machine.memory_gib, "GB"),
    )
    next_step = "Write what such a node shows as allocatable, which is less"
    for field, declared, number, whole, unit in has:
        if number > whole:
            what = f"says {declared} of {field} per node; {machine.type} has {whole:g} {unit}"
            yield RecipeProblem("fact", f"spec.node.{field}", what, GPUS, next_step)


def _pod_number_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    pods = gke_class.document.spec.node.pods
    if pods > MOST_PODS:
        what = f"has {pods} pods per node, and GKE takes at most {MOST_PODS}"
        yield RecipeProblem("rule", "spec.node.pods", what, str(PODS_PER_NODE), f"Write at most {MOST_PODS}")


def _huge_page_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    hugepages, path = gke_class.document.spec.node.hugepages, "spec.node.hugepages"
    for field, size in (("size_2mi", "2Mi"), ("size_1gi", "1Gi")):
        if field in hugepages.model_fields_set and not parse_quantity(getattr(hugepages, field)):
            what = f"writes 0 of huge pages of {size}, and GKE takes numbers from 1 on"
            next_step = f"Leave out {size}; for nodes without pages that a pool has, give the pool a new name"
            yield RecipeProblem("fact", f"{path}.{size}", what, GCLOUD_SYSTEM_CONFIG, next_step)
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
        yield RecipeProblem("fact", path, what, SYSTEM_CONFIG, next_step)
    elif pages and pages + memory > machine.memory_gib:
        what += f"with the {node.memory} of memory beside them that is more than {machine.type} has"
        next_step = "Write what such a node shows as allocatable memory, which is without huge pages"
        yield RecipeProblem("fact", "spec.node.memory", what, SYSTEM_CONFIG, next_step)


def _device_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    device, gpu = accelerator(gke_class.document), gke_class.recipe.accelerator
    path = "spec.devices" if gke_class.document.spec.devices else "spec.resources.gpu"
    if gpu is None:
        if device:
            what = f"has devices of driver {device.driver}, and its recipe names no accelerator for its nodes"
            yield RecipeProblem("rule", path, what, "", f"Add {GKE}.accelerator, or remove the devices")
        return
    if device is None:
        if node(gke_class.document):
            what = f"describes no devices, and its recipe makes nodes with {gpu.type}"
            next_step = "Describe them in spec.devices, or remove accelerator from the recipe"
            yield RecipeProblem("rule", f"{GKE}.accelerator", what, "", next_step)
        return  # Placement reports devices of several drivers.
    if device.driver != NVIDIA_DRIVER:
        what = f"has devices of driver {device.driver}, but its nodes get {gpu.type}"
        yield RecipeProblem("rule", path, what, "", f"Write driver: {NVIDIA_DRIVER}")
        return
    if device.resource not in (None, GPU_TAINT):
        what = f"has devices of resource {device.resource}, and GKE hands all of them out as {GPU_TAINT}"
        yield RecipeProblem("rule", path, what, "", "Remove resource: parts of GPUs have this name there too")
    if (count := _per_node(gpu)) not in (None, device.count):
        what = f"says {device.count} devices per node, but its accelerator makes {count}{_product(gpu)}"
        yield RecipeProblem("rule", path, what, "", f"Write count: {count} for device {device.name}")
    whole = gke_class.machine.accelerator(gpu.type)
    if gke_class.machine.known and whole and "memory" in device.capacity:
        size = _partition_gib(gpu.partition_size) if gpu.partition_size else whole.memory_gib
        declared_memory = device.capacity["memory"].value
        if parse_quantity(declared_memory) / _GIB > size:
            what = (
                f"says {declared_memory} of memory per device; {gpu.partition_size or gpu.type} has {size} GB"
            )
            yield RecipeProblem("fact", path, what, GPUS, "Write what the driver reports, which is less")


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


def _partition_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    gpu, path = gke_class.recipe.accelerator, f"{GKE}.accelerator.partitionSize"
    if gpu is None:
        return
    size, sizes = gpu.partition_size, PARTITIONS.get(gpu.type, {})
    if size is None or not gke_class.machine.known:
        return
    if not sizes:
        what = f"splits {gpu.type} into {size}, but GKE does not split such GPUs"
        yield RecipeProblem("fact", path, what, MIG, "Remove partitionSize, or use sharing")
    elif size not in sizes:
        what = f"splits {gpu.type} into {size}; its partitions are {', '.join(sizes)}"
        yield RecipeProblem("fact", path, what, MIG, "Choose one of these")


def _allocation_problems(gke_class: DescribedClass) -> Iterator[RecipeProblem]:
    gpu, driver = gke_class.recipe.accelerator, gke_class.recipe.driver
    if gpu is None:
        if driver not in (None, "DEFAULT"):
            what = f"asks for driver {driver}, and names no accelerator that it would be for"
            yield RecipeProblem("rule", f"{GKE}.driver", what, "", "Remove driver")
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
                yield RecipeProblem("rule", f"{GKE}.accelerator.{field}", what, DRA, next_step)
        if driver != "INSTALLATION_DISABLED":
            driver_text = f" ({driver})" if driver else ""
            what = (
                f"hands out GPUs by DRA and has GKE's own driver{driver_text}, which Google asks to leave out"
            )
            next_step = "Write driver: INSTALLATION_DISABLED, and install one by Google's DaemonSet"
            yield RecipeProblem("doubt", f"{GKE}.driver", what, DRA, next_step)
    elif driver == "INSTALLATION_DISABLED":
        what = "leaves out GKE's own driver; nodes offer no GPUs until another one is installed"
        next_step = "Install one by Google's DaemonSet, or remove driver"
        yield RecipeProblem("doubt", f"{GKE}.driver", what, GKE_GPUS, next_step)


RULES: tuple[ClassRule, ...] = (
    _machine_problems,
    _accelerator_problems,
    _local_ssd_problems,
    _boot_disk_problems,
    _image_cache_problems,
    _gpu_direct_problems,
    _node_problems,
    _pod_number_problems,
    _huge_page_problems,
    _device_problems,
    _partition_problems,
    _allocation_problems,
    _network_profile_problems,
    _network_card_problems,
)
