"""Model servers by type: where they serve requests, health and metrics, what inferfleet sets for them, and
how they hand KV caches from prefill to decode.

Sources: vllm/engine/arg_utils.py, vllm/config/parallel.py, vllm/envs.py and
vllm/entrypoints/openai/dp_supervisor.py; sglang/srt/server_args.py and entrypoints/http_server.py;
tensorrt_llm/commands/serve.py; Triton's server guide for its ports and paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

# The model servers that documents may name: `spec.engine.type`.
EngineType = Literal["vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other"]

# Large models load hundreds of gigabytes before they answer.
STARTUP_SECONDS = 1800
# Where pods of a worker meet: ports that are written, so that nothing else is put there. Any that nothing
# else of a pod has would do; these are vLLM's own (vllm/config/parallel.py), and that of SGLang's guides.
MASTER_PORT, RPC_PORT, SUPERVISOR_PORT = 29501, 29550, 9256
SGLANG_MEETS = 20000


@dataclass(frozen=True)
class EngineDefaults:
    """Where an engine serves requests, health and metrics when a document gives its type alone."""

    port: int
    health_path: str | None
    """Path that answers for the health of the engine; without one, probes only open the port."""
    metrics_path: str
    label: str
    """Name of the engine for endpoint pickers."""
    metrics_port: int | None = None
    """Port of the metrics where that is not the engine's own."""
    startup: int = STARTUP_SECONDS
    """Seconds that a pod may take until it serves."""
    group_ports: tuple[int, ...] = ()
    """Where pods of a worker meet."""
    supervisor_port: int | None = None
    """Port that tells the health of all copies of a pod."""
    ready_variable: str | None = None
    """An API server ends its pod where one of its engines is not ready after the seconds in this variable."""
    idle_health: str | None = None
    """Unless this variable is false, the health path answers once the engine has put something out, which a
    busy one may do late.
    """
    paths: tuple[str, ...] = ("/v1",)
    """Paths that routes expose: OpenAI's API, and of an engine that is not made for it, its own."""
    image: str | None = None
    """Repository of images for NVIDIA's GPUs, None for a type that has none here."""
    version: str | None = None
    """Version of deployments that declare none."""
    oldest: str | None = None
    """The first version that command lines are written for."""


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
    ),
    # Endpoint pickers expect vLLM's metrics of an engine they do not know, so it gets vLLM's label.
    "Other": EngineDefaults(port=8000, health_path=None, metrics_path="/metrics", label="vllm"),
}


def engine(engine_type: str) -> EngineDefaults:
    """Return the defaults of an engine type. Raises KeyError for a type that documents cannot name."""
    return _ENGINES[engine_type]


# How engines hand KV caches from prefill to decode: connectors, and how the pods find each other.
#
# Sources: of vllm-project/vllm docs/features/nixl_connector_usage.md and mooncake_connector_usage.md,
# vllm/envs.py, nixl/scheduler.py and mooncake/mooncake_connector.py below
# vllm/distributed/kv_transfer/kv_connector/v1 (each rank of data parallelism has a side channel of its own,
# at the port plus its number); of sgl-project/sglang python/sglang/srt/server_args.py and srt/environ.py; of
# llm-d/llm-d guides/pd-disaggregation; of llm-d/llm-d-inference-scheduler pkg/sidecar/proxy at v0.7.1 (the
# proxy knows NIXL, shared storage and SGLang); of UCX docs/source/faq.md.

# How the KV cache of a prompt gets from a prefill pod to a decode pod: `spec.prefill.connector`.
Connector = Literal["NIXL", "SharedStorage", "Mooncake", "SGLang"]

# The connectors of engines by their types, the usual one first; the routing proxy of decode pods knows no
# others.
CONNECTORS: Mapping[str, tuple[Connector, ...]] = {
    "vLLM": ("NIXL", "SharedStorage", "Mooncake"),
    "SGLang": ("SGLang",),
    "Other": ("NIXL", "SharedStorage", "Mooncake", "SGLang"),
}

# Address that a decode engine is told to ask: by default it would ask itself.
NIXL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
NIXL_PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"
NIXL_DEFAULT_PORT = 5600
# Where prefill engines of Mooncake and SGLang tell the way to them.
BOOTSTRAP_PORT = 8998
MOONCAKE_PORT = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
# The variable of the routing proxy that says SGLang's.
SGLANG_PROXY_PORT = "SGLANG_BOOTSTRAP_PORT"

# Seconds for which engines keep connections that nobody uses, 5 by default. A request on one that the engine
# just closed fails with 503, of 2,737 one (vLLM 0.32 behind Istio). Envoy keeps its own for an hour
# (`idle_timeout` of HttpProtocolOptions), Google's load balancers for 600 s, the routing proxy for 90.
KEEP_ALIVE: Mapping[str, str] = MappingProxyType(
    {"vLLM": "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "SGLang": "SGLANG_TIMEOUT_KEEP_ALIVE"}
)
KEEP_ALIVE_SECONDS = 3700

UCX_TLS = "UCX_TLS"
# Without adapters for RDMA in the pod: GPUs of one node among themselves, and TCP to others. Where
# there may be adapters the choice is UCX's, as in llm-d's guides.
UCX_WITHOUT_RDMA = "cuda_ipc,cuda_copy,tcp"
# RoCE of GKE has a network for each adapter. UCX takes adapters of two networks for unreachable without this
# (guides/pd-disaggregation/modelserver/gpu/vllm/gke of llm-d at 02be547).
UCX_ROCE = ("UCX_IB_ROCE_REACHABILITY_MODE", "all")
