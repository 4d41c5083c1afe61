"""Which pods get vLLM itself, and which a stand-in because processors cannot do what they ask for."""

from typing import Any

import pytest

from sandbox.agent.vllm import cannot_run
from sandbox.engine.protocol import Start


def start(*words: str, gpus: int = 1, **more: Any) -> Start:
    return Start(
        id="uid",
        name="ml/qwen",
        address="10.0.0.7",
        port=8000,
        engine="vllm",
        args=("vllm", "serve", "Qwen/Qwen3-8B", *words),
        gpus=gpus,
        image="vllm/vllm-openai:v0.32.0",
        **more,
    )


NIXL = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
APART = "without GPUs an engine of several copies or pods does not come up"


@pytest.mark.parametrize(
    ("started", "why"),
    [
        (start(), ""),
        (start("--tensor-parallel-size=8", gpus=8), ""),
        (start("--enable-lora", "--lora-modules", "sql=org/sql"), ""),
        (start("--bogus"), ""),
        (start("-dp=2", gpus=2), APART),
        (start("--nnodes=2", "--node-rank=1", "--headless", "-tp=2", gpus=1), APART),
        (start("--kv-transfer-config", NIXL), "NixlConnector hands over what is in the memory of GPUs"),
        (start("--grpc"), "it serves gRPC"),
        (start("-tp=2", gpus=1), "only the stand-in sees what is wrong with the pod's GPUs"),
    ],
)
def test_what_processors_cannot_run_stays_a_stand_in(started: Start, why: str) -> None:
    assert cannot_run(started) == why
