"""The metrics of an engine's load, under the names that each engine uses.

The names are those that endpoint pickers read of each engine (core metrics of llm-d-router and of the Gateway
API Inference Extension), and those in vLLM's documentation of its production metrics.
"""

import time
from collections.abc import Callable
from typing import Any

from sandbox.engine.load import Load
from sandbox.engine.settings import Settings

# The size of the cache in tokens, whatever the model; real engines have more.
CACHE_TOKENS = 32768
# The name, type, labels and value of a metric.
Row = tuple[str, str, str, Any]


def metrics(settings: Settings, load: Load) -> str:
    """Return the metrics in Prometheus' text format."""
    return _WRITERS.get(settings.engine, _vllm)(settings, load) + _handed_over(settings, load)


def cache_usage(load: Load) -> float:
    """Return the used share of the cache, from 0 to 1."""
    return min(1.0, load.held / CACHE_TOKENS)


def _handed_over(settings: Settings, load: Load) -> str:
    """Return what engines do not tell in these words: where prompts were computed."""
    if settings.transfer is None:
        return ""
    model = f'model_name="{_quoted(settings.names[0])}"'
    return _text(
        [
            ("sandbox_prefills_total", "counter", model, load.prefills),
            ("sandbox_kv_transfers_total", "counter", model, load.transfers),
            ("sandbox_kv_transfers_refused_total", "counter", model, load.refused),
        ]
    )


def _blocks(settings: Settings) -> int:
    return CACHE_TOKENS // settings.block_size


def _text(rows: list[Row]) -> str:
    """Return the rows as text. Rows of one name must follow each other."""
    lines = []
    last = ""
    for name, metric_type, labels, value in rows:
        if name != last:
            lines.append(f"# TYPE {name} {metric_type}")
            last = name
        lines.append(f"{name}{{{labels}}} {value}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _vllm(settings: Settings, load: Load) -> str:
    model = f'engine="0",model_name="{_quoted(settings.names[0])}"'
    rows: list[Row] = [
        ("vllm:num_requests_running", "gauge", model, load.running),
        ("vllm:num_requests_waiting", "gauge", model, load.waiting),
        ("vllm:kv_cache_usage_perc", "gauge", model, cache_usage(load)),
        (
            "vllm:cache_config_info",
            "gauge",
            f'block_size="{settings.block_size}",engine="0",num_gpu_blocks="{_blocks(settings)}"',
            1,
        ),
        (
            "vllm:lora_requests_info",
            "gauge",
            f'max_lora="{settings.max_loras}",'
            f'running_lora_adapters="{_adapters(settings, load.running_models)}",'
            f'waiting_lora_adapters="{_adapters(settings, load.waiting_models)}"',
            time.time(),
        ),
        ("vllm:prompt_tokens_total", "counter", model, load.prompt_tokens),
        ("vllm:generation_tokens_total", "counter", model, load.generated_tokens),
    ]
    return _text(rows + _finished("vllm:request_success_total", model, load))


def _adapters(settings: Settings, models: dict[str, int]) -> str:
    return ",".join(name for name in settings.adapters if models.get(name))


def _sglang(settings: Settings, load: Load) -> str:
    model = f'engine_type="unified",model_name="{_quoted(settings.names[0])}",pp_rank="0",tp_rank="0"'
    cache = f'page_size="{settings.block_size}",num_pages="{_blocks(settings)}"'
    return _text(
        [
            ("sglang:num_running_reqs", "gauge", model, load.running),
            ("sglang:num_queue_reqs", "gauge", model, load.waiting),
            ("sglang:token_usage", "gauge", model, cache_usage(load)),
            ("sglang:num_used_tokens", "gauge", model, load.held),
            ("sglang:cache_config_info", "gauge", cache, 1),
            ("sglang:prompt_tokens_total", "counter", model, load.prompt_tokens),
            ("sglang:generation_tokens_total", "counter", model, load.generated_tokens),
            ("sglang:num_requests_total", "counter", model, sum(load.finished.values())),
        ]
    )


def _trtllm(settings: Settings, load: Load) -> str:
    model = f'engine_type="trtllm",model_name="{_quoted(settings.names[0])}"'
    rows: list[Row] = [
        ("trtllm_num_requests_running", "gauge", model, load.running),
        ("trtllm_num_requests_waiting", "gauge", model, load.waiting),
        ("trtllm_kv_cache_utilization", "gauge", model, cache_usage(load)),
        ("trtllm_kv_cache_tokens_per_block", "gauge", model, settings.block_size),
        ("trtllm_kv_cache_max_blocks", "gauge", model, _blocks(settings)),
    ]
    return _text(rows + _finished("trtllm_request_success_total", model, load))


def _finished(name: str, model: str, load: Load) -> list[Row]:
    """Return a counter of finished requests for each reason why they ended."""
    reasons = ("stop", "length")
    return [
        (name, "counter", f'{model},finished_reason="{reason}"', load.finished[reason]) for reason in reasons
    ]


def _triton(settings: Settings, load: Load) -> str:
    model = f'model="{_quoted(settings.names[0])}",version="1"'
    requests, cache = "nv_trt_llm_request_metrics", "nv_trt_llm_kv_cache_block_metrics"
    used = load.held / settings.block_size
    return _text(
        [
            (requests, "gauge", f'{model},request_type="waiting"', load.waiting),
            (requests, "gauge", f'{model},request_type="scheduled"', load.running),
            (requests, "gauge", f'{model},request_type="active"', load.running + load.waiting),
            (cache, "gauge", f'{model},kv_cache_block_type="fraction"', cache_usage(load)),
            (cache, "gauge", f'{model},kv_cache_block_type="tokens_per"', settings.block_size),
            (cache, "gauge", f'{model},kv_cache_block_type="used"', int(used)),
            (cache, "gauge", f'{model},kv_cache_block_type="max"', _blocks(settings)),
            ("nv_inference_pending_request_count", "gauge", model, load.waiting),
            ("nv_inference_exec_count", "counter", model, sum(load.finished.values()) + load.running),
        ]
    )


_WRITERS: dict[str, Callable[[Settings, Load], str]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "trtllm-serve": _trtllm,
    "triton-tensorrt-llm": _triton,
    "triton": _triton,
}
