"""The registry is a value, and a mistake in it is loud."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from running import mine, outcome_of

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.builtin import accelerator
from inferfleet.plugins.contract import Plugin, PodTemplate, Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import builtin


def _same(template: PodTemplate, request: Request, config: contract.Config) -> PodTemplate:
    return template


MINE = mine(_same)


def test_a_registry_with_one_more_plugin_leaves_the_first_as_it_was() -> None:
    first = builtin()
    assert {*first.with_(MINE).names} == {*first.names, "mine"}
    assert first == builtin()


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

    registry = builtin().with_(Plugin("priority", Config, edit, version="1.0.0"))
    spec = PluginSpec(name="priority", config={"size": "high"})
    outcome = outcome_of(
        generated, pod_request, [Link(spec, "deployment", "ModelDeployment", "ml/web")], registry
    )
    assert outcome.template["spec"] == {**generated["spec"], "priorityClassName": "high"}


class Loose(BaseModel):
    size: int = 0


class Deep(contract.Config):
    disks: Annotated[tuple[Loose, ...], Field(max_length=2)] | None = None


@dataclass
class Disk:
    size: int


class Typed(contract.Config):
    disk: Disk | None = None


async def _asynchronous(template: Any, request: Any, config: Any) -> Any:
    return template


class _Callable:
    async def __call__(self, ready: Any, config: Any) -> None:
        return None


def _yielding(template: Any, request: Any, config: Any) -> Any:
    yield template


def _ready(**functions: Any) -> Plugin:
    return Plugin("p", contract.Config, functions.pop("edit", _same), version="1", **functions)


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (mine(_same, "accelerator"), "plugin accelerator is registered already"),
        (mine(_same, "My_Plugin"), "plugin name 'My_Plugin': at most 63 lower-case"),
        (mine(_same, ""), "plugin name ''"),
        (mine(_same, "loose", Loose), "plugin loose: config (Loose) takes unknown keys"),
        (mine(_same, "deep", Deep), "plugin deep: config.disks (Loose) takes unknown keys"),
        (mine(_same, "typed", Typed), "plugin typed: config.disk (Disk) takes unknown keys"),
        (Plugin("p", contract.Config, _same, version=""), "plugin p: its version is ''"),
        (Plugin("p", contract.Config, _same, version=1.2), "plugin p: its version is 1.2"),  # type: ignore[arg-type]
        (Plugin("p", dict, _same, version="1"), "plugin p: its config is <class 'dict'>"),  # type: ignore[arg-type]
        (Plugin("p", contract.Config, "edit", version="1"), "plugin p: its edit is 'edit'"),  # type: ignore[arg-type]
        (_ready(ready=5), "plugin p: its ready is 5, but must be a function of (ready, config)"),
        (
            _ready(ready=lambda ready: None),
            "plugin p: its ready cannot be called with (ready, config); give it these parameters (at "
            "test_registry.py:",
        ),
        (
            _ready(edit=lambda template, request, *, config: template),
            "plugin p: its edit cannot be called with (template, request, config); give",
        ),
        (
            _ready(edit=_asynchronous),
            "plugin p: its edit is async or has a yield, and nothing awaits it; write a plain def that "
            "returns (at test_registry.py:",
        ),
        (_ready(ready=_Callable()), "plugin p: its ready is async or has a yield"),
        (_ready(edit=_yielding), "plugin p: its edit is async or has a yield"),
    ],
)
def test_a_mistaken_registration_raises(plugin: Plugin, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        builtin().with_(plugin)
