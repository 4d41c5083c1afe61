"""How the pods of engines end: a pause until gateways know, then time for the requests in hand.

A gateway may still send requests for some seconds after a pod is told to end, and a vLLM that drains answers
new ones with 500 while `/health` stays 200 (vLLM 0.32, tried): so its container pauses before SIGTERM, and
the drain time must cover the longest request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.model_deployment import Engine
from inferfleet.documents.pods.template import containers_of, engine_container

# Seconds between the end of a pod and SIGTERM, in which gateways take it out.
PAUSE_SECONDS = 30
# Seconds that requests in hand have where no document says it.
DRAIN_SECONDS = 90
# Seconds of the grace period that are left after the last request: processes of the engine end, and a proxy
# in front of it.
RESERVE_SECONDS = 10


@dataclass(frozen=True)
class Ending:
    """Seconds of a pod's end: the pause before SIGTERM, what requests have after it, and all together."""

    pause: int
    drain: int
    grace: int


def ending(engine: Engine, spec: Mapping[str, Any]) -> Ending:
    """Return how a pod with this spec ends: as `drain` and the template's grace period and preStop say.

    A preStop hook other than a sleep counts as the usual pause.
    """
    grace = spec.get("terminationGracePeriodSeconds")
    pause = _pause(spec, grace)
    if grace is None:
        drain = DRAIN_SECONDS if engine.drain is None else engine.drain
        return Ending(pause, drain, max(pause + drain + RESERVE_SECONDS, _longest_sleep(spec)))
    rest = max(0, grace - pause)
    drain_seconds = rest - min(RESERVE_SECONDS, rest // 2)
    return Ending(pause, drain_seconds if engine.drain is None else engine.drain, grace)


def grace_of_followers(spec: Mapping[str, Any]) -> int:
    """Return the grace period of pods that take no requests, which end once their entry has."""
    usual = PAUSE_SECONDS + DRAIN_SECONDS + RESERVE_SECONDS
    grace: int | None = spec.get("terminationGracePeriodSeconds")
    return max(usual, _longest_sleep(spec)) if grace is None else grace


def lacking_grace(engine: Engine, spec: Mapping[str, Any]) -> int | None:
    """Return the seconds that a declared drain time needs of a grace period that is shorter, else None."""
    end = ending(engine, spec)
    needed = end.pause + end.drain + RESERVE_SECONDS
    return needed if engine.drain is not None and needed > end.grace else None


def _pause(spec: Mapping[str, Any], grace: int | None) -> int:
    hook = engine_container(spec)[1].get("lifecycle", {}).get("preStop")
    if hook and "sleep" in hook:
        return int(hook["sleep"].get("seconds", 0))
    # The API server refuses a sleep that is longer than the grace period; half leaves time to finish.
    return PAUSE_SECONDS if grace is None else min(PAUSE_SECONDS, grace // 2)


def _longest_sleep(spec: Mapping[str, Any]) -> int:
    """Return the longest preStop sleep of any container: the API server takes no shorter grace period."""
    hooks = (container.get("lifecycle", {}).get("preStop") or {} for _, container in containers_of(spec))
    return max((int(hook.get("sleep", {}).get("seconds", 0)) for hook in hooks), default=0)
