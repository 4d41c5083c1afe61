"""What replicas on a queued pool lose in silence.

Nodes are asked for once for each workload, by a request that is never changed
(`cloud/gke/capacity_requests.py`). All of it may be what somebody wants, so all are warnings.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from inferfleet.cloud.gke.capacity_requests import asks, names_a_request
from inferfleet.desired.pods import Pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import path_of_role
from inferfleet.fleet.scheduling import scheduling_of
from inferfleet.fleet.shapes import PoolKey, fit, node
from inferfleet.fleet.spot import Spot


def queued_problems(
    documents: Documents, planned: Plan, made: Mapping[Spot, tuple[Pods, ...]], lock: Lock
) -> Iterator[Problem]:
    """Yield warnings of replicas that end before others have nodes, and of those that never get any."""
    needed: Counter[PoolKey] = Counter()
    for placement in planned.placements:
        spot = placement.spot
        deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
        named = {of.role for of in made[spot] if names_a_request(of.outcome.template)}
        for role, name in spot.pools:
            pool = cluster.spec.pool(name)
            if role in named or not asks(pool, scheduling_of(deployment, cluster)):
                continue
            needed[spot.cluster, name] += _nodes(documents, planned, placement, role)
            for what, next_step in _lost(planned, placement, lock):
                yield Problem(
                    f"pods of deployment {spot.deployment}, role {role}, on queued pool {name!r} of cluster "
                    f"{spot.cluster!r} {what}",
                    next_step,
                    f"{path_of_role(role)}.workers",
                    kind="ModelDeployment",
                    key=spot.deployment,
                    severity="warning",
                )
    for (cluster_name, name), nodes in sorted(needed.items()):
        pools = documents.clusters[cluster_name].spec.node_pools
        at, pool = next((at, pool) for at, pool in enumerate(pools) if pool.name == name)
        if nodes > pool.size:
            yield cluster_problem(
                cluster_name,
                f"requests for nodes of queued pool {name!r} of cluster {cluster_name!r} are for {nodes}, "
                f"because each has nodes of its own, and the pool has at most {pool.size}",
                f"Write maxNodeCount: {nodes}, or give each deployment a queued pool of its own",
                f"spec.nodePools[{at}].maxNodeCount",
                severity="warning",
            )


def _lost(planned: Plan, placement: Placement, lock: Lock) -> Iterator[tuple[str, str]]:
    """Yield what a placement whose nodes are asked for loses, and the next step."""
    spot, before = placement.spot, lock.placements.get(placement.spot, 0)
    if 0 < before < placement.replicas:
        yield (
            f"have nodes for {before} replicas, and the request for them cannot be changed: "
            f"{placement.replicas - before} more find none",
            "Add a queued pool for them; or, with a gap, write replicas: 0, run `pulumi up`, and write the "
            "new number",
        )
    staying = {other.spot for other in planned.placements}
    left = [
        other.place
        for other in sorted(lock.placements)
        if other.deployment == spot.deployment and other not in staying
    ]
    if left and not before:
        yield (
            f"take the place of those on {listing(left)}, which end with this update, before the new ones "
            "have nodes",
            "Write a deployment of another name for the queued pool, let services select both, and remove "
            "this one once the other serves",
        )


def _nodes(documents: Documents, planned: Plan, placement: Placement, role: str) -> int:
    """Return how many nodes the request of a role is for, 0 where the plan has a problem with them."""
    key = placement.spot.cluster, placement.spot.pool(role)
    empty = node(documents.classes[documents.clusters[key[0]].spec.pool(key[1]).class_name])
    needs = planned.demands.of(placement.spot.deployment, role, key)
    on_each = min(fit(empty, pod) for pod in (needs.pod, needs.follower or needs.pod)) if empty else 0
    workers = placement.replicas * needs.workers
    if not on_each or not workers:
        return 0
    # No two pods of one worker share a node.
    return max(needs.gang, -(-workers * needs.gang // on_each))
