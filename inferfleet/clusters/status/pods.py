"""The phase of one pod, and why, from its status."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from inferfleet.clusters.status.values import Phase, PodStatus

# Reasons of a waiting container that needs nothing but time.
_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})
_BETWEEN_STARTS = "CrashLoopBackOff"
# How kubelets begin the message of every pod that is not ready; some add more.
_UNREADY = re.compile(r"^containers with unready status: \[[^]]*\](; )?")
# Lines and characters of a log: it ends with what went wrong, and more would hide the next pod.
_LAST_LINES = 3
_LONGEST = 600


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
        each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
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
    ready = any((one.get("type"), one.get("status")) == ("Ready", "True") for one in conditions)
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
