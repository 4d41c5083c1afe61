"""The phase of a placement, from its workloads and their pods."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from inferfleet.status.pods import one_line, pod_status
from inferfleet.status.read import Seen
from inferfleet.status.routing import ABSENT, selected, titled
from inferfleet.status.values import Phase, PlacementStatus, PodStatus, worst


def placement_status(
    cluster: str, pools: str, workloads: Sequence[dict[str, Any]], seen: Seen | None, now: datetime
) -> PlacementStatus:
    """`workloads` are the desired Deployments, one per role; `seen` is None where nothing is known."""
    wanted = sum(one["spec"]["replicas"] for one in workloads)
    if seen is None:
        return PlacementStatus(cluster, pools, Phase.UNKNOWN, wanted, 0)
    pods: list[PodStatus] = []
    found: list[tuple[Phase, str]] = []
    for workload in workloads:
        mine = list(_pods(workload, seen, now))
        pods += mine
        found.append(_workload(workload, mine, seen))
    phase = worst(one for one, _ in found)
    return PlacementStatus(
        cluster,
        pools,
        phase,
        wanted,
        sum(one.phase == Phase.READY for one in pods),
        "; ".join(message for _, message in found if message),
        tuple(pods),
    )


def _pods(workload: dict[str, Any], seen: Seen, now: datetime) -> Iterator[PodStatus]:
    labels = workload["spec"]["selector"]["matchLabels"]
    deadline = workload["spec"]["progressDeadlineSeconds"]
    for pod in seen.pods:
        if selected(pod, workload["metadata"]["namespace"], labels):
            yield pod_status(pod, main="engine", deadline=deadline, now=now)


def _workload(workload: dict[str, Any], pods: list[PodStatus], seen: Seen) -> tuple[Phase, str]:
    key = ("Deployment", workload["metadata"]["namespace"], workload["metadata"]["name"])
    standing = seen.objects.get(key)
    if standing is None:
        return Phase.MISSING, f"{titled(key)} {ABSENT}"
    status, wanted = standing.get("status") or {}, workload["spec"]["replicas"]
    alive = [one for one in pods if one.phase != Phase.LEAVING]
    unready = [one.phase for one in alive if one.phase != Phase.READY]
    ready = len(alive) - len(unready)
    complaint = "; ".join(_complaints(status))
    if ready < wanted:
        # The pods say more than their Deployment, as long as there are any.
        here = worst(unready) if unready else Phase.FAILED if complaint else Phase.PENDING
        lacks = f"{len(alive)} of {wanted} pods exist" if len(alive) < wanted else ""
        return here, "; ".join(one for one in (lacks, complaint) if one)
    behind = status.get("observedGeneration", 0) < standing["metadata"].get("generation", 0)
    updated = status.get("updatedReplicas", 0)
    if wanted and (behind or updated < wanted):
        return Phase.STARTING, f"rolls: {updated} of {wanted} pods have the latest template"
    return Phase.READY, ""


def _complaints(status: dict[str, Any]) -> Iterator[str]:
    for one in status.get("conditions") or []:
        if (one["type"], one["status"]) in (("ReplicaFailure", "True"), ("Progressing", "False")):
            yield one_line(one.get("message") or one.get("reason") or one["type"])
