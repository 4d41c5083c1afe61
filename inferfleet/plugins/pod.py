"""Access to parts of a pod template for plugins; maps and lists that are missing are added.

What an engine's command line lacks is told by the table by which command lines are checked.

A template has passed the check of shapes before each plugin, so types are taken as given.
"""

from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.workers import Topology
from inferfleet.api.wording import path_of
from inferfleet.fleet.engines.ends.ending import Ending
from inferfleet.fleet.engines.ends.hooks import sleep_of
from inferfleet.fleet.engines.ends.lost_caches import with_policy
from inferfleet.fleet.engines.flags import Flags, flags_of, model_of, spelling
from inferfleet.fleet.engines.group import Group, Wanted, argument, lends, missing
from inferfleet.fleet.engines.kv_transfer import implied, transfer_of
from inferfleet.fleet.engines.ready import address_argument
from inferfleet.fleet.engines.words import Command, command_of, is_known
from inferfleet.plugins.contract import DeviceFacts, PluginCodeError, PluginError, PodTemplate, Request
from inferfleet.profiles.kv_transfer import version_for_args


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """Return the map at `path`, added together with its parents where absent.

    Raises PluginError where something else is there.
    """
    if not isinstance(template, dict):
        raise PluginCodeError(f"{template!r:.60} is no map, and the plugin asks for what is in it")
    here = template
    for place, key in enumerate(path, 1):
        here = here.setdefault(key, {})
        if not isinstance(here, dict):
            raise PluginCodeError(
                f"{path_of(path[:place])} is no map, and the plugin asks for one with mapping()"
            )
    return here


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """Return the list at `path`, added together with its parents where absent.

    Raises PluginError where something else is there.
    """
    entries: list[Any] = mapping(template, *path[:-1]).setdefault(path[-1], [])
    if not isinstance(entries, list):
        raise PluginCodeError(f"{path_of(path)} is no list, and the plugin asks for one with sequence()")
    return entries


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """Return all containers, then all init containers; sidecars can be among both."""
    return [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]


def engine(template: PodTemplate) -> dict[str, Any]:
    """Return the container that serves the model."""
    return engine_container(template["spec"])[1]


def accelerator(request: Request) -> DeviceFacts:
    """Return the device that the pod asks for. Raises PluginError for pods that ask for none."""
    if request.accelerator is None:
        raise PluginError(
            "the pods have no accelerator (accelerator: None of the deployment); name the plugin in chains "
            "of classes with accelerators, or of deployments that ask for them"
        )
    return request.accelerator


def missing_args(template: PodTemplate, request: Request) -> tuple[str, ...]:
    """Return the flags that follow from topology, worker and port and are not in the command line, and the
    address to listen on where the engine's default is one of its own pod.

    They are as `add_args` takes them: `--tensor-parallel-size=8`. Flags with another value are not among
    them, and none is for a pod that Ray or MPI joins to its worker.
    """
    group, command, flags = _read(template, request)
    written = [argument(flag, group.table) for flag in missing(group, flags, command)]
    address = address_argument(command, group)
    return (*written, address) if address else tuple(written)


def expert_args(template: PodTemplate, request: Request) -> tuple[str, ...]:
    """Return the flag that spreads experts over the GPUs of a worker, nothing where it is there already.

    There is none for a pod of which Ray or MPI takes the GPUs. Raises PluginError for an engine of which no
    such flag is known.
    """
    group, command, flags = _read(template, request)
    if lends(group, command):
        return ()
    for flag in (Wanted("expert", None), Wanted("expertSize", group.topology.tensor)):
        if spelling(flag.meaning, group.table):
            return () if flags.has(flag.meaning) else (argument(flag, group.table),)
    raise PluginError(
        f"no flag for expert parallelism is known of an engine of type {group.engine}; remove expertParallel"
    )


def handover_args(template: PodTemplate, request: Request) -> tuple[str, ...]:
    """Return the flag by which prefill and decode hand KV caches on, nothing where the command line says it.

    There is none for a pod of which Ray or MPI takes the GPUs, none where prefill and decode are one, and
    none for a storage, of which no document says where it is.
    """
    group, command, flags = _read(template, request)
    way = request.deployment.connector
    follows = implied(way, request.role) if way else None
    if follows is None or group.engine not in ("vLLM", "SGLang") or lends(group, command):
        return ()
    written = flags.has("mode") if way == "SGLang" else transfer_of(command, flags) is not None
    if written:
        return ()
    name, value = follows
    return (f"{name}={with_policy(value, way or '', request.role, engine(template).get('image'))}",)


def drain_args(template: PodTemplate, request: Request) -> tuple[str, ...]:
    """Return the flag that lets requests end after SIGTERM, which the engine would cut off earlier than its
    pod; nothing where the command line says it.

    It is for pods that take requests. vLLM has to have a version that is known to have the flag, by its
    image. The time is what the grace period leaves after the preStop sleep, less a reserve.
    """
    group, command, flags = _read(template, request)
    table, container = group.table, engine(template)
    name = spelling("drain", table)
    if name is None or not group.serves or flags.has("drain") or lends(group, command):
        return ()
    version = version_for_args(container.get("image"))
    if table.ends_since and (version is None or version < table.ends_since):
        return ()
    grace, sleep = template["spec"].get("terminationGracePeriodSeconds"), sleep_of(container)
    if grace is None or sleep is None:
        return ()
    seconds = Ending(grace, sleep, table.end_default).fitting
    return (f"{name}={seconds}",) if seconds > (table.end_default or 0) else ()


def engine_model(template: PodTemplate, request: Request) -> str | None:
    """Return the model that the engine's command line names: a folder, or a name that it downloads by.

    It is None where none is named, or one that only the container knows, or a script has conditions.
    """
    group, command, flags = _read(template, request)
    named = model_of(command, flags, group.table)
    return named.text if named and is_known(named.text) and not command.conditional else None


def _read(template: PodTemplate, request: Request) -> tuple[Group, Command, Flags]:
    facts = request.deployment
    topology = Topology(
        tensor=facts.tensor, pipeline=facts.pipeline, data=facts.data, data_local=facts.data_local
    )
    group = Group(
        engine=facts.engine,
        topology=topology,
        pods=request.group_size,
        position="Entry" if request.position == "Entry" else "Follower",
        chosen=facts.balance,
        port=facts.port,
    )
    command = command_of(template["spec"])
    return group, command, flags_of(command, group.table)
