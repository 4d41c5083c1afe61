"""Model servers by type: where they serve requests, health and metrics, and what inferfleet sets for them.

Sources: vllm/engine/arg_utils.py, vllm/config/parallel.py, vllm/envs.py and
vllm/entrypoints/openai/dp_supervisor.py; sglang/srt/server_args.py and entrypoints/http_server.py;
tensorrt_llm/commands/serve.py; Triton's server guide for its ports and paths.
"""

from dataclasses import dataclass

# Large models load hundreds of gigabytes before they answer.
STARTUP_SECONDS = 1800
# Where pods of a worker meet: ports that are written, so that nothing else is put there. Any that nothing
# else of a pod has would do; these are vLLM's own (vllm/config/parallel.py), and that of SGLang's guides.
MASTER_PORT, RPC_PORT, SUPERVISOR_PORT = 29501, 29550, 9256
SGLANG_MEETS = 20000


@dataclass(frozen=True)
class EngineDefaults:
    """Where an engine serves requests, health and metrics when a document gives its type alone.

    Without a `health_path`, probes only open the port; without a `metrics_port`, metrics are on the engine's
    port. `label` is the engine's name for endpoint pickers; with `own_protocol`, requests are not as OpenAI's
    API has them. `startup` is in seconds.

    Pods of a worker meet at `group_ports`; `supervisor_port` tells the health of all copies of a pod. An API
    server ends its pod where one of its engines is not ready after the seconds in the variable
    `ready_variable`. Unless the variable `idle_health` is false, the health path answers once the engine has
    put something out, which a busy one may do late. `paths` are those that routes expose: OpenAI's API, and
    the engine's own for inference.

    `image` is the repository of images for NVIDIA's GPUs, None for a type that has none here, and `version`
    the one that a deployment has that declares none. Command lines are written from the version `oldest` on.
    """

    port: int
    health_path: str | None
    metrics_path: str
    label: str
    metrics_port: int | None = None
    own_protocol: bool = False
    startup: int = STARTUP_SECONDS
    group_ports: tuple[int, ...] = ()
    supervisor_port: int | None = None
    ready_variable: str | None = None
    idle_health: str | None = None
    paths: tuple[str, ...] = ("/v1",)
    image: str | None = None
    version: str | None = None
    oldest: str | None = None


_ENGINES = {
    "vLLM": EngineDefaults(
        port=8000,
        health_path="/health",
        metrics_path="/metrics",
        label="vllm",
        group_ports=(MASTER_PORT, RPC_PORT),
        supervisor_port=SUPERVISOR_PORT,
        ready_variable="VLLM_ENGINE_READY_TIMEOUT_S",
        image="docker.io/vllm/vllm-openai",
        version="0.32",
        # The first of those looked at that has --data-parallel-multi-port-external-lb.
        oldest="0.24",
    ),
    "SGLang": EngineDefaults(
        port=30000,
        health_path="/health",
        metrics_path="/metrics",
        label="sglang",
        # https://docs.sglang.ai/basic_usage/native_api.html (2026-11-24).
        paths=("/v1", "/generate"),
        group_ports=(SGLANG_MEETS,),
        # `health_generate` asks for one token, looks once a second whether anything came out, and gives up
        # after 20 s, which many long prompts outlast (sglang#22511). A scheduler that hangs ends by
        # --watchdog-timeout.
        idle_health="SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION",
        image="docker.io/lmsysorg/sglang",
        version="0.5.23",
        oldest="0.5.23",
    ),
    "TensorRT-LLM": EngineDefaults(
        port=8000,
        health_path="/health",
        # Its /metrics holds JSON statistics; Prometheus text is one level deeper.
        metrics_path="/prometheus/metrics",
        label="trtllm-serve",
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
    ),
    # Endpoint pickers expect vLLM's metrics of an engine they do not know, so it gets vLLM's label.
    "Other": EngineDefaults(port=8000, health_path=None, metrics_path="/metrics", label="vllm"),
}


def engine(engine_type: str) -> EngineDefaults:
    """Return the defaults of an engine type. Raises KeyError for a type that documents cannot name."""
    return _ENGINES[engine_type]
