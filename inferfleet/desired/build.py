"""desired(documents, lock): plan, pods and manifests, or every problem of them.

First what replicas need and where they go, then the clouds, then pods and pickers, then whatever is wrong
with any of these at once; and only of what is sound the objects of each cluster, in the order in which they
wait for each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from inferfleet.cloud.provider import Clouds, decide, own_buckets, pod_problems
from inferfleet.cloud.values import CloudComponent
from inferfleet.desired.addons import (
    addon_components,
    cluster_addons,
    unrendered_problems,
    value_problems,
    with_addons,
)
from inferfleet.desired.anti_affinity import anti_affinity_problems
from inferfleet.desired.caches import Filling, cache_reads, caches_on, fillings
from inferfleet.desired.caches import component as cache_component
from inferfleet.desired.clusters import Site, connection, expected_nodes
from inferfleet.desired.demands import (
    EditedDemands,
    edited_demands,
    unlike_demand_problems,
    unplaced_link_problems,
)
from inferfleet.desired.endpoints import (
    ModelEndpoint,
    endpoint_picker,
    model_endpoint,
    model_service,
    routes_follow,
    what_serves,
)
from inferfleet.desired.front_door import door_needs, door_secrets, front_door
from inferfleet.desired.needs import object_needs
from inferfleet.desired.own_buckets import own_bucket_problems
from inferfleet.desired.paused import held_cloud
from inferfleet.desired.pods import Chains, Pods, chains, spot_pods
from inferfleet.desired.problems import (
    engine_problems,
    picker_problems,
    risk_problems,
    same_name_problems,
    scheduler_problems,
)
from inferfleet.desired.replicas import Replicas, replicas
from inferfleet.desired.secrets import Read, secret_problems, stack_secrets
from inferfleet.desired.serving_stack import ServingStack, serving_stack
from inferfleet.desired.values import ClusterAddon, Component, Desired, DesiredCluster, ExpectedNodes, Served
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.pods.references import Reference, references
from inferfleet.documents.problems import InvalidDocuments, Problem, in_reading_order, of_severity
from inferfleet.documents.work import spend
from inferfleet.fleet.decisions import Plan, ServiceRoute
from inferfleet.fleet.front_door import Door, doors, front_door_problems
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.roles import caches_of
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.traffic import exposed_loading_problems, exposed_paths
from inferfleet.plugins.chain import LinkEffect, LinkProblem, chain_problems
from inferfleet.plugins.registry import Registry, builtin
from inferfleet.serving.envoy_gateway import configuration
from inferfleet.serving.picker import Picker
from inferfleet.serving.programs import pull_secrets
from inferfleet.serving.schedulers import scheduler_needs
from inferfleet.tables.pickers import picker as picker_row

# Units of work that a deployment takes with all that is checked of it, and its pods on a cluster.
_CHECKED, _GENERATED = 1_000, 300
PodsBySpot = Mapping[Spot, tuple[Pods, ...]]
# What the pods of a spot name.
Reads = Mapping[Spot, list[Reference]]
# By deployment and cluster.
Pickers = Mapping[tuple[str, str], Picker]
_Thing = TypeVar("_Thing")


def desired(documents: Documents, lock: Lock, *, registry: Registry | None = None) -> Desired:
    """Return everything that should exist. Pure: equal values give equal results.

    What still runs and is no longer desired becomes known later: `transition.with_leaving` applies it.
    Raises InvalidDocuments with all errors of CEL, plugins, templates, placement and names.
    """
    spend(_CHECKED * (1 + len(documents.deployments)), f"planning stack {documents.settings.stack}")
    all_chains = chains(documents, registry or builtin())
    demands = edited_demands(documents, lock, all_chains)
    planned = plan(documents, lock, demands.demands)
    clouds = decide(documents, lock, planned)
    pods, problems_of_pods = _pods(documents, planned, lock, clouds, all_chains, demands)
    pickers = _pickers(documents, planned, pods)
    front_doors = doors(documents, planned.endpoints, planned.services, lock)
    reads = {
        spot: [
            *(reference for of_position in of_spot for reference in references(of_position.outcome.template)),
            # Those of the picker's pods.
            *references({"spec": pull_secrets(documents.clusters[spot.cluster].spec.serving)}),
        ]
        for spot, of_spot in pods.items()
    }
    problems = [
        *in_reading_order(documents.located(planned.problems)),
        *clouds.problems,
        *chain.from_iterable(documents.broken_links.values()),
        *all_chains.problems,
        *engine_problems(documents, planned),
        *picker_problems(documents, pickers),
        *problems_of_pods,
        *secret_problems(
            documents, reads, chain.from_iterable(cache_reads(documents, name) for name in documents.clusters)
        ),
        *own_bucket_problems(documents),
        *front_door_problems(documents, planned.endpoints, front_doors),
        *exposed_loading_problems(documents, planned.endpoints, planned.services),
    ]
    _refuse(documents, problems)
    buckets = own_buckets(documents)
    clusters = _clusters(
        documents,
        planned,
        pods,
        buckets=buckets,
        pickers=pickers,
        reads=reads,
        lock=lock,
        clouds=clouds,
        front_doors=front_doors,
    )
    addons = {cluster.connection.cluster: cluster.addons for cluster in clusters}
    _refuse(documents, [*same_name_problems(documents, clusters), *value_problems(documents, addons)])
    return Desired(
        stack=documents.settings.stack,
        fleet=documents.fleet,
        clusters=clusters,
        plan=replace(planned, lock=_with_installed(clouds.lock, addons)),
        cloud_changes=clouds.changes,
        waiting=frozenset(),
        warnings=(
            *documents.notices,
            *documents.located(of_severity(problems, "warning", "notice")),
            *documents.located(
                replace(problem, severity="warning") for problem in unrendered_problems(documents, addons)
            ),
        ),
        effects=_effects_by_spot(pods, "Entry"),
        follower_effects=_effects_by_spot(pods, "Follower"),
        buckets=buckets,
        doors=front_doors,
    )


def _with_installed(lock: Lock, addons: Mapping[str, tuple[ClusterAddon, ...]]) -> Lock:
    clusters = {
        name: replace(locked, installed={addon.name: addon.version for addon in addons.get(name, ())})
        for name, locked in lock.clusters.items()
    }
    return replace(lock, clusters=clusters)


def _refuse(documents: Documents, problems: Iterable[Problem]) -> None:
    """Raise InvalidDocuments with all errors among the problems, if there are any."""
    if errors := of_severity(problems, "error"):
        raise InvalidDocuments(documents.located(errors))


def _effects_by_spot(pods: PodsBySpot, position: Position) -> dict[Spot, dict[str, tuple[LinkEffect, ...]]]:
    """Return the changes of plugins to the pods in a position, by spot and role."""
    effects = {
        spot: {each.role: each.outcome.effects for each in of_spot if each.placed.position == position}
        for spot, of_spot in sorted(pods.items())
    }
    return {spot: roles for spot, roles in effects.items() if roles}


def _pods(
    documents: Documents,
    planned: Plan,
    lock: Lock,
    clouds: Clouds,
    chains: Chains,
    demands: EditedDemands,
) -> tuple[PodsBySpot, list[Problem]]:
    """Return the pods of every placement, and their problems; those of plugins also without a place."""
    pods: dict[Spot, tuple[Pods, ...]] = {}
    problems: list[Problem] = []
    link_problems: list[LinkProblem] = []
    for placement in planned.placements:
        spot = placement.spot
        spend(_GENERATED, f"making pods of {spot.deployment}")
        created = clouds.clusters.get(spot.cluster)
        of_spot = demands.pods.get(spot) or spot_pods(
            documents, spot, chains, created.pools if created else None
        )
        pods[spot] = of_spot.pods
        if documents.deployments[spot.deployment].spec.paused:
            # Nothing is made of these pods: what documents say meanwhile need not suit where they are.
            continue
        problems += of_spot.problems
        problems += unlike_demand_problems(demands, of_spot.pods)
        link_problems += of_spot.link_problems
        link_problems += [warning for each in of_spot.pods for warning in each.outcome.output]
    of_documents, of_plugins = anti_affinity_problems(documents, planned, pods)
    problems += of_documents
    link_problems += of_plugins
    link_problems += unplaced_link_problems(demands, {spot.deployment for spot in pods})
    problems += chain_problems(link_problems)
    problems += risk_problems(documents, pods)
    problems += scheduler_problems(documents, pods)
    finished = {
        spot: [(each.role, each.outcome.template) for each in of_spot] for spot, of_spot in pods.items()
    }
    problems += pod_problems(documents, planned, lock, clouds.clusters, finished)
    return pods, problems


def _pickers(documents: Documents, planned: Plan, pods: PodsBySpot) -> Pickers:
    engines: defaultdict[tuple[str, str], list[Pods]] = defaultdict(list)
    for spot, of_spot in pods.items():
        engines[spot.deployment, spot.cluster].extend(of_spot)
    paths = exposed_paths(documents, planned.endpoints, planned.services)
    keys = {(endpoint.deployment, endpoint.cluster): endpoint for endpoint in planned.endpoints}
    return {
        key: endpoint_picker(documents, endpoint, engines[key], paths=paths[key])
        for key, endpoint in keys.items()
    }


def _clusters(
    documents: Documents,
    planned: Plan,
    pods: PodsBySpot,
    *,
    buckets: tuple[CloudComponent, ...],
    pickers: Pickers,
    reads: Reads,
    lock: Lock,
    clouds: Clouds,
    front_doors: tuple[Door, ...],
) -> tuple[DesiredCluster, ...]:
    """Return every cluster with all that should exist there."""
    read_on = _by_cluster(
        (spot.cluster, (spot.deployment, reference)) for spot, named in reads.items() for reference in named
    )
    pods_on = _by_cluster((spot.cluster, each) for spot, of_spot in pods.items() for each in of_spot)
    routes_on = _by_cluster((route.cluster, route) for route in planned.services)
    placements_on = _by_cluster((placement.spot.cluster, placement) for placement in planned.placements)
    for name in documents.clusters:
        read_on[name] += cache_reads(documents, name)
    sites = {name: Site(name, clouds.clusters.get(name)) for name in sorted(documents.clusters)}
    shared = _serving_stacks(documents, planned, sites, read_on, front_doors)
    endpoints = _endpoints(documents, planned, pods, pickers=pickers, sites=sites, shared=shared)
    filled = {name: fillings(documents, site, shared[name], buckets) for name, site in sites.items()}
    placed = _replicas(
        documents,
        planned,
        pods,
        lock=lock,
        sites=sites,
        shared=shared,
        filled=filled,
        reads=reads,
        endpoints=endpoints,
    )
    placed_on = _by_cluster((each.spot.cluster, each) for each in placed)
    clusters = [
        _cluster(
            documents,
            site,
            locks=(lock, clouds.lock),
            routes=routes_on[name],
            shared=shared[name],
            filled=filled[name],
            placed=placed_on[name],
            endpoints=endpoints[name],
            read=read_on[name],
            pods=pods_on[name],
            pools=expected_nodes(documents, site, placements_on[name], pods, planned.demands.labels),
        )
        for name, site in sites.items()
    ]
    revised = {endpoint.deployment for endpoint in planned.endpoints if endpoint.revision}
    clusters = [routes_follow(cluster, revised) for cluster in clusters]
    with_doors = _with_front_doors(documents, clusters, front_doors, sites=sites, shared=shared)
    return tuple(_with_addons(documents, cluster, sites, lock) for cluster in with_doors)


def _with_addons(
    documents: Documents, cluster: DesiredCluster, sites: Mapping[str, Site], lock: Lock
) -> DesiredCluster:
    """Return the cluster with the add-ons that its objects need, where anything is registered."""
    name = cluster.connection.cluster
    if not _is_registered(documents, name, lock):
        return cluster
    addons = cluster_addons(documents, cluster, lock.clusters.get(name))
    installed = addon_components(documents, sites[name], cluster, addons)
    return replace(cluster, components=with_addons(cluster, installed), addons=addons)


def _with_front_doors(
    documents: Documents,
    clusters: list[DesiredCluster],
    front_doors: tuple[Door, ...],
    *,
    sites: Mapping[str, Site],
    shared: Mapping[str, ServingStack],
) -> Iterator[DesiredCluster]:
    """Yield the clusters with the InferenceGateways that stand on them, where anything is registered."""
    routes = {
        (component.name.removeprefix(f"{cluster.connection.cluster}/"), cluster.connection.cluster): item.key
        for cluster in clusters
        for component in cluster.components
        if component.kind == "ModelService"
        for item in component.objects
    }
    for cluster in clusters:
        name = cluster.connection.cluster
        components: list[Component] = []
        gateways = {}
        for door in front_doors:
            if door.hub == name and cluster.components:
                made = front_door(documents, door, site=sites[name], shared=shared[name], routes=routes)
                gateways[door.gateway] = next(item for item in made[0].objects if item.kind == "Gateway")
                components += made
        yield replace(
            cluster,
            components=(*cluster.components, *components),
            front_doors=gateways,
            envoy_gateway=configuration(documents.gateways[key] for key in sorted(gateways))
            if gateways
            else {},
            objects_needed=(
                *cluster.objects_needed,
                *(door_needs(documents, front_doors, name) if gateways else ()),
            ),
        )


def _serving_stacks(
    documents: Documents,
    planned: Plan,
    sites: Mapping[str, Site],
    read_on: Mapping[str, list[Read]],
    front_doors: tuple[Door, ...],
) -> dict[str, ServingStack]:
    """Return what the deployments of a cluster share, by cluster. `read_on` has what its pods name."""
    keys_on = _by_cluster(
        chain(
            ((endpoint.cluster, endpoint.deployment) for endpoint in planned.endpoints),
            ((route.cluster, route.service) for route in planned.services),
            ((name, cache.metadata.key) for name in sites for cache in caches_on(documents, name)),
        )
    )
    return {
        name: serving_stack(
            site,
            namespaces={key.partition("/")[0] for key in keys_on[name]},
            secrets={
                **stack_secrets(documents, read_on[name]),
                **door_secrets(documents, front_doors, name),
            },
            serving=documents.clusters[name].spec.serving,
            stack=documents.settings.stack,
            pod_security=documents.settings.pod_security,
            models=bool(documents.clusters[name].spec.node_pools),
            front_doors=any(door.hub == name for door in front_doors),
        )
        for name, site in sites.items()
    }


def _cluster(
    documents: Documents,
    site: Site,
    *,
    locks: tuple[Lock, Lock],
    routes: list[ServiceRoute],
    shared: ServingStack,
    filled: Mapping[str, Filling],
    placed: list[Replicas],
    endpoints: list[ModelEndpoint],
    read: list[Read],
    pods: list[Pods],
    pools: tuple[ExpectedNodes, ...],
) -> DesiredCluster:
    """Return one cluster with all that should exist there.

    `locks` are the loaded one and the next. `read` has what the pods of deployments and caches name.
    """
    name, (loaded, next_lock) = site.cluster, locks
    spec = documents.clusters[name].spec
    # Where no models are, nothing leads to them.
    gateway = spec.serving.gateway if spec.node_pools else None
    registered = _is_registered(documents, name, loaded)
    cloud = site.cloud
    if cloud and documents.clusters[name].spec.state == "paused":
        cloud = held_cloud(cloud, locked=registered)
    changing = [each.spot for each in placed if not documents.holds(each.spot.deployment, name)]
    components: tuple[Component, ...] = ()
    served: dict[str, Served] = {}
    if registered:
        components, served = _components(
            documents, routes, site, shared=shared, filled=filled, placed=placed, endpoints=endpoints
        )
    return DesiredCluster(
        connection=connection(documents, name, next_lock, cloud),
        components=components,
        gateway_class=gateway.class_name if gateway else None,
        gateway_provider=gateway.provider if gateway else "none",
        gateway_ref=(gateway.ref.namespace, gateway.ref.name) if gateway and gateway.ref else None,
        objects_needed=object_needs(
            documents,
            [(key, reference) for key, reference in read if not documents.holds(key, name)],
            pods,
            {
                (made.kind, made.namespace or "", made.kubernetes_name)
                for component in components
                for made in component.objects
            },
        ),
        gateway=shared.gateway if registered else None,
        workloads={each.spot: each.keys for each in placed},
        scheduler_needs=scheduler_needs(documents, changing),
        served=served,
        pools=pools,
    )


def _by_cluster(things: Iterable[tuple[str, _Thing]]) -> defaultdict[str, list[_Thing]]:
    """Return things by the cluster that each is of."""
    by_cluster: defaultdict[str, list[_Thing]] = defaultdict(list)
    for cluster, thing in things:
        by_cluster[cluster].append(thing)
    return by_cluster


def _endpoints(
    documents: Documents,
    planned: Plan,
    pods: PodsBySpot,
    *,
    pickers: Pickers,
    sites: Mapping[str, Site],
    shared: Mapping[str, ServingStack],
) -> Mapping[str, list[ModelEndpoint]]:
    """Return the endpoints by cluster."""
    spots = _by_cluster((spot.cluster, spot) for spot in pods)
    return _by_cluster(
        (
            endpoint.cluster,
            model_endpoint(
                documents,
                endpoint,
                site=sites[endpoint.cluster],
                picker=pickers[endpoint.deployment, endpoint.cluster],
                shared=shared[endpoint.cluster],
                pods=[
                    each
                    for spot in spots[endpoint.cluster]
                    if spot.deployment == endpoint.deployment
                    for each in pods[spot]
                ],
            ),
        )
        for endpoint in planned.endpoints
    )


def _replicas(
    documents: Documents,
    planned: Plan,
    pods: PodsBySpot,
    *,
    lock: Lock,
    sites: Mapping[str, Site],
    shared: Mapping[str, ServingStack],
    filled: Mapping[str, Mapping[str, Filling]],
    reads: Reads,
    endpoints: Mapping[str, list[ModelEndpoint]],
) -> list[Replicas]:
    """Return the replicas of all placements. Those in the lock roll one after the other, new ones do not."""
    placed: list[Replicas] = []
    previous: dict[str, tuple[str, ...]] = {}
    endpoint_of = {
        (name, each.deployment): each for name, of_cluster in endpoints.items() for each in of_cluster
    }
    for placement in planned.placements:
        spot = placement.spot
        endpoint = endpoint_of[spot.cluster, spot.deployment]
        rolls = lock.runs(spot) and not documents.holds(spot.deployment, spot.cluster)
        of_placement = replicas(
            documents,
            placement,
            pods[spot],
            site=sites[spot.cluster],
            needs=(
                *shared[spot.cluster].needs(
                    spot.namespace, {named.name for named in reads[spot] if named.kind == "Secret"}
                ),
                *(
                    key
                    for cache in caches_of(documents, spot.deployment)
                    if cache.metadata.key in filled[spot.cluster]
                    for key in filled[spot.cluster][cache.metadata.key].claim_key
                ),
            ),
            before=(*endpoint.outlived, *(previous.get(spot.deployment, ()) if rolls else ())),
            edition=endpoint.edition,
        )
        placed.append(of_placement)
        if rolls:
            previous[spot.deployment] = of_placement.keys
    return placed


def _components(
    documents: Documents,
    routes: Iterable[ServiceRoute],
    site: Site,
    *,
    shared: ServingStack,
    filled: Mapping[str, Filling],
    placed: list[Replicas],
    endpoints: list[ModelEndpoint],
) -> tuple[tuple[Component, ...], dict[str, Served]]:
    """Return the components on a cluster, and what serves each deployment there."""
    profile = picker_row(documents.clusters[site.cluster].spec.serving.profile, disaggregated=False)
    services = [
        (
            route,
            model_service(documents, route, site=site, profile=profile, shared=shared, endpoints=endpoints),
        )
        for route in routes
    ]
    whole = documents.clusters[site.cluster].spec.held
    components = (
        replace(shared.component, held=whole),
        *(cache_component(site.cluster, key, filling, held=whole) for key, filling in filled.items()),
        *(_held(documents, each.component, each.deployment, site.cluster) for each in endpoints),
        *(_held(documents, each.component, each.spot.deployment, site.cluster) for each in placed),
        *(replace(component, held=whole) for _, component in services),
    )
    return components, what_serves(endpoints, placed, services)


def _held(documents: Documents, component: Component, deployment: str, cluster: str) -> Component:
    return replace(component, held=documents.holds(deployment, cluster))


def _is_registered(documents: Documents, cluster: str, lock: Lock) -> bool:
    """Return whether objects of a cluster are registered.

    There are none on an abandoned cluster, nor on one that is paused or lost and that the lock does not know.
    """
    spec = documents.clusters[cluster].spec
    if not spec.held:
        return spec.state != "abandoned"
    return (
        cluster in lock.clusters
        or any(spot.cluster == cluster for spot in lock.placements)
        or any(cluster in clusters for clusters in lock.services.values())
    )
