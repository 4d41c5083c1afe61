"""Command lines by which an engine of the document's type starts, and takes requests that come to its pod."""

from typing import Any

import pytest
from worker_pods import OPEN, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.fleet.engine_args import check

START = ("python3", "-m", "sglang.launch_server")
CONTAINER = "spec.workers.template.spec.containers[0]"


def _one(line: Any, engine: str) -> ModelDeployment:
    return worker(line, engine=engine, tensor=1)


@pytest.mark.parametrize(
    ("line", "engine", "starts"),
    [
        ((*START, "--tp=8", "--port=1"), "vLLM", "SGLang"),
        (("/opt/bin/trtllm-serve", "m"), "SGLang", "TensorRT-LLM"),
        ("exec vllm serve m -tp 8", "SGLang", "vLLM"),
        (("python3", "-m", "vllm.entrypoints.openai.api_server"), "Triton", "vLLM"),
        (("tritonserver",), "vLLM", "Triton"),
        (START, "Other", None),
        (("vllm", "serve", "m", "--served-model-name", "trtllm-serve"), "vLLM", None),
        (("serve", "--model", "/models/vllm"), "vLLM", None),
        ('if [ "$A" ]; then trtllm-serve m; else exec "$@"; fi', "vLLM", None),
    ],
)
def test_a_command_that_starts_another_engine_is_told_alone(
    line: Any, engine: str, starts: str | None
) -> None:
    wanted = [f"the command starts {starts}, and engine.type is {engine}"] if starts else []
    assert said(_one(line, engine)) == (wanted, [])


def test_the_type_of_the_engine_that_starts_is_what_to_write() -> None:
    assert list(check(_one(START, "vLLM"))) == [
        Problem(
            "the command starts SGLang, and engine.type is vLLM",
            "Write engine: {type: SGLang}",
            f"{CONTAINER}.args[2]",
            kind="ModelDeployment",
            key="default/kimi",
        )
    ]


@pytest.mark.parametrize(
    ("line", "engine", "wanted"),
    [
        (("serve", "m", "--ssl-keyfile=/k", "--ssl-certfile=/c"), "vLLM", {"--ssl-keyfile": "TLS"}),
        (
            ("vllm", "serve", "m", "--ssl_certfile", "/c", "--uds", "/s"),
            "vLLM",
            {"--ssl-certfile": "TLS", "--uds": "a Unix domain socket"},
        ),
        ((*START, OPEN, "--ssl-certfile=/c"), "SGLang", {"--ssl-certfile": "TLS"}),
        ("proxy & vllm serve m --uds /s", "vLLM", {"--uds": "a Unix domain socket"}),
        ("proxy --ssl-keyfile k & vllm serve m", "vLLM", {}),
        ("proxy --ssl-keyfile k & start", "vLLM", {}),
        (("--ssl-keyfile=",), "vLLM", {}),
        (("--ssl-keyfile=/k",), "Other", {}),
    ],
)
def test_an_engine_that_takes_no_plain_http_is_a_problem(
    line: Any, engine: str, wanted: dict[str, str]
) -> None:
    port = 30000 if engine == "SGLang" else 8000
    errors = [
        f"with {flag} the engine takes requests over {only} alone, but probes and routes send plain HTTP to "
        f"port {port}"
        for flag, only in wanted.items()
    ]
    assert said(_one(line, engine)) == (errors, [])


def test_tensorrt_llm_starts_one_copy_in_a_pod_too() -> None:
    line = ("trtllm-serve", "m", OPEN)
    assert list(check(worker(line, engine="TensorRT-LLM", tensor=1, data=8, data_local=8))) == [
        Problem(
            "topology.data is 8, and TensorRT-LLM starts one copy of the model",
            "Raise spec.replicas instead",
            "spec.workers.topology.data",
            kind="ModelDeployment",
            key="default/kimi",
        )
    ]
    both = worker((*START, "--dp=2", OPEN), engine="SGLang", tensor=1, data=2, data_local=2)
    assert said(both) == ([], [])


def test_tensorrt_llm_by_itself_in_one_template_is_told_once() -> None:
    line = "trtllm-serve m --host 0.0.0.0 --tp_size 8 --pp_size 2"
    assert said(worker(line, engine="TensorRT-LLM", tensor=8, pipeline=2)) == (
        ["a pod of a worker of 2 pods runs trtllm-serve by itself, on its own GPUs"],
        [],
    )
    copies = worker("trtllm-serve m --host 0.0.0.0 --tp_size 8", engine="TensorRT-LLM", tensor=8, data=2)
    assert said(copies) == (["topology.data is 2, and TensorRT-LLM starts one copy of the model"], [])
