"""desired(documents, lock, leaving): plan, pods, manifests, and every problem of the second stage."""

from collections.abc import Iterable
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import InvalidDocuments, Problem, in_reading_order, of_severity
from inferfleet.desired.checks import chain_problems, doubles, engine_problems, picker_problems
from inferfleet.desired.connections import connection, in_place
from inferfleet.desired.endpoints import model_endpoint, model_service
from inferfleet.desired.pods import Pods, pods
from inferfleet.desired.replicas import replicas, workload_keys
from inferfleet.desired.secrets import Reference, held, missing_keys, needed, references
from inferfleet.desired.serving import namespace_keys, secret_keys, serving_stack
from inferfleet.desired.values import Component, Desired, DesiredCluster
from inferfleet.fleet.decisions import Leaving, Placement, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.handover import waiting
from inferfleet.fleet.planning import plan
from inferfleet.fleet.spot import Spot
from inferfleet.gke.decide import Cloud, decide
from inferfleet.plugins.registry import Registry, builtin
from inferfleet.profiles.table import profile


def desired(
    documents: Documents,
    lock: Lock,
    leaving: Iterable[Leaving] = (),
    *,
    registry: Registry | None = None,
) -> Desired:
    """Everything that should exist. Pure, and the same for the same values.

    `leaving` are workloads that still stand and that this very function, asked without them, does not list.
    Raises InvalidDocuments with all problems of CEL, plugins, templates, placement and names.
    """
    registry = registry or builtin()
    planned = plan(documents, lock)
    cloud = decide(documents, lock, planned)
    templates, pod_problems = _templates(documents, planned, cloud, registry)
    problems = [
        *in_reading_order(documents.located(planned.problems)),
        *cloud.problems,
        *chain_problems(documents, registry),
        *engine_problems(documents),
        *picker_problems(documents, planned),
        *pod_problems,
    ]
    _refuse(documents, problems)
    waits = waiting(documents, planned, leaving, lock)
    clusters = _clusters(documents, planned, templates, lock=lock, waits=waits, cloud=cloud)
    _refuse(documents, doubles(clusters))
    return Desired(
        stack=documents.settings.stack,
        clusters=clusters,
        plan=replace(planned, lock=cloud.lock),
        cloud_changes=cloud.changes,
        waiting=waits,
        warnings=(*documents.notices, *documents.located(of_severity(problems, "warning", "notice"))),
        steps={
            spot: {one.role: one.outcome.steps for one in made} for spot, made in sorted(templates.items())
        },
    )


def _refuse(documents: Documents, problems: Iterable[Problem]) -> None:
    if errors := of_severity(problems, "error"):
        raise InvalidDocuments(documents.located(errors))


def _templates(
    documents: Documents, planned: Plan, cloud: Cloud, registry: Registry
) -> tuple[dict[Spot, tuple[Pods, ...]], list[Problem]]:
    """The pods of every placement, and what is wrong with them."""
    templates: dict[Spot, tuple[Pods, ...]] = {}
    problems: list[Problem] = []
    for placement in planned.placements:
        spot = placement.spot
        templates[spot], wrong = pods(documents, spot, registry, cloud.clusters.get(spot.cluster))
        problems += wrong
    for spot, of in templates.items():
        problems += missing_keys(documents, spot.deployment, _reads(spot, of))
    return templates, problems


def _clusters(
    documents: Documents,
    planned: Plan,
    templates: dict[Spot, tuple[Pods, ...]],
    *,
    lock: Lock,
    waits: frozenset[Spot],
    cloud: Cloud,
) -> tuple[DesiredCluster, ...]:
    reads = {spot: _reads(spot, made) for spot, made in templates.items()}
    shared = {
        name: _shared(documents, planned, name, [ref for spot in reads for ref in _on(spot, name, reads)])
        for name in documents.clusters
    }
    placed = _replicas(documents, planned, templates, lock=lock, waits=waits, shared=shared)
    made = []
    for name, cluster in sorted(documents.clusters.items()):
        gateway = cluster.spec.serving.gateway
        table = profile(cluster.spec.serving.profile)
        components: tuple[Component, ...] = ()
        if _registered(documents, name, lock):
            components = (
                shared[name],
                *(
                    model_endpoint(documents, one, profile=table, shared=shared[name])
                    for one in planned.endpoints
                    if one.cluster == name
                ),
                *(component for spot, component in placed.items() if spot.cluster == name),
                *(
                    model_service(documents, one, profile=table, shared=shared[name])
                    for one in planned.services
                    if one.cluster == name
                ),
            )
        made.append(
            DesiredCluster(
                connection=connection(documents, name, cloud.lock, cloud.clusters.get(name)),
                components=in_place(components, placed, cloud.clusters.get(name)),
                gateway_class=gateway.class_name,
                gateway_ref=(gateway.ref.namespace, gateway.ref.name) if gateway.ref else None,
                secrets_needed=needed(documents, [ref for spot in reads for ref in _on(spot, name, reads)]),
            )
        )
    return tuple(made)


def _registered(documents: Documents, cluster: str, lock: Lock) -> bool:
    """On a lost cluster nothing can be made, so one that the lock never had stays empty."""
    state = documents.clusters[cluster].spec.state
    known = (
        cluster in lock.clusters
        or any(spot.cluster == cluster for spot in lock.placements)
        or any(cluster in clusters for clusters in lock.services.values())
    )
    return state != "abandoned" and (state != "lost" or known)


def _replicas(
    documents: Documents,
    planned: Plan,
    templates: dict[Spot, tuple[Pods, ...]],
    *,
    lock: Lock,
    waits: frozenset[Spot],
    shared: dict[str, Component],
) -> dict[Spot, Component]:
    """Placements that the lock has roll one after the other; new ones depend on no other placement."""
    made: dict[Spot, Component] = {}
    previous: dict[str, tuple[str, ...]] = {}
    applied = documents.settings.await_ == "applied"
    for placement in planned.placements:
        spot = placement.spot
        rolls = spot in lock.placements and documents.clusters[spot.cluster].spec.state != "lost"
        made[spot] = replicas(
            documents,
            placement,
            templates[spot],
            needs=_needs(placement, templates[spot], shared[spot.cluster]),
            before=previous.get(spot.deployment, ()) if rolls else (),
            skip_await=applied or spot in waits,
        )
        if rolls:
            previous[spot.deployment] = workload_keys(made[spot])
    return made


def _needs(placement: Placement, made: tuple[Pods, ...], shared: Component) -> tuple[str, ...]:
    space = placement.spot.namespace
    read = {ref.name for ref in _reads(placement.spot, made)}
    return (*namespace_keys(shared, space), *secret_keys(shared, space, read))


def _shared(documents: Documents, planned: Plan, cluster: str, reads: list[Reference]) -> Component:
    spaces = {one.deployment.partition("/")[0] for one in planned.endpoints if one.cluster == cluster}
    spaces |= {one.service.partition("/")[0] for one in planned.services if one.cluster == cluster}
    return serving_stack(
        cluster,
        namespaces=spaces,
        secrets=held(documents, reads),
        gateway=documents.clusters[cluster].spec.serving.gateway,
        stack=documents.settings.stack,
    )


def _reads(spot: Spot, made: tuple[Pods, ...]) -> list[Reference]:
    return [ref for one in made for ref in references(spot.namespace, one.outcome.template)]


def _on(spot: Spot, cluster: str, reads: dict[Spot, list[Reference]]) -> list[Reference]:
    return reads[spot] if spot.cluster == cluster else []
