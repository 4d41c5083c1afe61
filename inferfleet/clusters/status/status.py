"""status(desired, seen, now): what is desired against what the clusters have, by deployment and cluster."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from inferfleet.clusters.status import routing
from inferfleet.clusters.status.drift import drift
from inferfleet.clusters.status.groups import Member
from inferfleet.clusters.status.placement import placement_status
from inferfleet.clusters.status.pods import pod_status
from inferfleet.clusters.status.read import InCloud, Key, Seen, key_of
from inferfleet.clusters.status.rolling import unfinished
from inferfleet.clusters.status.values import (
    ClusterStatus,
    DeploymentStatus,
    EndpointStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    ServiceStatus,
    Status,
    worst,
)
from inferfleet.desired.values import Component, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, Placement, ServiceRoute
from inferfleet.serving.gateway import address_of
from inferfleet.serving.picker import CONTAINER as PICKER
from inferfleet.serving.workload import WORKER_SET

_OURS = ("Gateway", names.SYSTEM_NAMESPACE, names.GATEWAY)
_UNKNOWN: routing.Verdict = (Phase.UNKNOWN, "")


def status(
    desired: Desired,
    seen: Mapping[str, Seen | Problem],
    now: datetime,
    *,
    in_cloud: Mapping[str, InCloud] | None = None,
) -> Status:
    """Return the status of the whole stack. Pure.

    `seen` holds by cluster what it has, or the problem why that is unknown; `in_cloud` the clusters that the
    stack creates, as far as Google answered. `now` has a time zone. Abandoned clusters are left out: nothing
    is desired there.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}
    plan = desired.plan

    def known(name: str) -> tuple[DesiredCluster, Seen | None]:
        live = seen.get(name)
        return clusters[name], live if isinstance(live, Seen) else None

    placements: dict[str, list[PlacementStatus]] = {}
    for placement in plan.placements:
        placements.setdefault(placement.spot.deployment, []).append(
            _placement(placement, *known(placement.spot.cluster), now)
        )
    endpoints: dict[str, list[EndpointStatus]] = {}
    for endpoint in plan.endpoints:
        endpoints.setdefault(endpoint.deployment, []).append(
            _endpoint(endpoint, *known(endpoint.cluster), now)
        )
    routes: dict[str, list[PartStatus]] = {}
    for route in plan.services:
        routes.setdefault(route.service, []).append(_service(route, *known(route.cluster)))
    unplaced = {missing.deployment: missing.replicas for missing in plan.unplaced}
    return Status(
        desired.stack,
        tuple(
            _cluster(cluster, seen.get(name))
            for name, cluster in sorted(clusters.items())
            if cluster.connection.state != "abandoned"
        ),
        tuple(
            DeploymentStatus(
                name, tuple(placements.get(name, ())), tuple(endpoints.get(name, ())), unplaced.get(name, 0)
            )
            for name in sorted({*placements, *endpoints, *unplaced})
        ),
        tuple(ServiceStatus(name, tuple(of_service)) for name, of_service in sorted(routes.items())),
        tuple(drift(desired, seen, in_cloud or {})),
    )


def _cluster(cluster: DesiredCluster, seen: Seen | Problem | None) -> ClusterStatus:
    name = cluster.connection.cluster
    if not isinstance(seen, Seen):
        lost = cluster.connection.state == "lost"
        why = "its document says `state: lost`, so it is not asked" if lost else "it was not asked"
        return ClusterStatus(name, silent=seen.what if seen else why)
    key = _gateway(cluster)
    left_out = {made.key for made in cluster.monitors if (made.api_version, made.kind) in seen.unknown}
    address = address_of(seen.objects.get(key, {}))
    return ClusterStatus(
        name,
        gateway=routing.part(name, key, routing.gateway(seen, key)),
        address=address.host if address else None,
        missing=tuple(
            routing.titled(key_of(wanted))
            for wanted in cluster.objects
            if key_of(wanted) not in seen.objects and wanted.key not in left_out
        ),
    )


def _placement(
    placement: Placement, cluster: DesiredCluster, seen: Seen | None, now: datetime
) -> PlacementStatus:
    component = _component(cluster, "ModelReplicas", names.replicas_component(placement.spot))
    workloads = [wanted.manifest for wanted in component.objects if wanted.kind in ("Deployment", WORKER_SET)]
    pools = " ".join(f"{role}={pool}" for role, pool in placement.spot.pools)
    return placement_status(cluster.connection.cluster, pools, workloads, seen, now)


def _endpoint(
    endpoint: Endpoint, cluster: DesiredCluster, seen: Seen | None, now: datetime
) -> EndpointStatus:
    whole = names.endpoint_component(cluster.connection.cluster, endpoint.deployment)
    parts = (whole, names.route_component(whole))
    by_kind = {
        wanted.kind: wanted
        for component in cluster.components
        if component.kind == "ModelEndpoint" and component.name in parts
        for wanted in component.objects
    }
    picker, pool, route = by_kind["Deployment"], by_kind["InferencePool"], by_kind.get("HTTPRoute")
    members = tuple(_picker_pods(picker, seen, now)) if seen else ()
    name = cluster.connection.cluster
    return EndpointStatus(
        name,
        routing.part(name, key_of(picker), _picker(picker, members, seen) if seen else _UNKNOWN),
        routing.part(
            name, key_of(pool), routing.pool(seen, key_of(pool), picker.manifest) if seen else _UNKNOWN
        ),
        _route(route, cluster, seen) if route else None,
        tuple(told for _, told in members),
    )


def _picker_pods(picker: KubeObject, seen: Seen, now: datetime) -> Iterator[Member]:
    labels = picker.manifest["spec"]["selector"]["matchLabels"]
    for pod in seen.pods:
        if routing.selected(pod, picker.namespace or "", labels):
            yield pod, pod_status(pod, main=PICKER, deadline=picker.timeout, now=now)


def _picker(picker: KubeObject, members: Sequence[Member], seen: Seen) -> routing.Verdict:
    """Return Ready when one pod is ready: of several, only the elected leader becomes ready. A picker with
    one replica keeps its Deployment, which rolls.
    """
    actual = seen.objects.get(key_of(picker))
    if actual is None:
        return Phase.MISSING, routing.ABSENT
    if any(told.phase == Phase.READY for _, told in members):
        rolls = picker.manifest["spec"]["replicas"] == 1 and unfinished(picker.manifest, actual, members)
        return rolls or (Phase.READY, "")
    alive = [told for _, told in members if told.phase != Phase.LEAVING]
    if not alive:
        return Phase.PENDING, "it has no pod yet"
    phase = worst(told.phase for told in alive)
    return phase, next(told.message for told in alive if told.phase == phase)


def _service(route: ServiceRoute, cluster: DesiredCluster, seen: Seen | None) -> PartStatus:
    name = names.service_component(route.cluster, route.service)
    return _route(_component(cluster, "ModelService", name).objects[0], cluster, seen)


def _route(route: KubeObject, cluster: DesiredCluster, seen: Seen | None) -> PartStatus:
    verdict = routing.route(seen, key_of(route), _gateway(cluster)) if seen else _UNKNOWN
    return routing.part(cluster.connection.cluster, key_of(route), verdict)


def _gateway(cluster: DesiredCluster) -> Key:
    return ("Gateway", *cluster.gateway_ref) if cluster.gateway_ref else _OURS


def _component(cluster: DesiredCluster, kind: str, name: str) -> Component:
    return next(
        component for component in cluster.components if (component.kind, component.name) == (kind, name)
    )
