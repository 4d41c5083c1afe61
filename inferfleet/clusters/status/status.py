"""status(desired, seen, now): what is desired against what the clusters have, by deployment and cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from inferfleet.clusters.status import routing
from inferfleet.clusters.status.drift import drift
from inferfleet.clusters.status.pods import (
    Member,
    group_waits,
    groups,
    held_back,
    one_line,
    paused_by_hand,
    pod_status,
    terminated,
    unfinished,
    waits_for_nodes,
)
from inferfleet.clusters.status.read import Key, LiveCloudCluster, LiveCluster, key_of
from inferfleet.clusters.status.routing import ABSENT, selected, titled
from inferfleet.clusters.status.values import (
    CacheStatus,
    ClusterStatus,
    DeploymentStatus,
    EndpointStatus,
    FrontDoorStatus,
    GroupStatus,
    PartStatus,
    Phase,
    PlacementStatus,
    PluginStatus,
    PodStatus,
    ServiceStatus,
    Status,
    worst,
)
from inferfleet.desired.values import FRONT_DOORS, Component, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Endpoint, Placement, ServiceRoute
from inferfleet.serving.gateway import address_of
from inferfleet.serving.picker import CONTAINER as PICKER
from inferfleet.serving.weights import JOB_NAME
from inferfleet.serving.workload import WORKER_SET, bounds, pods_of

_OURS = ("Gateway", names.SYSTEM_NAMESPACE, names.GATEWAY)
_UNKNOWN: routing.Verdict = (Phase.UNKNOWN, "")


def status(
    desired: Desired,
    seen: Mapping[str, LiveCluster | Problem],
    now: datetime,
    *,
    in_cloud: Mapping[str, LiveCloudCluster] | None = None,
) -> Status:
    """Return the status of the whole stack. Pure.

    `seen` holds by cluster what it has, or the problem why that is unknown; `in_cloud` the clusters that the
    stack creates, as far as Google answered. `now` has a time zone. Abandoned clusters are left out: nothing
    is desired there.
    """
    clusters = {cluster.connection.cluster: cluster for cluster in desired.clusters}
    plan = desired.plan

    def known(name: str) -> tuple[DesiredCluster, LiveCluster | None]:
        live = seen.get(name)
        return clusters[name], live if isinstance(live, LiveCluster) else None

    placements: dict[str, list[PlacementStatus]] = {}
    for placement in plan.placements:
        placements.setdefault(placement.spot.deployment, []).append(
            _placement(placement, *known(placement.spot.cluster), now)
        )
    endpoints: dict[str, list[EndpointStatus]] = {}
    for endpoint in plan.endpoints:
        cluster, live = known(endpoint.cluster)
        endpoint_status = _endpoint(endpoint, cluster, live, now)
        held = endpoint.deployment in plan.paused or cluster.connection.state == "paused"
        if not (held and Phase.MISSING in (part.phase for part in endpoint_status.parts)):
            endpoints.setdefault(endpoint.deployment, []).append(endpoint_status)
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
                name,
                tuple(placements.get(name, ())),
                tuple(endpoints.get(name, ())),
                unplaced.get(name, 0),
                name in plan.paused,
            )
            for name in sorted({*placements, *endpoints, *unplaced})
        ),
        tuple(ServiceStatus(name, tuple(of_service)) for name, of_service in sorted(routes.items())),
        tuple(drift(desired, seen, in_cloud or {})),
        tuple(
            _cache(component, cluster.connection.cluster, known(cluster.connection.cluster)[1])
            for cluster in desired.clusters
            for component in cluster.components
            if component.kind == "ModelCache"
        ),
        tuple(
            _front_door(name, gateway, *known(cluster.connection.cluster))
            for cluster in desired.clusters
            for name, gateway in sorted(cluster.front_doors.items())
        ),
    )


def _front_door(
    name: str, gateway: KubeObject, cluster: DesiredCluster, seen: LiveCluster | None
) -> FrontDoorStatus:
    """Return whether Envoy Gateway serves the objects of an InferenceGateway."""
    where = cluster.connection.cluster
    address = address_of(seen.objects.get(key_of(gateway), {})) if seen else None
    judged = [
        (item, judge)
        for component in cluster.components
        if component.kind in FRONT_DOORS
        for item in component.objects
        if item.manifest["metadata"]["labels"].get(names.FRONT_DOOR) == name
        if (judge := routing.door_judge(item))
    ]
    return FrontDoorStatus(
        name,
        where,
        address.host if address else None,
        tuple(
            routing.part(where, key_of(item), judge(seen.objects) if seen else _UNKNOWN)
            for item, judge in judged
        ),
    )


def _cache(component: Component, cluster: str, seen: LiveCluster | None) -> CacheStatus:
    """Return how far the weights of a cache are: by their Job, and by the words of its pod."""
    name = component.name.removeprefix(f"{cluster}/")
    job = next(item for item in component.objects if item.kind == "Job")
    if seen is None:
        return CacheStatus(name, cluster, Phase.UNKNOWN)
    actual = seen.objects.get(key_of(job))
    if actual is None:
        return CacheStatus(name, cluster, Phase.MISSING, f"{titled(key_of(job))} {ABSENT}")
    if (actual.get("status") or {}).get("succeeded"):
        return CacheStatus(name, cluster, Phase.READY)
    pods = [
        pod for pod in seen.pods if (pod["metadata"].get("labels") or {}).get(JOB_NAME) == job.kubernetes_name
    ]
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            if "running" not in (container.get("state") or {}):
                failed = "; ".join(terminated(container, spoken=False))
                return CacheStatus(name, cluster, Phase.FAILED if failed else Phase.STARTING, failed)
        words = seen.words.get(pod["metadata"]["name"], "")
        return CacheStatus(name, cluster, Phase.STARTING, one_line(words))
    return CacheStatus(name, cluster, Phase.PENDING, "it has no pod yet")


def _cluster(cluster: DesiredCluster, seen: LiveCluster | Problem | None) -> ClusterStatus:
    name, paused = cluster.connection.cluster, cluster.connection.state == "paused"
    if not isinstance(seen, LiveCluster):
        lost = cluster.connection.state == "lost"
        why = "its document says `state: lost`, so it is not asked" if lost else "it was not asked"
        return ClusterStatus(name, silent=seen.what if seen else why, paused=paused)
    key = _gateway(cluster)
    own = cluster.gateway or cluster.gateway_ref or cluster.gateway_class
    left_out = {obj.key for obj in cluster.monitors if (obj.api_version, obj.kind) in seen.unknown}
    address = address_of(seen.objects.get(key, {}))
    return ClusterStatus(
        name,
        # A cluster without models has none.
        gateway=routing.part(name, key, routing.gateway(seen.objects, key)) if own else None,
        address=address.host if address else None,
        missing=tuple(
            routing.titled(key_of(obj))
            for obj in cluster.changing.objects
            if key_of(obj) not in seen.objects and obj.key not in left_out
        ),
        paused=paused,
    )


def _placement(
    placement: Placement, cluster: DesiredCluster, seen: LiveCluster | None, now: datetime
) -> PlacementStatus:
    component = _component(cluster, "ModelReplicas", names.replicas_component(placement.spot))
    workloads = [obj.manifest for obj in component.objects if obj.kind in ("Deployment", WORKER_SET)]
    pools = " ".join(f"{role}={pool}" for role, pool in placement.spot.pools)
    return placement_status(cluster.connection.cluster, pools, workloads, seen, now)


def _endpoint(
    endpoint: Endpoint, cluster: DesiredCluster, seen: LiveCluster | None, now: datetime
) -> EndpointStatus:
    whole = names.endpoint_component(cluster.connection.cluster, endpoint.deployment)
    parts = (whole, names.route_component(whole))
    by_kind = {
        obj.kind: obj
        for component in cluster.components
        if component.kind == "ModelEndpoint" and component.name in parts
        for obj in component.objects
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


def _picker_pods(picker: KubeObject, seen: LiveCluster, now: datetime) -> Iterator[Member]:
    labels = picker.manifest["spec"]["selector"]["matchLabels"]
    for pod in seen.pods:
        if routing.selected(pod, picker.namespace or "", labels):
            yield pod, pod_status(pod, main=PICKER, deadline=picker.timeout, now=now)


def _picker(picker: KubeObject, members: Sequence[Member], seen: LiveCluster) -> routing.Verdict:
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


def _service(route: ServiceRoute, cluster: DesiredCluster, seen: LiveCluster | None) -> PartStatus:
    name = names.service_component(route.cluster, route.service)
    return _route(_component(cluster, "ModelService", name).objects[0], cluster, seen)


def _route(route: KubeObject, cluster: DesiredCluster, seen: LiveCluster | None) -> PartStatus:
    verdict = routing.route(seen.objects, key_of(route), _gateway(cluster)) if seen else _UNKNOWN
    return routing.part(cluster.connection.cluster, key_of(route), verdict)


def _gateway(cluster: DesiredCluster) -> Key:
    return ("Gateway", *cluster.gateway_ref) if cluster.gateway_ref else _OURS


def _component(cluster: DesiredCluster, kind: str, name: str) -> Component:
    return next(
        component for component in cluster.components if (component.kind, component.name) == (kind, name)
    )


# The phase of a placement, from its workloads and their pods.


def placement_status(
    cluster: str, pools: str, workloads: Sequence[dict[str, Any]], seen: LiveCluster | None, now: datetime
) -> PlacementStatus:
    """Return the status of a placement. `workloads` are the desired Deployments and LeaderWorkerSets, one per
    role; `seen` is None where the cluster did not answer.
    """
    workloads = [_as_scaled(workload, seen) for workload in workloads]
    wanted = sum(map(pods_of, workloads))
    if seen is None:
        return PlacementStatus(cluster, pools, Phase.UNKNOWN, wanted, 0)
    pods: list[PodStatus] = []
    phases: list[Phase] = []
    messages: list[str] = []
    of_workloads: dict[str, tuple[GroupStatus, ...]] = {}
    for workload in workloads:
        members = list(_pods(workload, seen, now))
        pods += [told for _, told in members]
        if workload["kind"] == WORKER_SET:
            spec = workload["spec"]
            of_workload = groups(members, number=spec["replicas"], size=spec["leaderWorkerTemplate"]["size"])
            of_workloads[workload["metadata"]["name"]] = tuple(of_workload)
        phase, message = _workload(workload, members, seen)
        phases.append(phase)
        messages += [message] if message else []
    return PlacementStatus(
        cluster,
        pools,
        worst(phases),
        wanted,
        sum(pod.phase == Phase.READY for pod in pods),
        "; ".join(messages),
        tuple(pods),
        tuple(_plugins(workloads, seen)),
        of_workloads,
    )


def _as_scaled(workload: dict[str, Any], seen: LiveCluster | None) -> dict[str, Any]:
    """Return the workload with the number of replicas that its scaler says, as far as the plan has space."""
    scaled, actual = bounds(workload), seen.objects.get(_key(workload)) if seen else None
    if scaled is None or actual is None:
        return workload
    least, most = scaled
    replicas = min(max(int(actual["spec"].get("replicas", 1)), least), most)
    return {**workload, "spec": {**workload["spec"], "replicas": replicas}}


def _plugins(workloads: Sequence[dict[str, Any]], seen: LiveCluster) -> Iterator[PluginStatus]:
    for workload in workloads:
        actual = seen.objects.get(_key(workload))
        if actual is None:
            continue
        made_with, wanted = _made_with(actual), _made_with(workload)
        if made_with or wanted:
            name = workload["metadata"]["name"]
            yield PluginStatus(name, made_with, wanted, made_with != wanted)


def _made_with(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the annotation of a workload says of plugins."""
    text = (workload["metadata"].get("annotations") or {}).get(names.PLUGINS)
    return tuple(one_line(entry.strip()) for entry in text.split(",")) if text else ()


def _pods(workload: dict[str, Any], seen: LiveCluster, now: datetime) -> Iterator[Member]:
    metadata, spec = workload["metadata"], workload["spec"]
    if workload["kind"] == WORKER_SET:
        labels = names.group_selector(metadata["name"])
    else:
        labels = spec["selector"]["matchLabels"]
    for pod in seen.pods:
        # The selector of a Deployment would take the pods of the groups that it replaces, or that replace it.
        of_groups = names.LWS_NAME in (pod["metadata"].get("labels") or {})
        if selected(pod, metadata["namespace"], labels) and of_groups == (workload["kind"] == WORKER_SET):
            deadline = spec.get("progressDeadlineSeconds")
            held = held_back(pod, seen.admissions) or waits_for_nodes(pod, seen.objects)
            told = pod_status(pod, main="engine", deadline=deadline, now=now, held=held)
            yield pod, replace(told, adapters=one_line(seen.words.get(pod["metadata"]["name"], "")))


def _workload(workload: dict[str, Any], members: list[Member], seen: LiveCluster) -> tuple[Phase, str]:
    key = _key(workload)
    actual = seen.objects.get(key)
    if actual is None:
        return Phase.MISSING, f"{titled(key)} {ABSENT}"
    status, wanted = actual.get("status") or {}, pods_of(workload)
    alive = [told for _, told in members if told.phase != Phase.LEAVING]
    unready = [told.phase for told in alive if told.phase != Phase.READY]
    ready = len(alive) - len(unready)
    failure = "; ".join(_failures(status))
    if ready < wanted:
        # The pods say more than their Deployment, as long as there are any.
        phase = worst(unready) if unready else Phase.FAILED if failure else Phase.PENDING
        missing = f"{len(alive)} of {wanted} pods exist" if len(alive) < wanted else ""
        paused = paused_by_hand(actual) if status.get("updatedReplicas", 0) < wanted else ""
        return phase, "; ".join(
            part for part in (missing, group_waits(workload, seen.objects), failure, paused) if part
        )
    return unfinished(workload, actual, members, failure) or (Phase.READY, "")


def _key(workload: Mapping[str, Any]) -> Key:
    return workload["kind"], workload["metadata"]["namespace"], workload["metadata"]["name"]


def _failures(status: dict[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or []:
        if (condition["type"], condition["status"]) in (("ReplicaFailure", "True"), ("Progressing", "False")):
            yield one_line(condition.get("message") or condition.get("reason") or condition["type"])
