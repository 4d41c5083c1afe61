"""What an engine is told of its document: sizes, ports and times, and the address on which it listens."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.model_deployment import Engine
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.flags import Flag, Flags
from inferfleet.fleet.engines.group import Group, numbers
from inferfleet.fleet.engines.words import SIZE, Command, is_known
from inferfleet.profiles.engines import AnyMeaning, EngineDefaults, Meaning

_LOOPBACK = re.compile(r"127(\.\d{1,3}){1,3}|\[?::1\]?")


def number_mistakes(command: Command, flags: Flags, group: Group) -> Iterator[Mistake]:
    """Yield flags for sizes and port with another number than the document."""
    wanted = numbers(group)
    if any(word.text == group.table.data_in_tensor for word in command.words):
        del wanted["data"]
    for meaning, number in wanted.items():
        if flag := _disagreeing(flags.of(meaning), number, pods=group.pods):
            yield _disagreement(flag, meaning, number)


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


def ready_variable(group: Group) -> str | None:
    """Return the variable that gives API servers `engine.startup` for their engines, None for none.

    vLLM's wait 600 s, whatever a startup probe allows (VLLM_ENGINE_READY_TIMEOUT_S in vllm/envs.py, read in
    vllm/v1/engine/core_client.py). Pods of workers of several pods are given more, and pods with a port for
    each copy. Others are not, because they would restart for it.
    """
    return group.table.ready_variable if group.pods > 1 or len(group.ports) > 1 else None


def ready_mistakes(spec: Mapping[str, Any], group: Group, document: Engine) -> Iterator[Mistake]:
    """Yield an engine that would end itself while `engine.startup` lets it load. Places begin with `spec`."""
    variable, limit = group.table.ready_variable, group.table.ready_limit
    if variable is None or limit is None:
        return
    place, container = next(
        (place, container)
        for place, container in enumerate(spec["containers"])
        if container["name"] == ENGINE
    )
    at = ("spec", "containers", place)
    written = {env["name"]: (i, env) for i, env in enumerate(container.get("env", []))}
    several = group.topology.data > 1 and ready_variable(group) is None and "envFrom" not in container
    if variable in written:
        i, env = written[variable]
        value, startup = env.get("value", ""), document.startup or group.table.startup
        if "valueFrom" in env or not is_known(value) or (value.isdecimal() and int(value) >= startup):
            return
        yield Mistake(
            f"{variable} is {value!r}, so the engine ends itself before the {startup} s of engine.startup"
            if value.isdecimal()
            else f"{variable} is {value!r}, and the engine reads it as whole seconds",
            f"Write {startup}, or as many seconds as engine.startup has",
            (*at, "env", i, "value"),
        )
    # Of a time that nobody has written it is not known whether the model needs it.
    elif several and document.startup and document.startup > limit:
        yield Mistake(
            f"a pod has {group.topology.data} copies and several API servers, which end it when a copy loads "
            f"for more than {limit} s, but engine.startup is {document.startup} s",
            f"Give the engine the variable {variable} with value {document.startup}; its pods restart",
            at,
        )


def field_of(meaning: AnyMeaning) -> str:
    """Return the field of a document that a flag repeats, as messages name it."""
    return "engine.port" if meaning == "port" else f"topology.{meaning}"


def _disagreeing(flags: tuple[Flag, ...], number: int, *, pods: int) -> Flag | None:
    """Return the flag that disagrees among those with one meaning, or None.

    The last flag counts. A script may start several programs, so there one flag that agrees is enough.
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
    return value.isdecimal() and int(value) == number


def _disagreement(flag: Flag, meaning: Meaning, number: int) -> Mistake:
    field = field_of(meaning)
    has = "has no value" if flag.value is None else f"is {flag.value!r}"
    return Mistake(
        f"{flag.name} {has}, but {field} is {number}",
        f"Set {flag.name} and {field} to the same number; inferfleet reserves GPUs and ports by {field}",
        flag.word.at,
    )
