"""Whether an engine becomes ready and stays so: which one starts, where it listens, how long it waits for
itself, and what it should be told though it serves without it.

Sources of what is advised are beside the fields of `profiles.engines` that are read for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.model_deployment import Engine
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.flags import Flags, flags_of, is_open, spelling
from inferfleet.fleet.engines.group import Group, lends
from inferfleet.fleet.engines.repeated import place_of
from inferfleet.fleet.engines.words import Command, Word, command_of, is_known
from inferfleet.profiles.engines import EngineDefaults, engine, engine_types
from inferfleet.profiles.kv_transfer import version_of

_FALSE = frozenset(("0", "false", "no", "n"))
# Words before a program that have no value: the end of the options of another one, such as tini, and a switch
# of mpirun (docs/man-openmpi/man1/mpirun.1.rst of open-mpi/ompi, 2026-11-24).
_SWITCHES = ("--", "--allow-run-as-root")


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
    place, container = engine_container(spec)
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


def other_engine(command: Command, engine_type: str) -> Mistake | None:
    """Return that the command line starts an engine of another type, whose flags and ports are others.

    None for a script with conditions, and of type Other may be any engine.
    """
    if engine_type == "Other" or command.conditional or start(command, engine(engine_type)) is not None:
        return None
    for other in engine_types():
        place = start(command, engine(other))
        if place is not None:
            what = f"the command starts {other}, and engine.type is {engine_type}"
            return Mistake(what, f"Write engine: {{type: {other}}}", command.words[place].at)
    return None


def closed_mistakes(command: Command, group: Group) -> Iterator[Mistake]:
    """Yield flags of a pod that serves with which its engine takes no plain HTTP, one for each reason."""
    told: set[str] = set()
    words = _own(command, group.table)
    for i, word in enumerate(words) if group.serves else ():
        name, equals, value = word.text.partition("=")
        name = name.replace("_", "-") if group.table.underscores else name
        only = group.table.closed_flags.get(name)
        given = value if equals else next((following.text for following in words[i + 1 : i + 2]), "")
        if only is None or only in told or not given:
            continue
        told.add(only)
        yield Mistake(
            f"with {name} the engine takes requests over {only} alone, but probes and routes send plain HTTP "
            f"to port {group.port}",
            "Remove the flags for TLS" if only == "TLS" else f"Remove {name}",
            word.at,
        )


def address_argument(command: Command, group: Group) -> str | None:
    """Return the argument without which nobody else reaches a pod that serves, None where it has one."""
    flag = group.table.address_flag
    if flag is None or group.table.address_default is None or not group.serves or lends(group, command):
        return None
    if any(word.text.partition("=")[0] == flag for word in command.words):
        return None
    return f"{flag}=0.0.0.0"


def address_mistake(command: Command, group: Group) -> tuple[Mistake, bool] | None:
    """Return that an engine listens where nobody else reaches it, by default, and whether that is sure.

    It is not where an image, a variable, a condition or a file may give the address.
    """
    argument = address_argument(command, group)
    if argument is None:
        return None
    started = start(command, group.table) is not None
    sure = started and not command.conditional and not is_open(command, group.table)
    mistake = Mistake(
        f"{group.table.address_flag} is not among the arguments of the engine, and {group.engine} listens on "
        f"{group.table.address_default} without it, but probes and requests come to the address of the pod",
        f"Add {argument}" + (", or plugin engine-args" if sure else ", unless the image or a file sets it"),
        place_of(command),
    )
    return mistake, sure


def proxy_mistake(command: Command, flags: Flags, group: Group) -> Mistake | None:
    """Return that an engine surely takes by default a port of the routing proxy in front of it."""
    flag, default = spelling("port", group.table), group.table.port
    if flag is None or default not in group.proxied_ports or not group.serves or flags.has("port"):
        return None
    if group.port in group.proxied_ports:  # told by itself
        return None
    if start(command, group.table) is None or command.conditional or is_open(command, group.table):
        return None
    return Mistake(
        f"{flag} is not among the arguments of the engine, which listens on {default} without it, but in "
        f"decode pods the routing proxy takes that port and passes requests on to port {group.port}",
        f"Add {flag} {group.port}, or plugin engine-args",
        place_of(command),
    )


def advised(
    spec: Mapping[str, Any], table: EngineDefaults, *, engine: str, image: str | None
) -> Iterator[Mistake]:
    """Yield what is missing of a pod that serves, or is told in a way that ends. Places begin with `spec`."""
    command = command_of(spec)
    flags = flags_of(command, table)
    if unseen := unmeasured(spec, table, engine=engine):
        yield replace(unseen, what=f"{unseen.what}: its endpoint picker sees no load")
    if killed := _killed_when_busy(spec, command, table, engine):
        yield killed
    if deprecated := _deprecated(command, flags, table, image):
        yield deprecated


def serves_metrics(spec: Mapping[str, Any], table: EngineDefaults) -> bool:
    """Return whether the engine of a pod serves metrics, or may: not every command says all of it."""
    command, name = command_of(spec), table.metrics_flag
    if name is None or not is_told_here(command, flags_of(command, table), table):
        return True
    return any(word.text.partition("=")[0] == name for word in command.words)


def unmeasured(spec: Mapping[str, Any], table: EngineDefaults, *, engine: str) -> Mistake | None:
    """Return why an engine surely serves no metrics of its own, and the next step. Places begin with `spec`.

    With its `silencer` an engine still serves those of its process.
    """
    command = command_of(spec)
    if not serves_metrics(spec, table):
        name = table.metrics_flag
        return Mistake(
            f"{name} is not among the arguments of the engine, and without it {engine} serves no metrics",
            f"Add {name}, or plugin prometheus",
            place_of(command),
        )
    words = () if command.conditional or command.unclosed else _own(command, table)
    for word in words:
        name = word.text.replace("_", "-") if table.underscores else word.text
        if table.silencer and name == table.silencer:
            return Mistake(
                f"with {word.text} {engine} serves none of its metrics", f"Remove {word.text}", word.at
            )
    return None


def _killed_when_busy(
    spec: Mapping[str, Any], command: Command, table: EngineDefaults, engine: str
) -> Mistake | None:
    """Return a liveness probe that a busy engine fails."""
    place, container = engine_container(spec)
    name, probe = table.idle_health, container.get("livenessProbe", {})
    asked = probe.get("httpGet", {}).get("path")
    if name is None or asked != table.health_path or "envFrom" in container:
        return None
    written = any(variable["name"] == name for variable in container.get("env", []))
    value = command.env.get(name)
    if (written and value is None) or (value is not None and value.lower() in _FALSE):
        return None
    patience = probe.get("failureThreshold", 3) * max(
        probe.get("periodSeconds", 10), probe.get("timeoutSeconds", 1)
    )
    return Mistake(
        f"{engine} answers {asked} once it has put something out, or not at all while it reads long prompts, "
        f"and after {patience} s without an answer its livenessProbe ends it with all it has in hand",
        f'Give the engine the variable {name} with value "false"',
        ("spec", "containers", place),
    )


def _deprecated(command: Command, flags: Flags, table: EngineDefaults, image: str | None) -> Mistake | None:
    """Return a model that is named by a flag where the program takes it behind its verb."""
    flag, since = flags.last("model"), table.positional_since
    if flag is None or since is None or not flag.value:
        return None
    place, version = start(command, table), version_of(image)
    program, _, verb = table.programs[0].partition(" ")
    if place is None:
        by_image = version is not None and version >= since and command.words[0].at[-2] == "args"
        written = f"command: [{program}, {verb}], with {flag.value} as the first of args"
        return _positional(flag.name, f"{program} {verb}", written, flag.word.at) if by_image else None
    if command.words[place + 1 : place + 2] and command.words[place + 1].text == verb:
        return _positional(flag.name, f"{program} {verb}", f"{flag.value} behind {verb}", flag.word.at)
    return None


def _positional(flag: str, program: str, written: str, at: tuple[str | int, ...]) -> Mistake:
    return Mistake(
        f"{flag} is deprecated in {program}, and a future version will not take it",
        f"Write {written}, instead of {flag}",
        at,
    )


def start(command: Command, table: EngineDefaults) -> int | None:
    """Return which word starts the engine, None where none does: an image may start it."""
    texts = [word.text for word in command.words]
    for i, text in enumerate(texts):
        for program in table.programs:
            name, _, verb = program.partition(" ")
            before = texts[i - 1] if i else ""
            is_value = before.startswith("--") and "=" not in before and before not in _SWITCHES
            if text.rpartition("/")[2] == name and verb in ("", *texts[i + 1 : i + 2]) and not is_value:
                return i
    return None


def is_told_here(command: Command, flags: Flags, table: EngineDefaults) -> bool:
    """Return whether all flags of the engine stand in its command line: no image or file adds any."""
    seen = bool(flags.all) or start(command, table) is not None
    return seen and not command.conditional and not command.unclosed and not is_open(command, table)


def _own(command: Command, table: EngineDefaults) -> tuple[Word, ...]:
    """Return the words of the engine's own program, none where a script has several and it is not seen."""
    begins = start(command, table)
    words = command.words[begins or 0 :]
    ends = (i for i, word in enumerate(words) if word.shell and word.text and not word.text.strip(";&|"))
    end = next(ends, None)
    return words[:end] if begins is not None or end is None else ()
