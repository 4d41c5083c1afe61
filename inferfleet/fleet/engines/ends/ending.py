"""How long requests in hand have once a pod ends.

A kubelet runs preStop and sends SIGTERM after it, and both count against the grace period; what still runs at
its end is killed (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination). What
engines do at SIGTERM, with sources, is in `profiles.engines`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.base import DAY
from inferfleet.api.kinds.containers import engine_container
from inferfleet.fleet.engines.ends.hooks import PRE_STOP_SECONDS, outlasting, sleep_of, time_of
from inferfleet.fleet.engines.flags import Flags, flags_of
from inferfleet.fleet.engines.ready import is_told_here
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.profiles.engines import END_RESERVE_SECONDS, EngineDefaults

_TRUE = frozenset(("1", "true", "yes", "y"))


@dataclass(frozen=True)
class Ending:
    """How a pod ends, in seconds: its grace period, the sleep at its beginning, and the time that its engine
    gives requests after that.

    `sleep` is None where preStop does something whose time is not known, `engine` for as long as the pod has.
    """

    grace: int
    sleep: int | None
    engine: int | None

    @property
    def fitting(self) -> int:
        """Return the seconds after SIGTERM that the grace period has room for, 0 for none."""
        return max(0, self.grace - (self.sleep or 0) - END_RESERVE_SECONDS)

    @property
    def needed(self) -> int | None:
        """Return the grace period that sleep and engine need, None where it has room for both."""
        together = (self.sleep or 0) + (self.engine or 0)
        return together + END_RESERVE_SECONDS if together > self.grace else None


def ending(spec: Mapping[str, Any], table: EngineDefaults, *, grace: int) -> Ending | None:
    """Return how a pod with this spec ends, None where it is not known what its engine is told.

    `grace` is its grace period where the spec has none.
    """
    command = command_of(spec)
    flags = flags_of(command, table)
    flag, cut = flags.last("drain"), cut_by(command, table)
    if cut or _lacks(command, flags, table):
        engine = 0 if cut else table.end_default
    else:
        # Less than none is none to Triton (triton-inference-server/server, 0299e638,
        # src/command_line_parser.cc). vLLM refuses it, which `end_flags` tells.
        engine = 0 if flag and _is_negative(flag.value) else flags.number("drain")
        if flag is None or engine is None or command.unclosed:
            return None
    container = engine_container(spec)[1]
    return Ending(spec.get("terminationGracePeriodSeconds", grace), time_of(container), engine)


def grace_needed(spec: Mapping[str, Any], table: EngineDefaults, *, grace: int) -> int:
    """Return the grace period of a pod whose document leaves it open: `grace`, or more where its preStop
    sleep and flag need more.

    More than a day after SIGTERM is nobody's request, and no grace period follows it. vLLM takes any number
    (`Field(default=0, ge=0)`); what it does with one beyond what clocks count was not tried.
    """
    least, found = outlasting(spec, grace=grace), ending(spec, table, grace=grace)
    if found is None or found.engine is None or found.engine > DAY:
        return least
    container = engine_container(spec)[1]
    own = "preStop" in container.get("lifecycle", {})
    slept = sleep_of(container) if own else PRE_STOP_SECONDS
    return max(least, Ending(grace, slept, found.engine).needed or grace)


def _is_negative(value: str | None) -> bool:
    return value is not None and re.fullmatch(r"\s*-\d+", value) is not None


def _lacks(command: Command, flags: Flags, table: EngineDefaults) -> bool:
    """Return whether the engine surely is not told how long to wait, by what is read here."""
    return is_told_here(command, flags, table) and not flags.has("drain")


def cut_by(command: Command, table: EngineDefaults) -> str | None:
    """Return the variable with which the engine waits for nothing."""
    return next((name for name in table.cut_variables if command.env.get(name, "").lower() in _TRUE), None)
