"""What replicas are scaled by: a gauge that the engine serves and that follows the load."""

import pytest
from scaled_by import GAUGE, problems


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (
            "vllm:prompt_tokens",
            "vllm:prompt_tokens is a counter of vLLM, which only grows, and a scaler needs what goes up and "
            "down",
        ),
        (
            "vllm:time_to_first_token_seconds",
            "vllm:time_to_first_token_seconds is a histogram of vLLM, of which only "
            "vllm:time_to_first_token_seconds_bucket, vllm:time_to_first_token_seconds_sum and "
            "vllm:time_to_first_token_seconds_count are served",
        ),
    ],
)
def test_counters_and_histograms_are_refused_by_their_base_names(name: str, what: str) -> None:
    assert problems(name) == [("error", "name", what, GAUGE)]


@pytest.mark.parametrize(
    ("name", "kind", "severity", "what"),
    [
        (
            "nv_inference_request_summary_us",
            "Triton",
            "warning",
            "nv_inference_request_summary_us is a summary of Triton with a series for each quantile, and a "
            "scaler adds them up",
        ),
        (
            "sglang:eplb_balancedness",
            "SGLang",
            "error",
            "sglang:eplb_balancedness is a summary of SGLang, of which only sglang:eplb_balancedness_sum and "
            "sglang:eplb_balancedness_count are served",
        ),
        (
            "sglang:routing_key_running_req_count",
            "SGLang",
            "warning",
            "sglang:routing_key_running_req_count has a series for each le, and a scaler adds them up",
        ),
        (
            "sglang:kv_transfer_latency_ms",
            "SGLang",
            "warning",
            "sglang:kv_transfer_latency_ms is a gauge of earlier versions of SGLang, and in 0.5.23 a "
            "histogram, of which only sglang:kv_transfer_latency_ms_bucket, "
            "sglang:kv_transfer_latency_ms_sum and sglang:kv_transfer_latency_ms_count are served",
        ),
    ],
)
def test_each_type_is_called_what_it_is_with_what_is_served_of_it(
    name: str, kind: str, severity: str, what: str
) -> None:
    assert [said[:3] for said in problems(name, "5", kind=kind)] == [(severity, "name", what)]


def test_an_unknown_name_is_warned_of_with_the_closest_gauge() -> None:
    assert problems("vllm:num_request_waiting", "5") == [
        (
            "warning",
            "name",
            "no metric vllm:num_request_waiting is known of vLLM (its metrics were read from 0.32.0)",
            "Did you mean vllm:num_requests_waiting? Keep it if your version of vLLM has it",
        )
    ]
    assert problems("vllm:num_request_waiting", "5", image="vllm/vllm-openai:v0.30.0") == problems(
        "vllm:num_request_waiting", "5"
    )


@pytest.mark.parametrize(
    ("image", "severity", "what"),
    [
        (
            "vllm/vllm-openai:v0.19.0",
            "error",
            "vLLM 0.19.0 has no metric vllm:gpu_cache_usage_perc: it is gone from 0.12.0 on",
        ),
        (
            "example.com/own:1",
            "warning",
            "vLLM has no metric vllm:gpu_cache_usage_perc from 0.12.0 on, and hides it before unless a flag "
            "shows it",
        ),
    ],
)
def test_a_name_that_went_is_refused_where_the_version_is_known(image: str, severity: str, what: str) -> None:
    found = problems("vllm:gpu_cache_usage_perc", image=image)
    assert found == [(severity, "name", what, "Write vllm:kv_cache_usage_perc")]


def test_a_name_that_went_is_fine_where_the_engine_still_has_it() -> None:
    assert problems("vllm:gpu_cache_usage_perc", image="vllm/vllm-openai:v0.10.0") == []


def test_a_name_that_came_is_refused_before() -> None:
    [(severity, at, what, _)] = problems("vllm:kv_cache_usage_perc", image="vllm/vllm-openai:v0.8.5")
    told = "vLLM 0.8.5 has no metric vllm:kv_cache_usage_perc: 0.9.1 lacks it too"
    assert (severity, at, what) == ("error", "name", told)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("vllm:lora_requests_info", "the value of vllm:lora_requests_info does not follow the load of vLLM"),
        ("vllm:cache_config_info", "the value of vllm:cache_config_info does not follow the load of vLLM"),
    ],
)
def test_what_an_engine_is_made_of_is_no_load(name: str, what: str) -> None:
    assert problems(name, "5") == [("warning", "name", what, GAUGE)]


def test_series_of_different_things_are_warned_of() -> None:
    [(severity, at, what, _)] = problems("nv_trt_llm_request_metrics", "5", kind="Triton")
    told = "nv_trt_llm_request_metrics has a series for each request_type, and a scaler adds them up"
    assert (severity, at, what) == ("warning", "name", told)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "inference_extension_flow_control_queue_size",
            "has a series for each flow and model, and its InferencePool in the label inference_pool, and a "
            "scaler here asks for averages over the one in the label name",
        ),
        (
            "inference_objective_running_requests",
            "has series of each model, and no label with its InferencePool, and a scaler here asks for "
            "averages over the one in the label name",
        ),
        (
            "inference_pool_ready_pods",
            "counts pods of the InferencePool, which follow the replicas and not the load",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["vLLM", "TensorRT-LLM"])
def test_metrics_of_pickers_by_which_no_scaler_here_can_go_are_refused_with_their_labels(
    name: str, why: str, kind: str
) -> None:
    averages = ", ".join(
        f"inference_pool_average_{of}" for of in ("kv_cache_utilization", "queue_size", "running_requests")
    )
    step = f"Write one of {averages}, or a metric of the engine, or by: External for a scaler of yours"
    assert problems(name, "5", kind=kind) == [("error", "name", f"{name} of endpoint pickers {why}", step)]


SILENT = ("vllm", "serve", "m", "--disable-log-stats")
UNMEASURED = ("python3", "-m", "sglang.launch_server", "--host=0.0.0.0")


@pytest.mark.parametrize(
    ("name", "kind", "command", "what", "step"),
    [
        (
            "vllm:num_requests_waiting",
            "vLLM",
            SILENT,
            "vllm:num_requests_waiting is a metric of the engine, and with --disable-log-stats vLLM serves "
            "none of its metrics: no replica is ever added",
            "Remove --disable-log-stats",
        ),
        (
            "inference_pool_average_queue_size",
            "vLLM",
            SILENT,
            "inference_pool_average_queue_size is an average of metrics of the engine, and with "
            "--disable-log-stats vLLM serves none of its metrics: no replica is ever added",
            "Remove --disable-log-stats",
        ),
        (
            "sglang:num_queue_reqs",
            "SGLang",
            UNMEASURED,
            "sglang:num_queue_reqs is a metric of the engine, and --enable-metrics is not among the "
            "arguments of the engine, and without it SGLang serves no metrics: no replica is ever added",
            "Add --enable-metrics, or plugin prometheus",
        ),
    ],
)
def test_a_metric_that_the_engine_is_told_not_to_serve_is_refused(
    name: str, kind: str, command: tuple[str, ...], what: str, step: str
) -> None:
    assert problems(name, "5", kind=kind, command=command) == [("error", "name", what, step)]


def test_a_plugin_may_tell_the_engine_to_serve_the_metric() -> None:
    found = problems("sglang:num_queue_reqs", "5", kind="SGLang", command=UNMEASURED, plugins=("prometheus",))
    assert found == []
