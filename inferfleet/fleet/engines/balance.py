"""Who spreads requests over the copies of a model in one worker: the engine, or the endpoint picker.

Its flags say it; without any, what is written here follows from the topology, and `engine-args` writes the
flag for it. Ray starts the copies of all pods for one API server, that of the entry. vLLM ends before it
loads anything where flags contradict each other, in workers of one pod too.
Sources: docs/serving/data_parallel_deployment.md, vllm/entrypoints/cli/serve.py, vllm/config/parallel.py,
validate_multi_port_external_lb_args in vllm/entrypoints/openai/dp_supervisor.py, and create_engine_config in
vllm/engine/arg_utils.py.
"""

from collections.abc import Iterator
from typing import Literal

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Topology
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.flags import Flag, Flags, flags_of, is_open, spelling
from inferfleet.fleet.engines.launchers import launcher
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.fleet.roles import engine_of, serving_roles, workers_of
from inferfleet.profiles.engines import engine
from inferfleet.profiles.meanings import AnyMeaning

# `internal`: the entry takes all requests and spreads them. `hybrid`: each pod takes requests on one port
# for the copies in it. `external`: each pod has one copy. `multiPort`: each copy of each pod has a port of
# its own.
Balance = Literal["internal", "hybrid", "external", "multiPort"]

# An InferencePool takes no more: gateway-api-inference-extension, api/v1/inferencepool_types.go.
MOST_PORTS = 8

_VLLM = engine("vLLM")
_Mode = Literal["multiPort", "external", "hybrid"]
_Size = Literal["data", "dataLocal"]
_BY: dict[_Mode, tuple[AnyMeaning, ...]] = {
    "multiPort": ("multiPort",),
    "external": ("external", "copyRank"),
    "hybrid": ("hybrid",),
}


def balance(deployment: ModelDeployment, role: str) -> Balance:
    """Return who spreads requests over the copies of a worker, by the document alone."""
    kind = engine_of(deployment, role).type
    workers = workers_of(deployment, role)
    if kind != "vLLM" or workers.topology.data == 1:
        return "internal"
    templates = [workers.of("Entry"), workers.of("Follower")]
    commands = [command_of(template.spec) for template in templates if template is not None]
    for command in commands:
        if written := written_balance(flags_of(command, engine(kind)), command):
            return written
    if any(launcher(command) == "ray" for command in commands):
        return "internal"
    return usual_balance(workers.topology, picked=role in serving_roles(deployment))


def usual_balance(topology: Topology, *, picked: bool) -> Balance:
    """Return who spreads requests where no flag says it; `picked`: an endpoint picker chooses among the pods.

    The engine does it in a worker of one pod, and where a copy takes several pods. Else every pod serves;
    those of further roles on one port, because they have a Service in front of them and no endpoint picker.
    """
    if not has_copies_apart(topology):
        return "internal"
    if topology.data_local == 1:
        return "external"
    return "multiPort" if picked and topology.data_local <= MOST_PORTS else "hybrid"


def has_copies_apart(topology: Topology) -> bool:
    """Return whether a worker has several pods with whole copies each, where a node has the GPUs of a pod."""
    return topology.pipeline == 1 and topology.data > topology.data_local


def every_pod_serves(deployment: ModelDeployment, role: str, pods: int) -> bool:
    """Return whether each of so many pods of a worker takes requests: it has copies and an API server."""
    topology = workers_of(deployment, role).topology
    apart = has_copies_apart(topology) and pods == topology.pods_per_worker
    return apart and balance(deployment, role) != "internal"


def written_balance(flags: Flags, command: Command) -> Balance | None:
    """Return what the flags of vLLM say of it, None where they say nothing."""
    if flags.has("multiPort"):
        return "multiPort"
    if flags.has("external", "copyRank"):
        return "external"
    if flags.has("hybrid"):
        return "hybrid"
    if flags.has("headless") and not command.conditional:
        return "internal"
    # vLLM takes a first rank without --headless for `hybrid`.
    if flags.has("startRank"):
        return "internal" if flags.has("headless") else "hybrid"
    return "internal" if flags.has("headless") else None


def modes(flags: Flags, command: Command) -> dict[_Mode, Flag]:
    """Return the ways of load balancing that flags choose, with a flag for each. vLLM takes one at most.

    There are none in a script with conditions, which may give each pod another.
    """
    if command.conditional:
        return {}
    found = {mode: flag for mode, by in _BY.items() if (flag := _first(flags, *by))}
    if "hybrid" not in found and "multiPort" not in found and (start := flags.last("startRank")):
        found["hybrid"] = start
    return found


def undersized(command: Command, flags: Flags, topology: Topology) -> tuple[_Size, ...]:
    """Return the sizes without which the chosen load balancing ends vLLM, and which no flag gives.

    There are none where something that is not read here may give flags too.
    """
    chosen = modes(flags, command)
    if len(chosen) != 1 or topology.data == 1 or is_open(command, _VLLM):
        return ()
    needed: tuple[_Size, ...] = ("data",)
    if "multiPort" in chosen or flags.has("startRank") or ("hybrid" in chosen and not flags.has("nodes")):
        needed = ("data", "dataLocal")
    return tuple(meaning for meaning in needed if not flags.has(meaning))


def copies_mistakes(command: Command, flags: Flags, topology: Topology, *, whole: bool) -> Iterator[Mistake]:
    """Yield flags that vLLM refuses, and of a `whole` command line the sizes that it lacks for them."""
    chosen = modes(flags, command)
    if len(chosen) > 1:
        first, second, *_ = chosen.values()
        yield Mistake(
            f"{first.name} and {second.name} are two ways to spread requests over copies of the model, and "
            "vLLM ends when it is told more than one",
            "Keep one of them, the same in all pods of the worker",
            second.word.at,
        )
        return
    for mode, flag in chosen.items():
        yield from _of_mode(mode, flag, flags, topology)
        for meaning in undersized(command, flags, topology) if whole else ():
            name = spelling(meaning, _VLLM)
            yield Mistake(
                f"{flag.name} is among the arguments of the engine and {name} is not, and vLLM ends without",
                f"Add {name} {_size(topology, meaning)}, or add plugin engine-args",
                flag.word.at,
            )


def _of_mode(mode: _Mode, flag: Flag, flags: Flags, topology: Topology) -> Iterator[Mistake]:
    """Yield a number of copies that does not go with the load balancing."""
    if topology.data == 1:
        # With a start rank alone vLLM ignores that there is one copy.
        if flag.meaning != "startRank" and not _disagrees(flags, topology, "data"):
            yield Mistake(
                f"{flag.name} spreads requests over copies of the model, but topology.data is 1, and vLLM "
                "ends with it where there is one copy",
                f"Remove {flag.name}, or raise topology.data",
                flag.word.at,
            )
        return
    local = topology.data_local
    if _disagrees(flags, topology, "dataLocal"):
        return
    if mode == "multiPort" and local < 2:
        yield Mistake(
            f"{flag.name} gives each copy in a pod a port, but topology.dataLocal is {local}, and vLLM takes "
            "it with 2 or more",
            "Write --data-parallel-rank for pods of one copy, or raise topology.dataLocal",
            flag.word.at,
        )
    if mode == "external" and local > 1:
        yield Mistake(
            f"{flag.name} is for pods with one copy, but topology.dataLocal is {local}",
            "Write --data-parallel-multi-port-external-lb or --data-parallel-hybrid-lb, or lower "
            "topology.dataLocal to 1",
            flag.word.at,
        )
    elif mode == "external" and flags.has("nodeRank") and not flags.has("copyRank", "nodes"):
        rank = flags.last("nodeRank")
        yield Mistake(
            f"{flag.name} needs the rank of the pod's copy, and vLLM takes it from "
            f"{rank.name if rank else 'a rank'} only where --nnodes is given",
            "Write --data-parallel-rank instead, or add --nnodes",
            flag.word.at,
        )


def _disagrees(flags: Flags, topology: Topology, meaning: _Size) -> bool:
    """Return whether a flag gives another size than the topology, which is told already."""
    return flags.number(meaning) not in (None, _size(topology, meaning))


def _size(topology: Topology, meaning: _Size) -> int:
    return topology.data if meaning == "data" else topology.data_local


def _first(flags: Flags, *meanings: AnyMeaning) -> Flag | None:
    return next((flag for flag in flags.all if flag.meaning in meanings), None)
