"""Command lines by which an engine of the document's type starts, and takes requests that come to its pod."""

from typing import Any

import pytest
from inferfleet.fleet.engine_args import check
from worker_pods import MEETS, OPEN, SGLANG, said, worker

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.fleet.shapes import Shape

START = ("python3", "-m", "sglang.launch_server")
SCRIPT = " ".join(START)
CONTAINER = "spec.workers.template.spec.containers[0]"

UNHEARD = (
    "--host is not among the arguments of the engine, and {} without it, but probes and requests come to the "
    "address of the pod"
)
SGLANG_UNHEARD = UNHEARD.format("SGLang listens on 127.0.0.1")
TENSORRT_UNHEARD = UNHEARD.format("TensorRT-LLM listens on localhost")


def _one(line: Any, engine: str) -> ModelDeployment:
    return worker(line, engine=engine, tensor=1)


@pytest.mark.parametrize(
    ("line", "engine", "errors", "warnings"),
    [
        (START, "SGLang", [SGLANG_UNHEARD], []),
        (("sglang", "serve"), "SGLang", [SGLANG_UNHEARD], []),
        (("trtllm-serve", "m"), "TensorRT-LLM", [TENSORRT_UNHEARD], []),
        ("export A=b; exec trtllm-serve m", "TensorRT-LLM", [TENSORRT_UNHEARD], []),
        (("--model-path=m",), "SGLang", [], [SGLANG_UNHEARD]),
        ((*START, "--config", "a.yaml"), "SGLang", [], [SGLANG_UNHEARD]),
        (f"{SCRIPT} $FLAGS", "SGLang", [], [SGLANG_UNHEARD]),
        (f"test -e a && {SCRIPT}", "SGLang", [], [SGLANG_UNHEARD]),
        ((*START, "--host", "$(POD_IP)"), "SGLang", [], []),
        (("vllm", "serve", "m"), "vLLM", [], []),
    ],
)
def test_an_engine_that_listens_in_its_own_pod_by_default_needs_an_address(
    line: Any, engine: str, errors: list[str], warnings: list[str]
) -> None:
    assert said(_one(line, engine)) == (errors, warnings)


def test_a_missing_address_points_to_the_container_and_names_the_plugin_that_writes_it() -> None:
    deployment = _one(START, "SGLang")
    assert list(check(deployment)) == [
        Problem(
            SGLANG_UNHEARD,
            "Add --host=0.0.0.0, or plugin engine-args",
            CONTAINER,
            kind="ModelDeployment",
            key="default/kimi",
        )
    ]
    assert list(check(deployment, written={("decode", "Entry")})) == []


def test_followers_that_take_no_requests_need_no_address() -> None:
    follower = [flag for flag in SGLANG if flag != OPEN]
    deployment = worker((*START, *SGLANG, MEETS), (*START, *follower, MEETS), engine="SGLang", tensor=16)
    assert said(deployment, Shape(2, 8)) == ([], [])


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
