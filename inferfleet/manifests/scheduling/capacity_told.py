"""What a request for nodes of a queued pool does not do: told of each deployment that has one.

Sources and reasons are in `capacity_requests.py`. All of it is a warning: it may be what somebody wants.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.api.wording import listing
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import path_of_role
from inferfleet.fleet.scheduling import scheduling_of
from inferfleet.fleet.shapes import PoolKey, fit, node
from inferfleet.fleet.spot import Spot
from inferfleet.gke.facts.sources import PROVISIONING_REQUEST
from inferfleet.manifests.scheduling.capacity_requests import asks, names_a_request

_LONGEST = 7 * 24 * 3600


def capacity_problems(
    documents: Documents, plan: Plan, pods: Mapping[Spot, Collection[Any]], lock: Lock
) -> Iterator[Problem]:
    """Yield what is to be known of placements whose nodes are asked for once.

    `pods` are those of each spot. `lock` says how many replicas a spot has already.
    """
    planned = {placement.spot for placement in plan.placements}
    needed: Counter[PoolKey] = Counter()
    for placement in plan.placements:
        spot = placement.spot
        deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
        if cluster.spec.cluster.source != "GKE":
            continue
        named = {of.role for of in pods[spot] if names_a_request(of.outcome.template)}
        left = [
            other.place
            for other in sorted(lock.placements)
            if other.deployment == spot.deployment and other not in planned and spot not in lock.placements
        ]
        for role, name in spot.pools:
            pool = cluster.spec.pool(name)
            if role in named or not asks(pool, scheduling_of(deployment, cluster)):
                continue
            needed[spot.cluster, name] += _nodes(documents, plan, placement, role)
            before = lock.placements.get(spot, 0)
            for what, next_step in _said(placement, pool, deployment.spec.rollout == "Surge", before, left):
                yield Problem(
                    f"pods of deployment {spot.deployment}, role {role}, on queued pool {name!r} of cluster "
                    f"{spot.cluster!r} {what} ({PROVISIONING_REQUEST})",
                    next_step,
                    f"{path_of_role(role)}.workers",
                    kind="ModelDeployment",
                    key=spot.deployment,
                    severity="warning",
                )

    yield from _crowded(documents, needed)


def _nodes(documents: Documents, plan: Plan, placement: Placement, role: str) -> int:
    """Return how many nodes the request of a role is for, 0 where the plan has a problem with them."""
    spot = placement.spot
    key = spot.cluster, spot.pool(role)
    pool = documents.clusters[spot.cluster].spec.pool(spot.pool(role))
    empty, needs = node(documents.classes[pool.class_name]), plan.demands.of(spot.deployment, role, key)
    on_each = min(fit(empty, pod) for pod in (needs.pod, needs.follower or needs.pod)) if empty else 0
    workers = placement.replicas * needs.workers
    if not on_each or not workers:
        return 0
    # No two pods of one worker share a node.
    return max(needs.gang, -(-workers * needs.gang // on_each))


def _crowded(documents: Documents, needed: Mapping[PoolKey, int]) -> Iterator[Problem]:
    """Yield pools with fewer nodes than their requests are for, though their pods would fit together."""
    for (cluster, name), nodes in sorted(needed.items()):
        pools = documents.clusters[cluster].spec.node_pools
        place, pool = next((place, pool) for place, pool in enumerate(pools) if pool.name == name)
        if nodes > pool.size:
            yield cluster_problem(
                cluster,
                f"requests for nodes of queued pool {name!r} of cluster {cluster!r} are for {nodes}, because "
                f"each has nodes of its own, and the pool has at most {pool.size} ({PROVISIONING_REQUEST})",
                f"Write maxNodeCount: {nodes}, or give each deployment a queued pool of its own",
                f"spec.nodePools[{place}].maxNodeCount",
                severity="warning",
            )


def _said(
    placement: Placement, pool: NodePool, surge: bool, before: int, left: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield what is to be known of the pods of a role, and the next step.

    They had room for `before` replicas, and replicas of the same deployment leave the places `left`.
    """
    days = (pool.capacity.max_run_duration or _LONGEST) / 86400
    yield (
        "ask for their nodes once: all come together, after minutes or days, and end "
        f"{days:.3g} days later. No update waits for them, and a pod that starts once they have ended, or "
        "in the place of one whose node failed, finds none",
        "For what has to serve longer use model FlexStart, or Kueue (serving.scheduler), which asks anew for "
        "each pod; to ask once more write replicas: 0, run `pulumi up`, and write them back",
    )
    if 0 < before < placement.replicas:
        yield (
            f"have nodes for {before} replicas, and the request for them cannot be changed: "
            f"{placement.replicas - before} more find none",
            "Add a queued pool for them; or, with a gap, write replicas: 0, run `pulumi up`, and write the "
            "new number",
        )
    if left:
        yield (
            f"take the place of those on {listing(left)}, which end with this update, before the new ones "
            "have nodes",
            "Write a deployment of another name for the queued pool, let services select both, and remove "
            "this one once the other serves",
        )
    if surge:
        yield (
            "have nodes for themselves alone, so with rollout: Surge a pod that is to stand beside another "
            "may wait for ever",
            "Write rollout: DeleteFirst",
        )
    if placement.least is not None:
        yield (
            "are scaled: nodes that a scaler leaves are gone, and what it adds later finds none",
            "Write a number of replicas in place of the range",
        )
