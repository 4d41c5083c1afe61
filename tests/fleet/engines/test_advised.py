"""What engines should be told though they serve without it, with the flag or variable to write."""

from typing import Any

import pytest
from inferfleet.fleet.engines.ready import advised

from inferfleet.profiles.engines import engine

SGLANG = ("python3", "-m", "sglang.launch_server", "--model-path=m", "--host=0.0.0.0")
HEALTH = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"
PROBE = {
    "httpGet": {"path": "/health", "port": "http"},
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3,
}


def _said(
    *command: str,
    args: tuple[str, ...] = (),
    kind: str = "vLLM",
    image: str = "vllm/vllm-openai:v0.30.0",
    **fields: Any,
) -> list[tuple[str, str]]:
    container = {"name": "engine", "command": list(command), "args": list(args), **fields}
    found = advised({"containers": [container]}, engine(kind), engine=kind, image=image)
    return [(mistake.what, mistake.next_step) for mistake in found]


def test_sglang_without_metrics_is_told_what_its_picker_lacks() -> None:
    assert _said(*SGLANG, kind="SGLang") == [
        (
            "--enable-metrics is not among the arguments of the engine, and without it SGLang serves no "
            "metrics: its endpoint picker sees no load",
            "Add --enable-metrics, or plugin prometheus",
        )
    ]
    assert _said(*SGLANG, "--enable-metrics", kind="SGLang") == []
    assert _said(*SGLANG, "--config=/etc/sglang.yaml", kind="SGLang") == []


@pytest.mark.parametrize("flag", ["--disable-log-stats", "--disable_log_stats"])
def test_vllm_without_its_metrics_is_told_what_its_picker_lacks(flag: str) -> None:
    told = [
        (f"with {flag} vLLM serves none of its metrics: its endpoint picker sees no load", f"Remove {flag}")
    ]
    assert _said("vllm", "serve", "m", flag) == told
    assert _said("sh", "-c", f"exec vllm serve m {flag}") == told
    assert _said(args=("--port=8000", flag)) == told
    assert _said("vllm", "serve", "m", "--disable-log-requests") == []
    assert _said("sh", "-c", f"if true; then exec vllm serve m {flag}; fi") == []
    assert _said("sh", "-c", f"bench {flag}; exec vllm serve m") == []
    assert _said(*SGLANG, "--enable-metrics", flag, kind="SGLang") == []


def test_a_probe_that_a_busy_sglang_fails_is_told_with_the_variable() -> None:
    told = (
        "SGLang answers /health once it has put something out, or not at all while it reads long prompts, "
        "and after 30 s without an answer its livenessProbe ends it with all it has in hand",
        f'Give the engine the variable {HEALTH} with value "false"',
    )
    busy: dict[str, Any] = {"kind": "SGLang", "livenessProbe": PROBE}
    assert _said(*SGLANG, "--enable-metrics", **busy) == [told]
    assert _said(*SGLANG, "--enable-metrics", **busy, env=[{"name": HEALTH, "value": "1"}]) == [told]


@pytest.mark.parametrize(
    "fields",
    [
        {"livenessProbe": PROBE, "env": [{"name": HEALTH, "value": "false"}]},
        {"livenessProbe": PROBE, "env": [{"name": HEALTH, "valueFrom": {}}]},
        {"livenessProbe": PROBE, "envFrom": [{"configMapRef": {"name": "more"}}]},
        {"livenessProbe": {"tcpSocket": {"port": "http"}}},
        {"livenessProbe": {"httpGet": {"path": "/v1/models", "port": "http"}}},
        {},
    ],
)
def test_other_probes_and_values_that_are_not_known_are_left_alone(fields: dict[str, Any]) -> None:
    assert _said(*SGLANG, "--enable-metrics", kind="SGLang", **fields) == []


DEPRECATED = "--model is deprecated in vllm serve, and a future version will not take it"


@pytest.mark.parametrize(
    ("command", "args", "image", "told"),
    [
        (
            ("vllm", "serve", "--model=a/b"),
            (),
            "ours:1",
            [(DEPRECATED, "Write a/b behind serve, instead of --model")],
        ),
        (
            (),
            ("--port=8000", "--model", "a/b"),
            "vllm/vllm-openai:v0.30.0",
            [
                (
                    DEPRECATED,
                    "Write command: [vllm, serve], with a/b as the first of args, instead of --model",
                )
            ],
        ),
        ((), ("--model=a/b",), "vllm/vllm-openai:v0.18.0", []),
        ((), ("--model=a/b",), "ours:1", []),
        (("vllm", "serve", "a/b"), (), "vllm/vllm-openai:v0.30.0", []),
        (
            ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model=a/b"),
            (),
            "vllm/vllm-openai:v0.30.0",
            [],
        ),
    ],
)
def test_a_model_that_vllm_serve_takes_by_a_flag_is_told_where_it_belongs(
    command: tuple[str, ...], args: tuple[str, ...], image: str, told: list[tuple[str, str]]
) -> None:
    assert _said(*command, args=args, image=image) == told
