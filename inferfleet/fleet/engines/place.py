"""Flags that place a pod in its worker, against the worker: sizes, ranks, addresses, ports, who serves."""

from collections.abc import Iterator
from typing import Literal

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.balance import MOST_PORTS, balance, modes
from inferfleet.fleet.engines.flags import Flag, Flags, number_of, spelling
from inferfleet.fleet.engines.group import LAST_PORT, Group, Meeting, argument, joins, meetings, missing
from inferfleet.fleet.engines.launchers import launcher, launcher_mistakes
from inferfleet.fleet.engines.proxied import last_port_mistakes, listed
from inferfleet.fleet.engines.repeated import place_of
from inferfleet.fleet.engines.words import INDEX, LEADER, OF_GROUP, SIZE, Command, index_factor, is_known
from inferfleet.fleet.roles import engine_of, serving_roles, workers_of
from inferfleet.fleet.shapes import Shape
from inferfleet.profiles.meanings import AnyMeaning

_GIVEN = "which LeaderWorkerSets give each pod"
_BALANCES: tuple[Literal["hybrid", "external", "multiPort"], ...] = ("hybrid", "external", "multiPort")


def place_mistakes(command: Command, flags: Flags, group: Group, *, whole: bool) -> Iterator[Mistake]:
    """Yield what a command line says wrong of the pod's worker, and of a `whole` one what it leaves out."""
    if group.pods == 1:
        yield from _alone(command, flags)
        return
    yield from _sizes(flags, group)
    yield from _ranks(flags, group)
    yield from _addresses(flags)
    yield from _servers(command, flags, group)
    yield from launcher_mistakes(
        command, pods=group.pods, gpus=group.topology.gpus_per_worker, position=group.position
    )
    if group.engine == "TensorRT-LLM":
        yield from _tensorrt(command, group)
    elif whole and joins(group, flags):
        yield from _left_out(command, flags, group)


def port_mistakes(command: Command, flags: Flags, group: Group) -> Iterator[Mistake]:
    """Yield ports of an engine that it uses for something else already, or that are none."""
    for meaning in ("rpcPort", "masterPort", "supervisorPort"):
        flag, port = flags.last(meaning), flags.number(meaning)
        if flag and is_known(flag.value or "") and not 1 <= (port or 0) <= LAST_PORT:
            what = f"{flag.name} {_is(flag)}, which is no port"
            yield Mistake(what, f"Write a port of 1 to {LAST_PORT}", flag.word.at)
    taken = dict.fromkeys(group.ports, f"the engine serves requests on {listed(group.ports)}")
    if group.proxied:
        proxied = f"the routing proxy takes requests on {listed(group.proxied_ports)}"
        taken |= dict.fromkeys(group.proxied_ports, proxied)
    for meeting, use in (*_meetings(flags, group), *_supervisor(flags, group)):
        given = f"{meeting.name} is {meeting.port}" + ("" if meeting.flag else " where it is not given")
        if meeting.port in taken:
            yield Mistake(
                f"{given}, but {taken[meeting.port]}",
                f"Give {meeting.name} another port"
                + (f", or change {_field(group)}" if meeting.port in group.ports else ""),
                meeting.flag.word.at if meeting.flag else place_of(command),
            )
        taken.setdefault(meeting.port, f"{use} on {meeting.port}, by {meeting.name}")


def _meetings(flags: Flags, group: Group) -> Iterator[tuple[Meeting, str]]:
    """Yield where pods meet. The entry alone listens there, and followers have to say the same."""
    if group.pods > 1 and group.position == "Entry":
        for meeting in meetings(flags, group.topology, group.table):
            yield meeting, "the pods of the worker meet"


def _supervisor(flags: Flags, group: Group) -> Iterator[tuple[Meeting, str]]:
    flag, name = flags.last("supervisorPort"), spelling("supervisorPort", group.table)
    port = flags.number("supervisorPort") if flag else group.table.supervisor_port
    if name and port is not None and group.balance == "multiPort":
        yield Meeting(flag.name if flag else name, port, flag), "the engine tells the health of its copies"


def _alone(command: Command, flags: Flags) -> Iterator[Mistake]:
    for flag in flags.all:
        if flag.meaning == "headless" and not (flag.word.shell and command.conditional):
            what = f"{flag.name} is given to the only pod of a worker, which would serve no requests"
            yield Mistake(what, f"Remove {flag.name}", flag.word.at)
        if flag.meaning == "nodes" and (number_of(flag.value) or 0) > 1:
            what = f"{flag.name} is {flag.value!r}, but by its topology a worker has one pod"
            yield Mistake(what, f"Remove {flag.name}, or raise the topology", flag.word.at)
        elif flag.value and any(name in flag.value for name in OF_GROUP):
            what = f"{flag.name} is {flag.value!r}, which is set in workers of several pods alone"
            yield Mistake(what, f"Remove {flag.name}: this worker has one pod", flag.word.at)


def _sizes(flags: Flags, group: Group) -> Iterator[Mistake]:
    flag = flags.last("nodes")
    if flag and not _means(flag, str(group.pods), SIZE):
        what = f"{flag.name} {_is(flag)}, but by topology and nodes a worker has {group.pods} pods"
        yield Mistake(what, f"Set {flag.name} to {SIZE}, {_GIVEN}", flag.word.at)


def _ranks(flags: Flags, group: Group) -> Iterator[Mistake]:
    """Yield ranks that are not the pod's. With two pods the only follower has number 1."""
    number = {"Entry": 0, "Follower": 1 if group.pods == 2 else None}[group.position]
    for meaning in ("nodeRank", "copyRank"):
        if (flag := flags.last(meaning)) and not _means(flag, str(number), INDEX):
            what = f"{flag.name} {_is(flag)}, but each pod of a worker has a number of its own"
            yield Mistake(what, f"Set {flag.name} to {INDEX}, {_GIVEN}", flag.word.at)
    flag = flags.last("startRank")
    if flag is None:
        return
    local = group.topology.data_local
    first = str(number * local) if number is not None else ""
    factor = index_factor(flag.value or "")
    if factor != local if factor is not None else not _means(flag, first, INDEX if local == 1 else first):
        own = INDEX if local == 1 else f"$((LWS_WORKER_INDEX * {local})) in a script"
        yield Mistake(
            f"{flag.name} {_is(flag)}, but each pod of a worker has {local} of its "
            f"{group.topology.data} copies",
            f"Set {flag.name} to {own}",
            flag.word.at,
        )


def _addresses(flags: Flags) -> Iterator[Mistake]:
    for meaning in ("master", "copiesAddress", "init"):
        flag = flags.last(meaning)
        if flag is None:
            continue
        host, colon, port = (
            (flag.value or "").rpartition(":") if meaning == "init" else (flag.value or "", "", "")
        )
        if meaning == "init" and is_known(port) and not (colon and 1 <= (number_of(port) or 0) <= LAST_PORT):
            what = f"{flag.name} {_is(flag)}, but it takes host and port"
            yield Mistake(what, f"Write {flag.name} {LEADER}:20000", flag.word.at)
        elif host in (SIZE, INDEX) or is_known(host):
            end = f":{port}" if meaning == "init" else ""
            yield Mistake(
                f"{flag.name} {_is(flag)}, but the pods of each worker meet at that of their own entry",
                f"Set {flag.name} to {LEADER}{end}, {_GIVEN}",
                flag.word.at,
            )


def _servers(command: Command, flags: Flags, group: Group) -> Iterator[Mistake]:
    headless = flags.last("headless")
    if headless and not (headless.word.shell and command.conditional):
        if group.position == "Entry":
            yield Mistake(
                f"{headless.name} is given to the entry of a worker, which would serve no requests",
                "Write entry.template and follower.template, and the flag in the latter alone",
                headless.word.at,
            )
        elif group.balance != "internal":
            yield Mistake(
                f"{headless.name} is given to pods that serve: the entry has {_switch(group)}",
                "Give both the same flags for load balancing, or remove those of the entry",
                headless.word.at,
            )
    for meaning in _BALANCES if len(modes(flags, command)) < 2 else ():
        flag = flags.last(meaning)
        if flag and meaning != group.balance and not (meaning == "external" and flags.has("copyRank")):
            yield Mistake(
                f"{flag.name} contradicts what is known of the worker: requests are spread "
                f"by {_switch(group)}",
                "Give all pods of a worker the same flag for load balancing, in the document",
                flag.word.at,
            )


def _tensorrt(command: Command, group: Group) -> Iterator[Mistake]:
    """Yield a server that would run in its own pod alone: MPI starts its processes on all pods.

    Copies are refused by their topology, which MPI does not mend.
    """
    if launcher(command) == "mpi" or command.conditional or group.topology.data > 1:
        return
    for word in command.words:
        if word.text.rpartition("/")[2] == "trtllm-serve":
            yield Mistake(
                f"a pod of a worker of {group.pods} pods runs trtllm-serve by itself, on its own GPUs",
                f"Start it by mpirun -n {group.topology.gpus_per_worker} trtllm-llmapi-launch in the entry, "
                "and sshd in followers",
                word.at,
            )
            return


def _left_out(command: Command, flags: Flags, group: Group) -> Iterator[Mistake]:
    kinds = group.table.group_flags.values()
    for flag in missing(group, flags, command):
        if not flag.needed or flag.meaning not in kinds or command.conditional:
            continue
        others = [spelling(meaning, group.table) for meaning in flag.instead]
        names = " or ".join(filter(None, (spelling(flag.meaning, group.table), *others)))
        yield Mistake(
            f"the command line joins the pods of a worker and has no {names}{_whom(flag.meaning, group)}",
            f"Add {argument(flag, group.table)}"
            + (" to follower.template" if flag.meaning == "headless" else "")
            + ", or add plugin engine-args",
            place_of(command),
        )


def _whom(meaning: AnyMeaning, group: Group) -> str:
    return " for followers, which serve no requests" if meaning == "headless" else ""


def _means(flag: Flag, *values: str) -> bool:
    """Return whether a flag has one of these values, or one that is not known here."""
    value = flag.value or ""
    if "$((" in value:
        return index_factor(value) in (None, 1) or INDEX not in values
    return value in values or (not is_known(value) and not any(name in value for name in OF_GROUP))


def _is(flag: Flag) -> str:
    return f"is {flag.value!r}" if flag.value else "has no value"


def _switch(group: Group) -> str:
    return (
        spelling(group.balance, group.table) or group.balance if group.balance != "internal" else "its entry"
    )


def _field(group: Group) -> str:
    return "spec.prefill.proxy.enginePort" if group.proxied else "spec.engine.port"


def topology_mistakes(deployment: ModelDeployment, role: str, shape: Shape) -> Iterator[Mistake]:
    """Yield copies that the engine does not spread over pods, and more ports than may be.

    Places begin with a field of the topology.
    """
    topology, kind = workers_of(deployment, role).topology, engine_of(deployment, role).type
    alone = kind == "TensorRT-LLM"
    if topology.data > 1 and (alone or (shape.pods > 1 and kind in ("SGLang", "Triton"))):
        within = "; --dp with --enable-dp-attention stays within the tensor group, and data is 1 then"
        yield Mistake(
            f"topology.data is {topology.data}, and {kind} starts "
            + ("one copy of the model" if alone else "no copies in other pods"),
            f"Raise spec.replicas instead{within if kind == 'SGLang' else ''}",
            ("data",),
        )
    if balance(deployment, role) != "multiPort":
        return
    if role not in serving_roles(deployment):
        yield Mistake(
            "--data-parallel-multi-port-external-lb gives each copy in a pod a port, but the Service of role "
            f"{role} has one",
            "Write --data-parallel-hybrid-lb, with which a pod has one, or neither where a worker is one pod",
        )
        return
    if topology.data_local > MOST_PORTS:
        yield Mistake(
            f"dataLocal is {topology.data_local}, and with --data-parallel-multi-port-external-lb each of "
            f"these copies has a port, but an InferencePool has at most {MOST_PORTS} target ports",
            f"Lower dataLocal to {MOST_PORTS}, or write --data-parallel-hybrid-lb, with which a pod has one",
            ("dataLocal",),
        )
    yield from last_port_mistakes(deployment, role)
