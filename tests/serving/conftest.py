"""Values the manifest tests start from: one deployment, one spot, one kind of hardware."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.hardware import Hardware


def _deployment(pod: dict[str, Any] | None = None, labels: dict[str, str] | None = None, **spec: Any) -> Any:
    """ml/qwen with tensor 2; `pod` and the engine's fields in it come on top of a minimal template."""
    pod = dict(pod or {})
    engine = {"name": "engine", "image": "vllm:1", **pod.pop("engine", {})}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "workers": {
                    "count": spec.pop("count", 1),
                    "topology": {"tensor": 2},
                    "template": {
                        "metadata": {"labels": labels or {}},
                        "spec": {"containers": [engine, *pod.pop("sidecars", [])], **pod},
                    },
                },
                **spec,
            },
        }
    )


def _serving(provider: str = "none", **fields: Any) -> Serving:
    return Serving.model_validate({"gateway": {"className": "any", "provider": provider}, **fields})


@pytest.fixture
def deployment() -> Callable[..., ModelDeployment]:
    return _deployment


@pytest.fixture
def serving() -> Callable[..., Serving]:
    return _serving


@pytest.fixture
def spot() -> Spot:
    return Spot("ml/qwen", "east", (("decode", "h100"),))


@pytest.fixture
def quarter() -> Hardware:
    """2 of a node's 8 GPUs."""
    return Hardware("nvidia.com/gpu", 2, 8, {"inferfleet.dev/pool": "h100"})


@pytest.fixture
def whole() -> Hardware:
    """All GPUs of a node."""
    return Hardware("nvidia.com/gpu", 2, 2, {"inferfleet.dev/pool": "h100"})
