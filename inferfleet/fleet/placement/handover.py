"""Which new workloads fit only once leaving ones are deleted.

Pulumi creates before it deletes, and waits for what it creates: it would wait for such a workload for ever.
"""

from collections import Counter
from collections.abc import Collection

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import of_severity
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Leaving, Plan
from inferfleet.fleet.demands import RoleKey
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.packing import Gang, pack
from inferfleet.fleet.shapes import Pod, PoolKey, node
from inferfleet.fleet.spot import Spot


def waiting(documents: Documents, plan: Plan, leaving: Collection[Leaving], before: Lock) -> frozenset[Spot]:
    """Return the new or grown spots whose pods do not fit beside the leaving ones, in the order of names.

    There are none for a plan with errors, which is not carried out.
    """
    standing: dict[PoolKey, Counter[Pod]] = {}
    for workload in leaving:
        on_pool = standing.setdefault((workload.cluster, workload.pool), Counter())
        on_pool[workload.requests or Pod(workload.gpus_per_pod, 0, 0)] += workload.pods
    if not standing or of_severity(plan.problems, "error"):
        return frozenset()
    pools = {
        key: (empty_node, pool.size)
        for key in standing
        for pool in documents.clusters[key[0]].spec.node_pools
        if pool.name == key[1] and (empty_node := node(documents.classes[pool.class_name]))
    }
    workers: dict[PoolKey, Counter[RoleKey]] = {key: Counter() for key in pools}

    def add(spot: Spot, replicas: int) -> None:
        for role, name in spot.pools:
            if (key := (spot.cluster, name)) in workers:
                needs = plan.demands.of(spot.deployment, role, key)
                workers[key][spot.deployment, role] += replicas * needs.workers

    def holds(key: PoolKey) -> bool:
        pods = Counter(standing[key])
        gangs = []
        for (deployment, role), number in workers[key].items():
            needs = plan.demands.of(deployment, role, key)
            if number and needs.gang > 1:
                gangs.append(Gang(needs.pod, needs.follower or needs.pod, needs.gang, number))
            elif number:
                pods[needs.pod] += number
        return pack(*pools[key], pods, gangs).holds

    growing = []
    # By name: what takes the place of one of these is of another kind, and stands beside it until it leaves.
    replaced = {(workload.cluster, workload.namespace, workload.name) for workload in leaving}
    for placement in plan.placements:
        spot = placement.spot
        already = min(before.placements.get(spot, 0), placement.replicas)
        # The lock may be of an update that was killed: while another revision stands, nothing tells whether
        # this one does.
        if replaced & _workloads(spot) or other_revisions(spot, leaving):
            already = 0
        add(spot, already)
        if placement.replicas > already:
            growing.append((spot, placement.replicas - already))
    without_space = set()
    for spot, replicas_to_add in growing:
        add(spot, replicas_to_add)
        keys = {(spot.cluster, name) for _, name in spot.pools}
        if not all(holds(key) for key in keys & pools.keys()):
            add(spot, -replicas_to_add)
            without_space.add(spot)
    return frozenset(without_space)


def other_revisions(spot: Spot, leaving: Collection[Leaving]) -> bool:
    """Return whether workloads of another revision of the deployment leave the spot's cluster."""
    return any(
        (workload.deployment, workload.cluster) == (spot.deployment, spot.cluster)
        and workload.revision != spot.revision
        for workload in leaving
    )


def _workloads(spot: Spot) -> set[tuple[str, str, str]]:
    """Return the names that workloads of the spot have, whichever kind they are of."""
    return {
        (spot.cluster, spot.namespace, name(spot, role))
        for role, _ in spot.pools
        for name in (names.workload, names.worker_set)
    }
