"""The update that makes the base the version at hand: what it does, and what it would announce or refuse.

It begins with what the base plans, whether its lock was written or not: a lock that came with the documents
holds the moves already, and would tell of none.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from inferfleet.cloud.provider import cloud_changes
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.preflight.workloads import (
    companion_change_problems,
    leaving,
    picker_problems,
    port_problems,
    remade_workload_problems,
    scaling_problems,
)
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.desired.paused import as_it_was, holds_any
from inferfleet.desired.transition import with_leaving
from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.advice.exposure import open_gateway_problems
from inferfleet.fleet.decisions import Plan, changes
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.spot import Spot
from inferfleet.review.policy.enforcement import FleetState, policy_problems
from inferfleet.serving.workload import WORKER_SET, bounds

# Nothing is touched on clusters in these states.
_UNTOUCHED = ("paused", "lost", "abandoned")
_EDITED = "placement.lock says so"
# Who writes the fields of objects, by its name in them.
_MANAGER = "pulumi-kubernetes"
Workloads = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Side:
    """One version of a stack: documents and lock, what should exist by them, and what is to be said of them.

    Waivers of policies hold on its `day` or have ended. `config` is what the file of its settings holds, also
    for others than inferfleet. `lock_refused` is the error of an update that finds the lock as it is written
    and may not change it.
    """

    documents: Documents
    lock: Lock
    desired: Desired
    notices: tuple[Problem, ...] = ()
    day: date = field(kw_only=True)
    config: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    lock_refused: tuple[Problem, ...] = field(default=(), kw_only=True)

    @property
    def state(self) -> FleetState:
        """Return what the next update finds of it."""
        plan = self.desired.plan
        return FleetState(self.documents, plan.lock.placements, plan.demands)


@dataclass(frozen=True)
class Update:
    """An update from one side to the other.

    `lock` is what the base leaves behind. `desired` is what should exist afterwards, with a plan that tells
    changes against that lock, and `workloads` are those of the base, by cluster, where the cluster stays.
    `before` and `after` are the problems of both sides, located.
    """

    base: Side
    head: Side
    lock: Lock
    desired: Desired
    workloads: dict[str, Workloads]
    before: tuple[Problem, ...]
    after: tuple[Problem, ...]

    @property
    def documents(self) -> Documents:
        """Return the documents at hand, with the pools of clusters that are paused as the base has them."""
        base, head = self.base.documents.clusters, self.head.documents
        clusters = {
            name: cluster.model_copy(
                update={
                    "spec": cluster.spec.model_copy(update={"node_pools": base[name].spec.node_pools}),
                }
            )
            if cluster.spec.state == "paused" and name in base
            else cluster
            for name, cluster in head.clusters.items()
        }
        return replace(head, clusters=clusters)

    @property
    def remaining(self) -> tuple[tuple[DesiredCluster, DesiredCluster], ...]:
        """Return the clusters of both sides on which objects may change, before and after."""
        old = {cluster.connection.cluster: cluster for cluster in self.base.desired.clusters}
        return tuple(
            (old[name], cluster)
            for cluster in self.desired.clusters
            if (name := cluster.connection.cluster) in self.workloads
        )


def update_of(base: Side, head: Side) -> Update:
    """Return what an update does that finds the base deployed and healthy."""
    lock = replace(base.desired.plan.lock, seen=head.lock.seen)
    documents = head.documents
    in_cloud, cloud_problems = cloud_changes(documents, lock, clouds(head.desired))
    replaced = {change.cluster for change in in_cloud if not change.pool and change.kind != "removed"}
    desired = replace(head.desired, plan=_plan_since(lock, head), cloud_changes=in_cloud)
    if holds_any(desired):
        desired = as_it_was(desired, base.desired)
    workloads = {
        name: of_cluster
        for name, of_cluster in _healthy_workloads(base.desired).items()
        if name in documents.clusters
        and documents.clusters[name].spec.state not in _UNTOUCHED
        and name not in replaced
    }
    staying = [cluster for cluster in desired.clusters if cluster.connection.cluster in workloads]
    leave = [
        workload
        for cluster in staying
        for workload in leaving(cluster, workloads[cluster.connection.cluster])
    ]
    desired = with_leaving(desired, documents, lock, leave)
    problems = [
        *head.notices,
        *announced_problems(desired, documents, lock, locked=False, preview=False),
        *open_gateway_problems(documents),
        *head.lock_refused,
        *blocking_problems(head.desired, documents, head.lock, locked=False, preview=False),
        *cloud_problems,
        *policy_problems(documents, lock, desired, today=head.day, state_before=base.state),
        *(
            problem
            for cluster in staying
            for problem in _cluster_problems(cluster, workloads[cluster.connection.cluster])
        ),
    ]
    return Update(
        base,
        head,
        lock,
        desired,
        workloads,
        before=_base_problems(base, lock),
        after=of_severity(documents.located(problems), "error", "warning", "notice"),
    )


def _plan_since(lock: Lock, head: Side) -> Plan:
    """Return the plan of the head as one that was made from the lock, with its reasons for what moves.

    Where the head's own lock is another, its documents are planned again from this one. That plan says why
    replicas leave; a move that only the head's lock knows is one that somebody wrote there.
    """
    planned = head.desired.plan
    if head.lock == lock:
        return planned
    again = plan(head.documents, lock, planned.demands)
    every = changes(lock, planned.lock)
    ending: Counter[str] = Counter()
    for change in every:
        ending[change.spot.deployment] += change.before - change.after
    left: dict[Spot, str] = {}
    for change in every:
        if change.before <= change.after:
            continue
        if why := again.departure_reasons.get(change.spot) or planned.departure_reasons.get(change.spot):
            left[change.spot] = why
        elif again.lock.placements.get(change.spot, 0) != change.after:
            left[change.spot] = _EDITED
    rolls = {roll.spot: roll for roll in (*again.rolls, *planned.rolls)}
    return replace(
        planned,
        changes=every,
        departure_reasons=left,
        rolls=tuple(rolls[spot] for spot in sorted(rolls) if spot in planned.lock.placements),
        unplaced=tuple(
            replace(missing, running=max(0, min(missing.replicas, ending[missing.deployment])))
            for missing in planned.unplaced
        ),
    )


def _healthy_workloads(desired: Desired) -> dict[str, Workloads]:
    """Return the Deployments and LeaderWorkerSets of each cluster, as its API server would list them.

    Checks of clusters before an update take what these answer. They take this as well, so a digest says
    offline what an update of a healthy fleet would say.
    """
    return {
        cluster.connection.cluster: tuple(
            _healthy(at_least(workload.manifest))
            for workload in cluster.objects
            if workload.kind in ("Deployment", WORKER_SET)
        )
        for cluster in desired.clusters
    }


def at_least(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the workload with the fewest replicas that may run: no document says how many do."""
    scaling = bounds(manifest)
    return {**manifest, "spec": {**manifest["spec"], "replicas": scaling[0]}} if scaling else manifest


def _healthy(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object with what a cluster adds: pods that are ready, and who wrote which field."""
    managed = {"manager": _MANAGER, "fieldsV1": _managed_fields(manifest)}
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "managedFields": [managed]},
        "status": {"readyReplicas": manifest["spec"].get("replicas", 1)},
    }


def _managed_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys as Kubernetes notes who manages them; of lists, that they are managed."""
    return {
        f"f:{key}": _managed_fields(inner) if isinstance(inner, Mapping) else {}
        for key, inner in value.items()
        if key not in ("apiVersion", "kind", "name", "namespace")
    }


def _cluster_problems(cluster: DesiredCluster, workloads: Workloads) -> tuple[Problem, ...]:
    """Return what an update would say of a cluster that holds these workloads."""
    return (
        *companion_change_problems(cluster, workloads),
        *remade_workload_problems(cluster, workloads),
        *port_problems(cluster, workloads),
        *picker_problems(cluster, workloads),
        *scaling_problems(cluster, workloads),
    )


def _base_problems(base: Side, lock: Lock) -> tuple[Problem, ...]:
    """Return what the base says once it is deployed: nothing of how it came about."""
    settled = replace(base.desired.plan, changes=(), rolls=(), departure_reasons={})
    desired = replace(base.desired, plan=settled, cloud_changes=())
    documents = base.documents
    problems = [
        *base.notices,
        *announced_problems(desired, documents, lock, locked=False, preview=False),
        *open_gateway_problems(documents),
        *base.lock_refused,
        *blocking_problems(base.desired, documents, base.lock, locked=False, preview=False),
        *policy_problems(documents, lock, desired, today=base.day, state_before=base.state),
    ]
    return of_severity(documents.located(problems), "error", "warning", "notice")


def lock_after(base: Side | None, lock: Lock) -> Lock:
    """Return the lock from which the head is planned, whose file has `lock`.

    A change that leaves the file alone begins from what the base leaves behind, which updates write down
    where it is not written already. Otherwise the file is part of the change.
    """
    if base is None or lock != base.lock:
        return lock
    return replace(base.desired.plan.lock, seen=lock.seen, lines=lock.lines)


def clouds(desired: Desired) -> tuple[CloudCluster, ...]:
    """Return the clusters that the stack creates."""
    return tuple(cluster.connection.cloud for cluster in desired.clusters if cluster.connection.cloud)
