"""What the targets of metrics can be that replicas are scaled by."""

import pytest
from scaled_by import SHARE, problems


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
    assert problems(name, target) == [(severity, "target", what, SHARE)]


def test_a_target_that_one_request_brings_to_max_is_warned_of() -> None:
    assert problems("vllm:num_requests_waiting", "1n") == [
        (
            "warning",
            "target",
            "target 1n of vllm:num_requests_waiting is passed whenever one replica has 1: as many as 4 "
            "replicas run then, which is max",
            "Write how much one replica should have, such as 5",
        )
    ]
    assert problems("vllm:num_requests_waiting", "0.25") == []


def test_copies_in_a_pod_are_added_up() -> None:
    assert problems("vllm:kv_cache_usage_perc", "2", data=4, dataLocal=4) == []
    [(severity, at, what, _)] = problems("vllm:kv_cache_usage_perc", "5", data=4, dataLocal=4)
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
    assert problems("vllm:kv_cache_usage_perc", target, data=4, dataLocal=4) == [
        (severity, "target", f"{of}, {why}", "Write a share such as 3.2")
    ]


def test_series_whose_number_is_not_known_are_refused_by_the_most_that_they_can_be() -> None:
    [(severity, _, _, step)] = problems("sglang:token_usage", "5", kind="SGLang", data=4, dataLocal=4)
    assert (severity, step) == ("error", "Write a share such as 0.8, times the series of a replica")
    assert problems("sglang:token_usage", "0.8", kind="SGLang", data=4, dataLocal=4) == []


def test_gpus_that_share_a_copy_of_vllm_are_no_copies() -> None:
    [(severity, _, what, step)] = problems("vllm:kv_cache_usage_perc", "5", tensor=8)
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
        (kind, name): problems(name, "0.7", kind=kind) for kind, names in fitting.items() for name in names
    }
    assert {at: found for at, found in said.items() if found} == {}
