"""What the endpoint picker is told of the engine behind it, and what a config of one's own changes."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as endpoint_picker
from inferfleet.serving.picker import picker_config
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]
EXTRACTOR = {"type": "core-metrics-extractor", "parameters": {"engineLabelKey": "llm-d.ai/engine-type"}}
DETECTOR = {"type": "utilization-detector", "parameters": {"metricsStalenessThreshold": "600ms"}}
ROUTER_PARSERS = {
    "parsers": [
        {"pluginRef": name}
        for name in ("openai-parser", "anthropic-parser", "vllmhttp-parser", "passthrough-parser")
    ]
}

ANY_REQUEST = {"parser": {"pluginRef": "passthrough-parser"}}
PARSED = ("/", "/v1", "/openai/v1", "/v1/chat", "/v1/chat/completions", "/v1/embeddings")
UNPARSED = (
    "/generate",
    "/rerank",
    "/score",
    "/v1/rerank",
    "/v1/audio/transcriptions",
    "/v1/messages",
    "/inference/v1/generate",
    "/v2",
    "/chat",
)


def _objects(document: ModelDeployment, serving: Serving) -> dict[str, dict[str, Any]]:
    picker = endpoint_picker.objects(
        endpoint_picker.Picker(
            deployment=document,
            serving=serving,
            profile=profile("gie-1.5"),
            stack="prod",
            replicas=1,
            drain=130,
        )
    )
    return {one["kind"]: one for one in (*picker.rights, picker.deployment, picker.service)}


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
        ("router-0.10", "vLLM", [DETECTOR]),
        ("router-0.10", "Triton", [{"type": "metrics-data-source", "parameters": {"port": 8002}}, DETECTOR]),
    ],
)
def test_metrics_are_read_where_the_engine_has_them(
    deployment: Make, profile_name: str, engine_type: str, plugins: list[dict[str, Any]]
) -> None:
    document = deployment(engine={"type": engine_type})
    config = picker_config(one_picker(document, profile=profile_name))
    assert config["plugins"][3:] == plugins


@pytest.mark.parametrize(
    ("profile_name", "paths", "parsing"),
    [
        ("gie-1.5", (), {}),
        *(("gie-1.5", (path,), {}) for path in PARSED),
        # Beside prompts models are listed; alone they answer there, as in TensorFlow Serving.
        ("gie-1.5", ("/v1/chat/completions", "/v1/models"), {}),
        ("gie-1.5", ("/v1/models",), ANY_REQUEST),
        *(("gie-1.5", ("/v1", path), ANY_REQUEST) for path in UNPARSED),
        # Of parsers that claim paths, the one that claims none takes the rest.
        *(("router-0.10", (path,), {"requestHandler": ROUTER_PARSERS}) for path in (*PARSED, *UNPARSED)),
        ("scheduler-0.7", ("/rerank",), {}),
    ],
)
def test_a_picker_reads_requests_to_the_paths_that_routes_expose(
    deployment: Make, profile_name: str, paths: tuple[str, ...], parsing: dict[str, Any]
) -> None:
    config = picker_config(one_picker(deployment(), profile=profile_name, paths=paths))
    assert {key: config[key] for key in ("parser", "requestHandler") if key in config} == parsing
    own = [plugin["type"] for plugin in config["plugins"] if plugin["type"].endswith("-parser")]
    assert own == ([parsing["parser"]["pluginRef"]] if "parser" in parsing else [])


@pytest.mark.parametrize(
    ("auth", "flags", "pprof"),
    [
        (True, {}, []),
        (False, {}, ["--enable-pprof=false"]),
        (False, {"enable-pprof": True}, ["--enable-pprof=true"]),
    ],
)
def test_profiles_of_a_picker_are_not_served_where_its_metrics_are_open(
    deployment: Make, serving: Serve, auth: bool, flags: dict[str, Any], pprof: list[str]
) -> None:
    made = _objects(deployment(endpointPicker={"flags": flags}), serving(metricsAuth=auth))
    [container] = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert [arg for arg in container["args"] if "pprof" in arg] == pprof


def test_triton_s_metrics_port_is_a_flag_in_this_profile(deployment: Make, serving: Serve) -> None:
    made = _objects(deployment(engine={"type": "Triton"}), serving())
    [container] = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert "--model-server-metrics-port=8002" in container["args"]


def test_a_config_of_one_s_own_is_taken_word_for_word_and_restarts_the_picker(
    deployment: Make, serving: Serve
) -> None:
    own = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "x": ["$(HOME)"],
    }
    made = _objects(deployment(endpointPicker={"config": own}), serving())
    other = _objects(deployment(), serving())
    [container] = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    [text] = [one for one in container["args"] if one.startswith("--config-text=")]
    # A kubelet makes one of two, and replaces no name behind them.
    assert yaml.safe_load(text.partition("=")[2].replace("$$", "$")) == own
    assert "$$(HOME)" in text
    assert made["Deployment"] != other["Deployment"]
    assert other == _objects(deployment(), serving())
