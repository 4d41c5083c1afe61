"""Flags that repeat what is said elsewhere: by the document, and to the other pods of the worker.

Of the address on which an engine listens only what nobody else could reach is wrong.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.problems import Mistake, Severity
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.flags import Flag, Flags, is_open, model_of, number_of
from inferfleet.fleet.engines.group import Group, numbers
from inferfleet.fleet.engines.words import LEADER, SIZE, Command, Steps, is_known
from inferfleet.profiles.engines import EngineDefaults
from inferfleet.profiles.meanings import AnyMeaning, Meaning

Spec = Mapping[str, Any]

_ADDRESSES: tuple[AnyMeaning, ...] = ("master", "copiesAddress", "init")
# All pods of a worker must be told these alike.
_ALIKE: tuple[AnyMeaning, ...] = (
    "expert",
    "expertSize",
    "rpcPort",
    "masterPort",
    *_ADDRESSES,
    "dtype",
    "maxLength",
    "cacheDtype",
)
_LOOPBACK = re.compile(r"127(\.\d{1,3}){1,3}|\[?::1\]?")


def number_mistakes(command: Command, flags: Flags, group: Group) -> Iterator[Mistake]:
    """Yield flags for sizes and port with another number than the document."""
    wanted = numbers(group)
    if any(word.text == group.table.data_in_tensor for word in command.words):
        del wanted["data"]
    if _is_proxied(command, group.port):
        del wanted["port"]
    for meaning, number in wanted.items():
        if flag := _disagreeing(flags.of(meaning), number, pods=group.pods):
            behind = meaning == "port" and group.proxied
            yield _not_behind(flag, group) if behind else _disagreement(flag, meaning, number)


def _is_proxied(command: Command, port: int) -> bool:
    """Return whether a program in the script takes the port, which may pass requests on to the engine."""
    texts = [word.text for word in command.words if word.shell]
    return f"--port={port}" in texts or ("--port", str(port)) in pairwise(texts)


def loopback_mistakes(command: Command, table: EngineDefaults) -> Iterator[Mistake]:
    """Yield the flag by which the engine listens on addresses of its own pod alone. The last flag counts.

    Nothing is said of a script of several programs, where the flag may be that of another one.
    """
    words, flag = command.words, table.address_flag
    if flag is None or any(word.shell and not word.text.strip(";&|<>") for word in words):
        return
    address, at = "", words[0].at if words else ()
    for i, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name == flag:
            following = words[i + 1].text if i + 1 < len(words) else ""
            address, at = command.value(value if equals else following, shell=word.shell), word.at
    if address == "localhost" or _LOOPBACK.fullmatch(address):
        yield Mistake(
            f"{flag} is {address!r}, but probes and requests come to the address of the pod",
            f"Set {flag} to 0.0.0.0",
            at,
        )


@dataclass(frozen=True)
class Line:
    """The command line of an engine, and its flags. A plugin may add some where it is not `whole`."""

    command: Command
    flags: Flags
    whole: bool = True

    def lacks(self, meaning: AnyMeaning, table: EngineDefaults) -> bool:
        """Return whether a flag is surely not given: no plugin, condition, variable or file may add it."""
        sure = self.whole and self.flags.all and not self.command.conditional
        return bool(sure) and not self.flags.has(meaning) and not is_open(self.command, table)


@dataclass(frozen=True)
class Difference:
    """What entry and followers are told otherwise, and where: a place in the specs of both."""

    what: str
    next_step: str
    entry: Steps
    follower: Steps
    severity: Severity = "error"


def differences(
    entry: Line, follower: Line, table: EngineDefaults, *, all_serve: bool
) -> Iterator[Difference]:
    """Yield what the pods of one worker must be told alike and are not, by the engine's defaults too.

    Where `all_serve`, clients ask each of them for the model by one name.
    """
    lines = (entry, follower)
    one, other = (model_of(line.command, line.flags, table) for line in lines)
    if one and other and one.text != other.text and is_known(one.text) and is_known(other.text):
        yield Difference(
            f"the entry of a worker has the model {one.text!r} and its followers have {other.text!r}, but "
            "the pods of a worker are one engine",
            "Write the same model in both templates",
            one.at,
            other.at,
        )
    served: tuple[AnyMeaning, ...] = ("servedModel",) if all_serve else ()
    for meaning in (*_ALIKE, *served):
        flags = [line.flags.last(meaning) for line in lines]
        written = next(filter(None, flags), None)
        if written is None or not all(
            flag or line.lacks(meaning, table) for line, flag in zip(lines, flags, strict=True)
        ):
            continue
        default = _default(meaning, table)
        values = [(flag.value or "") if flag else default for flag in flags]
        if values[0] == values[1] or not all(_is_said(meaning, value) for value in values):
            continue
        said = [
            f"{flag.name} {flag.value or ''}".strip()
            if flag
            else f"no {written.name}" + (f" ({default} by default)" if default else "")
            for flag in flags
        ]
        entry_at, follower_at = (
            flag.word.at if flag else place_of(line.command) for line, flag in zip(lines, flags, strict=True)
        )
        yield Difference(
            f"the entry of a worker has {said[0]} and its followers have {said[1]}, but the pods of a worker "
            "are one engine",
            f"Write {written.name} alike in both templates",
            entry_at,
            follower_at,
        )


def spec_differences(entry: Spec, follower: Spec, engine: str) -> Iterator[Difference]:
    """Yield images and priorities in which entry and followers differ.

    No engine compares versions of its pods, and MPI runs only its daemon in followers. A follower of lower
    priority is preempted alone, and with it the whole group starts anew.
    """
    engines = [engine_container(spec) for spec in (entry, follower)]
    one, other = (container.get("image") for _, container in engines)
    one_at, other_at = (("spec", "containers", place, "image") for place, _ in engines)
    if one != other and engine != "TensorRT-LLM":
        yield Difference(
            f"the entry of a worker runs {shown(str(one))} and its followers run {shown(str(other))}, "
            "and pods of one engine are only known to understand each other in the same version",
            "Write the same image in both templates",
            one_at,
            other_at,
            "warning",
        )
    names = [spec.get("priorityClassName") for spec in (entry, follower)]
    if names[0] != names[1]:
        said = [f"priorityClassName {shown(str(name))}" if name else "no priorityClassName" for name in names]
        yield Difference(
            f"the entry of a worker has {said[0]} and its followers have {said[1]}, but when one of its "
            "pods is preempted, all start anew",
            "Write the same priorityClassName in both templates",
            ("spec", "priorityClassName"),
            ("spec", "priorityClassName"),
        )


def place_of(command: Command) -> Steps:
    """Return the place of a command line as a whole: that of its container."""
    return command.words[0].at[:3] if command.words else ("spec",)


def _default(meaning: AnyMeaning, table: EngineDefaults) -> str | None:
    """Return what an engine takes where the flag is not given, None without a value."""
    if meaning in ("dtype", "cacheDtype"):
        return "auto"
    port = {"rpcPort": table.rpc_port, "masterPort": table.master_port}.get(meaning)
    return str(port) if port else None


def _is_said(meaning: AnyMeaning, value: str | None) -> bool:
    """Return whether a value is known, but for variables that are the same in all pods of a worker.

    Of addresses none is that is not the entry's: it is told by itself.
    """
    if meaning in _ADDRESSES and LEADER not in (value or ""):
        return False
    return is_known((value or "").replace(LEADER, "").replace(SIZE, ""))


def field_of(meaning: AnyMeaning, *, proxied: int | None = None) -> str:
    """Return the field of a document that a flag repeats, as messages name it."""
    if meaning == "port":
        return "prefill.proxy.enginePort" if proxied else "engine.port"
    return f"topology.{meaning}"


def _disagreeing(flags: tuple[Flag, ...], number: int, *, pods: int) -> Flag | None:
    """Return the flag that disagrees among those with one meaning, or None.

    The last flag counts. A script may start several engines, so there one flag that agrees is enough.
    """
    if not flags or any(flag.word.shell and _agrees(flag.value, number, pods) for flag in flags):
        return None
    return None if _agrees(flags[-1].value, number, pods) else flags[-1]


def _agrees(value: str | None, number: int, pods: int) -> bool:
    if value is None:
        return False
    if value == SIZE and pods > 1:
        return pods == number
    if not is_known(value):
        return True  # substituted when the container starts, so its value is not known
    return number_of(value) == number


def _not_behind(flag: Flag, group: Group) -> Mistake:
    return Mistake(
        f"{flag.name} {_has(flag)}, but in decode pods the routing proxy takes engine.port {group.proxied} "
        f"and passes requests on to port {group.port}",
        f"Write {flag.name} {group.port}, or another port there and as prefill.proxy.enginePort",
        flag.word.at,
    )


def _has(flag: Flag) -> str:
    return "has no value" if flag.value is None else f"is {flag.value!r}"


def _disagreement(flag: Flag, meaning: Meaning, number: int) -> Mistake:
    field = field_of(meaning)
    return Mistake(
        f"{flag.name} {_has(flag)}, but {field} is {number}",
        f"Set {flag.name} and {field} to the same number; inferfleet reserves GPUs and ports by {field}",
        flag.word.at,
    )
