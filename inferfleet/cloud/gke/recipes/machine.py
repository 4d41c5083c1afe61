"""Rules of machine types: does the machine have the GPUs, disks and GPUDirect that the class asks for."""

import re
from collections.abc import Iterator

from inferfleet.cloud.gke.facts.machine_table import HYPERDISK
from inferfleet.cloud.gke.facts.machines import known_types, with_gpus
from inferfleet.cloud.gke.facts.sources import (
    A4X_DISKS,
    BOOT_DISKS,
    GENERAL,
    GPUS,
    LOCAL_SSD,
    PRELOADING,
    TOOLKIT,
    VERIFIED,
)
from inferfleet.cloud.gke.pool import GkeClass
from inferfleet.cloud.gke.recipes.findings import GKE, ClassRule, Finding, either
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import nearest

# What GKE boots nodes from, beside Hyperdisk.
_PERSISTENT = ("pd-balanced", "pd-ssd", "pd-standard")
# https://cloud.google.com/kubernetes-engine/docs/concepts/tpus: ct5lp-hightpu-4t, tpu7x-standard-4t.
_TPU_MACHINE, _TPU = re.compile(r"ct[0-9]|tpu"), "tpu"
_TRY = "Try it, then write in verified where and when it worked"


def tpu_problem(gke_class: GkeClass) -> Problem | None:
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


def _machine(gke_class: GkeClass) -> Iterator[Finding]:
    path, machine = f"{GKE}.machineType", gke_class.machine
    if not gke_class.machine.known:
        close = nearest(machine.type, known_types())
        what = (
            f"has machine type {machine.type}, which is not in the table of {VERIFIED}: what "
            "the class says of it is not checked"
        )
        yield Finding(
            "doubt", path, what, "", f"Did you mean {close}? Or, if it is new: {_TRY}" if close else _TRY
        )
    elif machine.unsupported:
        what = f"has machine type {machine.type}, which {machine.unsupported}"
        yield Finding("rule", path, what, TOOLKIT, "Use another machine type")
    if machine.architecture == "arm64":
        what = f"has machine type {machine.type}, whose nodes are arm64"
        yield Finding("doubt", path, what, GPUS, "Use images that are built for arm64 too")


def _accelerator(gke_class: GkeClass) -> Iterator[Finding]:
    asked, machine = gke_class.recipe.accelerator, gke_class.machine
    if asked is None:
        # N1 machines have GPUs only where a pool attaches some.
        if machine.accelerators and machine.family != "N1":
            types = either([gpu.type for gpu in machine.accelerators])
            what = f"names no accelerator, and {machine.type} comes with {types}"
            next_step = "Add accelerator, or use a machine type of CPUs such as n4-standard-32"
            yield Finding("fact", f"{GKE}.machineType", what, GPUS, next_step)
        return
    has, name = machine.accelerator(asked.type), machine.type
    if not machine.accelerators:
        others = with_gpus(asked.type)
        next_step = (
            f"Use one with {asked.type}: {', '.join(others)}" if others else "Use a machine type with GPUs"
        )
        what = f"has machine type {name}, which takes no GPUs"
        yield Finding("fact", f"{GKE}.machineType", what, GPUS, next_step)
    elif has is None:
        types, others = either([gpu.type for gpu in machine.accelerators]), with_gpus(asked.type)
        other = f", or use a machine type with {asked.type}: {', '.join(others)}" if others else ""
        what = f"asks for {asked.type} on {name}, which has {types}"
        yield Finding("fact", f"{GKE}.accelerator.type", what, GPUS, f"Write {types}{other}")
    elif asked.count not in has.counts:
        counts, others = either(has.counts), with_gpus(asked.type, asked.count)
        other = f", or use {either(others)}" if others else ""
        what = f"asks for {asked.count} {asked.type} per node on {name}, which has {counts}"
        yield Finding("fact", f"{GKE}.accelerator.count", what, GPUS, f"Write count: {counts}{other}")


def _local_ssd(gke_class: GkeClass) -> Iterator[Finding]:
    written, ssds = gke_class.recipe.local_ssd, gke_class.machine.ssds
    if written is None or written.count in ssds.counts:
        return
    counts = either(ssds.counts) if ssds.counts else "none"
    takes = "comes with" if ssds.attached else "takes"
    what = f"asks for {written.count} local SSDs on {gke_class.machine.type}, which {takes} {counts}"
    next_step = f"Write count: {counts}, or remove localSsd" if ssds.counts else "Remove localSsd"
    yield Finding("fact", f"{GKE}.localSsd.count", what, LOCAL_SSD, next_step)


def _boot_disk(gke_class: GkeClass) -> Iterator[Finding]:
    disk, machine, path = gke_class.recipe.disk_type, gke_class.machine, f"{GKE}.diskType"
    if disk is None or disk == HYPERDISK:
        return
    boots, next_step = f"boots {machine.type} from {disk}", f"Write diskType: {HYPERDISK}"
    if disk.startswith("hyperdisk-"):
        what = f"{boots}, but the only Hyperdisk that nodes boot from is {HYPERDISK}"
        yield Finding("rule", path, what, TOOLKIT, next_step)
    elif disk not in _PERSISTENT:
        what = f"{boots}, which is no type of disk that GKE boots nodes from"
        choices = (machine.boot_disk,) if machine.boot_disk else (*_PERSISTENT, HYPERDISK)
        yield Finding("fact", path, what, str(BOOT_DISKS), f"Write diskType: {either(choices)}")
    elif machine.boot_disk:
        source = GENERAL if machine.family == "N4" else A4X_DISKS
        what = f"{boots}, but it boots from {machine.boot_disk} only"
        yield Finding("fact", path, what, source, next_step)


def _image_cache(gke_class: GkeClass) -> Iterator[Finding]:
    recipe = gke_class.recipe
    if recipe.secondary_boot_disks and not recipe.image_streaming:
        what = "has secondaryBootDisks with images, which GKE reads by image streaming alone"
        yield Finding(
            "rule", f"{GKE}.secondaryBootDisks", what, str(PRELOADING), "Write imageStreaming: true"
        )


def _gpu_direct(gke_class: GkeClass) -> Iterator[Finding]:
    kind, fabric = gke_class.recipe.networking.gpu_direct, gke_class.machine.fabric
    if kind != "None" and (fabric is None or fabric.kind != kind):
        has = fabric.kind if fabric else "none"
        what = f"asks for GPUDirect {kind} on {gke_class.machine.type}, which has {has}"
        next_step = f"Write gpuDirect: {fabric.kind if fabric else 'None'}"
        yield Finding("fact", f"{GKE}.networking.gpuDirect", what, TOOLKIT, next_step)


RULES: tuple[ClassRule, ...] = (_machine, _accelerator, _local_ssd, _boot_disk, _image_cache, _gpu_direct)
