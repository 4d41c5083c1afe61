"""Rules of versions: is the cluster's GKE version one in which what a pool uses works."""

from collections.abc import Iterator

from inferfleet.gke.facts.floors import (
    AUTOSCALED_UPGRADES,
    BROKEN,
    CAPACITY,
    DRA,
    FABRICS,
    FAMILIES,
    IMAGE_CACHE,
    NETWORK_PROFILE,
    PARTS,
    Floor,
    below,
    minor,
    parsed,
)
from inferfleet.gke.pool import GkePool
from inferfleet.gke.recipes.findings import Finding, PoolRule

# Channels that bring versions late, or keep old ones.
LATE = ("STABLE", "EXTENDED")
# `minVersion` is what a cluster begins with; its channel upgrades it later.
MAYBE_UPGRADED = "; the cluster exists, and may have been upgraded since"
# EXTENDED keeps a version for 24 months, which left none before 1.30 when the table was verified:
# https://cloud.google.com/kubernetes-engine/docs/concepts/release-channels
_OLDEST = "1.30"


def begin_with(needed: str) -> str:
    """Return the step to a version that has what `needed` has: its minor version, by the newest patch."""
    return f'Write minVersion: "{minor(needed)}" for its newest patch, or a newer minor version'


def _version(pool: GkePool) -> Iterator[Finding]:
    written, channel = pool.gke.min_version, pool.gke.release_channel
    told: set[str] = set()
    for floor, reason in _needs(pool):
        source = str(floor.source)
        if reason in told:
            continue  # A stricter source of the same need says nothing more.
        if written is not None and (needed := floor.needed(written)):
            path, next_step = "spec.cluster.gke.minVersion", begin_with(needed)
            what = f"needs GKE {needed} for {reason}; minVersion is {written}"
            if not floor.sure:
                what += ", and sources disagree"
            yield Finding("floor" if floor.sure else "doubt", path, what, source, next_step)
            told.add(reason)
        elif written is None and channel in LATE and parsed(floor.always) > parsed(_OLDEST):
            path, next_step = "spec.cluster.gke.releaseChannel", begin_with(floor.always)
            what = f"needs GKE {floor.always} for {reason}; channel {channel} may have an older one"
            yield Finding("doubt", path, what, source, next_step)
            told.add(reason)


def _needs(pool: GkePool) -> Iterator[tuple[Floor, str]]:
    machine, fabric = pool.machine, pool.fabric
    for floor in (*FAMILIES.get(machine.family, ()), *PARTS.get(machine.type, ())):
        yield floor, machine.type
    if fabric and (of_fabric := FABRICS.get((machine.family, fabric.kind))):
        yield of_fabric, f"GPUDirect {fabric.kind}"
    if pool.gke_class.auto_network:
        yield NETWORK_PROFILE, "acceleratorNetworkProfile"
    for floor in CAPACITY.get(pool.capacity_model, ()):
        yield floor, pool.capacity_model
    if pool.gke_class.document.spec.allocation == "DRA":
        yield DRA, "DRA"
    if pool.recipe.secondary_boot_disks:
        yield IMAGE_CACHE, "secondaryBootDisks"
    upgrades = pool.document.upgrade_settings
    if upgrades and upgrades.blue_green_settings and upgrades.blue_green_settings.autoscaled_rollout_policy:
        yield AUTOSCALED_UPGRADES, "autoscaledRolloutPolicy"


def _broken(pool: GkePool) -> Iterator[Finding]:
    """Yield a doubt where the version is, or may become, one that Google asks not to use with the machine.

    A cluster stays on an older one by an exclusion of minor upgrades until the end of support.
    """
    machine, written = pool.machine.type, pool.gke.min_version
    broken = BROKEN.get(machine)
    if broken is None:
        return
    what = f"has {machine}, which Google asks not to use with GKE {broken.since} or later; "
    if written is None:
        field, whose = "releaseChannel", f"channel {pool.gke.release_channel} may have such a one"
    elif not below(written, broken.since):
        field, whose = "minVersion", f"minVersion is {written}"
    elif _stays(pool):
        return
    else:
        field, whose = "releaseChannel", f"channel {pool.gke.release_channel} may upgrade to such a one"
    next_step = (
        f'Write minVersion: "{broken.works}" with releaseChannel: EXTENDED, the last that has it, and in '
        "maintenancePolicy an exclusion of scope NO_MINOR_OR_NODE_UPGRADES with endTimeBehavior: "
        "UNTIL_END_OF_SUPPORT, and install the CRD of InferencePools by hand; or try a newer one with one "
        "node, and say in `verified` of the class where it worked"
    )
    source = f"{broken.source}; {broken.pinned}"
    yield Finding("doubt", f"spec.cluster.gke.{field}", f"{what}{whose}", source, next_step)


def _stays(pool: GkePool) -> bool:
    policy = pool.gke.maintenance_policy
    return policy is not None and any(
        exclusion.scope in ("NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES") and exclusion.end_time is None
        for exclusion in policy.maintenance_exclusions
    )


RULES: tuple[PoolRule, ...] = (_version, _broken)
