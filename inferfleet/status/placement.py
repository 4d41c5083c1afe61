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
    """Return the status of a placement. `workloads` are the desired Deployments, one per role; `seen` is None
    where the cluster did not answer.
    """
    wanted = sum(workload["spec"]["replicas"] for workload in workloads)
    if seen is None:
        return PlacementStatus(cluster, pools, Phase.UNKNOWN, wanted, 0)
    pods: list[PodStatus] = []
    phases: list[Phase] = []
    messages: list[str] = []
    for workload in workloads:
        own_pods = list(_pods(workload, seen, now))
        pods += own_pods
        phase, message = _workload(workload, own_pods, seen)
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
    )


def _pods(workload: dict[str, Any], seen: Seen, now: datetime) -> Iterator[PodStatus]:
    labels = workload["spec"]["selector"]["matchLabels"]
    deadline = workload["spec"]["progressDeadlineSeconds"]
    for pod in seen.pods:
        if selected(pod, workload["metadata"]["namespace"], labels):
            yield pod_status(pod, main="engine", deadline=deadline, now=now)


def _workload(workload: dict[str, Any], pods: list[PodStatus], seen: Seen) -> tuple[Phase, str]:
    key = ("Deployment", workload["metadata"]["namespace"], workload["metadata"]["name"])
    actual = seen.objects.get(key)
    if actual is None:
        return Phase.MISSING, f"{titled(key)} {ABSENT}"
    status, wanted = actual.get("status") or {}, workload["spec"]["replicas"]
    alive = [pod for pod in pods if pod.phase != Phase.LEAVING]
    unready = [pod.phase for pod in alive if pod.phase != Phase.READY]
    ready = len(alive) - len(unready)
    failure = "; ".join(_failures(status))
    if ready < wanted:
        # The pods say more than their Deployment, as long as there are any.
        phase = worst(unready) if unready else Phase.FAILED if failure else Phase.PENDING
        missing = f"{len(alive)} of {wanted} pods exist" if len(alive) < wanted else ""
        return phase, "; ".join(part for part in (missing, failure) if part)
    behind = status.get("observedGeneration", 0) < actual["metadata"].get("generation", 0)
    updated = status.get("updatedReplicas", 0)
    if wanted and (behind or updated < wanted):
        return Phase.STARTING, f"rolls: {updated} of {wanted} pods have the latest template"
    return Phase.READY, ""


def _failures(status: dict[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or []:
        if (condition["type"], condition["status"]) in (("ReplicaFailure", "True"), ("Progressing", "False")):
            yield one_line(condition.get("message") or condition.get("reason") or condition["type"])
