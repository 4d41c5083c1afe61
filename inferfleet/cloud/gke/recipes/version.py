"""Rules of versions: is the cluster's GKE version one in which what a pool uses works."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.floors import (
    AUTOSCALED_UPGRADES,
    BROKEN,
    CAPACITY,
    DRA,
    FABRICS,
    FAMILIES,
    IMAGE_CACHE,
    NETWORK_PROFILE,
    Floor,
    below,
    minor,
)
from inferfleet.cloud.gke.pool import GkePool
from inferfleet.cloud.gke.recipes.findings import Finding, PoolRule

# `minVersion` is what a cluster begins with; its channel upgrades it later.
MAYBE_UPGRADED = "; the cluster exists, and may have been upgraded since"


def begin_with(needed: str) -> str:
    """Return the step to a version that has what `needed` has: its minor version, by the newest patch."""
    return f'Write minVersion: "{minor(needed)}" for its newest patch, or a newer minor version'


def _version(pool: GkePool) -> Iterator[Finding]:
    written = pool.gke.min_version
    if written is None:
        return
    for floor, reason in _needs(pool):
        if needed := floor.needed(written):
            path, next_step = "spec.cluster.gke.minVersion", begin_with(needed)
            what = f"needs GKE {needed} for {reason}; minVersion is {written}"
            yield Finding("floor", path, what, str(floor.source), next_step)


def _needs(pool: GkePool) -> Iterator[tuple[Floor, str]]:
    machine, fabric = pool.machine, pool.fabric
    if of_family := FAMILIES.get(machine.family):
        yield of_family, machine.type
    if fabric and (of_fabric := FABRICS.get((machine.family, fabric.kind))):
        yield of_fabric, f"GPUDirect {fabric.kind}"
    if pool.gke_class.auto_network:
        yield NETWORK_PROFILE, "acceleratorNetworkProfile"
    if of_model := CAPACITY.get(pool.capacity_model):
        yield of_model, pool.capacity_model
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
