"""What pickers refuse of a configuration is found before they are started: where, what, and the next step."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.check import check_deployment
from inferfleet.profiles.table import picker

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]
QUEUE = {"type": "queue-scorer"}
ONE = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]
HOLDBACK = {"type": "priority-holdback-policy", "parameters": {"minCeiling": 0.5}}


def said(deployment: ModelDeployment, serving: Serving, name: str) -> list[tuple[str, str, str, str]]:
    return [
        (one.severity, one.path.removeprefix("spec.endpointPicker.config."), one.what, one.next_step)
        for one in check_deployment(deployment, serving=serving, profile=picker(name, disaggregated=False))
    ]


def config(name: str, **fields: Any) -> dict[str, Any]:
    version = picker(name, disaggregated=False).config_api_versions[0]
    return {"apiVersion": version, "kind": "EndpointPickerConfig", **fields}


@pytest.mark.parametrize(
    ("fields", "path", "what", "next_step"),
    [
        (
            {"plugin": [QUEUE]},
            "plugin",
            "the endpoint picker of gie-1.5 has no field 'plugin'",
            "Did you mean plugins?",
        ),
        (
            {"plugins": [{"name": "queue"}]},
            "plugins[0]",
            "there is no type, and the endpoint picker of gie-1.5 needs it",
            "Add type",
        ),
        (
            {"plugins": [QUEUE, QUEUE]},
            "plugins[1]",
            "there are two plugins 'queue-scorer'",
            "Give one another name",
        ),
        (
            {"plugins": [QUEUE], "schedulingProfiles": [{"name": "a", "plugins": [{"pluginRef": "queue"}]}]},
            "schedulingProfiles[0].plugins[0].pluginRef",
            "there is no plugin 'queue'",
            "Did you mean queue-scorer?",
        ),
        (
            {"plugins": [QUEUE], "schedulingProfiles": [*ONE, {"name": "b", "plugins": []}]},
            "schedulingProfiles",
            "there are 2 profiles, and no plugin that chooses between them",
            "Add a profile handler, or leave one profile",
        ),
        (
            {
                "plugins": [
                    {"type": "single-profile-handler"},
                    {"type": "single-profile-handler", "name": "b"},
                ]
            },
            "plugins",
            "single-profile-handler, b are profile handlers, of which there can be one",
            "Leave one of them",
        ),
        (
            {"plugins": [QUEUE, {"type": "max-score-picker"}, {"type": "random-picker"}]},
            "plugins",
            "without a scheduling profile, all of max-score-picker, random-picker would pick in the same one",
            "Add schedulingProfiles, or leave one picker",
        ),
        (
            {"plugins": [{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": "2"}}]},
            "plugins[0].parameters.maxNumOfEndpoints",
            "it is '2', and max-score-picker reads a whole number here",
            "Write a whole number",
        ),
        (
            {"plugins": [{"type": "utilization-detector", "parameters": {"kvCacheUtilThreshold": 1.5}}]},
            "plugins[0].parameters.kvCacheUtilThreshold",
            "it is 1.5, and must be <= 1",
            "Write a value <= 1",
        ),
        (
            {"plugins": [{"type": "metrics-data-source", "parameters": {"scheme": "htps"}}]},
            "plugins[0].parameters.scheme",
            "it is 'htps', which is none of http, https",
            "Did you mean https?",
        ),
        (
            {
                "plugins": [
                    {
                        "type": "approx-prefix-cache-producer",
                        "parameters": {"autoTune": False, "blockSizeTokens": 0},
                    }
                ]
            },
            "plugins[0].parameters.blockSizeTokens",
            "without autoTune, blocks need a size of more than 0 tokens",
            "Write blockSizeTokens: 16",
        ),
        (
            {
                "plugins": [
                    {"type": "prefix-cache-scorer", "parameters": {"blockSize": 64, "blockSizeTokens": 0}}
                ]
            },
            "plugins[0].parameters.blockSize",
            "blockSize was in characters, and is read no more",
            "Remove it",
        ),
        (
            {"plugins": [{"type": "token-load-scorer"}, {"type": "inflight-load-producer"}]},
            "plugins[0]",
            "the endpoint picker of gie-1.5 does not start with token-load-scorer and inflight-load-producer "
            "together",
            "Remove one of the two",
        ),
        (
            {"plugins": [QUEUE], "saturationDetector": {"pluginRef": "queue-scorer"}},
            "saturationDetector.pluginRef",
            "plugin 'queue-scorer' is of type queue-scorer, which is not a saturation detector",
            "Add a saturation detector to plugins",
        ),
        (
            {"plugins": [QUEUE], "parser": {"pluginRef": "vllmgrpc-parser"}},
            "parser.pluginRef",
            "there is no plugin 'vllmgrpc-parser'",
            "Add a parser to plugins",
        ),
        (
            {"plugins": [QUEUE], "dataLayer": {}},
            "dataLayer",
            "its data layer has no sources, so the endpoint picker of gie-1.5 does not start",
            "Write dataLayer: {sources: [...]}, or remove dataLayer",
        ),
        (
            {
                "plugins": [{"type": "endpoint-notification-source"}, {"type": "core-metrics-extractor"}],
                "dataLayer": {
                    "sources": [
                        {
                            "pluginRef": "endpoint-notification-source",
                            "extractors": [{"pluginRef": "core-metrics-extractor"}],
                        }
                    ]
                },
            },
            "dataLayer.sources[0].extractors[0].pluginRef",
            "core-metrics-extractor cannot read what endpoint-notification-source gives",
            "Give the source another extractor",
        ),
        (
            {
                "plugins": [QUEUE],
                "featureGates": ["flowControl"],
                "flowControl": {"priorityBands": [{"priority": 1}, {"priority": 1}]},
            },
            "flowControl.priorityBands[1]",
            "there are two bands of priority 1",
            "Remove one",
        ),
        (
            {"plugins": [{"type": "request-attribute-reporter"}]},
            "plugins[0].parameters",
            "there is no attributes, and request-attribute-reporter needs it",
            "Add attributes",
        ),
    ],
)
def test_what_the_picker_of_gie_exits_with_is_an_error(
    deployment: Make, serving: Serve, fields: dict[str, Any], path: str, what: str, next_step: str
) -> None:
    document = deployment(endpointPicker={"config": config("gie-1.5", **fields)})
    assert said(document, serving(), "gie-1.5") == [("error", path, what, next_step)]


@pytest.mark.parametrize(
    ("plugin", "flags", "expected"),
    [
        (
            {"type": "load-aware-scorer", "parameters": {"treshold": 1}},
            {},
            (
                "plugins[0].parameters.treshold",
                "load-aware-scorer has no field 'treshold'",
                "Did you mean threshold?",
            ),
        ),
        (
            HOLDBACK,
            {},
            (
                "plugins[0].type",
                "priority-holdback-policy is of alpha stability",
                "Write flags: {allow-experimental-plugins: true}, or use another plugin",
            ),
        ),
        (HOLDBACK, {"allow-experimental-plugins": True}, None),
        (
            {"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "mine"}},
            {},
            (
                "plugins[0].parameters.prefixMatchInfoProducerName",
                "prefix-cache-scorer needs PrefixCacheMatchInfo of 'mine', which no plugin makes",
                "Add precise-prefix-cache-scorer, approx-prefix-cache-producer, "
                "multicluster-approx-prefix-cache-producer, burst-prefix-cache-producer, "
                "precise-prefix-cache-producer with name: mine",
            ),
        ),
        ({"type": "prefix-cache-scorer"}, {}, None),
        (
            {"type": "token-load-scorer"},
            {},
            (
                "plugins[0]",
                "token-load-scorer needs UncachedRequestTokens of 'inflight-load-producer', which no plugin "
                "makes",
                "Add inflight-load-producer",
            ),
        ),
    ],
)
def test_the_router_takes_no_unknown_parameter_and_alpha_plugins_by_a_flag(
    deployment: Make,
    serving: Serve,
    plugin: dict[str, Any],
    flags: dict[str, Any],
    expected: tuple[str, str, str] | None,
) -> None:
    own = {"config": config("router-0.10", plugins=[plugin]), "flags": flags}
    problems = said(deployment(endpointPicker=own), serving(profile="router-0.10"), "router-0.10")
    assert problems == ([("error", *expected)] if expected else [])


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (
            {"type": "token-load-scorer", "parameters": {"queueTresholdTokens": 1}},
            (
                "plugins[0].parameters.queueTresholdTokens",
                "token-load-scorer has no field 'queueTresholdTokens' and reads over it",
                "Did you mean queueThresholdTokens?",
            ),
        ),
        (
            {"type": "queue-scorer", "parameters": {"threshold": 1}},
            ("plugins[0].parameters", "queue-scorer reads no parameters", "Remove them"),
        ),
        ({"type": "token-load-scorer", "parameters": {"QUEUETHRESHOLDTOKENS": 1.0}}, None),
        ({"type": "max-score-picker", "parameters": None}, None),
    ],
)
def test_what_the_picker_reads_over_is_a_warning(
    deployment: Make, serving: Serve, plugin: dict[str, Any], expected: tuple[str, str, str] | None
) -> None:
    document = deployment(endpointPicker={"config": config("gie-1.5", plugins=[plugin])})
    assert said(document, serving(), "gie-1.5") == ([("warning", *expected)] if expected else [])


def test_plugins_that_a_picker_adds_by_itself_may_be_named(deployment: Make, serving: Serve) -> None:
    fields = {
        "plugins": [QUEUE],
        "schedulingProfiles": [
            {"name": "a", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}
        ],
        "saturationDetector": {"pluginRef": "utilization-detector"},
        "parser": {"pluginRef": "openai-parser"},
        "featureGates": ["flowControl"],
        "flowControl": {"priorityBands": [{"priority": 1, "orderingPolicyRef": "fcfs-ordering-policy"}]},
    }
    document = deployment(endpointPicker={"config": config("gie-1.5", **fields)})
    assert said(document, serving(), "gie-1.5") == []
