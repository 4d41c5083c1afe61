"""status(desired, seen, now): what is desired against what was seen of it, by deployment and cluster."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from inferfleet.api.problems import Problem
from inferfleet.desired.addresses import address_of
from inferfleet.desired.values import Component, Desired, DesiredCluster, KubeObject
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, Placement, ServiceRoute
from inferfleet.status import routing
from inferfleet.status.drift import drift
from inferfleet.status.placement import placement_status
from inferfleet.status.pods import pod_status
from inferfleet.status.read import InCloud, Key, Seen
from inferfleet.status.values import (
    ClusterStatus,
    DeploymentStatus,
    EndpointStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    PodStatus,
    ServiceStatus,
    Status,
    worst,
)

_OURS = ("Gateway", names.SYSTEM_NAMESPACE, names.GATEWAY)


def status(
    desired: Desired,
    seen: Mapping[str, Seen | Problem],
    now: datetime,
    *,
    in_cloud: Mapping[str, InCloud] | None = None,
) -> Status:
    """Pure. `seen` by cluster; a Problem says why there is nothing of one. `in_cloud` has the stack's own
    clusters of which Google told. `now` has a time zone.

    Abandoned clusters are left out: nothing is desired there.
    """
    clusters = {one.connection.cluster: one for one in desired.clusters}
    plan = desired.plan

    def of(name: str) -> tuple[DesiredCluster, Seen | None]:
        found = seen.get(name)
        return clusters[name], found if isinstance(found, Seen) else None

    placements: dict[str, list[PlacementStatus]] = {}
    for placement in plan.placements:
        made = _placement(placement, *of(placement.spot.cluster), now)
        placements.setdefault(placement.spot.deployment, []).append(made)
    endpoints: dict[str, list[EndpointStatus]] = {}
    for endpoint in plan.endpoints:
        endpoints.setdefault(endpoint.deployment, []).append(_endpoint(endpoint, *of(endpoint.cluster), now))
    routes: dict[str, list[PartStatus]] = {}
    for route in plan.services:
        routes.setdefault(route.service, []).append(_service(route, *of(route.cluster)))
    unplaced = {one.deployment: one.replicas for one in plan.unplaced}
    return Status(
        desired.stack,
        tuple(
            _cluster(one, seen.get(name))
            for name, one in sorted(clusters.items())
            if one.connection.state != "abandoned"
        ),
        tuple(
            DeploymentStatus(
                name, tuple(placements.get(name, ())), tuple(endpoints.get(name, ())), unplaced.get(name, 0)
            )
            for name in sorted({*placements, *endpoints, *unplaced})
        ),
        tuple(ServiceStatus(name, tuple(found)) for name, found in sorted(routes.items())),
        tuple(drift(desired, seen, in_cloud or {})),
    )


def _cluster(cluster: DesiredCluster, seen: Seen | Problem | None) -> ClusterStatus:
    name = cluster.connection.cluster
    if not isinstance(seen, Seen):
        lost = cluster.connection.state == "lost"
        why = "its document says `state: lost`, so it is not asked" if lost else "it was not asked"
        return ClusterStatus(name, silent=seen.what if seen else why)
    key = _gateway(cluster)
    address = address_of(seen.objects.get(key, {}))
    return ClusterStatus(
        name,
        gateway=routing.part(name, key, routing.gateway(seen, key)),
        address=address.host if address else None,
        missing=tuple(routing.titled(key) for key in map(_key, cluster.objects) if key not in seen.objects),
    )


def _placement(
    placement: Placement, cluster: DesiredCluster, seen: Seen | None, now: datetime
) -> PlacementStatus:
    component = _component(cluster, "ModelReplicas", names.replicas_component(placement.spot))
    workloads = [one.manifest for one in component.objects if one.kind == "Deployment"]
    pools = " ".join(f"{role}={pool}" for role, pool in placement.spot.pools)
    return placement_status(cluster.connection.cluster, pools, workloads, seen, now)


def _endpoint(
    endpoint: Endpoint, cluster: DesiredCluster, seen: Seen | None, now: datetime
) -> EndpointStatus:
    component = _component(
        cluster, "ModelEndpoint", names.endpoint_component(cluster.connection.cluster, endpoint.deployment)
    )
    by_kind = {one.kind: one for one in component.objects}
    picker, pool, route = by_kind["Deployment"], by_kind["InferencePool"], by_kind.get("HTTPRoute")
    pods = tuple(_picker_pods(picker, seen, now)) if seen else ()
    name = cluster.connection.cluster
    return EndpointStatus(
        name,
        routing.part(name, _key(picker), _picker(picker, pods, seen) if seen else _UNKNOWN),
        routing.part(name, _key(pool), routing.pool(seen, _key(pool), picker.manifest) if seen else _UNKNOWN),
        _route(route, cluster, seen) if route else None,
        pods,
    )


def _picker_pods(picker: KubeObject, seen: Seen, now: datetime) -> Iterator[PodStatus]:
    labels = picker.manifest["spec"]["selector"]["matchLabels"]
    for pod in seen.pods:
        if routing.selected(pod, picker.namespace or "", labels):
            yield pod_status(pod, main="epp", deadline=picker.timeout, now=now)


def _picker(picker: KubeObject, pods: tuple[PodStatus, ...], seen: Seen) -> tuple[Phase, str]:
    """One ready pod is enough: of several, only the elected leader becomes ready."""
    if _key(picker) not in seen.objects:
        return Phase.MISSING, routing.ABSENT
    if any(one.phase == Phase.READY for one in pods):
        return Phase.READY, ""
    alive = [one for one in pods if one.phase != Phase.LEAVING]
    if not alive:
        return Phase.PENDING, "it has no pod yet"
    phase = worst(one.phase for one in alive)
    return phase, next(one.message for one in alive if one.phase == phase)


def _service(route: ServiceRoute, cluster: DesiredCluster, seen: Seen | None) -> PartStatus:
    name = names.service_component(route.cluster, route.service)
    return _route(_component(cluster, "ModelService", name).objects[0], cluster, seen)


def _route(route: KubeObject, cluster: DesiredCluster, seen: Seen | None) -> PartStatus:
    found = routing.route(seen, _key(route), _gateway(cluster)) if seen else _UNKNOWN
    return routing.part(cluster.connection.cluster, _key(route), found)


_UNKNOWN: tuple[Phase, str] = (Phase.UNKNOWN, "")


def _gateway(cluster: DesiredCluster) -> Key:
    return ("Gateway", *cluster.gateway_ref) if cluster.gateway_ref else _OURS


def _component(cluster: DesiredCluster, kind: str, name: str) -> Component:
    return next(one for one in cluster.components if (one.kind, one.name) == (kind, name))


def _key(one: KubeObject) -> Key:
    return one.kind, one.namespace or "", one.kubernetes_name
