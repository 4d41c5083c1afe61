"""From which version of GKE something works, and in which it is known not to. Each row has its source.

A floor has the first good version of a minor version for each that had one late. Minor versions after the
last are good from their beginning, and none before the first is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.cloud.gke.facts import sources
from inferfleet.cloud.gke.facts.sources import AI_CLUSTER, DRANET, LLM_D, PRELOADING, Source

Version = tuple[int, ...]


@dataclass(frozen=True)
class Floor:
    """The first good version of GKE of each minor version."""

    since: tuple[str, ...]
    source: Source

    def needed(self, version: str) -> str | None:
        """Return what is needed where no release that `version` may mean will do; None where one does."""
        minor = parsed(version)[:2]
        of_minor = (first for first in self.since if parsed(first)[:2] == minor)
        late = next(of_minor, None)
        if late is None:
            return self.since[0] if minor < parsed(self.since[0])[:2] else None
        return late if below(version, late) else None


@dataclass(frozen=True)
class Broken:
    """Versions of GKE that are known not to work for a machine type: `since` and all later ones.

    `works` is the newest minor version that does, and `pinned` who stays on it.
    """

    since: str
    source: Source
    works: str
    pinned: Source


def parsed(text: str) -> Version:
    """Return the numbers of a version: (1, 34, 1, 1829001) for `1.34.1-gke.1829001`, (1, 34) for `1.34`."""
    return tuple(int(part) for part in text.replace("-gke", "").split("."))


def below(version: str, needed: str) -> bool:
    """Return True when no release that `version` may mean is as new as `needed`; 1.34 may mean any 1.34.x."""
    mine, wanted = parsed(version), parsed(needed)
    return mine < wanted[: len(mine)]


def minor(version: str) -> str:
    """Return the minor version, `1.34` for `1.34.1-gke.1829001`, of which GKE takes the newest patch."""
    return ".".join(version.split(".")[:2])


_DOCS = "https://docs.cloud.google.com/kubernetes-engine/docs"
_TOOLKIT = "https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/10470803"
_GPU_DIRECT = Source(
    "cluster-toolkit, gpu_direct.tf",
    f"{_TOOLKIT}/modules/compute/gke-node-pool/gpu_direct.tf",
    "2026-04-28",
)
_TOOLKIT_G4 = Source(
    "cluster-toolkit, gke-g4",
    f"{_TOOLKIT}/examples/gke-g4/README.md",
    "2026-03-25",
)
_NOTES_A3 = Source("GKE release notes", f"{_DOCS}/release-notes#October_17_2025", "2025-10-17")
_STRATEGIES = Source(
    "GKE, configure upgrade strategies", f"{_DOCS}/how-to/node-pool-upgrade-strategies", "2026-11-24"
)

INFERENCE_POOLS = Floor(("1.34.0-gke.1626000",), LLM_D)
DRA = Floor(("1.34",), sources.DRA)
# Of clusters that are not Autopilot; from then on GKE makes the DeviceClasses of network cards.
NETWORK_PROFILE = Floor(("1.34.1-gke.1829001",), DRANET)
# Of clusters that are not Autopilot.
IMAGE_CACHE = Floor(("1.28.3-gke.1067000",), PRELOADING)
AUTOSCALED_UPGRADES = Floor(("1.34.0-gke.2201000",), _STRATEGIES)
# Of GPUs; of TPUs, which no class has, the same page says 1.33.0-gke.1712000.
CAPACITY: Mapping[str, Floor] = {
    "FlexStart": Floor(("1.32.2-gke.1652000",), sources.DWS),
    "Queued": Floor(("1.32.2-gke.1652000",), sources.PROVISIONING_REQUEST),
}
# By family of machines. Of G4 the toolkit says this, and the release notes say 1.34.0.
FAMILIES: Mapping[str, Floor] = {
    "G4": Floor(("1.32.11-gke.1174000",), _TOOLKIT_G4),
    "A3 Ultra": Floor(("1.31.4-gke.1183000",), AI_CLUSTER),
    "A4": Floor(("1.32.1-gke.1729000",), AI_CLUSTER),
    "A4X": Floor(("1.32.8-gke.1108000", "1.33.4-gke.1036000"), AI_CLUSTER),
    "A4X Max": Floor(("1.34.3-gke.1318000", "1.35.0-gke.2745000"), AI_CLUSTER),
}
# By family of machines and kind of GPUDirect.
FABRICS: Mapping[tuple[str, str], Floor] = {
    ("A3 High", "TCPX"): Floor(
        ("1.27.16-gke.2874000", "1.28.15-gke.3163000", "1.29.15-gke.2467000"), _GPU_DIRECT
    ),
    ("A3 Mega", "TCPXO"): Floor(
        (
            *("1.28.15-gke.3163000", "1.29.15-gke.2467000", "1.30.14-gke.1922000"),
            *("1.31.14-gke.1243000", "1.32.11-gke.1174000"),
        ),
        _GPU_DIRECT,
    ),
    ("A3 Ultra", "RDMA"): Floor(("1.31.4-gke.1183000",), AI_CLUSTER),
    ("A4", "RDMA"): Floor(("1.32.2-gke.1475000",), AI_CLUSTER),
    ("A4X", "RDMA"): Floor(("1.32.8-gke.1108000", "1.33.4-gke.1036000"), AI_CLUSTER),
}
# GKE 1.35 has COS 125, and these machines take 121 at most (cluster-toolkit#5673). 1.33 left standard support
# on 2026-08-03, 1.34 on 2026-10-01 (endoflife.date, products/google-kubernetes-engine.md): with such a one
# an exclusion until the end of support is refused (cluster-toolkit#6063), so of new clusters it is for the
# channel EXTENDED.
_TOOLKIT_A3 = Source(
    "cluster-toolkit#5673", "https://github.com/GoogleCloudPlatform/cluster-toolkit/pull/5673", "2026-05-15"
)
BROKEN: Mapping[str, Broken] = {"a3-highgpu-8g": Broken("1.34.1-gke.1431000", _NOTES_A3, "1.33", _TOOLKIT_A3)}
