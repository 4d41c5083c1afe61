"""The plan: which replicas run where. Documents and lock go in; placements, routes and a new lock come out.

Identity. A deployment is `namespace/name`, a pool is a cluster and a name. A *spot* is a deployment, a
cluster and one pool per role; a *placement* is a spot and a number of replicas. Replicas have no identity
of their own: those on one spot are alike, so the plan counts them, and "the third replica" does not exist.
What the lock holds of a deployment is therefore a map from spots to numbers, and a change of the plan is a
spot whose number differs: that is what a preview shows and what a workload's name and replica count are
made of.

Phases, in order:

1. *Check* each deployment by itself (`placement/soundness.py`): does its selector compile and match
   anything, can some node hold its pod? One that fails keeps its replicas where they are, and may shrink,
   never grow.
2. *Retain* what the lock has (`placement/placing.py`). Replicas of removed deployments and on abandoned
   clusters are dropped. Those on lost clusters are fixed: they count and are never touched. Those whose
   cluster, pool or role no longer exists are errors and stay in the lock alone. All others are taken over
   as they are, whether they still fit or not.
3. *Place*: remove surplus replicas, then move replicas away from where they must not be, relieve pools that
   are too small, and add missing replicas; the last three repeat until none of them finds room. Deployments
   with the most GPUs per pod choose first. A replica goes to the cluster that has the fewest of its
   deployment, there to the pool with the fewest GPUs per node, then where it breaks into the fewest empty
   nodes, then by name.
4. *Route*: endpoints follow from placements, service routes and their weights from endpoints.

A retained replica never moves to make room for a new one, nor because a better pool appeared: a move cuts
off requests and loads the model again. Planning again with the new lock changes nothing.

Deliberately coarse. The room of a pool is that of its largest size, not of the nodes that exist now: an
autoscaler adds nodes for pending pods, and a plan must not depend on when it is made. Pods are packed onto
alike empty nodes, each with what its class offers to pods: GPUs, cores, memory, number of pods. Which node,
zone or switch a pod really gets is left to the scheduler of the cluster, and which replica of a spot ends
when their number shrinks to the Deployment controller. No cluster is asked: the lock is the only memory, so
the same documents and lock give the same plan in a pull request, on a laptop and in an update.

Cost. Whether a pool suits a deployment is worked out once per deployment and pool, a selector once per
class. A pool's packing groups alike nodes and alike pods, so its cost grows with the kinds of pods on it
and not with nodes or replicas, and it is kept until something is placed there. Each replica that is placed
or moved compares all pools once.
"""

from inferfleet.api.documents import Documents
from inferfleet.api.problems import in_reading_order
from inferfleet.fleet.decisions import Change, Placement, Plan, Reason, Unplaced
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Retained, place, retain
from inferfleet.fleet.placement.reasons import placement_problems, reasons
from inferfleet.fleet.placement.soundness import Checked, check
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.selectors.cel import Selectors
from inferfleet.fleet.shapes import node
from inferfleet.fleet.traffic import endpoints, route_problems, routes


def plan(documents: Documents, lock: Lock) -> Plan:
    """Return what runs where, what has no place and why, and every problem with it.

    Replicas of the lock whose cluster or pool has no document any more are an error and are in the new lock
    only, so that nothing forgets them. The plan is pure: it reads no file and asks no cluster.
    """
    selectors = Selectors()
    checked = check(documents, selectors)
    retained = retain(documents, lock)
    suitability = Suitability(documents, selectors, checked.demands)
    ledger = _place(documents, checked, retained, suitability)
    replicas = dict(retained.fixed)
    for deployment in documents.deployments:
        replicas.update(ledger.replicas(deployment))
    placements = tuple(Placement(spot, number) for spot, number in sorted(replicas.items()))
    reachable = endpoints(documents, placements)
    services = routes(documents, reachable, lock)
    new = Lock(
        stack=documents.settings.stack,
        clusters=_clusters(documents, lock),
        pools=lock.pools,
        placements=dict(sorted({**replicas, **retained.orphaned}.items())),
        services={
            service: tuple(route.cluster for route in services if route.service == service)
            for service in sorted({route.service for route in services})
        },
    )
    why = _reasons(documents, checked, ledger=ledger, suitability=suitability)
    return Plan(
        placements=placements,
        endpoints=reachable,
        services=services,
        unplaced=_unplaced(documents, checked, retained=retained, ledger=ledger, why=why),
        changes=changes(lock, new),
        reasons={
            deployment: tuple(reason for reason in because if not _runs_there(ledger, deployment, reason))
            for deployment, because in why.items()
        },
        problems=in_reading_order(
            [
                *checked.problems,
                *retained.problems,
                *placement_problems(documents, ledger, suitability=suitability, checked=checked),
                *route_problems(documents, reachable, services, lock),
            ]
        ),
        lock=new,
    )


def changes(old: Lock, new: Lock) -> tuple[Change, ...]:
    """Return the spots whose number of replicas differs between two locks."""
    return tuple(
        Change(spot, old.placements.get(spot, 0), new.placements.get(spot, 0))
        for spot in sorted({*old.placements, *new.placements})
        if old.placements.get(spot) != new.placements.get(spot)
    )


def _place(documents: Documents, checked: Checked, retained: Retained, suitability: Suitability) -> Ledger:
    pools = {
        (name, pool.name): (empty_node, pool.size)
        for name, cluster in documents.clusters.items()
        if cluster.spec.state not in ("lost", "abandoned")
        for pool in cluster.spec.node_pools
        if (empty_node := node(documents.classes[pool.class_name]))
    }
    ledger = Ledger(pools, checked.demands)
    for spot, replicas in retained.movable.items():
        ledger.add(spot, replicas)
    valid = [deployment for deployment in documents.deployments if deployment not in checked.invalid]
    valid.sort(key=lambda deployment: (-checked.demands[deployment].pod.gpus, deployment))
    targets = {deployment: _target(documents, deployment, retained) for deployment in documents.deployments}
    place(ledger, suitability, targets=targets, valid=valid)
    return ledger


def _target(documents: Documents, deployment: str, retained: Retained) -> int:
    """Return the number of replicas for clusters that can be changed: all but the fixed and orphaned ones."""
    elsewhere = sum(
        replicas
        for placements in (retained.fixed, retained.orphaned)
        for spot, replicas in placements.items()
        if spot.deployment == deployment
    )
    return max(0, documents.deployments[deployment].spec.replicas - elsewhere)


def _clusters(documents: Documents, lock: Lock) -> dict[str, LockedCluster]:
    """Return the clusters of the new lock.

    What the lock knows of a cluster is dropped when it is abandoned, or when its source changed: what has the
    name then is a new cluster.
    """
    clusters = {}
    for name, cluster in sorted(documents.clusters.items()):
        if cluster.spec.state != "abandoned":
            source = cluster.spec.cluster.source
            before = lock.clusters.get(name)
            clusters[name] = before if before and before.source == source else LockedCluster(source)
    return clusters


def _reasons(
    documents: Documents, checked: Checked, *, ledger: Ledger, suitability: Suitability
) -> dict[str, tuple[Reason, ...]]:
    return {
        deployment: reasons(
            suitability.spots(deployment),
            ledger,
            suitability=suitability,
            demand=checked.demands[deployment],
        )
        for deployment in sorted(documents.deployments)
        if deployment not in checked.invalid
    }


def _unplaced(
    documents: Documents,
    checked: Checked,
    *,
    retained: Retained,
    ledger: Ledger,
    why: dict[str, tuple[Reason, ...]],
) -> tuple[Unplaced, ...]:
    return tuple(
        Unplaced(deployment, missing, why[deployment])
        for deployment in sorted(documents.deployments)
        if deployment not in checked.invalid
        if (missing := _target(documents, deployment, retained) - ledger.total(deployment)) > 0
    )


def _runs_there(ledger: Ledger, deployment: str, reason: Reason) -> bool:
    return any(
        spot.cluster == reason.cluster and reason.pool in [pool for _, pool in spot.pools]
        for spot in ledger.replicas(deployment)
    )
