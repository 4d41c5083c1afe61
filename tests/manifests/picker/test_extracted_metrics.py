"""Metrics that a configuration names for an engine which does not serve them."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.profiles.engines import engine
from inferfleet.profiles.table import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

ENTRY = "config.plugins[0].parameters.engineConfigs[0]."
NOTHING = "so the picker reads nothing by"


def _said(
    make: Make, serving: Serving, entry: dict[str, Any], kind: str = "vLLM", **parameters: Any
) -> list[tuple[str, str, str, str]]:
    given = {"engineLabelKey": "llm-d.ai/engine-type", "engineConfigs": [entry]} | parameters
    config = {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "core-metrics-extractor", "parameters": given}, {"type": "queue-scorer"}],
    }
    document = make(engine={"type": kind}, endpointPicker={"config": config})
    return [
        (one.severity, one.path.removeprefix("spec.endpointPicker."), one.what, one.next_step)
        for one in check_deployment(document, serving=serving, profile=profile("router-0.10"))
        if "engineConfigs" in one.path
    ]


def test_a_name_that_the_engine_does_not_serve_is_warned_of(deployment: Make, serving: Serve) -> None:
    entry = {
        "name": "vllm",
        "queuedRequestsSpec": "vllm:num_request_waiting",
        "runningRequestsSpec": "sglang:num_running_reqs",
        "kvUsageSpec": "vllm:gpu_cache_usage_perc",
    }
    images = {"engine": {"vLLM": "vllm/vllm-openai:v0.19.0"}}
    [typo, other, old] = _said(deployment, serving(images=images), entry)
    assert typo == (
        "warning",
        f"{ENTRY}queuedRequestsSpec",
        "no metric vllm:num_request_waiting is known of vLLM (its metrics were read from 0.32.0), "
        f"{NOTHING} queuedRequestsSpec",
        "Did you mean vllm:num_requests_waiting? Keep it if your version of vLLM has it",
    )
    assert other == (
        "warning",
        f"{ENTRY}runningRequestsSpec",
        f"sglang:num_running_reqs is no metric of vLLM, whose names begin with vllm:, {NOTHING} "
        "runningRequestsSpec",
        "Write one such as vllm:num_requests_waiting",
    )
    assert old[:2] == ("warning", f"{ENTRY}kvUsageSpec")
    assert old[3] == "Write vllm:kv_cache_usage_perc"


@pytest.mark.parametrize("name", ["sglang", "mine"])
def test_an_entry_of_another_engine_says_nothing(deployment: Make, serving: Serve, name: str) -> None:
    entry = {"name": name, "queuedRequestsSpec": "sglang:num_queue_reqs"}
    assert _said(deployment, serving(), entry) == []


def test_without_the_label_of_pods_the_default_engine_counts(deployment: Make, serving: Serve) -> None:
    entry = {"name": "mine", "queuedRequestsSpec": "mine:queue"}
    other = {"engineLabelKey": "example.com/engine", "defaultEngine": "mine"}
    [(_, at, what, _)] = _said(deployment, serving(), entry, **other)
    told = f"mine:queue is no metric of vLLM, whose names begin with vllm:, {NOTHING} queuedRequestsSpec"
    assert (at, what) == (f"{ENTRY}queuedRequestsSpec", told)


def test_what_pickers_read_of_each_engine_by_themselves_says_nothing(
    deployment: Make, serving: Serve
) -> None:
    """Built-in entries: defaultEngineConfigs of factories.go in llm-d-router v0.10.0."""
    built_in = {
        "vLLM": ["num_requests_waiting", "kv_cache_usage_perc", "lora_requests_info", "cache_config_info"],
        "SGLang": ["num_queue_reqs", "num_running_reqs", "token_usage", "cache_config_info"],
        "TensorRT-LLM": ["num_requests_waiting", "kv_cache_utilization", "kv_cache_max_blocks"],
        "Triton": ["nv_trt_llm_request_metrics{request_type=waiting}"],
    }
    prefixes = {"vLLM": "vllm:", "SGLang": "sglang:", "TensorRT-LLM": "trtllm_", "Triton": ""}
    for kind, metrics in built_in.items():
        for metric in metrics:
            entry = {"name": engine(kind).label, "queuedRequestsSpec": f"{prefixes[kind]}{metric}"}
            assert _said(deployment, serving(), entry, kind) == []
