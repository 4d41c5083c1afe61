"""NVIDIA drivers: which branch GKE installs on which machine, and which one images need. Rows with sources.

A branch is the first number of a driver's version: 535 of 535.274.02.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from inferfleet.gke.facts.floors import below, parsed
from inferfleet.gke.facts.machine import Machine
from inferfleet.gke.facts.sources import AI_CLUSTER, Source
from inferfleet.profiles.images import DOCKER_HUB, reference_of

Installed = Literal["DEFAULT", "LATEST"]


@dataclass(frozen=True)
class Branch:
    """What GKE installs for a choice of driver: on machines of a family ("": all that have no row of their
    own) from version `since` up to the minor version `until` (None: in all later ones).
    """

    family: str
    choice: Installed
    branch: int
    since: str
    until: str | None
    source: Source


@dataclass(frozen=True)
class Needed:
    """The lowest branch that images of a repository need from a version on, unless their tag ends as in
    `other`, which has the branch of each ending.
    """

    repository: str
    since: tuple[int, ...]
    cuda: str
    branch: int
    other: Mapping[str, int]
    source: Source


_RUN_GPUS = Source(
    "GKE, run GPUs", "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus", "2026-04-08"
)
BRANCHES = (
    Branch("", "DEFAULT", 535, "1.28", "1.33", _RUN_GPUS),
    # The table of the page ends with 1.33, where 580 is the last one it lists.
    Branch("", "LATEST", 580, "1.31", "1.33", _RUN_GPUS),
    Branch("A3 Ultra", "DEFAULT", 550, "1.31.5-gke.1169000", None, AI_CLUSTER),
    Branch("A4", "DEFAULT", 570, "1.32.1-gke.1729000", None, AI_CLUSTER),
    Branch("A4X", "DEFAULT", 580, "1.32.8-gke.1108000", None, AI_CLUSTER),
    Branch("A4X Max", "DEFAULT", 580, "1.34.3-gke.1318000", None, AI_CLUSTER),
)
# CUDA 13 needs R580: rapidsai/deployment#656, where the default driver of GKE, 535.274.02, was too old, and
# #659 (2026-02-05), where `latest` mended it.
NEEDED = (
    Needed(
        "vllm/vllm-openai",
        (0, 20),
        "CUDA 13",
        580,
        {"-cu130": 580, "-cu126": 525, "-cu128": 525, "-cu129": 525},
        # Images without an ending have CUDA 13.0 since, and 12.9 is in -cu129; first released in v0.20.0:
        # https://github.com/vllm-project/vllm/releases/tag/v0.20.0
        Source(
            "vLLM, switch default CUDA to 13.0",
            "https://github.com/vllm-project/vllm/pull/39878",
            "2026-04-15",
        ),
    ),
)
# CUDA 13 has no code for GPUs before Turing, so images that need a newer driver do not run on them at all.
_OLD = ("nvidia-tesla-p4", "nvidia-tesla-p100", "nvidia-tesla-v100")
# The default of racks is R580 already. Google's page on them and its toolkit's blueprint (examples/gke-a4x)
# choose no driver. Others create such pools with LATEST, and so does a recipe that writes it.
_RACKS = ("A4X", "A4X Max")


def chosen(machine: Machine, accelerator: str) -> Installed:
    """Return the driver of new pools whose recipe names none: one in which images of today run.

    The default of GKE is R535 on most machines, and engines with CUDA 13 need R580.
    """
    return "DEFAULT" if accelerator in _OLD or machine.family in _RACKS else "LATEST"


def installed(machine: Machine, choice: str, version: str | None) -> Branch | None:
    """Return what GKE installs on a machine in a version (None: the channel's), None if no source says."""
    own = [row for row in BRANCHES if row.family == machine.family and row.choice == choice]
    rows = own or [row for row in BRANCHES if not row.family and row.choice == choice]
    return next((row for row in rows if _covers(row, version)), None)


def needed(image: str) -> tuple[Needed, int] | None:
    """Return the row of an image and the branch that it needs, None for one of which nothing is known."""
    registry, repository, tag, _ = reference_of(image)
    for row in NEEDED:
        if (registry, repository) != (DOCKER_HUB, row.repository):
            continue
        for ending, branch in row.other.items():
            if tag.endswith(ending):
                return row, branch
        numbers = re.match(r"v([0-9]+(?:\.[0-9]+)+)", tag)
        if numbers and tuple(int(part) for part in numbers[1].split(".")) >= row.since:
            return row, row.branch
    return None


def sources() -> Iterator[Source]:
    """Yield the source of every row."""
    yield from (row.source for row in (*BRANCHES, *NEEDED))


def _covers(row: Branch, version: str | None) -> bool:
    if version is None:
        # A channel's version is new enough for a row that goes on, or nothing would run at all.
        return row.until is None
    if below(version, row.since):
        return False
    return row.until is None or parsed(version)[:2] <= parsed(row.until)
