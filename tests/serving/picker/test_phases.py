"""Pickers of deployments with prefill apart: which program, and by what config it chooses both pods."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import picker as endpoint_picker
from inferfleet.serving.picker import picker_config
from inferfleet.serving.picker_check import deployment_problems
from inferfleet.tables.pickers import names, picker

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

SCHEDULER = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1"
WORKERS = {
    "topology": {"tensor": 2},
    "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
}


def _profiles(roles: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": role,
            "plugins": [
                {"pluginRef": of_role},
                {"pluginRef": "max-score-picker"},
                {"pluginRef": "prefix-cache-scorer", "weight": 2},
                {"pluginRef": "queue-scorer", "weight": 1},
            ],
        }
        for role, of_role in roles.items()
    ]


PROFILES = _profiles({"prefill": "prefill-filter", "decode": "decode-filter"})
SAMPLE = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "featureGates": ["prepareDataPlugins"],
    "plugins": [
        {"type": "disagg-headers-handler"},
        {"type": "prefix-cache-scorer"},
        {"type": "queue-scorer"},
        {"type": "prefill-filter"},
        {"type": "decode-filter"},
        {"type": "max-score-picker"},
        {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}},
        {
            "type": "disagg-profile-handler",
            "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}},
        },
    ],
    "schedulingProfiles": PROFILES,
}


def _apart(deployment: Make, engine: str = "vLLM", **prefill: Any) -> ModelDeployment:
    return deployment(engine={"type": engine}, prefill={"workers": WORKERS, **prefill})


def _config(document: ModelDeployment, name: str = "scheduler-0.7") -> dict[str, Any]:
    return picker_config(replace(one_picker(document), profile=picker(name, disaggregated=True)))


def test_pickers_that_know_no_prefill_are_another_program_where_it_is_apart() -> None:
    rows = {
        name: tuple(picker(name, disaggregated=apart).name for apart in (False, True)) for name in names()
    }
    assert rows == {
        "gie-1.5": ("gie-1.5", "router-0.10"),
        "router-0.10": ("router-0.10", "router-0.10"),
        "scheduler-0.7": ("gie-1.5", "scheduler-0.7"),
    }


def test_the_scheduler_is_configured_as_in_its_sample(deployment: Make) -> None:
    assert _config(_apart(deployment)) == SAMPLE


def test_a_decode_pod_with_fewer_tokens_to_read_does_it_itself(deployment: Make) -> None:
    [decider] = [
        plugin
        for plugin in _config(_apart(deployment, decider={"nonCachedTokens": 512}))["plugins"]
        if plugin["type"] == "prefix-based-pd-decider"
    ]
    assert decider == {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 512}}


def test_the_router_names_prefill_pods_itself_and_learns_of_caches_from_a_producer(deployment: Make) -> None:
    assert _config(_apart(deployment, decider={"type": "Always"}), "router-0.10") == {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [
            {"type": "approx-prefix-cache-producer"},
            {"type": "prefix-cache-scorer"},
            {"type": "queue-scorer"},
            {"type": "prefill-filter"},
            {"type": "decode-filter"},
            {"type": "max-score-picker"},
            {"type": "always-disagg-pd-decider"},
            {
                "type": "disagg-profile-handler",
                "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}},
            },
            {"type": "utilization-detector", "parameters": {"metricsStalenessThreshold": "600ms"}},
        ],
        "schedulingProfiles": PROFILES,
        "requestHandler": {
            "parsers": [
                {"pluginRef": f"{name}-parser"} for name in ("openai", "anthropic", "vllmhttp", "passthrough")
            ]
        },
    }


def test_sglang_s_requests_are_always_prefilled_apart_and_its_metrics_read_by_plugins(
    deployment: Make,
) -> None:
    config = _config(_apart(deployment, "SGLang"))
    assert config["featureGates"] == ["dataLayer", "prepareDataPlugins"]
    assert config["plugins"][6:] == [
        {"type": "always-disagg-pd-decider"},
        {
            "type": "disagg-profile-handler",
            "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}},
        },
        {"type": "metrics-data-source"},
        {
            "type": "model-server-protocol-metrics",
            "parameters": {"engineLabelKey": "llm-d.ai/engine-type"},
        },
    ]
    assert config["data"] == {
        "sources": [
            {
                "pluginRef": "metrics-data-source",
                "extractors": [{"pluginRef": "model-server-protocol-metrics"}],
            }
        ]
    }


def test_a_config_of_ours_is_no_mistake(deployment: Make) -> None:
    for name in names():
        for engine in ("vLLM", "SGLang"):
            document = _apart(deployment, engine)
            own = {"endpointPicker": {"config": _config(document, name)}}
            wanted = deployment(engine={"type": engine}, prefill={"workers": WORKERS}, **own)
            assert list(deployment_problems(wanted)) == []


@pytest.mark.parametrize(
    ("images", "picker_image", "image"),
    [
        ({}, None, SCHEDULER),
        ({"prefillEpp": "mirror/scheduler:1"}, None, "mirror/scheduler:1"),
        ({"epp": "mirror/epp:1", "prefillEpp": "mirror/scheduler:1"}, "own/scheduler:2", "own/scheduler:2"),
    ],
)
def test_its_picker_has_the_image_of_the_scheduler(
    deployment: Make, serving: Serve, images: dict[str, str], picker_image: str | None, image: str
) -> None:
    document = deployment(prefill={"workers": WORKERS}, endpointPicker={"image": picker_image})
    made = endpoint_picker.objects(
        endpoint_picker.Picker(
            deployment=document,
            serving=serving(profile="scheduler-0.7", images=images),
            profile=picker("scheduler-0.7", disaggregated=True),
            stack="prod",
            replicas=1,
            drain=130,
            revision="abc123",
        )
    )
    [container] = made.deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image
    # It would trace a part of all requests by itself.
    assert {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"} in container["env"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert made.deployment["metadata"]["name"] == "qwen-abc123-epp"


def test_one_image_is_enough_where_all_pickers_are_one_program(deployment: Make, serving: Serve) -> None:
    where = serving(profile="router-0.10", images={"epp": "mirror/router:1"})
    image = endpoint_picker.image(one_picker(_apart(deployment), where, profile="router-0.10"))
    assert image == "mirror/router:1"


@pytest.mark.parametrize(
    ("engine", "spec", "said"),
    [
        (
            "vLLM",
            {"endpointPicker": {"config": SAMPLE}, "decider": {"type": "Always"}},
            (
                "warning",
                "spec.prefill.decider",
                "endpointPicker.config is used as it is written, so this decides nothing",
                "Write it as a plugin of the config, and remove it here",
            ),
        ),
        (
            "SGLang",
            {"decider": {"type": "PrefixBased", "nonCachedTokens": 64}},
            (
                "error",
                "spec.prefill.decider",
                "SGLang's decode pods refuse requests that are not prefilled apart, "
                "as PrefixBased leaves some",
                "Write type: Always, or remove it",
            ),
        ),
    ],
    ids=["config and decider", "sglang"],
)
def test_what_a_document_says_of_its_picker_must_fit_prefill(
    deployment: Make, engine: str, spec: dict[str, Any], said: tuple[str, ...]
) -> None:
    decider = {"decider": spec.pop("decider")} if "decider" in spec else {}
    document = deployment(engine={"type": engine}, prefill={"workers": WORKERS, **decider}, **spec)
    [problem] = deployment_problems(document)
    assert (problem.severity, problem.path, problem.what, problem.next_step) == said
