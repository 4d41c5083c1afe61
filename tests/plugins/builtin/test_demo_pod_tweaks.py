"""demo-pod-tweaks shown on whole pods."""

from typing import Any

import pytest

from inferfleet.plugins.builtin.demo_pod_tweaks import Config, edit
from inferfleet.plugins.contract import Request

POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def test_everything_given_wins_in_place_and_the_rest_of_the_pod_stays(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["metadata"]["annotations"] = {"team": "ml", "kept": "yes"}
    config = Config.model_validate(
        {
            "runtimeClassName": "nvidia",
            "annotations": {"team": "web", "example.com/note": "1"},
            "env": [{"name": "HF_HOME", "value": "/cache"}, POD_IP],
        }
    )
    cache = {"name": "HF_HOME", "value": "/cache"}
    assert edit(generated, pod_request, config) == {
        "metadata": {
            "labels": generated["metadata"]["labels"],
            "annotations": {"team": "web", "kept": "yes", "example.com/note": "1"},
        },
        "spec": {
            "runtimeClassName": "nvidia",
            "nodeSelector": {"inferfleet.dev/pool": "h100"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "initContainers": [{"name": "fetch", "image": "fetch:1", "env": [cache, POD_IP]}],
            "containers": [
                {
                    "name": "logs",
                    "image": "logs:1",
                    "env": [{"name": "LEVEL", "value": "info"}, cache, POD_IP],
                },
                {
                    "name": "engine",
                    "image": "vllm:1",
                    "env": [cache, {"name": "LAST", "value": "$(HF_HOME)"}, POD_IP],
                    "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
                    "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
                },
            ],
        },
    }


def test_a_runtime_class_that_is_there_is_overridden(generated: dict[str, Any], pod_request: Request) -> None:
    generated["spec"]["runtimeClassName"] = "runc"
    edited = edit(generated, pod_request, Config(runtime_class_name="kata"))
    assert edited["spec"]["runtimeClassName"] == "kata"


def test_a_variable_that_stood_twice_stands_once(generated: dict[str, Any], pod_request: Request) -> None:
    engine = generated["spec"]["containers"][1]
    engine["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    edit(generated, pod_request, Config.model_validate({"env": [{"name": "A", "value": "9"}]}))
    assert engine["env"] == [{"name": "A", "value": "9"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize("config", [{}, {"runtimeClassName": "", "annotations": {}, "env": []}])
def test_an_empty_config_changes_nothing(
    generated: dict[str, Any], pod_request: Request, config: dict[str, Any]
) -> None:
    before = repr(generated)
    assert repr(edit(generated, pod_request, Config.model_validate(config))) == before
