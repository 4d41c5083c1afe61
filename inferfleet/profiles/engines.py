"""Model servers by engine type: port, health, metrics, and the flags that repeat what a document says.

Sources: `vllm serve --help` (vllm/engine/arg_utils.py, entrypoints/openai/dp_supervisor.py),
sglang/srt/server_args.py, `trtllm-serve --help` (tensorrt_llm/commands/serve.py), and Triton's server guide
for its ports and paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inferfleet.profiles.meanings import (
    CacheMeaning,
    EndMeaning,
    GroupMeaning,
    HandoverMeaning,
    Meaning,
    ModelMeaning,
)

# Large models load hundreds of gigabytes before they answer.
STARTUP_SECONDS = 1800


@dataclass(frozen=True)
class EngineDefaults:
    """Where an engine serves requests, health and metrics when a document gives its type alone.

    Without a `health_path`, probes only open the port; without a `metrics_port`, metrics are on the engine's
    port. `label` is the engine's name for endpoint pickers; with `own_protocol`, requests are not as OpenAI's
    API has them. `flags` has every spelling of flags that take one
    number, `group_flags` of those that say what a pod is to the others of its worker; the first spelling is
    the one that is written. `model_flags` say which model is loaded, and how, `cache_flags` what else decides
    the form of its KV cache, and how that is handed on, `end_flags` how the engine ends. With `underscores`,
    the parser takes them for dashes. Where the flag `data_in_tensor` is given, data parallelism takes no GPUs
    beyond the tensor group.

    `address_flag` takes the address on which the engine listens. An `address_default` is that of an engine
    that only its own pod reaches without the flag. With one of `closed_flags` it takes requests only over
    what stands with the flag here. `programs` start the engine: each is a word, or a word and the verb
    behind it. The pods of a worker meet at `master_port`, its copies at `rpc_port`; `supervisor_port` tells
    the health of all copies of a pod. An API server ends its pod where one of its engines is not ready after
    `ready_limit` seconds, or those in the variable `ready_variable`.

    After SIGTERM requests in hand have `end_default` seconds without one of `end_flags`, None for as long as
    their pod has; with one of `cut_variables` they have none. The first version with `end_flags` is
    `ends_since`, where that is known to be later than the engine.

    There are metrics only with the switch `metrics_flag`, and none of the engine's own with `silencer`.
    Unless the variable `idle_health` is false, the health path answers once the engine has put something
    out, which a busy one may do late. From the version `positional_since` on, images of the engine start
    the first of `programs`, which takes the model behind its verb.

    `paths` are those that routes expose: OpenAI's API, and the engine's own for inference.
    """

    port: int
    health_path: str | None
    metrics_path: str
    label: str
    metrics_port: int | None = None
    own_protocol: bool = False
    startup: int = STARTUP_SECONDS
    flags: Mapping[str, Meaning] = field(default_factory=dict)
    group_flags: Mapping[str, GroupMeaning] = field(default_factory=dict)
    model_flags: Mapping[str, ModelMeaning] = field(default_factory=dict)
    cache_flags: Mapping[str, CacheMeaning | HandoverMeaning] = field(default_factory=dict)
    end_flags: Mapping[str, EndMeaning] = field(default_factory=dict)
    underscores: bool = False
    data_in_tensor: str | None = None
    address_flag: str | None = None
    address_default: str | None = None
    closed_flags: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    master_port: int | None = None
    rpc_port: int | None = None
    supervisor_port: int | None = None
    ready_variable: str | None = None
    ready_limit: int | None = None
    end_default: int | None = None
    ends_since: tuple[int, int, int] | None = None
    cut_variables: tuple[str, ...] = ()
    metrics_flag: str | None = None
    silencer: str | None = None
    idle_health: str | None = None
    positional_since: tuple[int, int, int] | None = None
    paths: tuple[str, ...] = ("/v1",)


# Seconds of the grace period that are left to an engine after the last request: its processes end, and a
# proxy in front of it.
END_RESERVE_SECONDS = 10

_ENGINES = {
    "vLLM": EngineDefaults(
        port=8000,
        health_path="/health",
        metrics_path="/metrics",
        label="vllm",
        flags={
            "--tensor-parallel-size": "tensor",
            "-tp": "tensor",
            "--pipeline-parallel-size": "pipeline",
            "-pp": "pipeline",
            "--data-parallel-size": "data",
            "-dp": "data",
            "--data-parallel-size-local": "dataLocal",
            "-dpl": "dataLocal",
            "--port": "port",
        },
        group_flags={
            "--nnodes": "nodes",
            "-n": "nodes",
            "--node-rank": "nodeRank",
            "-r": "nodeRank",
            "--master-addr": "master",
            "--master-port": "masterPort",
            "--data-parallel-rank": "copyRank",
            "-dpn": "copyRank",
            "--data-parallel-start-rank": "startRank",
            "-dpr": "startRank",
            "--data-parallel-address": "copiesAddress",
            "-dpa": "copiesAddress",
            "--data-parallel-rpc-port": "rpcPort",
            "-dpp": "rpcPort",
            "--data-parallel-backend": "copiesBackend",
            "-dpb": "copiesBackend",
            "--distributed-executor-backend": "backend",
            "--headless": "headless",
            "--data-parallel-hybrid-lb": "hybrid",
            "-dph": "hybrid",
            "--data-parallel-external-lb": "external",
            "-dpe": "external",
            "--data-parallel-multi-port-external-lb": "multiPort",
            "-dpm": "multiPort",
            "--data-parallel-supervisor-port": "supervisorPort",
            "--enable-expert-parallel": "expert",
            "-ep": "expert",
        },
        model_flags={
            "--model": "model",
            "--served-model-name": "servedModel",
            "--dtype": "dtype",
            "--max-model-len": "maxLength",
            "--kv-cache-dtype": "cacheDtype",
        },
        cache_flags={
            "--revision": "revision",
            "--quantization": "quantization",
            "-q": "quantization",
            "--hf-overrides": "overrides",
            "--block-size": "blockSize",
            "--attention-backend": "attention",
            "--attention-config": "attentionConfig",
            "-ac": "attentionConfig",
            "--disable-hybrid-kv-cache-manager": "evenCache",
            "--no-disable-hybrid-kv-cache-manager": "hybridCache",
            "--speculative-config": "speculation",
            "-sc": "speculation",
            "--decode-context-parallel-size": "decodeContext",
            "-dcp": "decodeContext",
            "--prefill-context-parallel-size": "prefillContext",
            "-pcp": "prefillContext",
            "--kv-transfer-config": "transfer",
        },
        # vllm#36666: 0 without it, which aborts all requests in hand; before it, the process ended at once.
        # It was announced for v0.18.0 and reverted once in that cycle (#36628); v0.19.0 surely has it.
        end_flags={"--shutdown-timeout": "drain"},
        end_default=0,
        ends_since=(0, 19, 0),
        underscores=True,
        # vllm#11987; V0: vllm/engine/llm_engine.py (0005bbd7), V1: vllm/v1/engine/async_llm.py (00080ee1).
        silencer="--disable-log-stats",
        address_flag="--host",
        # vllm/entrypoints/openai/cli_args.py; without --host it listens on all addresses.
        closed_flags={"--ssl-keyfile": "TLS", "--ssl-certfile": "TLS", "--uds": "a Unix domain socket"},
        programs=("vllm serve", "vllm.entrypoints.openai.api_server"),
        # `vllm serve` takes --model with a warning, and will not in a future version (vllm#39518); the image
        # of v0.19.0 starts it.
        positional_since=(0, 19, 0),
        # vllm/config/parallel.py.
        master_port=29501,
        rpc_port=29550,
        supervisor_port=9256,
        # vllm/envs.py, read in vllm/v1/engine/core_client.py.
        ready_variable="VLLM_ENGINE_READY_TIMEOUT_S",
        ready_limit=600,
    ),
    "SGLang": EngineDefaults(
        port=30000,
        health_path="/health",
        metrics_path="/metrics",
        label="sglang",
        # https://docs.sglang.ai/basic_usage/native_api.html (2026-11-24).
        paths=("/v1", "/generate"),
        flags={
            "--tensor-parallel-size": "tensor",
            "--tp-size": "tensor",
            "--tp": "tensor",
            "--pipeline-parallel-size": "pipeline",
            "--pp-size": "pipeline",
            "--pp": "pipeline",
            "--data-parallel-size": "data",
            "--dp-size": "data",
            "--dp": "data",
            "--port": "port",
        },
        group_flags={
            "--nnodes": "nodes",
            "--node-rank": "nodeRank",
            "--dist-init-addr": "init",
            "--nccl-init-addr": "init",
            "--expert-parallel-size": "expertSize",
            "--ep-size": "expertSize",
            "--ep": "expertSize",
        },
        model_flags={
            "--model-path": "model",
            "--model": "model",
            "--served-model-name": "servedModel",
            "--dtype": "dtype",
            "--context-length": "maxLength",
            "--kv-cache-dtype": "cacheDtype",
        },
        cache_flags={
            "--revision": "revision",
            "--quantization": "quantization",
            "--page-size": "blockSize",
            "--attention-backend": "attention",
            "--speculative-algorithm": "speculation",
            "--disaggregation-mode": "mode",
            "--disaggregation-transfer-backend": "way",
        },
        data_in_tensor="--enable-dp-attention",
        address_flag="--host",
        address_default="127.0.0.1",
        closed_flags={"--ssl-keyfile": "TLS", "--ssl-certfile": "TLS"},
        programs=("sglang.launch_server", "sglang serve"),
        # It ends when its last request has (`sigterm_watchdog` in srt/managers/tokenizer_manager.py, since
        # sglang#1838); with the variable, which was renamed, at once.
        cut_variables=("SGLANG_FORCE_SHUTDOWN", "SGL_FORCE_SHUTDOWN"),
        # docs/references/production_metrics.md.
        metrics_flag="--enable-metrics",
        # `health_generate` in srt/entrypoints/http_server.py: it asks for one token, looks once a second
        # whether anything came out, and gives up after 20 s (SGLANG_HEALTH_CHECK_TIMEOUT), which many long
        # prompts outlast (sglang#22511). A scheduler that hangs ends by --watchdog-timeout.
        idle_health="SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION",
    ),
    "TensorRT-LLM": EngineDefaults(
        port=8000,
        health_path="/health",
        # Its /metrics holds JSON statistics; Prometheus text is one level deeper.
        metrics_path="/prometheus/metrics",
        label="trtllm-serve",
        flags={
            "--tp_size": "tensor",
            "--tensor_parallel_size": "tensor",
            "--pp_size": "pipeline",
            "--pipeline_parallel_size": "pipeline",
            "--port": "port",
        },
        group_flags={"--ep_size": "expertSize"},
        address_flag="--host",
        address_default="localhost",
        # At SIGTERM uvicorn waits for its connections, without a limit of its own; the model ends after that
        # (tensorrt_llm/serve/openai_server.py, 00057725: `lifespan`, and uvicorn.Config in `__call__`).
        programs=("trtllm-serve",),
    ),
    "Triton": EngineDefaults(
        port=8000,
        health_path="/v2/health/ready",
        # KServe's protocol and Triton's generate extension; /v1 is that of its frontend for OpenAI's API.
        # https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/protocol/README.html
        paths=("/v1", "/v2"),
        metrics_path="/metrics",
        metrics_port=8002,
        label="triton-tensorrt-llm",
        own_protocol=True,
        flags={"--http-port": "port"},
        # triton-inference-server/server, e1db8a60: src/command_line_parser.h has the default, and
        # `HTTPServer::Stop` in src/http_server.cc counts it down while there are connections (since #6986).
        end_flags={"--exit-timeout-secs": "drain"},
        end_default=30,
        programs=("tritonserver",),
    ),
    # Endpoint pickers expect vLLM's metrics of an engine they do not know, so it gets vLLM's label.
    "Other": EngineDefaults(port=8000, health_path=None, metrics_path="/metrics", label="vllm"),
}


def engine_types() -> tuple[str, ...]:
    """Return the types of engines that documents can name."""
    return tuple(_ENGINES)


def engine(engine_type: str) -> EngineDefaults:
    """Return the defaults of an engine type. Raises KeyError for a type that documents cannot name."""
    return _ENGINES[engine_type]
