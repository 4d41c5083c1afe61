"""Groups of a LeaderWorkerSet: which are ready, and which pod holds up each of the others."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from inferfleet.clusters.status.pods import pod_status, terminated
from inferfleet.clusters.status.values import GroupStatus, Phase, PodStatus, worst
from inferfleet.documents.pods.template import ENGINE
from inferfleet.fleet.names import LWS_GROUP, LWS_REVISION, LWS_WORKER

# From the one that says most of why others wait: a leader that only waits for its followers comes last.
_BLAME = (Phase.FAILED, Phase.PENDING, Phase.NOT_READY, Phase.STARTING, Phase.LEAVING)


Member = tuple[Mapping[str, Any], PodStatus]


def groups(pods: Iterable[Member], *, number: int, size: int) -> Iterator[GroupStatus]:
    """Yield the status of each of `number` groups of `size` pods; `pods` are live ones with their status."""
    by_group: dict[int, list[Member]] = {}
    for pod, told in pods:
        by_group.setdefault(number_of(pod, LWS_GROUP), []).append((pod, told))
    for index in sorted({*range(number), *by_group}):
        members = sorted(by_group.get(index, ()), key=lambda member: number_of(member[0], LWS_WORKER))
        yield _group(index, members, size)


def _group(index: int, members: list[Member], size: int) -> GroupStatus:
    phases = [told.phase for _, told in members]
    missing = [f"{len(members)} of {size} pods exist"] if len(members) < size else []
    phase = worst([*phases, *(Phase.PENDING for _ in missing)])
    ready = phases.count(Phase.READY)
    # Of pods that wait alike a follower is named, the first: leaders wait for them.
    waiting = [
        (_BLAME.index(told.phase), not number_of(pod, LWS_WORKER), place)
        for place, (pod, told) in enumerate(members)
        if told.phase != Phase.READY
    ]
    if not waiting:
        return GroupStatus(index, phase, ready, size, message="; ".join(missing))
    name, message = members[min(waiting)[2]][1].name, members[min(waiting)[2]][1].message
    ends = [(told.name, end) for pod, told in members if (end := last_end(pod))]
    if ends and not message:
        # A group that begins anew: what ended first is still there for a while.
        name, message = ends[0]
    return GroupStatus(index, phase, ready, size, name, "; ".join(filter(None, [message, *missing])))


def held_up(pods: Iterable[Mapping[str, Any]], now: datetime, *, main: str = ENGINE) -> Iterator[str]:
    """Yield which pods are not ready, and why, in words. `main` is their container that takes time."""
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        told = pod_status(pod, main=main, deadline=None, now=now)
        if told.phase != Phase.READY:
            yield f"{told.name} {told.phase}" + (f": {told.message}" if told.message else "")


def last_end(pod: Mapping[str, Any]) -> str:
    """Return how containers of a pod ended the last time, with their own last words, "" if none has."""
    return "; ".join(ends_of(pod))


def ends_of(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how each container of a pod failed the last time, with its own last words.

    What ends without a word because its pod is deleted is left out.
    """
    leaving, status = "deletionTimestamp" in pod["metadata"], pod.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return tuple(f"{each['name']} {said}" for each in containers for said in terminated(each, spoken=leaving))


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
