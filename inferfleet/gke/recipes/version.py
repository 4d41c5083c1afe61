"""Rules of versions: is the cluster's GKE version new enough for what a pool uses."""

from collections.abc import Iterator

from inferfleet.gke.facts.sources import DRA, DWS, TOOLKIT
from inferfleet.gke.pool import GkePool
from inferfleet.gke.recipes.findings import Finding, PoolRule

Version = tuple[int, ...]


def parsed(text: str) -> Version:
    """Return the numbers of a version: (1, 34, 1, 1829001) for `1.34.1-gke.1829001`, (1, 34) for `1.34`."""
    return tuple(int(part) for part in text.replace("-gke", "").split("."))


def below(written: str, needed: str) -> bool:
    """Return True when no version that `written` may mean is as new as `needed`; 1.34 may mean any 1.34.x."""
    mine, wanted = parsed(written), parsed(needed)
    return mine < wanted[: len(mine)]


FLEX_START_SINCE = "1.32.2-gke.1652000"
DRA_SINCE = "1.34"
# Channels that bring versions late, or keep old ones.
_LATE = ("STABLE", "EXTENDED")
# EXTENDED keeps a version for 24 months, which left none before 1.30 when the table was verified:
# https://cloud.google.com/kubernetes-engine/docs/concepts/release-channels
_OLDEST = "1.30"


def _version(pool: GkePool) -> Iterator[Finding]:
    written, channel = pool.gke.min_version, pool.gke.release_channel
    for needed, reason, source in _needs(pool):
        if written is not None and below(written, needed):
            path, next_step = "spec.cluster.gke.minVersion", f"Write minVersion: {needed}, or newer"
            what = f"needs GKE {needed} for {reason}; minVersion is {written}"
            yield Finding("fact", path, what, source, next_step)
        elif written is None and channel in _LATE and parsed(needed) > parsed(_OLDEST):
            path, next_step = "spec.cluster.gke.releaseChannel", f"Write minVersion: {needed}"
            what = f"needs GKE {needed} for {reason}; channel {channel} may have an older one"
            yield Finding("doubt", path, what, source, next_step)


def _needs(pool: GkePool) -> Iterator[tuple[str, str, str]]:
    machine, fabric = pool.machine, pool.fabric
    if machine.min_version:
        yield machine.min_version, machine.type, TOOLKIT
    if fabric and fabric.min_version:
        yield fabric.min_version, f"GPUDirect {fabric.kind}", TOOLKIT
    if pool.capacity_model == "FlexStart":
        yield FLEX_START_SINCE, "FlexStart", DWS
    if pool.gke_class.document.spec.allocation == "DRA":
        yield DRA_SINCE, "DRA", DRA


RULES: tuple[PoolRule, ...] = (_version,)
