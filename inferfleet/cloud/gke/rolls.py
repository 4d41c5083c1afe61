"""How long GKE may take to replace the nodes of a pool: the steps of its upgrade strategy, one after another.

In each step a node leaves and another comes, the pods on it end, and their successors load their models, for
`disruptionBudget: One` lets no other pod be evicted before. Everything counts as long as it may take: this is
a limit and no estimate. Updates wait so long, and reviewers read how long capacity may be missing.
"""

from collections.abc import Mapping
from math import ceil

from inferfleet.cloud.gke.described import DescribedPool, flex_start
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import BlueGreenSettings, StandardRolloutPolicy, UpgradeSettings
from inferfleet.fleet.roles import engine_of, roles_of, startup_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.engines.drain import ending

# A machine with accelerators starts, joins the cluster and gets its driver.
_NODE_SECONDS = 900
# GKE waits an hour for a pod that ends slowly or that may not be evicted, and goes on:
# https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies
_LONGEST_WAIT_SECONDS = 3600
# What the provider waits for a pool by itself: resource_container_node_pool.go of
# terraform-provider-google-beta at 93c65b2d60, 2026-08-21.
_PROVIDER_SECONDS = 7200

# Seconds that the slowest pod of a pool takes to end and its successor to load its model, by (cluster, pool).
PodSeconds = Mapping[tuple[str, str], int]


def pod_seconds(documents: Documents, placements: Mapping[Spot, int]) -> PodSeconds:
    """Return how long the slowest pod on each pool takes to leave it and to serve elsewhere."""
    seconds: dict[tuple[str, str], int] = {}
    for spot in placements:
        deployment = documents.deployments.get(spot.deployment)
        if deployment is None:
            continue
        for role in roles_of(deployment):
            pool = dict(spot.pools).get(role)
            if pool is None:
                continue
            engine = engine_of(deployment, role)
            ends = ending(engine, workers_of(deployment, role).entry_template.spec).grace
            waits = min(ends + startup_of(engine), _LONGEST_WAIT_SECONDS)
            key = (spot.cluster, pool)
            seconds[key] = max(waits, seconds.get(key, 0))
    return seconds


def roll_seconds(pool: DescribedPool, pods: PodSeconds) -> int | None:
    """Return how long GKE may take to replace all nodes of a pool, by the pods on it.

    None for nodes of the Dynamic Workload Scheduler, which GKE replaces in its own way.
    """
    if flex_start(pool.document):
        return None
    nodes, settings = pool.document.size, pool.document.upgrade_settings or UpgradeSettings()
    waits = pods.get((pool.cluster, pool.name), 0)
    if settings.strategy == "SURGE":
        return ceil(nodes / (settings.surge + settings.unavailable)) * (_NODE_SECONDS + waits)
    steps = settings.blue_green_settings or BlueGreenSettings()
    if steps.autoscaled_rollout_policy:
        emptied = steps.autoscaled_rollout_policy.wait_for_drain_duration
    else:
        policy = steps.standard_rollout_policy or StandardRolloutPolicy()
        share = policy.batch_percentage
        batches = ceil(1 / share) if share else ceil(nodes / (policy.batch_node_count or 1))
        emptied = batches * (waits + policy.batch_soak_duration)
    return _NODE_SECONDS + emptied + steps.node_pool_soak_duration


def timeout(pool: DescribedPool, pods: PodSeconds) -> int | None:
    """Return how many seconds an update waits for a pool, None for what the provider waits by itself."""
    longest = roll_seconds(pool, pods) or 0
    return longest if longest > _PROVIDER_SECONDS else None


def in_words(seconds: int) -> str:
    """Return a duration in words: `45 min`, `16 h`, `5 days`."""
    if seconds < 2 * 3600:
        return f"{ceil(seconds / 60)} min"
    return f"{ceil(seconds / 3600)} h" if seconds < 72 * 3600 else f"{ceil(seconds / 86_400)} days"
