"""Engines that end requests in hand earlier than their pod, and pods that are killed before, with the number
to write.

Where preStop does something whose length is not known, no number is named that presumes one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.api.kinds.base import DAY
from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.pods.template import GRACE_SECONDS
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.ends.ending import Ending, cut_by, ending, grace_needed
from inferfleet.fleet.engines.ends.hooks import PRE_STOP_SECONDS, time_of
from inferfleet.fleet.engines.flags import Flag, flags_of, spelling
from inferfleet.fleet.engines.repeated import place_of
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.profiles.engines import END_RESERVE_SECONDS, EngineDefaults
from inferfleet.profiles.images import dotted
from inferfleet.profiles.kv_transfer import version_of

# What engines answer by letting requests end. Lifecycles can name another one since Kubernetes 1.33, with the
# gate ContainerStopSignals (https://www.kubernetes.dev/resources/keps/4960/, 2026-11-24). SGLang waits at
# SIGTERM alone (`sigterm_watchdog`); of the others at other signals nothing was tried.
_SIGNAL = "SIGTERM"


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
        told = dotted(since)
        yield Mistake(
            f"{engine} has {flag.name} from {told} on, and the image is an older one, which does not start "
            "with it",
            f"Take an image of {engine} {told} or newer, or remove the flag",
            flag.word.at,
        )
    place, container = engine_container(spec)
    lifecycle = container.get("lifecycle", {})
    signal = lifecycle.get("stopSignal", _SIGNAL)
    if signal != _SIGNAL and (table.programs or signal == "SIGKILL"):
        yield _other_signal(signal, engine, ("spec", "containers", place, "lifecycle", "stopSignal"))
        return
    slept = time_of(container)
    if "preStop" in lifecycle and slept == 0:
        yield Mistake(
            "preStop sleeps 0 s, so gateways and pickers do not learn in time that the pod ends, and what "
            "they still send there fails",
            f"Let it sleep for {PRE_STOP_SECONDS} s, or leave preStop out, which does the same",
            place_of(command),
        )
    found = ending(spec, table, grace=grace)
    # The API server takes every number (int64). Who drains nodes may wait for less: the cluster autoscaler
    # for 600 s (--max-graceful-termination-sec in its FAQ.md, kubernetes/autoscaler, 55c37cd5).
    written = spec.get("terminationGracePeriodSeconds", 0)
    if written > DAY + (slept or 0) + END_RESERVE_SECONDS:
        yield Mistake(
            f"the pod may take {written} s to end, and routes let requests take {longest} s: an engine that "
            "hangs holds updates and drains of nodes for all of it",
            f"Write {_whole(longest, slept)}, or {_longest(slept)}",
            ("spec", "terminationGracePeriodSeconds"),
        )
    if flag and _seconds(flag.value) > DAY:
        yield _endless(spec, flag, slept, longest=longest)
        return
    if found is None:
        return
    # No route lets a request take more, so no engine needs more.
    room = min(found.fitting, longest)
    at = place_of(command)
    if name := cut_by(command, table):
        yield Mistake(
            f"variable {name} is set, with which {engine} ends at SIGTERM whatever it has in hand, and "
            f"routes let requests take {longest} s",
            f"Remove {name}: without it {engine} ends when its last request has",
            at,
        )
    elif flag and found.sleep is not None and found.needed:
        yield from _too_late(found, flag, command)
    elif not found.fitting:
        yield _killed(found, spec, table, flag, follows=follows, longest=longest, at=at)
    elif found.sleep is None:
        yield from _beside_hook(found, table, flag, engine, image, follows=follows, longest=longest, at=at)
    elif flag and found.engine is not None and found.engine < room:
        yield _too_few(found, flag, engine, room=room, longest=longest)
    elif found.engine is not None and found.engine < room:
        yield _too_early(found, table, engine, image, room=room, follows=follows, longest=longest, at=at)


def _whole(seconds: int, slept: int | None) -> str:
    """Return the grace period for requests of so many seconds, with what preStop takes as far as known."""
    counted = str(seconds + (slept or 0) + END_RESERVE_SECONDS)
    return counted if slept is not None else f"{counted} plus what preStop takes"


def _longest(slept: int | None) -> str:
    """Return in words the grace period for the longest requests, with what preStop takes."""
    if slept is None:
        return f"what your longest requests and preStop take and {END_RESERVE_SECONDS} s more"
    return f"what your longest requests take and {slept + END_RESERVE_SECONDS} s more"


def _other_signal(signal: str, engine: str, at: Sequence[str | int]) -> Mistake:
    """Return that an engine is not stopped by the signal at which it lets requests end."""
    does = (
        f"which ends {engine} at once, with all it has in hand"
        if signal == "SIGKILL"
        else f"and {engine} is only known to let requests in hand end at {_SIGNAL}"
    )
    return Mistake(f"lifecycle.stopSignal is {signal}, {does}", f"Remove it, or write {_SIGNAL}", tuple(at))


def _seconds(value: str | None) -> int:
    """Return the seconds of a flag of any length, 0 for a text that is no number."""
    return int(value[:20]) if value and value.isdecimal() else 0


def _endless(spec: Mapping[str, Any], flag: Flag, slept: int | None, *, longest: int) -> Mistake:
    """Return that an engine is told more seconds than any request takes."""
    least = (slept or 0) + longest + END_RESERVE_SECONDS
    raised = (
        f" and terminationGracePeriodSeconds: {_whole(longest, slept)}"
        if spec.get("terminationGracePeriodSeconds", least) < least
        else ""
    )
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
    found: Ending,
    spec: Mapping[str, Any],
    table: EngineDefaults,
    flag: Flag | None,
    *,
    follows: bool,
    longest: int,
    at: Sequence[str | int],
) -> Mistake:
    """Return that a grace period leaves no time to requests, whatever the engine does."""
    slept = f", {found.sleep} s of which preStop sleeps" if found.sleep else ""
    name = None if flag else spelling("drain", table)
    # A longer grace period also gets the whole of the generated sleep.
    sleep = None if found.sleep is None else max(found.sleep, PRE_STOP_SECONDS)
    whole = _longest(sleep)
    left = {key: value for key, value in spec.items() if key != "terminationGracePeriodSeconds"}
    helps = Ending(grace_needed(left, table, grace=GRACE_SECONDS), found.sleep, found.engine).fitting
    return Mistake(
        f"the pod is killed {found.grace} s after it begins to end{slept}, and routes let requests take "
        f"{longest} s",
        (
            f"Leave terminationGracePeriodSeconds out, or write {whole}"
            if helps and not follows
            else f"Write terminationGracePeriodSeconds: {whole}"
        )
        + (f"; and add {name} with their seconds" if name else ""),
        tuple(at),
    )


def _beside_hook(
    found: Ending,
    table: EngineDefaults,
    flag: Flag | None,
    engine: str,
    image: str | None,
    *,
    follows: bool,
    longest: int,
    at: Sequence[str | int],
) -> Iterator[Mistake]:
    """Yield that a preStop of unknown length may leave requests less time than the engine gives them.

    A grace period that somebody wrote may count the hook where it has more than the engine needs.
    """
    hook = "preStop takes a time that is not known here"
    if found.engine is None:
        return
    if flag and found.engine:
        if follows or found.grace < found.engine + END_RESERVE_SECONDS + 1:
            yield Mistake(
                f"{hook}, and the grace period of {found.grace} s may not have room for it and for the "
                f"{found.engine} s of {flag.name}",
                f"Write terminationGracePeriodSeconds: {_whole(found.engine, None)}",
                flag.word.at,
            )
        return
    name = flag.name if flag else spelling("drain", table)
    does = f"gives requests in hand {found.engine} s" if found.engine else "aborts the requests in hand"
    wrote = f"with {name}={flag.value}" if flag else f"without {name}"
    take, unknown = _taken(table, engine, image)
    yield Mistake(
        f"{wrote} {engine} {does} at SIGTERM, and routes let them take {longest} s; {hook}",
        (f"Write {name}" if flag else f"{take} {name}")
        + f"{unknown} with the seconds that your longest requests take, and terminationGracePeriodSeconds: "
        f"those, what preStop takes and {END_RESERVE_SECONDS} s more",
        flag.word.at if flag else tuple(at),
    )


def _taken(table: EngineDefaults, engine: str, image: str | None) -> tuple[str, str]:
    """Return how to add the flag to an engine of this image, and from which version on there is one where
    that of the image is not known.
    """
    if table.ends_since is None:
        return "Add", ""
    version, since = version_of(image), dotted(table.ends_since)
    if version is None:
        return "Add", f" ({engine} has it from {since} on)"
    return (
        f"Take an image of {engine} {since} or newer, and add" if version < table.ends_since else "Add"
    ), ""


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
    add, unknown = _taken(table, engine, image)
    return Mistake(
        f"without {name} {does}{slept}, and routes let them take {longest} s",
        f"{add} {name}={room}{unknown}, for which the grace period of {found.grace} s has room; for "
        + (
            "longer requests write their seconds there, and the grace period follows"
            if follows
            else "longer requests raise terminationGracePeriodSeconds with it"
        ),
        tuple(at),
    )
