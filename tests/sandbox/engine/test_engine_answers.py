"""What a stand-in says to requests, and what it tells about its load."""

import json
import re
from typing import Any

import pytest

from sandbox.engine import answers
from sandbox.engine.completion import BadRequest, Completion, completion
from sandbox.engine.load import Load
from sandbox.engine.metrics import metrics
from sandbox.engine.settings import Settings

QWEN = Settings("vllm", ("qwen", "lora"), 8000, 8000, 4, adapters=("lora",), max_loras=1, max_length=50)
HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello there"}]


def asked(settings: Settings = QWEN, *, chat: bool = True, **body: Any) -> Completion:
    default: dict[str, Any] = {"messages": HELLO} if chat else {"prompt": "hello there"}
    text = json.dumps(default | body).encode()
    return completion(text, chat=chat, pod="ml/q-1", settings=settings)


def test_an_answer_names_model_pod_and_tokens() -> None:
    whole = answers.whole(asked(model="qwen"))
    text = "qwen on ml/q-1: you said 4 tokens, 'hello there'"
    assert whole["choices"] == [
        {
            "index": 0,
            "logprobs": None,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
    ]
    assert (whole["model"], whole["object"]) == ("qwen", "chat.completion")
    assert whole["usage"] == {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    assert answers.whole(asked(chat=False, model="qwen"))["choices"][0]["text"] == text.replace("4", "2")


@pytest.mark.parametrize(
    ("body", "words", "finish"),
    [
        ({}, 9, "stop"),
        ({"max_tokens": 3}, 3, "length"),
        ({"max_completion_tokens": 2, "max_tokens": 5}, 2, "length"),
        ({"max_tokens": 40}, 9, "stop"),
        ({"max_tokens": 40, "ignore_eos": True}, 40, "length"),
        ({"max_tokens": 50, "ignore_eos": True}, 46, "length"),
    ],
)
def test_an_answer_is_as_long_as_it_was_asked_for(body: dict[str, Any], words: int, finish: str) -> None:
    answer = asked(**body)
    assert (len(answer.words), answer.finish) == (words, finish)


@pytest.mark.parametrize(
    ("engine", "path", "key"),
    [
        ("vllm", "/rerank", "results"),
        ("vllm", "/v1/rerank", "results"),
        ("vllm", "/v1/score", "data"),
        ("vllm", "/v1/embeddings", "data"),
        ("vllm", "/v1/audio/transcriptions", "text"),
        ("sglang", "/generate", "text"),
        ("vllm", "/generate", None),
        ("vllm", "/v1/images", None),
    ],
)
def test_requests_for_something_else_than_text_are_answered_in_their_form(
    engine: str, path: str, key: str | None
) -> None:
    body = answers.other(path, engine)
    assert (key in body if body else key is None) is True


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ({"model": "other"}, 404, "The model `other` does not exist."),
        ({"max_tokens": 0}, 400, "max_tokens must be at least 1, got 0."),
        ({"messages": [{"role": "user", "content": "a " * 50}]}, 400, "context length is 50 tokens"),
        ({"messages": []}, 400, "messages: a list"),
        ({"messages": "hi"}, 400, "messages: a list"),
        ({"kv_transfer_params": "none"}, 400, "kv_transfer_params: Input should be a valid dictionary"),
        ({"cache_hit_threshold": "much"}, 400, "cache_hit_threshold: Input should be a valid number"),
    ],
)
def test_a_request_is_refused_as_the_engine_does(body: dict[str, Any], code: int, says: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(says)) as refused:
        asked(**body)
    assert refused.value.code == refused.value.body["error"]["code"] == code


@pytest.mark.parametrize("body", [b"", b"{", b"[]"])
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        completion(body, chat=True, pod="ml/q-1", settings=QWEN)


def test_engines_that_do_not_look_at_the_model_answer_to_any_name() -> None:
    sglang = Settings("sglang", ("deepseek",), 30000, 30000, 4, any_model=True)
    assert asked(sglang, model="whatever").model == "whatever"
    assert asked(sglang).model == "deepseek"


def test_a_stream_says_the_same_in_events() -> None:
    answer = asked(stream=True, stream_options={"include_usage": True}, max_tokens=2)
    stream = answers.opening(answer) + b"".join(
        answers.piece(answer, word, last=last) for word, last in zip(answer.words, (False, True), strict=True)
    )
    lines = (stream + answers.closing(answer)).decode().split("\n\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    assert [event["choices"][0]["delta"] if event["choices"] else event["usage"] for event in events] == [
        {"role": "assistant", "content": ""},
        {"content": "qwen"},
        {"content": " on"},
        {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
    ]
    assert [event["choices"][0]["finish_reason"] for event in events[:-1]] == [None, None, "length"]
    assert lines[-2:] == ["data: [DONE]", ""]


TRITON_CACHE = "nv_trt_llm_kv_cache_block_metrics"


# What endpoint pickers read of each engine: queued, running, cache usage, and how large the cache is.
@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        (
            "vllm",
            {
                'vllm:num_requests_waiting{engine="0",model_name="qwen"}': 2,
                'vllm:num_requests_running{engine="0",model_name="qwen"}': 4,
                'vllm:kv_cache_usage_perc{engine="0",model_name="qwen"}': 0.5,
                'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="2048"}': 1,
            },
        ),
        (
            "sglang",
            {
                'sglang:num_queue_reqs{engine_type="unified",model_name="qwen",pp_rank="0",tp_rank="0"}': 2,
                'sglang:num_running_reqs{engine_type="unified",model_name="qwen",pp_rank="0",tp_rank="0"}': 4,
                'sglang:token_usage{engine_type="unified",model_name="qwen",pp_rank="0",tp_rank="0"}': 0.5,
                'sglang:cache_config_info{page_size="16",num_pages="2048"}': 1,
            },
        ),
        (
            "trtllm-serve",
            {
                'trtllm_num_requests_waiting{engine_type="trtllm",model_name="qwen"}': 2,
                'trtllm_num_requests_running{engine_type="trtllm",model_name="qwen"}': 4,
                'trtllm_kv_cache_utilization{engine_type="trtllm",model_name="qwen"}': 0.5,
                'trtllm_kv_cache_tokens_per_block{engine_type="trtllm",model_name="qwen"}': 16,
                'trtllm_kv_cache_max_blocks{engine_type="trtllm",model_name="qwen"}': 2048,
            },
        ),
        (
            "triton-tensorrt-llm",
            {
                'nv_trt_llm_request_metrics{model="qwen",version="1",request_type="waiting"}': 2,
                'nv_trt_llm_request_metrics{model="qwen",version="1",request_type="scheduled"}': 4,
                f'{TRITON_CACHE}{{model="qwen",version="1",kv_cache_block_type="fraction"}}': 0.5,
                f'{TRITON_CACHE}{{model="qwen",version="1",kv_cache_block_type="tokens_per"}}': 16,
                f'{TRITON_CACHE}{{model="qwen",version="1",kv_cache_block_type="max"}}': 2048,
            },
        ),
    ],
)  # fmt: skip
def test_load_is_told_under_the_names_of_the_engine(engine: str, expected: dict[str, float]) -> None:
    told = metrics(Settings(engine, ("qwen",), 8000, 8000, 4), Load(4, running=4, waiting=2, held=16384))
    values = dict(line.rsplit(" ", 1) for line in told.splitlines() if not line.startswith("#"))
    assert {name: float(values[name]) for name in expected} == expected


def test_adapters_in_use_are_told() -> None:
    load = Load(1, running=1, waiting=1)
    load.running_models["lora"] += 1
    load.waiting_models["qwen"] += 1
    labels = '{max_lora="1",running_lora_adapters="lora",waiting_lora_adapters=""}'
    assert f"vllm:lora_requests_info{labels}" in metrics(QWEN, load)
