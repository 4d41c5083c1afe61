"""desired(documents, lock): plan, pods and manifests, or every problem of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from inferfleet.cloud.provider import Clouds, decide, pod_problems
from inferfleet.desired.anti_affinity import anti_affinity_problems
from inferfleet.desired.clusters import Site, connection
from inferfleet.desired.demands import EditedDemands, edited_demands, unlike_demands, unplaced_link_problems
from inferfleet.desired.endpoints import (
    ModelEndpoint,
    endpoint_picker,
    model_endpoint,
    model_service,
    routes_follow,
    what_serves,
)
from inferfleet.desired.pods import Chains, Pods, by_role, chains, spot_pods
from inferfleet.desired.pools import declared_pools
from inferfleet.desired.problems import (
    doubles,
    engine_problems,
    picker_problems,
    risk_problems,
    scheduler_problems,
)
from inferfleet.desired.replicas import Replicas, replicas
from inferfleet.desired.secrets import Reference, held, missing_keys, needed, references, unread, unusable
from inferfleet.desired.serving_stack import ServingStack, serving_stack
from inferfleet.desired.values import Component, Desired, DesiredCluster, Served
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments, Problem, in_reading_order, of_severity
from inferfleet.documents.work import take
from inferfleet.fleet.decisions import Plan, ServiceRoute
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkProblem, Step, problems_of
from inferfleet.plugins.registry import Registry, builtin
from inferfleet.serving.picker import Picker
from inferfleet.serving.schedulers import scheduler_needs
from inferfleet.tables.pickers import picker

# Steps of work that a deployment takes with all that is checked of it, and its pods on a cluster.
_DECIDED, _MADE = 1_000, 300
# The Secrets that the pods of a spot read.
Reads = dict[Spot, list[Reference]]
_Thing = TypeVar("_Thing")


def desired(documents: Documents, lock: Lock, *, registry: Registry | None = None) -> Desired:
    """Return everything that should exist. Pure: equal values give equal results.

    What still runs and is no longer desired becomes known later: `transition.with_leaving` applies it.
    Raises InvalidDocuments with all errors of CEL, plugins, templates, placement and names.
    """
    take(_DECIDED * (1 + len(documents.deployments)), f"planning stack {documents.settings.stack}")
    registry = registry or builtin()
    all_chains = chains(documents, registry)
    worked = edited_demands(documents, lock, all_chains)
    planned = plan(documents, lock, worked.demands)
    clouds = decide(documents, lock, planned)
    templates, problems_of_pods = _templates(documents, planned, lock, clouds, all_chains, worked)
    pickers = _pickers(documents, planned, templates)
    problems = [
        *in_reading_order(documents.located(planned.problems)),
        *clouds.problems,
        *chain.from_iterable(documents.broken_links.values()),
        *all_chains.problems,
        *engine_problems(documents, planned),
        *picker_problems(documents, pickers),
        *problems_of_pods,
    ]
    _refuse(documents, problems)
    clusters = _clusters(documents, planned, templates, pickers=pickers, lock=lock, clouds=clouds)
    _refuse(documents, doubles(documents, clusters))
    return Desired(
        stack=documents.settings.stack,
        clusters=clusters,
        plan=replace(planned, lock=clouds.lock),
        cloud_changes=clouds.changes,
        waiting=frozenset(),
        warnings=(*documents.notices, *documents.located(of_severity(problems, "warning", "notice"))),
        steps={
            spot: {of_role.entries.role: of_role.entries.outcome.steps for of_role in by_role(of)}
            for spot, of in sorted(templates.items())
        },
        follower_steps={
            spot: steps for spot, of in sorted(templates.items()) if (steps := _follower_steps(of))
        },
    )


def _refuse(documents: Documents, problems: Iterable[Problem]) -> None:
    if errors := of_severity(problems, "error"):
        raise InvalidDocuments(documents.located(errors))


def _follower_steps(of: tuple[Pods, ...]) -> dict[str, tuple[Step, ...]]:
    return {pods.role: pods.outcome.steps for pods in of if pods.placed.position == "Follower"}


def _templates(
    documents: Documents, planned: Plan, lock: Lock, clouds: Clouds, chains: Chains, worked: EditedDemands
) -> tuple[dict[Spot, tuple[Pods, ...]], list[Problem]]:
    """Return the pods of every placement, and their problems; those of plugins also without a place."""
    templates: dict[Spot, tuple[Pods, ...]] = {}
    problems: list[Problem] = []
    link_problems: list[LinkProblem] = []
    for placement in planned.placements:
        spot = placement.spot
        take(_MADE, f"making pods of {spot.deployment}")
        created = clouds.clusters.get(spot.cluster)
        made, wrong, more = worked.pods.get(spot) or spot_pods(
            documents, spot, chains, created.pools if created else None
        )
        templates[spot] = made
        problems += wrong
        problems += unlike_demands(worked, made)
        link_problems += more
        link_problems += [warning for of_position in made for warning in of_position.outcome.output]
    excluded, by_plugins = anti_affinity_problems(documents, planned, templates)
    problems += excluded
    link_problems += by_plugins
    link_problems += unplaced_link_problems(worked, {spot.deployment for spot in templates})
    problems += problems_of(link_problems)
    problems += risk_problems(documents, templates)
    problems += scheduler_problems(documents, templates)
    finished = {spot: [(pods.role, pods.outcome.template) for pods in of] for spot, of in templates.items()}
    problems += pod_problems(documents, planned, lock, clouds.clusters, finished)
    reads: dict[str, list[Reference]] = {}
    for spot, of in templates.items():
        problems += missing_keys(documents, spot.deployment, _reads(spot, of))
        reads.setdefault(spot.deployment, []).extend(_reads(spot, of))
    problems += unread(documents, reads)
    problems += unusable(documents, [ref for refs in reads.values() for ref in refs])
    return templates, problems


def _clusters(
    documents: Documents,
    planned: Plan,
    templates: dict[Spot, tuple[Pods, ...]],
    *,
    pickers: Mapping[tuple[str, str], Picker],
    lock: Lock,
    clouds: Clouds,
) -> tuple[DesiredCluster, ...]:
    reads = {spot: _reads(spot, of) for spot, of in templates.items()}
    read_on = _by_cluster((spot.cluster, (spot.deployment, ref)) for spot, of in reads.items() for ref in of)
    services_on = _by_cluster((route.cluster, route) for route in planned.services)
    placements_on = _by_cluster((placement.spot.cluster, placement) for placement in planned.placements)
    keys_on = _by_cluster(
        chain(
            ((endpoint.cluster, endpoint.deployment) for endpoint in planned.endpoints),
            ((route.cluster, route.service) for route in planned.services),
        )
    )
    sites = {name: Site(name, clouds.clusters.get(name)) for name in sorted(documents.clusters)}
    shared = {
        name: serving_stack(
            site,
            namespaces={key.partition("/")[0] for key in keys_on[name]},
            secrets=held(documents, (ref for _, ref in read_on[name])),
            serving=documents.clusters[name].spec.serving,
            stack=documents.settings.stack,
            pod_security=documents.settings.pod_security,
        )
        for name, site in sites.items()
    }
    endpoints = _endpoints(documents, planned, templates, pickers=pickers, sites=sites, shared=shared)
    placed = _replicas(
        documents, planned, templates, lock=lock, sites=sites, shared=shared, reads=reads, endpoints=endpoints
    )
    placed_on = _by_cluster((made.spot.cluster, made) for made in placed)
    clusters = []
    for name, site in sites.items():
        gateway = documents.clusters[name].spec.serving.gateway
        here = placed_on[name]
        registered = _registered(documents, name, lock)
        components, served = (
            _on_cluster(
                documents,
                services_on[name],
                site,
                shared=shared[name],
                placed=here,
                endpoints=endpoints[name],
            )
            if registered
            else ((), {})
        )
        clusters.append(
            DesiredCluster(
                connection=connection(documents, name, clouds.lock, site.cloud),
                components=components,
                gateway_class=gateway.class_name,
                gateway_provider=gateway.provider,
                gateway_ref=(gateway.ref.namespace, gateway.ref.name) if gateway.ref else None,
                secrets_needed=needed(documents, read_on[name]),
                gateway=shared[name].gateway if registered else None,
                workloads={made.spot: made.keys for made in here},
                scheduler_needs=scheduler_needs(documents, [made.spot for made in here]),
                served=served,
                pools=declared_pools(documents, name, placements_on[name]),
            )
        )
    revised = {endpoint.deployment for endpoint in planned.endpoints if endpoint.revision}
    return tuple(routes_follow(cluster, revised) for cluster in clusters)


def _pickers(
    documents: Documents, planned: Plan, templates: dict[Spot, tuple[Pods, ...]]
) -> dict[tuple[str, str], Picker]:
    """Return the endpoint pickers by deployment and cluster."""
    pods: defaultdict[tuple[str, str], list[Pods]] = defaultdict(list)
    for spot, of_spot in templates.items():
        pods[spot.deployment, spot.cluster].extend(of_spot)
    return {
        (endpoint.deployment, endpoint.cluster): endpoint_picker(
            documents, endpoint, pods[endpoint.deployment, endpoint.cluster]
        )
        for endpoint in planned.endpoints
    }


def _endpoints(
    documents: Documents,
    planned: Plan,
    templates: dict[Spot, tuple[Pods, ...]],
    *,
    pickers: Mapping[tuple[str, str], Picker],
    sites: dict[str, Site],
    shared: dict[str, ServingStack],
) -> dict[str, list[ModelEndpoint]]:
    """Return the endpoints by cluster."""
    endpoints: dict[str, list[ModelEndpoint]] = {name: [] for name in sites}
    for endpoint in planned.endpoints:
        key, name = endpoint.deployment, endpoint.cluster
        pods = [
            of_position
            for spot, of_spot in templates.items()
            if (spot.deployment, spot.cluster) == (key, name)
            for of_position in of_spot
        ]
        endpoints[name].append(
            model_endpoint(
                documents,
                endpoint,
                site=sites[name],
                picker=pickers[key, name],
                shared=shared[name],
                pods=pods,
            )
        )
    return endpoints


def _by_cluster(things: Iterable[tuple[str, _Thing]]) -> defaultdict[str, list[_Thing]]:
    """Return things by the cluster that each is of."""
    found: defaultdict[str, list[_Thing]] = defaultdict(list)
    for cluster, thing in things:
        found[cluster].append(thing)
    return found


def _on_cluster(
    documents: Documents,
    routes: Iterable[ServiceRoute],
    site: Site,
    *,
    shared: ServingStack,
    placed: list[Replicas],
    endpoints: list[ModelEndpoint],
) -> tuple[tuple[Component, ...], dict[str, Served]]:
    """Return the components on a cluster, and what serves each deployment there."""
    table = picker(documents.clusters[site.cluster].spec.serving.profile, disaggregated=False)
    services = [
        (
            route,
            model_service(documents, route, site=site, profile=table, shared=shared, endpoints=endpoints),
        )
        for route in routes
    ]
    components = (
        shared.component,
        *(made.component for made in endpoints),
        *(made.component for made in placed),
        *(component for _, component in services),
    )
    return components, what_serves(endpoints, placed, services)


def _registered(documents: Documents, cluster: str, lock: Lock) -> bool:
    """Return whether objects of a cluster are registered.

    There are none on an abandoned cluster, nor on a lost one that the lock does not know.
    """
    state = documents.clusters[cluster].spec.state
    if state != "lost":
        return state != "abandoned"
    return (
        cluster in lock.clusters
        or any(spot.cluster == cluster for spot in lock.placements)
        or any(cluster in clusters for clusters in lock.services.values())
    )


def _replicas(
    documents: Documents,
    planned: Plan,
    templates: dict[Spot, tuple[Pods, ...]],
    *,
    lock: Lock,
    sites: dict[str, Site],
    shared: dict[str, ServingStack],
    reads: Reads,
    endpoints: dict[str, list[ModelEndpoint]],
) -> list[Replicas]:
    """Return the replicas of all placements. Those in the lock roll one after the other, new ones do not."""
    placed: list[Replicas] = []
    previous: dict[str, tuple[str, ...]] = {}
    serves = {(name, made.deployment): made for name, of in endpoints.items() for made in of}
    for placement in planned.placements:
        spot = placement.spot
        endpoint = serves[spot.cluster, spot.deployment]
        rolls = lock.runs(spot) and documents.clusters[spot.cluster].spec.state != "lost"
        made = replicas(
            documents,
            placement,
            templates[spot],
            site=sites[spot.cluster],
            needs=shared[spot.cluster].needs(spot.namespace, {ref.name for ref in reads[spot]}),
            before=(*endpoint.outlived, *(previous.get(spot.deployment, ()) if rolls else ())),
            edition=endpoint.edition,
        )
        placed.append(made)
        if rolls:
            previous[spot.deployment] = made.keys
    return placed


def _reads(spot: Spot, of: tuple[Pods, ...]) -> list[Reference]:
    return [ref for pods in of for ref in references(spot.namespace, pods.outcome.template)]
