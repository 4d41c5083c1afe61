"""An engine's command line against topology and port: what disagrees, what is missing, what is not judged."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inferfleet.fleet.engine_args import check

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem, of_severity

OPEN = "--host=0.0.0.0"
CONTAINER = "spec.workers.template.spec.containers[0]"


def _deployment(container: dict[str, Any], engine: dict[str, Any], **topology: int) -> ModelDeployment:
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen"},
            "spec": {
                "replicas": 1,
                "engine": engine,
                "workers": {
                    "topology": {"tensor": 1, **topology},
                    "template": {"spec": {"containers": [{"name": "engine", "image": "x", **container}]}},
                },
            },
        }
    )


def _messages(
    container: dict[str, Any], engine: str = "vLLM", port: int | None = None, **topology: int
) -> Any:
    deployment = _deployment(container, {"type": engine, "port": port}, **topology)
    problems = tuple(check(deployment))
    errors, warnings = of_severity(problems, "error"), of_severity(problems, "warning")
    assert len(problems) == len(errors) + len(warnings)
    return [problem.what for problem in errors], [problem.what for problem in warnings]


@pytest.mark.parametrize(
    ("container", "engine", "topology"),
    [
        ({"args": ["serve", "m", "--tensor-parallel-size", "8"]}, "vLLM", {"tensor": 8}),
        ({"args": ["--tensor-parallel-size=8", "--port=8000"]}, "vLLM", {"tensor": 8}),
        ({"args": ["--tensor_parallel_size=8"]}, "vLLM", {"tensor": 8}),
        ({"args": ["-tp", "4", "-dp", "2", "-dpl=2"]}, "vLLM", {"tensor": 4, "data": 2, "data_local": 2}),
        ({"command": ["vllm", "serve", "-tp", "2"]}, "vLLM", {"tensor": 2}),
        ({"args": ["-tp", "4", "-tp", "2"]}, "vLLM", {"tensor": 2}),
        ({"command": ["/bin/sh", "-c"], "args": ["exec vllm serve m -tp 2"]}, "vLLM", {"tensor": 2}),
        ({"command": ["bash", "-ec", "vllm serve m \\\n  -tp 2; true"]}, "vLLM", {"tensor": 2}),
        ({"command": ["sh", "-c", "proxy --port 80 & vllm serve --port 8000"]}, "vLLM", {}),
        ({"args": ["--tensor-parallel-size", "$(TP)"]}, "vLLM", {"tensor": 8}),
        ({"args": ["--tensor-parallel-size=$(TP)"]}, "vLLM", {"tensor": 8}),
        ({"command": ["sh", "-c", "vllm serve m -tp ${TP} --port `port`"]}, "vLLM", {"tensor": 8}),
        ({"args": ["--tp", "2", "--port", "30000", OPEN]}, "SGLang", {"tensor": 2}),
        (
            {"args": ["--tp-size", "8", "--dp-size", "8", "--enable-dp-attention", OPEN]},
            "SGLang",
            {"tensor": 8},
        ),
        ({"args": ["--tp_size", "2", OPEN]}, "TensorRT-LLM", {"tensor": 2}),
        ({"args": ["--tp", "7", "--port", "1"]}, "Other", {"tensor": 2}),
        ({}, "vLLM", {}),
    ],
)
def test_nothing_is_said_about_arguments_that_agree(
    container: dict[str, Any], engine: str, topology: dict[str, int]
) -> None:
    assert _messages(container, engine, **topology) == ([], [])


@pytest.mark.parametrize(
    ("container", "engine", "topology", "what"),
    [
        (
            {"args": ["--tensor-parallel-size", "4"]},
            "vLLM",
            {"tensor": 8},
            "--tensor-parallel-size is '4', but topology.tensor is 8",
        ),
        ({"args": ["-tp=8"]}, "vLLM", {"tensor": 4}, "-tp is '8', but topology.tensor is 4"),
        ({"args": ["-tp", "4", "-tp", "8"]}, "vLLM", {"tensor": 4}, "-tp is '8', but topology.tensor is 4"),
        ({"args": ["-pp", "2"]}, "vLLM", {}, "-pp is '2', but topology.pipeline is 1"),
        ({"args": ["-dpl", "2"]}, "vLLM", {}, "-dpl is '2', but topology.dataLocal is 1"),
        ({"args": ["--port", "80"]}, "vLLM", {}, "--port is '80', but engine.port is 8000"),
        ({"args": ["--port"]}, "vLLM", {}, "--port has no value, but engine.port is 8000"),
        ({"args": ["-tp", "two"]}, "vLLM", {"tensor": 2}, "-tp is 'two', but topology.tensor is 2"),
        (
            {"command": ["sh", "-c", "vllm serve m --port 80; true"]},
            "vLLM",
            {},
            "--port is '80', but engine.port is 8000",
        ),
        ({"args": ["--dp-size", "2", OPEN]}, "SGLang", {}, "--dp-size is '2', but topology.data is 1"),
        (
            {"args": ["--tp_size=4", OPEN]},
            "TensorRT-LLM",
            {"tensor": 2},
            "--tp_size is '4', but topology.tensor is 2",
        ),
    ],
)
def test_a_flag_that_disagrees_is_a_problem(
    container: dict[str, Any], engine: str, topology: dict[str, int], what: str
) -> None:
    assert _messages(container, engine, **topology) == ([what], [])


def test_a_problem_points_to_the_argument_and_says_what_to_do() -> None:
    deployment = _deployment({"args": ["serve", "-tp", "4"]}, {}, tensor=2)
    assert list(check(deployment)) == [
        Problem(
            "-tp is '4', but topology.tensor is 2",
            "Set -tp and topology.tensor to the same number; "
            "inferfleet reserves GPUs and ports by topology.tensor",
            f"{CONTAINER}.args[1]",
            kind="ModelDeployment",
            key="default/qwen",
        )
    ]


@pytest.mark.parametrize(
    ("container", "engine", "port", "topology", "what"),
    [
        (
            {"args": ["serve"]},
            "vLLM",
            None,
            {"tensor": 8},
            "topology.tensor is 8, but --tensor-parallel-size",
        ),
        ({"args": [OPEN]}, "SGLang", 8000, {}, "engine.port is 8000, but --port"),
        ({}, "vLLM", None, {"data": 2, "data_local": 2}, "topology.data is 2, but --data-parallel-size"),
        (
            {"command": ["sh", "-c", "cat <<E\nit's\nE"], "args": [OPEN]},
            "TensorRT-LLM",
            None,
            {"tensor": 2},
            "topology.tensor is 2, but --tp_size",
        ),
    ],
)
def test_a_number_that_is_needed_and_not_to_be_seen_is_a_warning(
    container: dict[str, Any], engine: str, port: int | None, topology: dict[str, int], what: str
) -> None:
    seen = f"{what} is not among the arguments of the engine"
    assert _messages(container, engine, port, **topology) == ([], [seen])


@given(st.lists(st.text(max_size=20), max_size=6), st.lists(st.text(max_size=40), max_size=3))
def test_any_command_line_can_be_read(command: list[str], script: list[str]) -> None:
    assert _messages({"command": command, "args": script})[1] == []
    assert _messages({"command": ["sh", "-c"], "args": script})[1] == []


LOCAL = "but probes and requests come to the address of the pod"


@pytest.mark.parametrize(
    ("container", "engine", "errors"),
    [
        ({"args": ["--host=127.0.0.1"]}, "vLLM", [f"--host is '127.0.0.1', {LOCAL}"]),
        ({"args": ["--host", "localhost"]}, "SGLang", [f"--host is 'localhost', {LOCAL}"]),
        ({"args": ["serve", "m", "--host", "::1"]}, "TensorRT-LLM", [f"--host is '::1', {LOCAL}"]),
        (
            {"command": ["sh", "-c", "exec vllm serve m --host 127.0.0.1"]},
            "vLLM",
            [f"--host is '127.0.0.1', {LOCAL}"],
        ),
        ({"command": ["sh", "-c", "proxy --host 127.0.0.1 & vllm serve m"]}, "vLLM", []),
        ({"args": ["--host=127.0.0.1", "--host=0.0.0.0"]}, "vLLM", []),
        ({"args": ["--host=$(POD_IP)"]}, "vLLM", []),
        ({"args": ["--host"]}, "vLLM", []),
        ({"args": ["--host=127.0.0.1"]}, "Other", []),
    ],
)
def test_an_engine_that_only_its_own_pod_reaches_is_a_problem(
    container: dict[str, Any], engine: str, errors: list[str]
) -> None:
    assert _messages(container, engine) == (errors, [])
