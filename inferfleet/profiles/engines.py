"""Model servers by engine type: port, health, metrics, and the flags that repeat what a document says.

Sources: `vllm serve --help` (vllm/engine/arg_utils.py), sglang/srt/server_args.py, `trtllm-serve --help`
(tensorrt_llm/commands/serve.py), and Triton's server guide for its ports and paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# The field whose value a flag of an engine repeats: one of the topology, or the engine's port.
Meaning = Literal["tensor", "pipeline", "data", "dataLocal", "port"]

# Large models load hundreds of gigabytes before they answer.
STARTUP_SECONDS = 1800


@dataclass(frozen=True)
class EngineDefaults:
    """Where an engine serves requests, health and metrics when a document gives its type alone.

    Without a `health_path`, probes only open the port; without a `metrics_port`, metrics are on the engine's
    port. `label` is the engine's name for endpoint pickers. `flags` has every spelling of flags that take one
    number. Where the flag `data_in_tensor` is given, data parallelism takes no GPUs beyond the tensor group.
    """

    port: int
    health_path: str | None
    metrics_path: str
    label: str
    metrics_port: int | None = None
    startup: int = STARTUP_SECONDS
    flags: Mapping[str, Meaning] = field(default_factory=dict)
    data_in_tensor: str | None = None


_ENGINES = {
    "vLLM": EngineDefaults(
        port=8000,
        health_path="/health",
        metrics_path="/metrics",
        label="vllm",
        # Its parser takes underscores for dashes.
        flags={
            "--tensor-parallel-size": "tensor",
            "--tensor_parallel_size": "tensor",
            "-tp": "tensor",
            "--pipeline-parallel-size": "pipeline",
            "--pipeline_parallel_size": "pipeline",
            "-pp": "pipeline",
            "--data-parallel-size": "data",
            "--data_parallel_size": "data",
            "-dp": "data",
            "--data-parallel-size-local": "dataLocal",
            "--data_parallel_size_local": "dataLocal",
            "-dpl": "dataLocal",
            "--port": "port",
        },
    ),
    "SGLang": EngineDefaults(
        port=30000,
        health_path="/health",
        metrics_path="/metrics",
        label="sglang",
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
        data_in_tensor="--enable-dp-attention",
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
    ),
    "Triton": EngineDefaults(
        port=8000,
        health_path="/v2/health/ready",
        metrics_path="/metrics",
        metrics_port=8002,
        label="triton-tensorrt-llm",
        flags={"--http-port": "port"},
    ),
    # Endpoint pickers expect vLLM's metrics of an engine they do not know, so it gets vLLM's label.
    "Other": EngineDefaults(port=8000, health_path=None, metrics_path="/metrics", label="vllm"),
}


def engine(engine_type: str) -> EngineDefaults:
    """Return the defaults of an engine type. Raises KeyError for a type that documents cannot name."""
    return _ENGINES[engine_type]
