"""The plan: which replicas run where. Documents and lock go in; placements, routes and a new lock come out.

Identity. A deployment is `namespace/name`, a pool is a cluster and a name. A *spot* is a deployment, a
cluster and one pool per role; a *placement* is a spot and a number of replicas. Replicas have no identity
of their own: those on one spot are alike, so the plan counts them, and "the third replica" does not exist.
What the lock holds of a deployment is therefore a map from spots to numbers, and a change of the plan is a
spot whose number differs: that is what a preview shows and what a workload's name and replica count are
made of.

Phases, in order:

1. *Check* each deployment by itself (`placement/soundness.py`): do its selectors compile and match anything,
   can some node hold its pods? One that fails keeps its replicas where they are, and may shrink, never grow.
2. *Retain* what the lock has (`placement/retention.py`). Replicas of removed deployments and on abandoned
   clusters are dropped. Those on paused and lost clusters are fixed: they count and are never touched. Those
   whose cluster or pool no longer exists are errors and stay in the lock alone. All others are taken over as
   they are, whether they still fit or not; those of deployments that are paused take space and do nothing.
3. *Place* (`placement/placing.py`): remove surplus replicas, then move replicas away from where they must
   not be, relieve pools that have fewer nodes than they had, and add missing replicas; the last three repeat
   until none of them finds space. A pool that is too small for another reason is left only by replicas that
   somebody names. The shapes with the most GPUs per pod, and those that few nodes suit, choose first. A
   replica goes to a cluster that has the fewest of its deployment, there to the nodes with the lowest
   price per GPU, then to the pool with a node that it fills best, then by name
   (`placement/candidates.py`). Where there is not enough for all, those of abandoned clusters are served
   before those that never ran, the highest priority first, then those with few GPUs choose first, and
   deployments of one size take turns. Replicas that are new then make way for others by moving to other
   pools, and move to where all of them cost less and none is spread worse (`placement/exchange.py`).
4. *Route* (`traffic.py`): endpoints follow from placements, service routes and their weights from endpoints.

A replica is all its roles on one cluster, each on one pool. It fits as a whole or not at all, and so does
each worker, whose pods stand on nodes of their own.

A retained replica never moves to make way for a new one, nor because a better pool appeared: a move cuts
off requests and loads the model again. Planning again with the new lock changes nothing, and taking replicas
away moves no others: a pool that held its pods holds fewer of them (`placement/packing.py` says no only where
it is sure).

What templates ask of the labels of nodes (node selector, required affinity) is a condition on pools, judged
before a place is chosen: by documents, by what the cloud gives to nodes that the stack creates, else by what
capacity.lock has (`placement/pool_labels.py`). Replicas leave a pool that does not meet it. Where it is not
known whether a pool does, new ones come only if no pool is known to, with a warning.

Deliberately coarse. The space of a pool is that of its largest size, not of the nodes that exist now: an
autoscaler adds nodes for pending pods, and a plan must not depend on when it is made. Pods are packed onto
alike empty nodes, each with what its class offers to pods: GPUs, cores, memory, huge pages, number of pods.
What a pod asks for may differ from pool to pool, because plugins edit it: the plan is told (`Demands`). Which
node, zone or switch a pod really gets is left to the scheduler of the cluster, and which replica of a spot
ends when their number shrinks to its controller. No cluster is asked: the lock is the only memory, so the
same documents and lock give the same plan in a pull request, on a laptop and in an update.

Cost. Whether a pool suits a role is worked out once per class, whether a cluster does once per selector.
Pools are found by an index over class and free GPUs, and packed by counting alike nodes and alike pods.
Reasons are put in words when they are asked for. A thousand deployments on a thousand clusters take one to
two seconds; the moves that save cost are bounded in number (`bench/planner.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ReplicaRange
from inferfleet.documents.problems import Problem, in_reading_order
from inferfleet.documents.work import spend
from inferfleet.fleet.advice.fixes import Fixes
from inferfleet.fleet.advice.warnings import (
    node_label_problems,
    placement_problems,
    uncounted_request_problems,
    undescribed_resource_problems,
    unmet_wish_problems,
)
from inferfleet.fleet.decisions import Change, Placement, Plan, Roll, ServiceRoute, Unplaced, changes, shared
from inferfleet.fleet.demands import Demands, declared_demands
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Task
from inferfleet.fleet.placement.pool_labels import PoolLabels
from inferfleet.fleet.placement.prices import foreign_price_problems, missing_price_problems
from inferfleet.fleet.placement.reasons import Reasoning, ReasonList, ReasonsByDeployment, RunnersUp
from inferfleet.fleet.placement.retention import LockedReplicas, retain
from inferfleet.fleet.placement.soundness import check
from inferfleet.fleet.placement.space import shortage_problems
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.traffic import (
    EndpointIndex,
    endpoints,
    everywhere,
    path_problems,
    route_problems,
    routes,
)

# Units of work that a plan takes for each deployment and cluster, besides the pools that it tries.
_STEPS = 20


def plan(documents: Documents, lock: Lock, demands: Demands | None = None) -> Plan:
    """Return what runs where, what has no place and why, and every problem with it.

    `demands` are what replicas need; without them, it is what the templates in the documents ask for.

    Replicas of the lock whose cluster or pool has no document any more are an error and are in the new lock
    only, so that nothing forgets them. The plan is pure: it reads no file and asks no cluster.
    """
    spend(_STEPS * (1 + len(documents.deployments) + len(documents.clusters)), "planning")
    demands = demands or declared_demands(documents)
    selectors = Selectors()
    pool_labels = PoolLabels(documents, demands, lock.seen)
    # What is lost makes no document wrong.
    soundness = check(_with_gone(documents, lock), selectors, demands, pool_labels)
    retained = retain(documents, lock)
    task = Task(
        documents,
        demands,
        Suitability(documents, selectors, demands, pool_labels),
        retained.fixed,
        lock.seen,
        _targets(documents, retained),
        [
            deployment
            for deployment, document in documents.deployments.items()
            if deployment not in soundness.invalid and not document.spec.paused
        ],
        shrunk=_shrunk(documents, lock),
        yielding=lock.yielding,
    )
    ledger = task.ledger(retained.movable)
    candidates = task.candidates(ledger)
    placing = task.placing(ledger, candidates, ran=retained.ran)
    placing.place()
    replicas = {**retained.fixed, **task.placed(ledger)}
    placements = tuple(Placement(spot, number) for spot, number in sorted(replicas.items()))
    reachable = endpoints(documents, placements)
    index = EndpointIndex(documents, reachable)
    services = routes(documents, index, lock)
    new = _next_lock(documents, lock, {**replicas, **retained.orphaned}, services)
    changed = changes(lock, new)
    paused = tuple(sorted(key for key, document in documents.deployments.items() if document.spec.paused))
    reasoning = Reasoning(documents, ledger, task.suitability, candidates)
    problems = [
        *soundness.problems,
        *retained.problems,
        *placement_problems(task, ledger, checked=soundness, why=reasoning),
        *unmet_wish_problems(documents, candidates, task.valid),
        *(ledger.quotas.problems(placement.spot for placement in placements) if ledger.quotas else ()),
        *route_problems(documents, index, services, lock),
        *path_problems(documents, reachable, services),
        *missing_price_problems(documents),
        *foreign_price_problems(documents),
        *shortage_problems(documents, lock.seen),
        *uncounted_request_problems(documents),
        *undescribed_resource_problems(documents, demands, placements),
        *node_label_problems(task, ledger),
        *_exchange_problems(placing.exchange_ended),
    ]
    return Plan(
        placements=tuple(shared(placements, _least(documents))),
        endpoints=reachable,
        services=services,
        unplaced=tuple(_unplaced(task, ledger, retained, reasoning)),
        changes=changed,
        rolls=tuple(rolls(documents, changed, ledger)),
        departure_reasons=_departure_reasons(changed, retained, placing.departure_reasons),
        reasons=ReasonsByDeployment(documents.deployments.keys() - soundness.invalid, reasoning),
        fixes=Fixes(task, ledger, retained),
        runners_up=RunnersUp(
            ledger,
            candidates,
            frozenset(
                spot for spot in replicas if spot not in retained.fixed and spot.deployment in task.valid
            ),
            set(retained.movable),
        ),
        problems=in_reading_order(problems),
        lock=new,
        demands=demands,
        paused=paused,
        routes_to_paused=routes(documents, EndpointIndex(documents, everywhere(documents, paused)), lock),
    )


def _unplaced(
    task: Task, ledger: Ledger, retained: LockedReplicas, reasoning: Reasoning
) -> Iterator[Unplaced]:
    """Yield the deployments of which some replicas have no place."""
    for deployment in sorted(task.valid):
        missing = task.targets[deployment] - ledger.total(deployment)
        if missing > 0:
            ended = retained.ran.get(deployment, 0) - ledger.total(deployment)
            reasons = ReasonList(deployment, reasoning)
            yield Unplaced(deployment, missing, reasons, running=max(0, min(missing, ended)))


def _departure_reasons(
    changed: Iterable[Change], retained: LockedReplicas, in_placing: Mapping[Spot, str]
) -> dict[Spot, str]:
    """Return why replicas left the spots of which fewer are than before, as far as that is known."""
    departure_reasons = {**retained.departure_reasons, **in_placing}
    # Why replicas of another revision left is told where there is no other reason.
    departure_reasons |= {
        before: in_placing[after] for before, after in retained.revised.items() if after in in_placing
    }
    return {
        change.spot: departure_reasons[change.spot]
        for change in changed
        if change.before > change.after and change.spot in departure_reasons
    }


def _exchange_problems(ended: bool) -> Iterator[Problem]:
    if ended:
        yield Problem(
            "moves among new replicas were tried as often as one plan may: with more of them some may have a "
            "place that lack one, or all may cost less",
            "Nothing has to be done; update in several steps, or use several stacks, to have more tried",
            severity="notice",
        )


def rolls(documents: Documents, changed: Iterable[Change], ledger: Ledger) -> Iterator[Roll]:
    """Yield the spots whose revision takes the place of others on their cluster, with what these are."""
    by_cluster: dict[tuple[str, str], list[Change]] = {}
    for change in changed:
        by_cluster.setdefault((change.spot.deployment, change.spot.cluster), []).append(change)
    for (deployment, _), on_cluster in by_cluster.items():
        for new in on_cluster:
            old = [
                change
                for change in on_cluster
                if not change.after and change.spot.revision != new.spot.revision
            ]
            if new.after <= new.before or not old:
                continue
            surge = documents.deployments[deployment].spec.rollout == "Surge"
            # With Surge the plan has counted a second set.
            kept = new.after if surge and new.spot.revision else 0
            replaced_replicas = sum(change.before for change in old) - kept
            beside = replaced_replicas <= 0 or ledger.fits(
                _of_roles(new.spot, old[0].spot), replaced_replicas
            )
            yield Roll(new.spot, new.after, tuple(change.spot for change in old), beside)


def _of_roles(new: Spot, old: Spot) -> Spot:
    """Return the old spot with those of its roles that the new one has: what others need is not known."""
    roles = dict(new.pools)
    return old._replace(pools=tuple((role, pool) for role, pool in old.pools if role in roles))


def _with_gone(documents: Documents, lock: Lock) -> Documents:
    """Return the documents with the pools that they lack because somebody asks what if these were lost."""
    clusters = dict(documents.clusters)
    for (name, _), pool in lock.gone.items():
        spec = clusters[name].spec
        changed = spec.model_copy(update={"node_pools": (*spec.node_pools, pool)})
        clusters[name] = clusters[name].model_copy(update={"spec": changed})
    return replace(documents, clusters=clusters)


def _targets(documents: Documents, retained: LockedReplicas) -> dict[str, int]:
    """Return the replicas for clusters that can be changed: all but the fixed and orphaned ones. A deployment
    that is paused has as many as it has.
    """
    elsewhere: Counter[str] = Counter()
    for placements in (retained.fixed, retained.orphaned):
        for spot, replicas in placements.items():
            elsewhere[spot.deployment] += replicas
    movable: Counter[str] = Counter()
    for spot, replicas in retained.movable.items():
        movable[spot.deployment] += replicas
    return {
        key: movable[key] if document.spec.paused else max(0, document.spec.wanted - elsewhere[key])
        for key, document in documents.deployments.items()
    }


def _shrunk(documents: Documents, lock: Lock) -> frozenset[PoolKey]:
    """Return the pools that have fewer nodes than the lock was planned with."""
    return frozenset(
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if pool.size < lock.nodes.get(f"{name}/{pool.name}", 0)
    )


def _least(documents: Documents) -> dict[str, int]:
    """Return the fewest replicas of deployments that are scaled."""
    ranges = {key: document.spec.replicas for key, document in documents.deployments.items()}
    return {key: replicas.min for key, replicas in ranges.items() if isinstance(replicas, ReplicaRange)}


def _next_lock(
    documents: Documents, lock: Lock, placements: Mapping[Spot, int], services: Iterable[ServiceRoute]
) -> Lock:
    """Return the lock with this plan. What it knows of pools in the cloud is left as it is."""
    return Lock(
        stack=documents.settings.stack,
        clusters=_clusters(documents, lock),
        pools=lock.pools,
        nodes=_nodes(documents, lock),
        placements=dict(sorted(placements.items())),
        services={
            service: tuple(route.cluster for route in of_service)
            for service, of_service in groupby(services, attrgetter("service"))
        },
    )


def _clusters(documents: Documents, lock: Lock) -> dict[str, LockedCluster]:
    """Return the clusters of the new lock.

    What the lock knows of a cluster is dropped when it is abandoned, or when its source changed: what has the
    name then is a new cluster. One that is paused and new is not made, so the lock does not know it.
    """
    clusters = {}
    for name, cluster in sorted(documents.clusters.items()):
        before = lock.clusters.get(name)
        if cluster.spec.state != "abandoned" and (before or cluster.spec.state != "paused"):
            source = cluster.spec.cluster.source
            clusters[name] = before if before and before.source == source else LockedCluster(source)
    return clusters


def _nodes(documents: Documents, lock: Lock) -> dict[str, int]:
    """Return the nodes with which pools are planned; those of paused and lost clusters as they were."""
    nodes: dict[str, int] = {}
    for name, cluster in sorted(documents.clusters.items()):
        if cluster.spec.held:
            nodes |= {key: size for key, size in lock.nodes.items() if key.partition("/")[0] == name}
        elif cluster.spec.state != "abandoned":
            nodes |= {f"{name}/{pool.name}": pool.size for pool in cluster.spec.node_pools}
    return nodes
