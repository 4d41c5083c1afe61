"""What the endpoint picker is told of the engine behind it, and what a config of one's own changes."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker import objects as endpoint_picker
from inferfleet.manifests.picker.config import picker_config
from inferfleet.profiles.table import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]
EXTRACTOR = {"type": "core-metrics-extractor", "parameters": {"engineLabelKey": "llm-d.ai/engine-type"}}


def _objects(document: ModelDeployment, serving: Serving) -> dict[str, dict[str, Any]]:
    picker = endpoint_picker.objects(
        deployment=document, serving=serving, profile=profile("gie-1.5"), stack="prod"
    )
    return {one["kind"]: one for one in (*picker.reads, picker.deployment, picker.service)}


@pytest.mark.parametrize(
    ("profile_name", "engine_type", "plugins"),
    [
        ("gie-1.5", "vLLM", [EXTRACTOR]),
        (
            "gie-1.5",
            "TensorRT-LLM",
            [
                {"type": "metrics-data-source", "parameters": {"path": "/prometheus/metrics"}},
                EXTRACTOR,
            ],
        ),
        ("gie-1.5", "Triton", [EXTRACTOR]),
        ("router-0.10", "vLLM", []),
        ("router-0.10", "Triton", [{"type": "metrics-data-source", "parameters": {"port": 8002}}]),
    ],
)
def test_metrics_are_read_where_the_engine_has_them(
    deployment: Make, profile_name: str, engine_type: str, plugins: list[dict[str, Any]]
) -> None:
    document = deployment(engine={"type": engine_type})
    config = picker_config(deployment=document, profile=profile(profile_name))
    assert config["plugins"][3:] == plugins


def test_triton_s_metrics_port_is_a_flag_in_this_profile(deployment: Make, serving: Serve) -> None:
    made = _objects(deployment(engine={"type": "Triton"}), serving())
    [container] = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert "--model-server-metrics-port=8002" in container["args"]


def test_a_config_of_one_s_own_is_taken_word_for_word_and_restarts_the_picker(
    deployment: Make, serving: Serve
) -> None:
    own = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig", "x": [1]}
    made = _objects(deployment(endpointPicker={"config": own}), serving())
    other = _objects(deployment(), serving())
    assert yaml.safe_load(made["ConfigMap"]["data"]["config.yaml"]) == own
    assert made["Deployment"] != other["Deployment"]
    assert other == _objects(deployment(), serving())
