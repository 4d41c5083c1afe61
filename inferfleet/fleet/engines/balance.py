"""Who spreads requests over the copies of a model in one worker: the engine, or the endpoint picker.

Source: docs/serving/data_parallel_deployment.md and vllm/entrypoints/cli/serve.py of vLLM. Its flags say it;
without any, what is written here follows from the topology, and `engine-args` writes the flag for it.
"""

from typing import Literal

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Topology
from inferfleet.fleet.engines.flags import Flags, flags_of
from inferfleet.fleet.engines.words import Command, command_of
from inferfleet.fleet.roles import DECODE, engine_of, workers_of
from inferfleet.profiles.engines import engine

# `internal`: the entry takes all requests and spreads them. `hybrid`: each pod takes requests on one port
# for the copies in it. `external`: each pod has one copy. `multiPort`: each copy of each pod has a port of
# its own.
Balance = Literal["internal", "hybrid", "external", "multiPort"]

# An InferencePool takes no more: gateway-api-inference-extension, api/v1/inferencepool_types.go.
MOST_PORTS = 8


def balance(deployment: ModelDeployment, role: str = DECODE) -> Balance:
    """Return who spreads requests over the copies of a worker, by the document alone."""
    kind = engine_of(deployment, role).type
    workers = workers_of(deployment, role)
    if kind != "vLLM" or workers.topology.data == 1:
        return "internal"
    templates = [workers.of("Entry"), workers.of("Follower")]
    for template in templates:
        if template is not None:
            command = command_of(template.spec)
            if written := written_balance(flags_of(command, engine(kind)), command):
                return written
    return usual_balance(workers.topology)


def usual_balance(topology: Topology) -> Balance:
    """Return who spreads requests where no flag says it.

    The engine does it in a worker of one pod, and where a copy takes several pods. Else every pod serves.
    """
    if not has_copies_apart(topology):
        return "internal"
    if topology.data_local == 1:
        return "external"
    return "multiPort" if topology.data_local <= MOST_PORTS else "hybrid"


def has_copies_apart(topology: Topology) -> bool:
    """Return whether a worker has several pods with whole copies each, where a node has the GPUs of a pod."""
    return topology.pipeline == 1 and topology.data > topology.data_local


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
