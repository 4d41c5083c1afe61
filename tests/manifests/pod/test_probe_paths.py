"""Paths of probes that a working engine does not answer with success are told."""

from typing import Any

import pytest
from inferfleet.manifests.pod.probes import probe_mistakes
from probed_pods import LEAVE, VLLM, asking, stand_of, warned

from inferfleet.manifests.pod.template import pod_template


@pytest.mark.parametrize(
    ("kind", "command", "path"),
    [
        ("vLLM", VLLM, "/healthz"),
        ("vLLM", VLLM, "/v1/health/ready"),
        ("vLLM", VLLM, "/health_generate"),
        ("vLLM", VLLM, "/"),
        ("vLLM", VLLM, "/get_model_info"),
        ("TensorRT-LLM", ["trtllm-serve", "m"], "/"),
        ("TensorRT-LLM", ["trtllm-serve", "m"], "/get_server_info"),
        ("SGLang", ["python3", "-m", "sglang.launch_server"], "/readyz"),
        ("TensorRT-LLM", ["trtllm-serve", "m"], "/v2/health/ready"),
        ("Triton", ["tritonserver"], "/health"),
    ],
)
def test_a_path_that_the_engine_does_not_know_is_told(kind: str, command: list[str], path: str) -> None:
    health = "/v2/health/ready" if kind == "Triton" else "/health"
    assert warned(kind=kind, command=command, readinessProbe=asking(path=path)) == [
        (f"readinessProbe asks {path}, which {kind} answers with 404", f"Ask {health}, or {LEAVE}")
    ]


def test_a_probe_without_a_path_asks_the_root() -> None:
    health = f"Ask /health, or {LEAVE}"
    assert warned(readinessProbe={"httpGet": {"port": "http"}}) == [
        ("readinessProbe asks /, which vLLM answers with 404", health)
    ]
    stand = stand_of(readinessProbe={"httpGet": {"port": "http"}})
    [found] = probe_mistakes(pod_template(stand)["spec"], stand)
    assert found.at == ("spec", "containers", 0, "readinessProbe", "httpGet")


@pytest.mark.parametrize(
    ("by", "fields"),
    [
        ("--api-key", {"args": ["--api-key=$(KEY)"]}),
        ("--api-key", {"args": ["--api_key", "a", "b"]}),
        (
            "VLLM_API_KEY",
            {"env": [{"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}}]},
        ),
        ("--api-key", {"kind": "SGLang", "command": ["sglang", "serve"], "args": ["--api-key=x"]}),
    ],
)
def test_a_path_that_needs_the_key_is_told_without_it(by: str, fields: dict[str, Any]) -> None:
    kind = fields.get("kind", "vLLM")
    assert warned(readinessProbe=asking(path="/v1/models"), **fields) == [
        (
            f"readinessProbe asks /v1/models, which {kind} answers with 401, because it has a key by {by}",
            f"Ask /health, which needs no key, or {LEAVE}",
        )
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"readinessProbe": asking(path="/v1/models")},
        {"readinessProbe": asking(path="/health?x=1"), "args": ["--api-key=x"]},
        {"readinessProbe": asking(path="/ping"), "args": ["--api-key=x"]},
        {"readinessProbe": asking(path="/v1/models"), "env": [{"name": "VLLM_API_KEY", "value": ""}]},
        {"readinessProbe": asking(path="/v1/models"), "env": [{"name": "VLLM_API_KEY"}]},
        {"readinessProbe": asking(path="/"), "kind": "SGLang", "command": ["sglang", "serve"]},
        {"readinessProbe": asking(path="/get_model_info"), "kind": "SGLang", "command": ["sglang", "serve"]},
        {
            "readinessProbe": asking(
                path="/v1/models", httpHeaders=[{"name": "Authorization", "value": "x"}]
            ),
            "args": ["--api-key=x"],
        },
        {"readinessProbe": asking(path="/healthz"), "command": ["ours"]},
        {"readinessProbe": asking(path="/v1/health/ready"), "command": []},
        {"readinessProbe": asking(path="/v1/health/ready"), "command": [], "args": ["--api-key=x"]},
        {"readinessProbe": asking(path="/healthz"), "kind": "Other", "command": ["ours"]},
        {"readinessProbe": asking(path="/healthz", port=9000), "ports": [{"containerPort": 9000}]},
    ],
)
def test_nothing_is_said_of_a_path_that_may_be_answered(fields: dict[str, Any]) -> None:
    assert warned(**fields) == []
