"""Numbers in a picker's configuration that nobody can mean, one of which ends it at the first prompt."""

from collections.abc import Callable
from typing import Any

import pytest
from test_odd_pickers import of, plugin

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

PREFIX = "approx-prefix-cache-producer"


@pytest.mark.parametrize(
    ("fields", "path", "what"),
    [
        (
            plugin(PREFIX, maxPrefixBlocksToMatch=0),
            "config.plugins[1].parameters.maxPrefixBlocksToMatch",
            "it is 0, so no prefix is ever looked up",
        ),
        (
            plugin(PREFIX, blockSize=-1),
            "config.plugins[1].parameters.blockSize",
            "it is -1, and it is read no more",
        ),
        (
            plugin("max-score-picker", maxNumOfEndpoints=0),
            "config.plugins[1].parameters.maxNumOfEndpoints",
            "it is 0, so 1 is taken instead",
        ),
        (
            plugin("static-usage-limit-policy", threshold=1.5),
            "config.plugins[1].parameters.threshold",
            "it is 1.5, so requests are sent to pods that the detector takes for full",
        ),
        (
            plugin("static-usage-limit-policy", threshold=0),
            "config.plugins[1].parameters.threshold",
            "it is 0, so no request is ever sent to a pod",
        ),
    ],
)
def test_parameters_that_nobody_can_mean_are_warned_of(
    deployment: Make, serving: Serve, fields: dict[str, Any], path: str, what: str
) -> None:
    found = of(deployment(endpointPicker=fields), serving())
    assert [one[:3] for one in found] == [("warning", path, what)]


def test_a_number_that_another_one_goes_before_is_not_read(deployment: Make, serving: Serve) -> None:
    fields = plugin(PREFIX, maxPrefixBlocksToMatch=-1, maxPrefixTokensToMatch=4096)
    assert of(deployment(endpointPicker=fields), serving()) == []


def test_what_the_picker_ends_with_at_the_first_prompt_is_an_error(deployment: Make, serving: Serve) -> None:
    fields = plugin(PREFIX, maxPrefixBlocksToMatch=-1)
    path = "config.plugins[1].parameters.maxPrefixBlocksToMatch"
    what = "it is -1, with which it panics at the first prompt"
    found = of(deployment(endpointPicker=fields), serving())
    assert found == [("error", path, what, "Write a value >= 0, or remove it")]


@pytest.mark.parametrize(
    ("weight", "what"),
    [
        (-5, "it is -5, so the pods that queue-scorer likes best are chosen last"),
        (0, "it is 0, so queue-scorer counts for nothing"),
    ],
)
def test_a_weight_that_turns_a_scorer_around_is_warned_of(
    deployment: Make, serving: Serve, weight: int, what: str
) -> None:
    fields = plugin("max-score-picker")
    plugins = [{"pluginRef": "queue-scorer", "weight": weight}, {"pluginRef": "max-score-picker"}]
    fields["config"]["schedulingProfiles"] = [{"name": "default", "plugins": plugins}]
    found = of(deployment(endpointPicker=fields), serving())
    path = "config.schedulingProfiles[0].plugins[0].weight"
    assert [one[:3] for one in found] == [("warning", path, what)]


@pytest.mark.parametrize(
    ("name", "api", "said"),
    [
        (
            "gie-1.5",
            "inference.networking.x-k8s.io/v1alpha1",
            [("error", "with which it panics at the first prompt")],
        ),
        ("router-0.10", "llm-d.ai/v1alpha1", [("warning", "so no prefix is ever looked up")]),
    ],
)
def test_releases_make_different_things_of_the_same_number(
    deployment: Make, serving: Serve, name: str, api: str, said: list[tuple[str, str]]
) -> None:
    fields = plugin(PREFIX, api, maxPrefixBlocksToMatch=-1, maxPrefixTokensToMatch=0)
    found = of(deployment(endpointPicker=fields), serving(), name)
    assert [(one[0], one[2].removeprefix("it is -1, ")) for one in found] == said
