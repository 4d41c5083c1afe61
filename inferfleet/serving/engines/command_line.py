"""The command line of an engine: written where its document declares a model, else passed through.

inferfleet writes it exactly when `model` is declared and the container `engine` has neither command nor args:
program, model, flags, and last `args` as they are. A container with a command of its own gets the same values
as variables, `INFERFLEET_*`, and an image without a model starts itself.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.kinds.adapters import Adapter
from inferfleet.documents.kinds.model_deployment import CachedModel, Engine, ModelDeployment, ModelSource
from inferfleet.documents.kinds.workers import ENGINE_ALONE, Balance, Position, Topology
from inferfleet.documents.wording import shown
from inferfleet.fleet.roles import (
    DECODE,
    PREFILL,
    args_of,
    balance,
    connector,
    engine_of,
    every_pod_serves,
    hands_over,
    has_copies_apart,
    listening_port,
    serving_roles,
    workers_of,
)
from inferfleet.serving.engines.drain import ending
from inferfleet.tables.engines import (
    BOOTSTRAP_PORT,
    KEEP_ALIVE,
    KEEP_ALIVE_SECONDS,
    MASTER_PORT,
    RPC_PORT,
    SGLANG_MEETS,
    SUPERVISOR_PORT,
)

_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "vLLM": ("vllm", "serve"),
    "SGLang": ("python3", "-m", "sglang.launch_server"),
    "TensorRT-LLM": ("trtllm-serve",),
}
# A token by which libraries of Hugging Face download (huggingface_hub, environment_variables.md).
TOKEN = "HF_TOKEN"
# What the controller of LeaderWorkerSets sets in each container of a group, before all other variables
# (kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go): the address of the entry, the number of pods, and that
# of the pod among them.
LEADER, SIZE, INDEX = "$(LWS_LEADER_ADDRESS)", "$(LWS_GROUP_SIZE)", "$(LWS_WORKER_INDEX)"
# Flags by which engines serve gRPC in place of HTTP, which gateways and probes ask.
GRPC_FLAGS = ("--grpc", "--grpc-mode")
# The connector's class and the roles in it, by `prefill.connector`.
CONNECTORS = {"NIXL": "NixlConnector", "Mooncake": "MooncakeConnector"}
# The fields that say what inferfleet writes, by the flags. That of KV transfer is for `prefill` alone.
_VLLM_FIELDS = {
    "--model": "engine.model",
    "--revision": "engine.model.revision",
    "--served-model-name": "engine.servedNames",
    "--host": "",
    "--port": "engine.port",
    "--grpc": "",
    "--tensor-parallel-size": "topology.tensor",
    "--pipeline-parallel-size": "topology.pipeline",
    "--data-parallel-size": "topology.data",
    "--data-parallel-size-local": "topology.dataLocal",
    "--data-parallel-rank": "topology.data",
    "--data-parallel-start-rank": "topology.data",
    "--data-parallel-address": "topology.data",
    "--data-parallel-rpc-port": "",
    "--data-parallel-hybrid-lb": "workers.balance",
    "--data-parallel-external-lb": "workers.balance",
    "--data-parallel-multi-port-external-lb": "workers.balance",
    "--data-parallel-supervisor-port": "",
    "--nnodes": "topology.pipeline or topology.tensor",
    "--node-rank": "topology.pipeline or topology.tensor",
    "--master-addr": "topology.pipeline or topology.tensor",
    "--master-port": "",
    "--headless": "workers.balance",
    "--enable-expert-parallel": "topology.expert",
    "--shutdown-timeout": "engine.drain",
}
# Those of adapters, where the document has any: with flags of its own a team may do without.
_VLLM_ADAPTER_FIELDS = {
    "--enable-lora": "engine.adapters",
    "--lora-modules": "engine.adapters",
    "--max-loras": "engine.maxAdapters",
    "--max-cpu-loras": "engine.maxCpuAdapters",
    "--max-lora-rank": "engine.maxAdapterRank",
}
_SGLANG_ADAPTER_FIELDS = {
    "--enable-lora": "engine.adapters",
    "--lora-paths": "engine.adapters",
    "--max-loras-per-batch": "engine.maxAdapters",
    "--max-loaded-loras": "engine.maxCpuAdapters",
    "--max-lora-rank": "engine.maxAdapterRank",
}
# Where pods have the adapters that they fetch, and those of caches.
ADAPTERS, CACHED_ADAPTERS = "/adapters", "/cached-adapters"
# Where the sidecar that has adapters loaded answers probes.
ADAPTERS_PORT = 8199
# The module and class by which vLLM finds what guards its loading.
_GUARD = "inferfleet_guard.Guard"
_KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
TRANSFER = "--kv-transfer-config"
LOAD_FORMAT = "--load-format"
# Keys of the connector's configuration that inferfleet writes.
TRANSFER_KEYS = ("kv_connector", "kv_role")
_SGLANG_FIELDS = {
    "--model-path": "engine.model",
    "--revision": "engine.model.revision",
    "--served-model-name": "engine.servedNames",
    "--host": "",
    "--port": "engine.port",
    "--enable-metrics": "",
    "--grpc-mode": "",
    "--tensor-parallel-size": "topology.tensor",
    "--pipeline-parallel-size": "topology.pipeline",
    "--data-parallel-size": "topology.data",
    "--attn-dp-size": "topology.attention",
    "--enable-dp-attention": "topology.attention",
    "--expert-parallel-size": "topology.expert",
    "--nnodes": "topology.pipeline or topology.tensor",
    "--node-rank": "topology.pipeline or topology.tensor",
    "--dist-init-addr": "topology.pipeline or topology.tensor",
    "--disaggregation-mode": "prefill",
    "--disaggregation-bootstrap-port": "",
}
_TRTLLM_FIELDS = {
    "--revision": "engine.model.revision",
    "--host": "",
    "--port": "engine.port",
    "--tp_size": "topology.tensor",
    "--tensor_parallel_size": "topology.tensor",
    "--pp_size": "topology.pipeline",
    "--pipeline_parallel_size": "topology.pipeline",
    "--ep_size": "topology.expert",
    "--moe_expert_parallel_size": "topology.expert",
}


@dataclass(frozen=True)
class WorkerPod:
    """The pods of a role in one position of workers of so many `pods`."""

    deployment: ModelDeployment
    role: str
    position: Position
    pods: int
    streamed: str | None = None
    """URL of a folder in a bucket, from which the engine streams its weights."""

    @property
    def engine(self) -> Engine:
        """The engine of the role."""
        return engine_of(self.deployment, self.role)

    @property
    def model(self) -> ModelSource:
        """The model of the engine. Raises ValueError for one that declares none."""
        if self.engine.model is None:
            raise ValueError("no command line is written for an engine without a model")
        return self.engine.model

    @property
    def topology(self) -> Topology:
        """How the engine is spread over GPUs."""
        return workers_of(self.deployment, self.role).topology

    @property
    def balance(self) -> Balance:
        """Who shares requests among copies: the engine, where a copy takes several of the pods."""
        return balance(self.deployment, self.role) if self.pods == 1 or self.has_copies else "Engine"

    @property
    def has_copies(self) -> bool:
        """Whether each pod has whole copies of the model."""
        return has_copies_apart(self.deployment, self.role, self.pods)

    @property
    def serves(self) -> bool:
        """Whether the pod takes requests."""
        return self.position == "Entry" or every_pod_serves(self.deployment, self.role, self.pods)

    @property
    def port(self) -> int:
        """The first port on which the engine listens."""
        return listening_port(self.deployment, self.role)


@dataclass(frozen=True)
class CommandLine:
    """The command and args of a container: what is not written, the image's own program, is empty."""

    command: tuple[str, ...]
    args: tuple[str, ...]


def has_own_command(deployment: ModelDeployment, role: str, position: Position = "Entry") -> bool:
    """Return whether the template of these pods has a command line of its own."""
    template = workers_of(deployment, role).of(position)
    return template is not None and any(template.engine.get(part) for part in ("command", "args"))


def is_written(deployment: ModelDeployment, role: str, position: Position = "Entry") -> bool:
    """Return whether inferfleet writes the command line of these pods."""
    declared = engine_of(deployment, role).model is not None
    return declared and not has_own_command(deployment, role, position)


def streams(deployment: ModelDeployment, role: str, position: Position = "Entry") -> bool:
    """Return whether the engines of these pods stream weights from a bucket: vLLM, as Google describes it
    (https://docs.cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/run-ai-model-streamer).
    """
    declared = engine_of(deployment, role)
    in_bucket = isinstance(declared.model, CachedModel) and declared.model.in_bucket
    return in_bucket and declared.type == "vLLM" and is_written(deployment, role, position)


def command_line(pod: WorkerPod) -> CommandLine | None:
    """Return the written command line of a pod, None where its template or image has the program."""
    if not is_written(pod.deployment, pod.role, pod.position) or unwritable(
        pod.deployment, pod.role, pod.pods
    ):
        return None
    engine = pod.engine
    program = engine.program or _PROGRAMS[engine.type]
    args = (*written_flags(pod), *args_of(pod.deployment, pod.role))
    return CommandLine(() if program == "Image" else tuple(program), args)


def written_flags(pod: WorkerPod) -> tuple[str, ...]:
    """Return what inferfleet writes behind the program, before the team's own `args`."""
    if pod.engine.type == "SGLang":
        return tuple(_sglang(pod))
    if pod.engine.type == "TensorRT-LLM":
        return tuple(_trtllm(pod))
    return tuple(_vllm(pod, drain=_drain(pod)))


def fields_by_flag(pod: WorkerPod) -> Mapping[str, str]:
    """Return the flags that are inferfleet's for such a pod, with the field that says each, "" for none."""
    if pod.engine.type == "SGLang":
        return _SGLANG_FIELDS | (_SGLANG_ADAPTER_FIELDS if pod.engine.adapters else {})
    if pod.engine.type == "TensorRT-LLM":
        return _TRTLLM_FIELDS
    return (
        _VLLM_FIELDS
        | (_VLLM_ADAPTER_FIELDS if pod.engine.adapters else {})
        | ({TRANSFER: "prefill"} if transfer_config(pod) else {})
        | ({LOAD_FORMAT: "engine.model"} if streams(pod.deployment, pod.role, pod.position) else {})
    )


def unwritable(deployment: ModelDeployment, role: str, pods: int) -> str | None:
    """Return why no command line is written for workers of so many pods, None where one is."""
    engine, topology = engine_of(deployment, role), workers_of(deployment, role).topology
    if engine.type not in _PROGRAMS:
        return f"for type {engine.type} no command line is written"
    if engine.type == "TensorRT-LLM" and (pods > 1 or topology.data > 1):
        return (
            "for TensorRT-LLM in several pods, or with copies, no command line is written: mpirun starts it"
        )
    if engine.type == "SGLang" and topology.data > 1 and pods > 1:
        return "for SGLang with topology.data over several pods no command line is written"
    if engine.type == "TensorRT-LLM" and hands_over(deployment, role):
        return "for TensorRT-LLM with prefill apart no command line is written"
    return None


def example(deployment: ModelDeployment, role: str) -> str:
    """Return a command to begin from where none is written, as YAML."""
    engine = engine_of(deployment, role)
    program = {
        "SGLang": (*_PROGRAMS["SGLang"], "--model-path=MODEL", "--host=0.0.0.0", "--port=PORT"),
        "TensorRT-LLM": ("trtllm-llmapi-launch", "trtllm-serve", "MODEL", "--host=0.0.0.0", "--port=PORT"),
        "Triton": ("tritonserver", "--model-repository=MODEL", "--http-port=PORT"),
        "Other": ("PROGRAM", "--model=MODEL", "--port=PORT"),
    }[engine.type]
    model = engine.model.loaded_from if engine.model else "MODEL"
    words = [word.replace("MODEL", shown(model)).replace("PORT", "$(INFERFLEET_PORT)") for word in program]
    return f"command: [{', '.join(words)}]"


def variables(pod: WorkerPod) -> Iterator[dict[str, Any]]:
    """Yield the variables of an engine's container: a token, how long it keeps connections open, and what a
    command of one's own may use.

    Their values follow from declared fields. Those of a group refer to variables that its controller sets
    before all others.
    """
    engine = pod.engine
    if engine.model and engine.model.token:
        ref = engine.model.token.secret_ref
        source = {"secretKeyRef": {"name": ref.name, "key": ref.key}}
        yield {"name": TOKEN, "valueFrom": source}
    if pod.serves and (keep_alive := KEEP_ALIVE.get(engine.type)):
        yield {"name": keep_alive, "value": str(KEEP_ALIVE_SECONDS)}
    if has_own_command(pod.deployment, pod.role, pod.position):
        yield from ({"name": f"INFERFLEET_{name}", "value": value} for name, value in _variables_by_name(pod))


def _variables_by_name(pod: WorkerPod) -> Iterator[tuple[str, str]]:
    engine, topology = pod.engine, pod.topology
    if engine.model:
        yield "MODEL", engine.model.loaded_from
    if written := written_names(engine):
        yield "SERVED_NAMES", " ".join(written)
    yield "PORT", str(pod.port)
    for name in ("tensor", "pipeline", "data", "data_local"):
        yield name.upper(), str(getattr(topology, name))
    yield "DRAIN", str(_drain(pod))
    if pod.pods > 1:
        yield "LEADER", LEADER
        yield "RANK", INDEX
        yield "PODS", SIZE
    if hands_over(pod.deployment, pod.role):
        yield "BOOTSTRAP_PORT", str(BOOTSTRAP_PORT)


def written_names(engine: Engine) -> tuple[str, ...]:
    """Return the names under which an engine is told to serve its model: the declared ones, and for a model
    of a cache, which would have the name of its folder, that of its repository.
    """
    cached = isinstance(engine.model, CachedModel)
    return engine.served_names or ((engine.model.name,) if engine.model and cached else ())


def adapter_path(adapter: Adapter) -> str:
    """Return the folder in a pod's containers that holds the files of an adapter."""
    source = adapter.source
    if source.cache:
        return f"{CACHED_ADAPTERS}/{adapter.name}"
    return f"{ADAPTERS}/{adapter.name}/{source.revision}/model"


def _drain(pod: WorkerPod) -> int:
    template = workers_of(pod.deployment, pod.role).of(pod.position) or ENGINE_ALONE
    return ending(pod.engine, template.spec).drain


def _vllm(pod: WorkerPod, *, drain: int) -> Iterator[str]:
    """Yield what follows the program; `drain` are the seconds that requests have after SIGTERM.

    Sources: vllm/engine/arg_utils.py and vllm/entrypoints/openai/dp_supervisor.py (a pod's first copy follows
    from --node-rank), docs/serving/parallelism_scaling.md and data_parallel_deployment.md, of KV transfer
    docs/features/nixl_connector_usage.md and mooncake_connector_usage.md, of streams from buckets
    docs/models/extensions/runai_model_streamer.md. Tried with the parser of vLLM 0.32.
    """
    engine, model, topology = pod.engine, pod.model, pod.topology
    yield pod.streamed or model.loaded_from
    if pod.streamed:
        yield f"{LOAD_FORMAT}=runai_streamer"
    if model.downloaded_revision:
        yield f"--revision={model.downloaded_revision}"
    if written := written_names(engine):
        yield from ("--served-model-name", *written)
    if pod.serves:
        yield f"--port={pod.port}"
    if topology.tensor > 1:
        yield f"--tensor-parallel-size={topology.tensor}"
    if topology.pipeline > 1:
        yield f"--pipeline-parallel-size={topology.pipeline}"
    if topology.data > 1:
        yield f"--data-parallel-size={topology.data}"
    yield from _vllm_group(pod)
    if topology.expert:
        yield "--enable-expert-parallel"
    if pod.serves:
        yield f"--shutdown-timeout={drain}"
    if engine.adapters:
        yield "--enable-lora"
        yield f"--max-loras={engine.max_adapters}"
        yield f"--max-cpu-loras={engine.max_cpu_adapters}"
        yield f"--max-lora-rank={engine.max_adapter_rank}"
        yield f"--middleware={_GUARD}"
    if config := transfer_config(pod):
        yield f"{TRANSFER}={json.dumps(config, sort_keys=True, separators=(',', ':'))}"


def _vllm_group(pod: WorkerPod) -> Iterator[str]:
    """Yield what joins the pods of a worker and says who shares requests among its copies.

    Pods with whole copies meet at --data-parallel-address, and infer their first copy from --node-rank; one
    copy over several pods is run by vLLM's own launcher of processes, and followers have no API server.
    """
    topology, chosen = pod.topology, pod.balance
    by_port = chosen == "Port"
    one_each = chosen == "Pod" and topology.data_local == 1
    if by_port or (pod.has_copies and not one_each):
        yield f"--data-parallel-size-local={topology.data_local}"
    if by_port:
        yield "--data-parallel-multi-port-external-lb"
        yield f"--data-parallel-supervisor-port={SUPERVISOR_PORT}"
    if pod.pods == 1:
        return
    if topology.data > 1:
        yield f"--data-parallel-rpc-port={RPC_PORT}"
    if by_port:
        yield f"--data-parallel-address={LEADER}"
        yield f"--node-rank={INDEX}"
        return
    if pod.has_copies and one_each:
        yield f"--data-parallel-address={LEADER}"
        yield f"--data-parallel-rank={INDEX}"
        return
    if pod.has_copies and chosen == "Pod":
        yield "--data-parallel-hybrid-lb"
    yield f"--nnodes={SIZE}"
    yield f"--node-rank={INDEX}"
    yield f"--master-addr={LEADER}"
    yield f"--master-port={MASTER_PORT}"
    if not pod.serves:
        yield "--headless"


def transfer_config(pod: WorkerPod) -> dict[str, Any] | None:
    """Return `--kv-transfer-config` of a pod, None for one that hands no KV cache on by a written flag.

    Decode pods of NIXL read those prompts themselves whose caches ended with a prefill pod.
    """
    deployment = pod.deployment
    prefill = deployment.spec.prefill
    if prefill is None or pod.role not in serving_roles(deployment):
        return None
    name = CONNECTORS.get(connector(deployment))
    if name is None:
        return None
    recompute = (
        {"kv_load_failure_policy": "recompute"} if pod.role == DECODE and name == "NixlConnector" else {}
    )
    return {**recompute, **prefill.options, "kv_connector": name, "kv_role": _KV_ROLES[pod.role]}


def _sglang(pod: WorkerPod) -> Iterator[str]:
    """Yield what follows the program.

    Sources: sglang/srt/server_args.py, docs/references/multi_node_deployment, of prefill and decode apart
    docs/advanced_features/pd_disaggregation.md. Tried with the parser of SGLang 0.5.23.
    """
    engine, model, topology = pod.engine, pod.model, pod.topology
    yield f"--model-path={model.loaded_from}"
    if model.downloaded_revision:
        yield f"--revision={model.downloaded_revision}"
    for name in written_names(engine)[:1]:
        yield f"--served-model-name={name}"
    if pod.serves:
        # It listens on 127.0.0.1 otherwise.
        yield "--host=0.0.0.0"
        yield f"--port={pod.port}"
        yield "--enable-metrics"
    if topology.tensor > 1:
        yield f"--tp-size={topology.tensor}"
    if topology.pipeline > 1:
        yield f"--pp-size={topology.pipeline}"
    if topology.data > 1:
        yield f"--dp-size={topology.data}"
    if topology.attention > 1:
        yield f"--attn-dp-size={topology.attention}"
    if topology.expert:
        yield f"--ep-size={topology.tensor}"
    if engine.adapters:
        yield "--enable-lora"
        yield f"--max-loras-per-batch={engine.max_adapters}"
        yield f"--max-loaded-loras={engine.max_cpu_adapters}"
        yield f"--max-lora-rank={engine.max_adapter_rank}"
        yield from (
            "--lora-paths",
            *(f"{adapter.name}={adapter_path(adapter)}" for adapter in engine.adapters),
        )
    if pod.pods > 1:
        yield f"--nnodes={SIZE}"
        yield f"--node-rank={INDEX}"
        yield f"--dist-init-addr={LEADER}:{SGLANG_MEETS}"
    if hands_over(pod.deployment, pod.role):
        yield f"--disaggregation-mode={pod.role}"
        if pod.role == PREFILL:
            yield f"--disaggregation-bootstrap-port={BOOTSTRAP_PORT}"


def _trtllm(pod: WorkerPod) -> Iterator[str]:
    """Yield what follows the program in one pod (tensorrt_llm/commands/serve.py)."""
    model, topology = pod.model, pod.topology
    yield model.loaded_from
    if model.downloaded_revision:
        yield f"--revision={model.downloaded_revision}"
    # It listens on localhost otherwise.
    yield "--host=0.0.0.0"
    yield f"--port={pod.port}"
    if topology.tensor > 1:
        yield f"--tp_size={topology.tensor}"
    if topology.expert:
        yield f"--ep_size={topology.tensor}"
