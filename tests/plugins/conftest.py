"""Builders for plugin tests: a generated template and a request; a test names only what it is about."""

import copy
from typing import Any

import pytest
from one_request import REQUEST

from inferfleet.plugins.contract import Request

GENERATED: dict[str, Any] = {
    "metadata": {
        "labels": {
            "family": "qwen",
            "inferfleet.dev/deployment": "web",
            "inferfleet.dev/role": "decode",
            "llm-d.ai/inference-serving": "true",
        }
    },
    "spec": {
        "nodeSelector": {"inferfleet.dev/pool": "h100"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "containers": [
            {"name": "logs", "image": "logs:1", "env": [{"name": "LEVEL", "value": "info"}]},
            {
                "name": "engine",
                "image": "vllm:1",
                "env": [{"name": "HF_HOME", "value": "/models"}, {"name": "LAST", "value": "$(HF_HOME)"}],
                "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
                "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
            },
        ],
    },
}


@pytest.fixture
def generated() -> dict[str, Any]:
    """A pod template as the system generates it, before any plugin."""
    return copy.deepcopy(GENERATED)


@pytest.fixture
def pod_request() -> Request:
    return REQUEST
