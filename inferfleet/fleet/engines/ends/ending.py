"""How long requests in hand have once a pod ends, and what to write where an engine cuts them off earlier.

A kubelet runs preStop and sends SIGTERM after it, and both count against the grace period; what still runs at
its end is killed (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination). What
engines do at SIGTERM, with sources, is in `profiles.engines`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.base import DAY
from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.flags import Flag, Flags, flags_of, spelling
from inferfleet.fleet.engines.ready import is_told_here
from inferfleet.fleet.engines.repeated import place_of
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.profiles.engines import END_RESERVE_SECONDS, EngineDefaults
from inferfleet.profiles.kv_transfer import version_of

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
    def requests(self) -> int:
        """Return how long requests in hand have from the beginning of the end, at least."""
        slept = min(self.sleep or 0, self.grace)
        return self.grace if self.engine is None else min(self.grace, slept + self.engine)

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
    flag, cut = flags.last("drain"), _cut(command, table)
    if cut or _lacks(command, flags, table):
        engine = 0 if cut else table.end_default
    else:
        # Less than none is none to Triton (triton-inference-server/server, 0299e638,
        # src/command_line_parser.cc). vLLM refuses it, which `end_flags` tells.
        engine = 0 if flag and _is_negative(flag.value) else flags.number("drain")
        if flag is None or engine is None or command.unclosed:
            return None
    container = engine_container(spec)[1]
    return Ending(spec.get("terminationGracePeriodSeconds", grace), sleep_of(container), engine)


def grace_needed(spec: Mapping[str, Any], table: EngineDefaults, *, grace: int, sleep: int) -> int:
    """Return the grace period of a pod whose document leaves it open: `grace`, or more where sleep and flag
    need more. `sleep` is the preStop of a pod whose document has none.

    More than a day after SIGTERM is nobody's request, and no grace period follows it. vLLM takes any number
    (`Field(default=0, ge=0)`); what it does with one beyond what clocks count was not tried.
    """
    own = "preStop" in engine_container(spec)[1].get("lifecycle", {})
    found = ending(spec, table, grace=grace)
    if found is None or found.engine is None or found.engine > DAY:
        return grace
    return Ending(grace, found.sleep if own else sleep, found.engine).needed or grace


def sleep_of(container: Mapping[str, Any]) -> int | None:
    """Return how many seconds preStop of a container takes, 0 without one, None where that is not known."""
    hook = container.get("lifecycle", {}).get("preStop")
    if not hook:
        return 0
    if "sleep" in hook:
        return int(hook["sleep"].get("seconds", 0))
    return _slept(hook.get("exec", {}).get("command", ()))


def ending_mistakes(
    spec: Mapping[str, Any],
    table: EngineDefaults,
    *,
    engine: str,
    image: str | None,
    grace: int,
    follows: bool,
    longest: int,
) -> Iterator[Mistake]:
    """Yield an engine that ends requests in hand before its pod has to, and a pod that is killed before.

    `grace` is the pod's grace period, which `follows` what the flag needs where nobody wrote it. Routes let
    requests take up to `longest` seconds. Places begin with `spec`.
    """
    command = command_of(spec)
    flag = flags_of(command, table).last("drain")
    since, version = table.ends_since, version_of(image)
    if flag and since and version and version < since:
        told = ".".join(map(str, since))
        yield Mistake(
            f"{engine} has {flag.name} from {told} on, and the image is an older one, which does not start "
            "with it",
            f"Take an image of {engine} {told} or newer, or remove the flag",
            flag.word.at,
        )
    container = engine_container(spec)[1]
    if "preStop" in container.get("lifecycle", {}) and sleep_of(container) == 0:
        yield Mistake(
            "preStop sleeps 0 s, so gateways and pickers do not learn in time that the pod ends, and what "
            "they still send there fails",
            "Let it sleep for 30 s, or leave preStop out, which does the same",
            place_of(command),
        )
    found = ending(spec, table, grace=grace)
    # The API server takes every number (int64). Who drains nodes may wait for less: the cluster autoscaler
    # for 600 s (--max-graceful-termination-sec in its FAQ.md, kubernetes/autoscaler, 55c37cd5).
    written, slept = spec.get("terminationGracePeriodSeconds", 0), sleep_of(container) or 0
    if written > DAY + slept + END_RESERVE_SECONDS:
        yield Mistake(
            f"the pod may take {written} s to end, and routes let requests take {longest} s: an engine that "
            "hangs holds updates and drains of nodes for all of it",
            f"Write {slept + longest + END_RESERVE_SECONDS}, or what your longest requests take and "
            f"{slept + END_RESERVE_SECONDS} s more",
            ("spec", "terminationGracePeriodSeconds"),
        )
    if flag and _seconds(flag.value) > DAY:
        yield _endless(spec, flag, slept, longest=longest)
        return
    if found is None:
        return
    # No route lets a request take more, so no engine needs more.
    room = min(found.fitting, longest)
    if name := _cut(command, table):
        yield Mistake(
            f"variable {name} is set, with which {engine} ends at SIGTERM whatever it has in hand, and "
            f"routes let requests take {longest} s",
            f"Remove {name}: without it {engine} ends when its last request has",
            place_of(command),
        )
    elif flag and found.needed:
        yield from _too_late(found, flag, command)
    elif not found.fitting:
        yield _killed(found, table, flag, longest=longest, at=place_of(command))
    elif flag and found.engine is not None and found.engine < room:
        yield _too_few(found, flag, engine, room=room, longest=longest)
    elif found.engine is not None and found.engine < room:
        at = place_of(command)
        yield _too_early(found, table, engine, image, room=room, follows=follows, longest=longest, at=at)


def _seconds(value: str | None) -> int:
    """Return the seconds of a flag of any length, 0 for a text that is no number."""
    return int(value[:20]) if value and value.isdecimal() else 0


def _endless(spec: Mapping[str, Any], flag: Flag, slept: int, *, longest: int) -> Mistake:
    """Return that an engine is told more seconds than any request takes."""
    whole = slept + longest + END_RESERVE_SECONDS
    grace = spec.get("terminationGracePeriodSeconds", whole)
    raised = f" and terminationGracePeriodSeconds: {whole}" if grace < whole else ""
    return Mistake(
        f"{flag.name} is {flag.value}, and routes let requests take {longest} s",
        f"Write {flag.name}={longest}{raised}, or the seconds that your longest requests take",
        flag.word.at,
    )


def _too_late(found: Ending, flag: Flag, command: Command) -> Iterator[Mistake]:
    needed = found.needed
    if needed is None:
        return
    slept = f"preStop sleeps {found.sleep} s and " if found.sleep else ""
    fits = f", or {flag.name}={found.fitting}" if found.fitting else ""
    together = needed - END_RESERVE_SECONDS
    yield Mistake(
        f"{slept}{flag.name} is {found.engine}, so requests in hand should have {together} s, but the pod is "
        f"killed after {found.grace} s",
        f"Write terminationGracePeriodSeconds: {needed}{fits}",
        flag.word.at,
    )


def _killed(
    found: Ending, table: EngineDefaults, flag: Flag | None, *, longest: int, at: Sequence[str | int]
) -> Mistake:
    """Return that a grace period leaves no time to requests, whatever the engine does."""
    slept = f", {found.sleep} s of which preStop sleeps" if found.sleep else ""
    name = None if flag else spelling("drain", table)
    return Mistake(
        f"the pod is killed {found.grace} s after it begins to end{slept}, and routes let requests take "
        f"{longest} s",
        "Leave terminationGracePeriodSeconds out, or write what your longest requests take and 40 s more"
        + (f"; and add {name} with their seconds" if name else ""),
        tuple(at),
    )


def _too_few(found: Ending, flag: Flag, engine: str, *, room: int, longest: int) -> Mistake:
    """Return that an engine is told fewer seconds than its pod has."""
    told = flag.value or ""
    less = f"{flag.name}={room}"
    enough = (found.sleep or 0) + (found.engine or 0) + END_RESERVE_SECONDS
    does = (
        f"gives requests in hand {found.engine} s at SIGTERM"
        if found.engine
        else "aborts the requests in hand at SIGTERM"
    )
    return Mistake(
        f"with {flag.name}={told} {engine} {does}, and routes let them take {longest} s",
        f"Write {less}, for which the grace period of {found.grace} s has room, or, where no request takes "
        f"longer, terminationGracePeriodSeconds: {enough}",
        flag.word.at,
    )


def _too_early(
    found: Ending,
    table: EngineDefaults,
    engine: str,
    image: str | None,
    *,
    room: int,
    follows: bool,
    longest: int,
    at: Sequence[str | int],
) -> Mistake:
    """Return that an engine ends requests earlier than its pod, with the flag and the seconds to write."""
    name = spelling("drain", table)
    does = (
        f"{engine} aborts the requests in hand at SIGTERM"
        if not found.engine
        else f"{engine} gives requests in hand {found.engine} s at SIGTERM"
    )
    slept = f", {found.sleep} s after its pod begins to end" if found.sleep else ""
    version = version_of(image) if table.ends_since else None
    old = version is not None and table.ends_since is not None and version < table.ends_since
    since = ".".join(map(str, table.ends_since or ()))
    unknown = f" ({engine} has it from {since} on)" if table.ends_since and version is None else ""
    return Mistake(
        f"without {name} {does}{slept}, and routes let them take {longest} s",
        (f"Take an image of {engine} {since} or newer, and add " if old else "Add ")
        + f"{name}={room}{unknown}, for which the grace period of {found.grace} s has room; for "
        + (
            "longer requests write their seconds there, and the grace period follows"
            if follows
            else "longer requests raise terminationGracePeriodSeconds with it"
        ),
        tuple(at),
    )


def _is_negative(value: str | None) -> bool:
    return value is not None and re.fullmatch(r"\s*-\d+", value) is not None


def _lacks(command: Command, flags: Flags, table: EngineDefaults) -> bool:
    """Return whether the engine surely is not told how long to wait, by what is read here."""
    return is_told_here(command, flags, table) and not flags.has("drain")


def _cut(command: Command, table: EngineDefaults) -> str | None:
    """Return the variable with which the engine waits for nothing."""
    return next((name for name in table.cut_variables if command.env.get(name, "").lower() in _TRUE), None)


def _slept(command: Sequence[str]) -> int | None:
    """Return the seconds of a command such as `/bin/sleep 15`."""
    if len(command) != 2 or command[0].rpartition("/")[2] != "sleep" or not command[1].isdecimal():
        return None
    return int(command[1])
