"""The registry is a value, and a mistake in it is loud."""

import re
from typing import Any

import pytest
from pydantic import BaseModel

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.builtin import accelerator, demo_pod_tweaks
from inferfleet.plugins.chain import run
from inferfleet.plugins.contract import Plugin, PodTemplate, Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import Registry, builtin


def _same(template: PodTemplate, request: Request, config: contract.Config) -> PodTemplate:
    return template


MINE = Plugin("mine", contract.Config, _same)


def test_a_registry_with_one_more_plugin_leaves_the_first_as_it_was() -> None:
    first = builtin()
    assert first.with_(MINE).names == ("accelerator", "demo-pod-tweaks", "mine")
    assert first == builtin() == Registry((accelerator.PLUGIN, demo_pod_tweaks.PLUGIN))


def test_a_plugin_is_found_by_its_whole_name_only() -> None:
    assert builtin().get("accelerator") == accelerator.PLUGIN
    assert builtin().get("Accelerator") is None


def test_a_plugin_of_ten_lines_runs_like_a_built_in_one(
    generated: dict[str, Any], pod_request: Request
) -> None:
    class Config(contract.Config):
        size: str

    def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
        template["spec"]["priorityClassName"] = config.size
        return template

    registry = builtin().with_(Plugin("priority", Config, edit))
    spec = PluginSpec(name="priority", config={"size": "high"})
    outcome = run(generated, pod_request, [Link(spec, "deployment", "ModelDeployment", "ml/web")], registry)
    assert outcome.template["spec"] == {**generated["spec"], "priorityClassName": "high"}


class Loose(BaseModel):
    size: int = 0


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Plugin("accelerator", contract.Config, _same), "plugin accelerator is registered already"),
        (Plugin("My_Plugin", contract.Config, _same), "plugin name 'My_Plugin': at most 63 lower-case"),
        (Plugin("", contract.Config, _same), "plugin name ''"),
        (Plugin("loose", Loose, _same), "plugin loose: its config takes unknown keys"),
    ],
)
def test_a_mistaken_registration_raises(plugin: Plugin, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        builtin().with_(plugin)
