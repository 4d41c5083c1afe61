"""Rules of maintenance and upgrades: what GKE would not do as a pool asks, and what it may end by itself."""

from collections.abc import Iterator

from inferfleet.cloud.gke.facts.sources import BLUEPRINTS, TOOLKIT, UPGRADE_STRATEGIES, Source
from inferfleet.cloud.gke.pool import GkeCluster, GkePool
from inferfleet.cloud.gke.recipes.findings import Finding, PoolRule
from inferfleet.documents.problems import Problem

# What Google's own blueprints write, with the start that they have.
_LINE = (
    'maintenancePolicy: {dailyMaintenanceWindow: {startTime: "09:00"}, maintenanceExclusions: [{name: '
    "no-minor-or-node-upgrades, scope: NO_MINOR_OR_NODE_UPGRADES, startTime: 2025-12-01T00:00:00Z, "
    "endTimeBehavior: UNTIL_END_OF_SUPPORT}]}"
)


def maintenance_problems(cluster: GkeCluster) -> Iterator[Problem]:
    """Yield a warning where GKE may upgrade nodes that Google's own blueprints keep from it.

    Any policy is an answer to it. None is written by itself: it keeps security fixes from all nodes of the
    cluster, which somebody has to decide.
    """
    if cluster.gke.maintenance_policy is not None:
        return
    kept = {pool.name: source for pool in cluster.pools if (source := _blueprint(pool))}
    if not kept:
        return
    names, source = ", ".join(kept), next(iter(kept.values()))
    pools = "pools" if len(kept) > 1 else "pool"
    what = (
        f"GKE may upgrade the nodes of {pools} {names} of cluster {cluster.name} at any time, which Google's "
        f"blueprint for such machines keeps it from ({source})"
    )
    step = f"Write {_LINE}; or one with a window alone, in which they may be upgraded"
    path = "spec.cluster.gke.maintenancePolicy"
    yield Problem(what, step, path, kind="InferenceCluster", key=cluster.name, severity="warning")


def _blueprint(pool: GkePool) -> Source | None:
    """Return the blueprint that keeps GKE from upgrading such nodes; that of A3 High has GPUDirect."""
    if pool.machine.family == "A3 High" and pool.fabric is None:
        return None
    return BLUEPRINTS.get(pool.machine.family)


def _upgrades(pool: GkePool) -> Iterator[Finding]:
    settings, path = pool.document.upgrade_settings, pool.path("upgradeSettings")
    if settings is None:
        return
    if pool.flex_start or pool.capacity_model == "Queued":
        what = f"has upgradeSettings, but nodes of model {pool.capacity_model} are upgraded by GKE's own "
        what += "strategy for them (short-lived)"
        yield Finding("rule", path, what, str(UPGRADE_STRATEGIES), "Remove upgradeSettings")
        return
    if settings.strategy == "BLUE_GREEN":
        yield from _blue_green(pool, path)
    more = pool.document.size if settings.strategy == "BLUE_GREEN" else settings.surge
    if pool.capacity_model == "Reservation" and more:
        nodes = f"{more} {'node' if more == 1 else 'nodes'}"
        what = f"needs room for {nodes} more in its reservation while it is upgraded by {settings.strategy}"
        next_step = "Make room for them, or remove upgradeSettings: then one node at a time is missing"
        yield Finding("doubt", path, what, str(UPGRADE_STRATEGIES), next_step)


def _blue_green(pool: GkePool, path: str) -> Iterator[Finding]:
    settings = pool.document.upgrade_settings
    if pool.recipe.compact_placement or pool.machine.max_nodes:
        what = "is upgraded by BLUE_GREEN, which Google does not do to nodes that stand close together"
        yield Finding("rule", f"{path}.strategy", what, TOOLKIT, "Write strategy: SURGE")
    steps = settings.blue_green_settings if settings else None
    if steps and steps.autoscaled_rollout_policy and pool.fixed_size is not None:
        what = "has autoscaledRolloutPolicy, and nodeCount keeps the autoscaler from it"
        next_step = "Write maxNodeCount, or standardRolloutPolicy"
        at = f"{path}.blueGreenSettings.autoscaledRolloutPolicy"
        yield Finding("rule", at, what, str(UPGRADE_STRATEGIES), next_step)


RULES: tuple[PoolRule, ...] = (_upgrades,)
