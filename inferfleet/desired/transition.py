"""What is decided last, once the clusters have answered, on the finished value.

Which engine workloads an update does not wait for, because others must leave their nodes first or weights are
on their way, so that their ready hooks are held; which deployments stay as they are until their weights are
there; which routes change only once new pods are ready; which workloads take over the number
of their replicas; and which objects are left out, because a cluster does not know their kind. Nothing else is
changed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from inferfleet.desired.caches import filling_cluster
from inferfleet.desired.endpoints import routes_follow
from inferfleet.desired.own_buckets import cache_on
from inferfleet.desired.values import Component, Desired, DesiredCluster, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Leaving, Plan, Roll
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.handover import other_revisions, waiting
from inferfleet.fleet.roles import caches_of
from inferfleet.fleet.spot import Spot
from inferfleet.serving.routes import KIND as ROUTE
from inferfleet.serving.weights import filling_name
from inferfleet.serving.workload import forced, unawaited

Change = Callable[[KubeObject], KubeObject]
ApiKind = tuple[str, str]  # (apiVersion, kind)


def with_leaving(desired: Desired, documents: Documents, lock: Lock, leaving: Iterable[Leaving]) -> Desired:
    """Return what is desired, without awaiting workloads that fit only once the `leaving` ones are gone.

    Where pods of another revision leave, routes follow what takes their place. That is told also where the
    lock knew it before: it may have been committed with the documents.
    """
    leaves = tuple(leaving)
    clusters = tuple(_switched(cluster, desired.plan, leaves) for cluster in desired.clusters)
    waits = waiting(documents, desired.plan, leaves, lock)
    if waits:
        clusters = tuple(_with_unawaited(cluster, waits) for cluster in clusters)
    plan = replace(desired.plan, rolls=_rolls(desired.plan, leaves, waits))
    gaps = {(roll.spot.cluster, roll.spot.deployment) for roll in plan.rolls if not roll.beside}
    return replace(desired, clusters=_switched_last(clusters, gaps), waiting=waits, plan=plan)


def _switched_last(
    clusters: tuple[DesiredCluster, ...], gaps: Collection[tuple[str, str]]
) -> tuple[DesiredCluster, ...]:
    """Return the clusters with routes that change before their new pods are there after all else.

    What the engine deletes it deletes at the end, and only if nothing failed. Until then the old pods serve,
    so nothing may take the route away from them: not the time that other models take, nor their failure.
    """
    if not gaps:
        return clusters
    names_of_gaps = {cluster for cluster, _ in gaps}
    ordered: list[DesiredCluster] = []
    before: tuple[str, ...] = ()
    for cluster in sorted(clusters, key=lambda each: each.connection.cluster in names_of_gaps):
        name = cluster.connection.cluster
        routes = {
            key
            for deployment, served in cluster.served.items()
            if (name, deployment) in gaps
            for key in served.routes
        }
        before = (*before, *(item.key for item in cluster.objects if item.kind != ROUTE))
        ordered.append(_with_changed(cluster, routes, partial(_after, keys=before)))
    return tuple(ordered)


def _after(item: KubeObject, *, keys: tuple[str, ...]) -> KubeObject:
    return replace(item, after=tuple(dict.fromkeys([*item.after, *keys])))


def _rolls(plan: Plan, leaves: tuple[Leaving, ...], waits: frozenset[Spot]) -> tuple[Roll, ...]:
    """Return the rolls of the plan and those that clusters tell of. What they hold says whether both sets
    fit.
    """
    planned = {roll.spot for roll in plan.rolls}
    running = (
        Roll(placement.spot, placement.replicas, (), beside=True)
        for placement in plan.placements
        if placement.spot not in planned and other_revisions(placement.spot, leaves)
    )
    every = sorted((*plan.rolls, *running), key=lambda roll: roll.spot)
    return tuple(replace(roll, beside=roll.spot not in waits) for roll in every)


def _switched(cluster: DesiredCluster, plan: Plan, leaves: tuple[Leaving, ...]) -> DesiredCluster:
    name = cluster.connection.cluster
    now = {endpoint.deployment: endpoint.revision for endpoint in plan.endpoints if endpoint.cluster == name}
    others = {
        workload.deployment
        for workload in leaves
        if workload.cluster == name and workload.revision != now.get(workload.deployment, workload.revision)
    }
    return routes_follow(cluster, others)


@dataclass(frozen=True)
class Unfilled:
    """Placements whose weights are not on their cluster yet, each with the caches that lack them."""

    held: Mapping[Spot, tuple[str, ...]] = field(default_factory=dict)
    """Those of deployments of which nothing changes before."""
    starting: Mapping[Spot, tuple[str, ...]] = field(default_factory=dict)
    """Those whose pods start now and wait."""
    progress: Mapping[tuple[Spot, str], str] = field(default_factory=dict)
    """How far a cache is that a placement waits for, in words, where it is known."""

    @property
    def deployments(self) -> frozenset[str]:
        """Return the deployments of which nothing changes."""
        return frozenset(spot.deployment for spot in self.held)


def unfilled(
    desired: Desired,
    documents: Documents,
    filled: Collection[tuple[str, str, str]],
    running: Collection[str],
    filling: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> Unfilled:
    """Return the placements that wait for weights. `filled` are Jobs that are done, by cluster, namespace and
    name, `filling` how far others are, and `running` deployments with workloads on a cluster.

    What runs goes on as it is, on its old cluster or with its old commit: pods that wait would end those
    that serve. New pods wait on nodes that run anyway, and not on nodes that would be started for them.
    """
    waits: dict[Spot, tuple[str, ...]] = {}
    progress: dict[tuple[Spot, str], str] = {}
    for placement in desired.plan.placements:
        spot = placement.spot
        if documents.holds(spot.deployment, spot.cluster):
            continue
        jobs = {
            cache.metadata.key: (
                filling_cluster(documents, cache, spot.cluster) or spot.cluster,
                spot.namespace,
                filling_name(cache_on(documents, cache, spot.cluster)),
            )
            for cache in caches_of(documents, spot.deployment)
            if cache.spec.filled_here
        }
        lacking = tuple(key for key, job in jobs.items() if job not in filled)
        if lacking:
            waits[spot] = lacking
        progress |= {(spot, key): filling[jobs[key]] for key in lacking if jobs[key] in filling}
    held = {spot.deployment for spot in waits if spot.deployment in running or _starts_nodes(documents, spot)}
    return Unfilled(
        {spot: caches for spot, caches in waits.items() if spot.deployment in held},
        {spot: caches for spot, caches in waits.items() if spot.deployment not in held},
        progress,
    )


def _starts_nodes(documents: Documents, spot: Spot) -> bool:
    cluster = documents.clusters[spot.cluster].spec
    return any(cluster.pool(pool).autoscaled for _, pool in spot.pools)


def with_held(documents: Documents, deployments: Collection[str]) -> Documents:
    """Return the documents with deployments of which nothing changes in this update."""
    if not deployments:
        return documents

    def paused(document: ModelDeployment) -> ModelDeployment:
        return document.model_copy(update={"spec": document.spec.model_copy(update={"paused": True})})

    return replace(
        documents,
        deployments={
            key: paused(document) if key in deployments else document
            for key, document in documents.deployments.items()
        },
    )


def with_starting(desired: Desired, unfilled: Unfilled) -> Desired:
    """Return what is desired, without awaiting workloads whose pods wait for weights."""
    if not unfilled.starting:
        return desired
    waits = frozenset(unfilled.starting)
    return replace(desired, clusters=tuple(_with_unawaited(each, waits) for each in desired.clusters))


def without_kinds(desired: Desired, unknown: Mapping[str, Collection[ApiKind]]) -> Desired:
    """Return what is desired, without the monitors that a cluster does not know, and can serve without.

    `unknown` are their kinds (apiVersion, kind) by cluster. Nothing comes after such an object.
    """
    return replace(
        desired,
        clusters=tuple(
            _without(cluster, unknown[cluster.connection.cluster])
            if cluster.connection.cluster in unknown
            else cluster
            for cluster in desired.clusters
        ),
    )


def with_newer(desired: Desired, newer: Mapping[str, dict[str, Any]]) -> Desired:
    """Return what is desired, with definitions of kinds as they are where a newer version of their add-on
    wrote them: `newer` are those, by key. One that the state has keeps what it has there; one that is only on
    the cluster, after a destroy, is written as it is.
    """
    clusters = (
        _with_changed(
            cluster,
            {item.key for item in cluster.objects if item.key in newer},
            lambda item: replace(item, manifest=newer[item.key], ignore=("*",)),
        )
        for cluster in desired.clusters
    )
    return replace(desired, clusters=tuple(clusters)) if newer else desired


def _without(cluster: DesiredCluster, kinds: Collection[ApiKind]) -> DesiredCluster:
    left_out = {item.key for item in cluster.monitors if (item.api_version, item.kind) in kinds}
    components = (
        replace(component, objects=tuple(item for item in component.objects if item.key not in left_out))
        for component in cluster.components
    )
    return replace(cluster, components=tuple(components))


def with_numbers(desired: Desired, scaled: Collection[tuple[str, str, str]]) -> Desired:
    """Return what is desired, with workloads that take over their number of replicas from who scaled them.

    `scaled` are those that are or were, by cluster, namespace and name. The annotation stays, because it is
    no change then.
    """
    if not scaled:
        return desired

    def numbered(cluster: DesiredCluster) -> DesiredCluster:
        name = cluster.connection.cluster
        keys = {
            item.key
            for item in cluster.objects
            if (name, item.namespace or "", item.kubernetes_name) in scaled and not item.ignore
        }
        workload_keys = keys & {key for of_spot in cluster.workloads.values() for key in of_spot}
        return _with_changed(
            cluster, workload_keys, lambda item: replace(item, manifest=forced(item.manifest))
        )

    return replace(desired, clusters=tuple(map(numbered, desired.clusters)))


def _with_unawaited(cluster: DesiredCluster, spots: frozenset[Spot]) -> DesiredCluster:
    keys = {key for spot in spots for key in cluster.workloads.get(spot, ())}
    changed = _with_changed(cluster, keys, lambda item: replace(item, manifest=unawaited(item.manifest)))
    return replace(changed, components=tuple(_held(component, keys) for component in changed.components))


def _held(component: Component, keys: set[str]) -> Component:
    """Return the component with the ready hooks of these workloads held."""
    hooks = tuple(replace(hook, held=True) if hook.workload.key in keys else hook for hook in component.hooks)
    return replace(component, hooks=hooks)


def _with_changed(cluster: DesiredCluster, keys: set[str], change: Change) -> DesiredCluster:
    """Return the cluster with the objects of these keys changed."""
    if not keys:
        return cluster
    return replace(
        cluster,
        components=tuple(
            replace(
                component,
                objects=tuple(change(item) if item.key in keys else item for item in component.objects),
            )
            for component in cluster.components
        ),
    )
