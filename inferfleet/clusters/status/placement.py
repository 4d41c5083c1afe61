"""The phase of a placement, from its workloads and their pods."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from inferfleet.clusters.status.admission import group_waits, held_back, waits_for_nodes
from inferfleet.clusters.status.groups import Member, groups
from inferfleet.clusters.status.pods import one_line, pod_status
from inferfleet.clusters.status.read import Key, Seen
from inferfleet.clusters.status.rolling import paused_by_hand, unfinished
from inferfleet.clusters.status.routing import ABSENT, selected, titled
from inferfleet.clusters.status.values import (
    GroupStatus,
    Phase,
    PlacementStatus,
    PluginStatus,
    PodStatus,
    worst,
)
from inferfleet.fleet import names
from inferfleet.serving.workload import WORKER_SET, bounds, pods_of


def placement_status(
    cluster: str, pools: str, workloads: Sequence[dict[str, Any]], seen: Seen | None, now: datetime
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


def _as_scaled(workload: dict[str, Any], seen: Seen | None) -> dict[str, Any]:
    """Return the workload with the number of replicas that its scaler says, as far as the plan has room."""
    scaled, actual = bounds(workload), seen.objects.get(_key(workload)) if seen else None
    if scaled is None or actual is None:
        return workload
    least, most = scaled
    replicas = min(max(int(actual["spec"].get("replicas", 1)), least), most)
    return {**workload, "spec": {**workload["spec"], "replicas": replicas}}


def _plugins(workloads: Sequence[dict[str, Any]], seen: Seen) -> Iterator[PluginStatus]:
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


def _pods(workload: dict[str, Any], seen: Seen, now: datetime) -> Iterator[Member]:
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
            yield pod, pod_status(pod, main="engine", deadline=deadline, now=now, held=held)


def _workload(workload: dict[str, Any], members: list[Member], seen: Seen) -> tuple[Phase, str]:
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
