"""The phase of pods, of groups of pods and of rolls, and why, from what their status says.

Old pods serve as long as a new one is not ready, so that a workload may have all of its pods ready and be
stuck all the same. That a roll is over is what `kubectl rollout status` calls so (kubectl v0.36.3,
pkg/polymorphichelpers/rollout_status.go): of pods that are being deleted the controller counts none
(GetActualReplicaCountForReplicaSets in kubernetes v1.36.3), so one whose old pods drain is over.

A pod that a queue holds back has no node, and no engine of it has failed. Kueue holds pods back by a
scheduling gate each, and says why at its Workloads (apis/kueue/v1beta2/workload_types.go of
kubernetes-sigs/kueue, commit ff69552e): one per pod of a Deployment, owned by the pod, and one per group of a
LeaderWorkerSet, owned by that. Volcano says it at PodGroups
(staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/types.go, commit ed72c7c8); Volcano and KAI tell the
pod as well. Pods on queued pools of GKE wait for a ProvisioningRequest, whose conditions are in the table of
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, 2026-04-08.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from inferfleet.clusters.status.values import GroupStatus, Phase, PodStatus, worst
from inferfleet.documents.pods.template import ENGINE
from inferfleet.fleet import names
from inferfleet.fleet.names import LWS_GROUP, LWS_REVISION, LWS_WORKER
from inferfleet.serving.weights import GATE
from inferfleet.serving.workload import WORKER_SET, pods_of, templates_of
from inferfleet.tables import gke, schedulers

# Reasons of a waiting container that needs nothing but time.
_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})
_BETWEEN_STARTS = "CrashLoopBackOff"
# How kubelets begin the message of every pod that is not ready; some add more.
_UNREADY = re.compile(r"^containers with unready status: \[[^]]*\](; )?")
# Lines and characters of a log: it ends with what went wrong, and more would hide the next pod.
_LAST_LINES = 3
_LONGEST = 600
# From the one that says most of why others wait: a leader that only waits for its followers comes last.
_BLAME = (Phase.FAILED, Phase.PENDING, Phase.NOT_READY, Phase.STARTING, Phase.LEAVING)
# (kind, namespace, name) of the owner; of a group of a LeaderWorkerSet `<name>/<number>`.
Owner = tuple[str, str, str]
_GROUP_NUMBER = "kueue.x-k8s.io/component-workload-index"


def pod_status(
    pod: Mapping[str, Any], *, main: str, deadline: int | None, now: datetime, held: str = ""
) -> PodStatus:
    """Return the status of a pod. `main` is the container whose start takes time; `deadline` is the budget in
    seconds of a pod that no startup probe limits; `held` says who holds it back, where a queue does.
    """
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    phase, message, since, budget = _phase(pod, main, deadline, held)
    return PodStatus(
        metadata["name"],
        phase,
        message,
        seconds=_seconds(since, now),
        budget=budget,
        node=spec.get("nodeName"),
        restarts=sum(container.get("restartCount", 0) for container in _lasting(spec, status)),
    )


def _lasting(spec: Mapping[str, Any], status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the status of each container that runs as long as its pod, native sidecars among them."""
    sidecars = [
        container["name"]
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    ]
    starting = status.get("initContainerStatuses") or []
    return [
        *(status.get("containerStatuses") or []),
        *(each for each in starting if each["name"] in sidecars),
    ]


def _phase(
    pod: Mapping[str, Any], main: str, deadline: int | None, held: str
) -> tuple[Phase, str, str | None, int | None]:
    """Return phase, message, since when (None where it does not matter), and budget."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if "deletionTimestamp" in metadata:
        return Phase.LEAVING, "", None, None
    if status.get("phase") in ("Failed", "Succeeded"):
        parts = [status.get("reason"), status.get("message")]
        return Phase.FAILED, one_line(": ".join(part for part in parts if part)) or "it ended", None, None
    if failures := list(_failures(status)):
        return Phase.FAILED, "; ".join(failures), None, None
    conditions = {condition["type"]: condition for condition in status.get("conditions") or []}
    created = metadata.get("creationTimestamp")
    if not (pod.get("spec") or {}).get("nodeName"):
        message = held or one_line(conditions.get("PodScheduled", {}).get("message", ""))
        return Phase.PENDING, message or "the scheduler has not looked at it yet", created, deadline
    ready = conditions.get("Ready", {})
    if ready.get("status") == "True":
        return Phase.READY, "", None, None
    return _starting(pod, main, deadline, _UNREADY.sub("", one_line(ready.get("message", ""))))


def _starting(
    pod: Mapping[str, Any], main: str, deadline: int | None, unready: str
) -> tuple[Phase, str, str | None, int | None]:
    state = _named(pod["status"].get("containerStatuses"), main)
    running = (state.get("state") or {}).get("running")
    if not running:
        waits = ((state.get("state") or {}).get("waiting") or {}).get("reason", "")
        gate = _named(pod["status"].get("initContainerStatuses"), GATE)
        if since := ((gate.get("state") or {}).get("running") or {}).get("startedAt"):
            return Phase.STARTING, "waits for its weights", since, None
        return Phase.STARTING, waits, pod["metadata"].get("creationTimestamp"), deadline
    probe = _named(pod["spec"].get("containers"), main).get("startupProbe")
    restarted = "; ".join(_ended(state, "lastState"))
    since = running.get("startedAt")
    if probe and not state.get("started"):
        budget = probe.get("initialDelaySeconds", 0)
        budget += probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10)
        return Phase.STARTING, restarted or unready, since, budget
    if not probe and not restarted:
        return Phase.STARTING, unready, since, deadline
    return Phase.NOT_READY, restarted or unready or f"{main} does not pass its readiness probe", since, None


def _failures(status: Mapping[str, Any]) -> Iterator[str]:
    for name, may_end in (("initContainerStatuses", True), ("containerStatuses", False)):
        for container in status.get(name) or []:
            state = container.get("state") or {}
            waiting = state.get("waiting") or {}
            ended = state.get("terminated")
            if waiting.get("reason", "") not in _CREATING:
                words = list(_ended(container, "lastState")) or [one_line(waiting.get("message", ""))]
                yield ": ".join(part for part in (f"{container['name']} {waiting['reason']}", *words) if part)
            elif ended and not (may_end and ended.get("exitCode") == 0):
                yield f"{container['name']} {next(_ended(container, 'state'))}"


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is ready and stays."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(
        (condition.get("type"), condition.get("status")) == ("Ready", "True") for condition in conditions
    )
    return ready and "deletionTimestamp" not in pod["metadata"]


def not_started(pod: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each container that its kubelet cannot start, such as one without its image, and why.

    One that ended and waits for its next start is none of them.
    """
    status = pod.get("status") or {}
    for name in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(name) or ():
            waiting = (container.get("state") or {}).get("waiting") or {}
            reason = waiting.get("reason", "")
            if reason not in (*_CREATING, _BETWEEN_STARTS):
                words = [f"{container['name']} {reason}", one_line(waiting.get("message", ""))]
                yield container["name"], ": ".join(part for part in words if part)


def terminated(container: Mapping[str, Any], *, spoken: bool) -> Iterator[str]:
    """Yield how a container failed the last time, now or before its restart; `spoken`: only with words."""
    for state in ("state", "lastState"):
        ended = (container.get(state) or {}).get("terminated")
        if ended and ended.get("exitCode") != 0 and (not spoken or last_words(ended.get("message") or "")):
            yield from _ended(container, state)
            return


def _ended(container: Mapping[str, Any], state: str) -> Iterator[str]:
    """Yield how the container ended the last time, if it did, with its own last words."""
    ended = (container.get(state) or {}).get("terminated")
    if ended:
        reason = ended.get("reason") or "Error"
        end = f"ended with exit code {ended.get('exitCode')}" + (f" ({reason})" if reason != "Error" else "")
        words = last_words(ended.get("message") or "")
        yield f"{end}: {words}" if words else end


def last_words(text: str) -> str:
    """Return the last lines of a log as one, without the flags that a program lists after a wrong one."""
    lines = [
        one_line(line) for line in text.splitlines() if line.strip() and not line.strip().startswith("-")
    ]
    return " | ".join(lines[-_LAST_LINES:])[-_LONGEST:]


def one_line(text: str) -> str:
    """Return somebody else's text without line breaks and without control characters for a terminal."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _named(entries: list[dict[str, Any]] | None, name: str) -> dict[str, Any]:
    return next((entry for entry in entries or [] if entry.get("name") == name), {})


def _seconds(since: str | None, now: datetime) -> int | None:
    return max(int((now - datetime.fromisoformat(since)).total_seconds()), 0) if since else None


Member = tuple[Mapping[str, Any], PodStatus]


def groups(pods: Iterable[Member], *, number: int, size: int) -> Iterator[GroupStatus]:
    """Yield the status of each of `number` groups of `size` pods; `pods` are live ones with their status."""
    by_group: dict[int, list[Member]] = {}
    for pod, status in pods:
        by_group.setdefault(number_of(pod, LWS_GROUP), []).append((pod, status))
    for index in sorted({*range(number), *by_group}):
        members = sorted(by_group.get(index, ()), key=lambda member: number_of(member[0], LWS_WORKER))
        yield _group(index, members, size)


def _group(index: int, members: list[Member], size: int) -> GroupStatus:
    phases = [status.phase for _, status in members]
    missing = [f"{len(members)} of {size} pods exist"] if len(members) < size else []
    phase = worst([*phases, *(Phase.PENDING for _ in missing)])
    ready = phases.count(Phase.READY)
    # Of pods that wait alike a follower is named, the first: leaders wait for them.
    waiting = [
        (_BLAME.index(status.phase), not number_of(pod, LWS_WORKER), place)
        for place, (pod, status) in enumerate(members)
        if status.phase != Phase.READY
    ]
    if not waiting:
        return GroupStatus(index, phase, ready, size, message="; ".join(missing))
    name, message = members[min(waiting)[2]][1].name, members[min(waiting)[2]][1].message
    ends = [(status.name, end) for pod, status in members if (end := last_end(pod))]
    if ends and not message:
        # A group that begins anew: what ended first is still there for a while.
        name, message = ends[0]
    return GroupStatus(index, phase, ready, size, name, "; ".join(filter(None, [message, *missing])))


def held_up(pods: Iterable[Mapping[str, Any]], now: datetime, *, main: str = ENGINE) -> Iterator[str]:
    """Yield which pods are not ready, and why, in words. `main` is their container that takes time."""
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        status = pod_status(pod, main=main, deadline=None, now=now)
        if status.phase != Phase.READY:
            yield f"{status.name} {status.phase}" + (f": {status.message}" if status.message else "")


def last_end(pod: Mapping[str, Any]) -> str:
    """Return how containers of a pod ended the last time, with their own last words, "" if none has."""
    return "; ".join(ends_of(pod))


def ends_of(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how each container of a pod failed the last time, with its own last words.

    What ends without a word because its pod is deleted is left out.
    """
    leaving, status = "deletionTimestamp" in pod["metadata"], pod.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return tuple(
        f"{container['name']} {said}"
        for container in containers
        for said in terminated(container, spoken=leaving)
    )


def number_of(pod: Mapping[str, Any], label: str) -> int:
    """Return the number that a label of a pod of a group says, 0 without one."""
    text = (pod["metadata"].get("labels") or {}).get(label, "")
    return int(text) if text.isdecimal() else 0


def latest_revision(pods: Iterable[Mapping[str, Any]]) -> str:
    """Return the latest revision of the template that pods of a LeaderWorkerSet have, "" without pods.

    It rolls from the group with the highest number (rollingUpdateParameters in lws v0.10.0,
    pkg/controllers/leaderworkerset_controller.go).
    """
    latest = max(
        pods,
        key=lambda pod: (number_of(pod, LWS_GROUP), pod["metadata"].get("creationTimestamp", "")),
        default=None,
    )
    return revision_of(latest) if latest else ""


def revision_of(pod: Mapping[str, Any]) -> str:
    """Return the revision of the template that a pod of a group has."""
    return str((pod["metadata"].get("labels") or {}).get(LWS_REVISION, ""))


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
    message = next(
        (condition.get("message") or "" for condition in conditions if condition["type"] == "Progressing"), ""
    )
    return [told for pod, told in alive if any(f'"{owner}"' in message for owner in _owners(pod))]


def _owners(pod: Mapping[str, Any]) -> list[str]:
    return [str(owner["name"]) for owner in pod["metadata"].get("ownerReferences") or ()]


def _words(pod: PodStatus) -> str:
    time = "" if pod.seconds is None else f" for {pod.seconds} s"
    limit = f" of {pod.budget} s" if time and pod.budget else ""
    return f"{pod.name} is {pod.phase}{time}{limit}" + (f": {pod.message}" if pod.message else "")


def held_back(pod: Mapping[str, Any], admissions: Mapping[Owner, str]) -> str:
    """Return who holds the pod back and why, "" for one without gates. `admissions` is what Kueue says."""
    metadata = pod["metadata"]
    gates = [gate["name"] for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]
    if not gates:
        return ""
    labels = metadata.get("labels") or {}
    if schedulers.KUEUE_ADMISSION_GATE in gates:
        queue = labels.get(schedulers.KUEUE_QUEUE)
        queue_in_words = f"queue {queue} of Kueue" if queue else "its queue of Kueue"
        owners = (
            ("Pod", metadata.get("namespace") or "", metadata["name"]),
            (
                WORKER_SET,
                metadata.get("namespace") or "",
                f"{labels.get(names.LWS_NAME)}/{labels.get(names.LWS_GROUP)}",
            ),
        )
        why = next((admissions[owner] for owner in owners if owner in admissions), "")
        return f"waits for room in {queue_in_words}" + (f": {why}" if why else "")
    if schedulers.KUEUE_TOPOLOGY_GATE in gates:
        return "Kueue has admitted it and has not chosen its node yet"
    return f"held back by {', '.join(gates)} (spec.schedulingGates)"


def admissions(workloads: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Owner, str]]:
    """Yield what Kueue says of the Workloads that it has not admitted, by the owners of the pods."""
    for workload in workloads:
        metadata = workload["metadata"]
        conditions = (workload.get("status") or {}).get("conditions") or ()
        by_type = {condition.get("type"): condition for condition in conditions}
        if by_type.get("Admitted", {}).get("status") == "True":
            continue
        reserved = by_type.get("QuotaReserved", {})
        condition = by_type.get("Admitted", {}) if reserved.get("status") == "True" else reserved
        if message := one_line(condition.get("message") or ""):
            number = (metadata.get("annotations") or {}).get(_GROUP_NUMBER)
            for owner in metadata.get("ownerReferences") or ():
                name = f"{owner['name']}/{number}" if owner["kind"] == WORKER_SET else owner["name"]
                yield (owner["kind"], metadata.get("namespace") or "", name), message


def group_waits(
    workload: Mapping[str, Any], objects: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> str:
    """Return what the PodGroup of a workload's pods waits for, "" where it runs or there is none of ours."""
    namespace = workload["metadata"]["namespace"]
    for template in templates_of(dict(workload)):
        annotations = (template.get("metadata") or {}).get("annotations") or {}
        name = annotations.get(schedulers.VOLCANO_GROUP_NAME)
        group = objects.get((schedulers.POD_GROUP[1], namespace, name or ""))
        if group is None:
            continue
        status = group.get("status") or {}
        messages = [
            one_line(condition.get("message") or "")
            for condition in status.get("conditions") or ()
            if (condition.get("type"), condition.get("status")) == ("Unschedulable", "True")
        ]
        why = f": {messages[-1]}" if messages and messages[-1] else ""
        queue = group["spec"].get("queue", "")
        phase = status.get("phase", "Pending")
        if phase == "Pending":
            return f"PodGroup {name} waits for room in queue {queue} of Volcano{why}"
        if phase == "Inqueue":
            return f"PodGroup {name} waits until all of its pods have nodes{why}"
    return ""


def waits_for_nodes(pod: Mapping[str, Any], objects: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> str:
    """Return what became of the request for the pod's node, "" for a pod that names none."""
    metadata = pod["metadata"]
    name = (metadata.get("annotations") or {}).get(gke.CONSUMED_REQUEST)
    if not name:
        return ""
    kind = gke.CAPACITY_REQUEST[1]
    request = objects.get((kind, metadata.get("namespace") or "", name))
    if request is None:
        return f"takes nodes of {kind} {name}, which is not there"
    conditions = (request.get("status") or {}).get("conditions") or ()
    by_type = {condition.get("type"): condition for condition in conditions}
    came = by_type.get("Provisioned", {})
    if by_type.get("Failed", {}).get("status") == "True":
        said, condition = "failed, and is not tried again", by_type["Failed"]
    elif came.get("status") == "True":
        since = came.get("lastTransitionTime")
        said, condition = f"brought its nodes{f' at {since}' if since else ''}, and brings no others", {}
    else:
        said, condition = "has no nodes yet", came
    why = ": ".join(one_line(condition.get(part) or "") for part in ("reason", "message"))
    return f"{kind} {name} {said}" + (f" ({why.strip(': ')})" if why.strip(": ") else "")
