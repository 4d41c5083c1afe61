"""What an engine's metrics are, by their names: who may scale replicas by one, and what its values can be."""

from inferfleet.profiles.metrics.nvidia import TENSORRT_LLM, TRITON
from inferfleet.profiles.metrics.sglang import SGLANG
from inferfleet.profiles.metrics.values import EngineMetrics
from inferfleet.profiles.metrics.vllm import VLLM

_TABLES = {"vLLM": VLLM, "SGLang": SGLANG, "TensorRT-LLM": TENSORRT_LLM, "Triton": TRITON}


def metrics_of(engine_type: str) -> EngineMetrics | None:
    """Return the table of an engine type, None for one whose metrics nobody knows."""
    return _TABLES.get(engine_type)


def example_for(name: str) -> str:
    """Return a gauge of the engine whose own metrics begin as this name does, or else of vLLM."""
    return next((table.example for table in _TABLES.values() if name.startswith(table.prefix)), VLLM.example)


def is_gauge(name: str) -> bool:
    """Return whether some engine surely has a gauge of this name."""
    return any(name in table.gauges for table in _TABLES.values())
