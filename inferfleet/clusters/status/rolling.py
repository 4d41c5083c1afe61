"""Whether the roll of a workload is over and, where it is not, what pods of the latest template wait for.

Old pods serve as long as a new one is not ready, so that a workload may have all of its pods ready and be
stuck all the same. That a roll is over is what `kubectl rollout status` calls so (kubectl v0.36.3,
pkg/polymorphichelpers/rollout_status.go): of pods that are being deleted the controller counts none
(GetActualReplicaCountForReplicaSets in kubernetes v1.36.3), so one whose old pods drain is over.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from inferfleet.clusters.status.groups import Member, latest_revision, revision_of
from inferfleet.clusters.status.values import Phase, PodStatus, worst
from inferfleet.serving.workload import WORKER_SET, pods_of


def unfinished(
    workload: Mapping[str, Any], actual: Mapping[str, Any], members: Iterable[Member], failure: str = ""
) -> tuple[Phase, str] | None:
    """Return the phase and the course of a roll that is not over, None where none is under way.

    `workload` is as it should be and `actual` as it is on the cluster; `members` are its live pods. `failure`
    is why its controller makes none.
    """
    of_groups = workload["kind"] == WORKER_SET
    status, replicas = actual.get("status") or {}, workload["spec"]["replicas"]
    behind = status.get("observedGeneration", 0) < actual["metadata"].get("generation", 0)
    updated = status.get("updatedReplicas", 0)
    if not replicas or not (behind or updated < replicas or _others_remain(status, of_groups=of_groups)):
        return None
    alive = [(pod, told) for pod, told in members if told.phase != Phase.LEAVING]
    latest = [] if behind or not updated else _latest(status, alive, of_groups=of_groups)
    waiting = [told for told in latest or map(itemgetter(1), alive) if told.phase != Phase.READY]
    if not waiting or behind or not updated:
        of = "groups" if of_groups else "pods"
        course = f"rolls: {updated} of {replicas} {of} have the latest template"
        if paused := paused_by_hand(actual):
            return Phase.PENDING, f"{course}; {paused}"
        return (Phase.FAILED, f"{course}; {failure}") if failure else (Phase.STARTING, course)
    phase = worst(told.phase for told in waiting)
    words = _words(next(told for told in waiting if told.phase == phase))
    if not latest:
        return phase, f"rolls: {words}"
    ready = len(latest) - len(waiting)
    before = sum(told.phase == Phase.READY for _, told in alive) - ready
    serves = f"; {before} of before {'serves' if before == 1 else 'serve'}" if before else ""
    wanted = pods_of(workload)
    return phase, f"rolls: {ready} of {wanted} pods of the latest template are ready: {words}{serves}"


def paused_by_hand(actual: Mapping[str, Any]) -> str:
    """Return how somebody lets a Deployment go on that makes no pods of a new template, "" where it does.

    No document and no update sets this field
    (https://kubernetes.io/docs/reference/kubectl/generated/kubectl_rollout/kubectl_rollout_resume/).
    """
    if not (actual.get("spec") or {}).get("paused"):
        return ""
    name, namespace = actual["metadata"]["name"], actual["metadata"]["namespace"]
    return (
        "it does not go on while its spec.paused is true: run `kubectl rollout resume "
        f"deployment/{name} --namespace {namespace}`"
    )


def _others_remain(status: Mapping[str, Any], *, of_groups: bool) -> bool:
    """Return whether there are pods, or groups of pods, of another template than the latest.

    A LeaderWorkerSet counts groups that it made beyond its number too, and is available once all within that
    number are ready and of its latest template (updateConditions in lws v0.10.0,
    pkg/controllers/leaderworkerset_controller.go).
    """
    if of_groups:
        return any(
            (condition["type"], condition["status"]) == ("Available", "False")
            for condition in status.get("conditions") or ()
        )
    return bool(status.get("replicas", 0) > status.get("updatedReplicas", 0))


def _latest(status: Mapping[str, Any], alive: Sequence[Member], *, of_groups: bool) -> list[PodStatus]:
    """Return the pods of the latest template; none where nothing tells them apart.

    The condition Progressing of a Deployment names its latest ReplicaSet (kubernetes v1.36.3,
    pkg/controller/deployment/progress.go and sync.go).
    """
    if of_groups:
        latest = latest_revision(pod for pod, _ in alive)
        return [told for pod, told in alive if revision_of(pod) == latest]
    conditions = status.get("conditions") or ()
    named = next((each.get("message") or "" for each in conditions if each["type"] == "Progressing"), "")
    return [told for pod, told in alive if any(f'"{owner}"' in named for owner in _owners(pod))]


def _owners(pod: Mapping[str, Any]) -> list[str]:
    return [str(owner["name"]) for owner in pod["metadata"].get("ownerReferences") or ()]


def _words(pod: PodStatus) -> str:
    time = "" if pod.seconds is None else f" for {pod.seconds} s"
    limit = f" of {pod.budget} s" if time and pod.budget else ""
    return f"{pod.name} is {pod.phase}{time}{limit}" + (f": {pod.message}" if pod.message else "")
