"""What replicas are scaled by: a gauge that the engine serves, with a target that it can reach."""

from typing import Any

import pytest
from small_stack import cluster, made

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import InvalidDocuments

GAUGE = "Write a gauge such as vllm:num_requests_waiting"
SHARE = "Write a share such as 0.8"


def _problems(
    name: str, target: str = "0.7", *, kind: str = "vLLM", image: str = "", most: int = 4, **topology: int
) -> list[tuple[str, str, str, str]]:
    """What is said of a metric: severity, the end of its path, what, next step."""
    container = {"name": "engine", "image": image or "engine:1"}
    written = ModelDeployment.model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {
                "engine": {"type": kind},
                "replicas": {"min": 1, "max": most},
                "scaling": {"by": "HPA", "metrics": [{"name": name, "target": target}]},
                "workers": {
                    "topology": {"tensor": 1, **topology},
                    "template": {"spec": {"containers": [container]}},
                },
            },
        }
    )
    try:
        found: Any = made(cluster("east"), written).warnings
    except InvalidDocuments as refused:
        found = refused.problems
    below = "spec.scaling.metrics[0]."
    return [
        (one.severity, one.path.removeprefix(below), one.what, one.next_step)
        for one in found
        if one.path.startswith(below)
    ]


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
    assert _problems(name) == [("error", "name", what, GAUGE)]


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
    assert [said[:3] for said in _problems(name, "5", kind=kind)] == [(severity, "name", what)]


def test_an_unknown_name_is_warned_of_with_the_closest_gauge() -> None:
    assert _problems("vllm:num_request_waiting", "5") == [
        (
            "warning",
            "name",
            "no metric vllm:num_request_waiting is known of vLLM (its metrics were read from 0.32.0)",
            "Did you mean vllm:num_requests_waiting? Keep it if your version of vLLM has it",
        )
    ]
    assert _problems("vllm:num_request_waiting", "5", image="vllm/vllm-openai:v0.30.0") == _problems(
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
    found = _problems("vllm:gpu_cache_usage_perc", image=image)
    assert found == [(severity, "name", what, "Write vllm:kv_cache_usage_perc")]


def test_a_name_that_went_is_fine_where_the_engine_still_has_it() -> None:
    assert _problems("vllm:gpu_cache_usage_perc", image="vllm/vllm-openai:v0.10.0") == []


def test_a_name_that_came_is_refused_before() -> None:
    [(severity, at, what, _)] = _problems("vllm:kv_cache_usage_perc", image="vllm/vllm-openai:v0.8.5")
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
    assert _problems(name, "5") == [("warning", "name", what, GAUGE)]


def test_series_of_different_things_are_warned_of() -> None:
    [(severity, at, what, _)] = _problems("nv_trt_llm_request_metrics", "5", kind="Triton")
    told = "nv_trt_llm_request_metrics has a series for each request_type, and a scaler adds them up"
    assert (severity, at, what) == ("warning", "name", told)


@pytest.mark.parametrize(
    ("name", "target", "severity", "what"),
    [
        (
            "vllm:kv_cache_usage_perc",
            "80",
            "error",
            "vllm:kv_cache_usage_perc is from 0 to 1, so target 80 is never reached, and no replica added",
        ),
        (
            "vllm:kv_cache_usage_perc",
            "0.95",
            "warning",
            "vllm:kv_cache_usage_perc is from 0 to 1, and a scaler adds no replica before the average is a "
            "tenth over target 0.95",
        ),
        (
            "vllm:kv_cache_usage_perc",
            "1n",
            "warning",
            "vllm:kv_cache_usage_perc is from 0 to 1, so target 1n is passed by next to nothing, and max "
            "replicas run always",
        ),
        (
            "inference_pool_average_kv_cache_utilization",
            "80",
            "error",
            "inference_pool_average_kv_cache_utilization is from 0 to 1, so target 80 is never reached, and "
            "no replica added",
        ),
    ],
)
def test_a_target_is_within_the_range_of_its_gauge(name: str, target: str, severity: str, what: str) -> None:
    assert _problems(name, target) == [(severity, "target", what, SHARE)]


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
    assert _problems(name, "5", kind=kind) == [("error", "name", f"{name} of endpoint pickers {why}", step)]


def test_a_target_that_one_request_brings_to_max_is_warned_of() -> None:
    assert _problems("vllm:num_requests_waiting", "1n") == [
        (
            "warning",
            "target",
            "target 1n of vllm:num_requests_waiting is passed whenever one replica has 1: as many as 4 "
            "replicas run then, which is max",
            "Write how much one replica should have, such as 5",
        )
    ]
    assert _problems("vllm:num_requests_waiting", "0.25") == []


def test_copies_in_a_pod_are_added_up() -> None:
    assert _problems("vllm:kv_cache_usage_perc", "2", data=4, dataLocal=4) == []
    [(severity, at, what, _)] = _problems("vllm:kv_cache_usage_perc", "5", data=4, dataLocal=4)
    told = "vllm:kv_cache_usage_perc is from 0 to 4, 0 to 1 for each of 4 in a replica, so target 5 is never "
    assert (severity, at, what) == ("error", "target", f"{told}reached, and no replica added")


@pytest.mark.parametrize(
    ("target", "severity", "why"),
    [
        ("5", "error", "so target 5 is never reached, and no replica added"),
        ("4", "warning", "and a scaler adds no replica before the average is a tenth over target 4"),
        ("3.7", "warning", "and a scaler adds no replica before the average is a tenth over target 3.7"),
        ("0.8", "warning", "so target 0.8 is a share of 0.2 of each"),
        ("0.03", "warning", "so target 0.03 is passed by next to nothing, and max replicas run always"),
    ],
)
def test_a_share_of_several_copies_is_told_with_all_of_them(target: str, severity: str, why: str) -> None:
    of = "vllm:kv_cache_usage_perc is from 0 to 4, 0 to 1 for each of 4 in a replica"
    assert _problems("vllm:kv_cache_usage_perc", target, data=4, dataLocal=4) == [
        (severity, "target", f"{of}, {why}", "Write a share such as 3.2")
    ]


def test_series_whose_number_is_not_known_are_refused_by_the_most_that_they_can_be() -> None:
    [(severity, _, _, step)] = _problems("sglang:token_usage", "5", kind="SGLang", data=4, dataLocal=4)
    assert (severity, step) == ("error", "Write a share such as 0.8, times the series of a replica")
    assert _problems("sglang:token_usage", "0.8", kind="SGLang", data=4, dataLocal=4) == []


def test_gpus_that_share_a_copy_of_vllm_are_no_copies() -> None:
    [(severity, _, what, step)] = _problems("vllm:kv_cache_usage_perc", "5", tensor=8)
    told = "vllm:kv_cache_usage_perc is from 0 to 1, so target 5 is never reached, and no replica added"
    assert (severity, what, step) == ("error", told, SHARE)


def test_what_fits_says_nothing() -> None:
    fitting = {
        "vLLM": ("vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"),
        "TensorRT-LLM": ("trtllm_num_requests_waiting", "trtllm_kv_cache_utilization", "own_metric"),
        "Triton": ("nv_inference_pending_request_count", "nv_trt_llm_general_metrics", "vllm:anything"),
        "Other": ("tgi_queue_size",),
    }
    said = {
        (kind, name): _problems(name, "0.7", kind=kind) for kind, names in fitting.items() for name in names
    }
    assert {at: found for at, found in said.items() if found} == {}
