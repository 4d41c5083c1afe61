"""Which NVIDIA driver new pools get whose recipe names none."""

from typing import Literal

from inferfleet.cloud.gke.facts.machine import Machine

Installed = Literal["DEFAULT", "LATEST"]

# CUDA 13 needs R580: rapidsai/deployment#656, where the default driver of GKE, 535.274.02, was too old, and
# #659 (2026-02-05), where `latest` mended it. It has no code for GPUs before Turing: images
# with it do not run there at all.
_OLD = ("nvidia-tesla-p4", "nvidia-tesla-p100", "nvidia-tesla-v100")
# The default of racks is R580 already. Google's page on them and its toolkit's blueprint (examples/gke-a4x)
# choose no driver. Others create such pools with LATEST, and so does a recipe that writes it.
_RACKS = ("A4X", "A4X Max")


def chosen(machine: Machine, accelerator: str) -> Installed:
    """Return the driver of new pools whose recipe names none: one in which images of today run.

    The default of GKE is R535 on most machines, and engines with CUDA 13 need R580.
    """
    return "DEFAULT" if accelerator in _OLD or machine.family in _RACKS else "LATEST"
