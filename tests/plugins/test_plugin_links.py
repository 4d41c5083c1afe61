"""Links are checked all at once, before any pod is built."""

import datetime
from typing import Any

import pytest
from pydantic import SecretStr, field_serializer

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginScope, PluginSpec
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.problems import Where
from inferfleet.plugins.contract import Config, Plugin
from inferfleet.plugins.link import Link, bind, fingerprint, links
from inferfleet.plugins.registry import Registry, builtin

LINES = {
    "spec.plugins[0]": 10,
    "spec.plugins[0].name": 11,
    "spec.plugins[0].config.env[1].nam": 15,
    "spec.plugins[0].scope.roles[0]": 20,
}


KIND, KEY = "ModelDeployment", "ml/web"
DOCUMENTS = Documents(
    Settings(stack="prod"),
    positions={(KIND, KEY): {path: Where("web.yaml", line) for path, line in LINES.items()}},
)


def said(*specs: PluginSpec, origin: Any = "deployment") -> list[str]:
    """Every problem of a chain, with its line."""
    chain = links(specs, origin, kind=KIND, key=KEY)
    _, problems = bind(chain, builtin(), roles=("decode", "prefill"))
    return [str(problem) for problem in DOCUMENTS.located(problems)]


def test_links_know_where_they_stand() -> None:
    spec = PluginSpec(name="accelerator")
    assert links((spec, spec), "cluster", kind="InferenceCluster", key="east") == (
        Link(spec, "cluster", "InferenceCluster", "east", "spec.plugins[0]"),
        Link(spec, "cluster", "InferenceCluster", "east", "spec.plugins[1]"),
    )


def test_all_problems_of_a_chain_come_at_once_each_with_its_line_and_path() -> None:
    first = PluginSpec(
        name="demo-pod-tweaks",
        config={"env": [{"name": "A", "value": "1"}, {"name": "B", "nam": "C"}]},
        scope=PluginScope(roles=("prefil",)),
    )
    assert said(first, PluginSpec(name="acelerator", config={"any": "thing"})) == [
        "web.yaml:15: spec.plugins[0].config.env[1].nam: build plugin demo-pod-tweaks: unknown field 'nam'. "
        "Did you mean name?",
        "web.yaml:20: spec.plugins[0].scope.roles[0]: scope of plugin demo-pod-tweaks names prefil, "
        "a role the deployment does not have. Did you mean prefill?",
        "spec.plugins[1].name: plugin acelerator is not registered. Did you mean accelerator?",
    ]


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("demo-pod-tweaks", ["env"], ["config must be a map, not a list"]),
        ("demo-pod-tweaks", "x", ["config must be a map, not 'x'"]),
        ("demo-pod-tweaks", {"annotations": {"a": True}}, ["a must be text, not true"]),
        ("demo-pod-tweaks", {"env": [{"name": "A", "value": 8}]}, ["value must be text, not 8"]),
        ("demo-pod-tweaks", {"env": [{"value": "8"}]}, ["field name is missing"]),
        (
            "demo-pod-tweaks",
            {"env": [{"name": "A", "valueFrom": "b"}]},
            ["valueFrom must be a map, not 'b'"],
        ),
        (
            "demo-pod-tweaks",
            {"annotations": {"on": datetime.date(2026, 1, 1)}},
            ["config.annotations.on is datetime.date(2026, 1, 1) (date), which is no JSON value"],
        ),
        ("accelerator", {"product": 5}, ["product must be the name of one product, or a list of names"]),
        (
            "hugepages",
            {"amount": "4Gi", "mountPath": "pages"},
            ["mountPath 'pages' must match the pattern ^/[^:]*[^:/]$"],
        ),
        ("accelerator", {"productLabel": "x"}, ["productLabel is set without product"]),
        (
            "accelerator",
            {"runtimeClass": "nvidia", "engineEnvs": []},
            ["unknown field 'runtimeClass'", "unknown field 'engineEnvs'"],
        ),
    ],
)
def test_a_config_is_checked_as_strictly_as_a_document(name: str, config: Any, expected: list[str]) -> None:
    (link,) = links((PluginSpec(name=name, config=config),), "class", kind="InferenceClass", key="l4")
    _, found = bind([link], builtin(), roles=())
    assert [one.what for one in found] == [f"build plugin {name}: {what}" for what in expected]


@pytest.mark.parametrize("config", [None, {}])
def test_no_config_is_an_empty_config(config: Any) -> None:
    assert said(PluginSpec(name="demo-pod-tweaks", config=config)) == []


def test_a_type_other_than_builtin_is_refused() -> None:
    kind: Any = "Webhook"  # documents cannot say it, Python can
    spec = PluginSpec.model_construct(name="hook", type=kind, config=None, scope=PluginScope())
    assert said(spec) == [
        "web.yaml:10: spec.plugins[0].type: plugin hook has unsupported type Webhook. "
        "Write type: BuiltIn, or leave type out"
    ]


@pytest.mark.parametrize("origin", ["class", "cluster", "stack"])
def test_roles_in_the_scope_of_chains_for_many_deployments_exist_in_one_of_them(origin: str) -> None:
    def scope(role: str) -> PluginSpec:
        return PluginSpec(name="accelerator", scope=PluginScope(roles=(role,)))

    assert said(scope("prefill"), origin=origin) == []
    assert said(scope("decod"), origin=origin) == [
        "web.yaml:20: spec.plugins[0].scope.roles[0]: scope of plugin accelerator names decod, "
        "a role no deployment has. Did you mean decode?"
    ]


class Zones(Config):
    names: frozenset[str] = frozenset()
    token: SecretStr = SecretStr("")
    limit: int = 3


def test_a_fingerprint_changes_with_what_a_config_says() -> None:
    zones = Zones(names=frozenset(("b", "a", "c")), token=SecretStr("canary"))
    same = Zones(names=frozenset(("c", "b", "a")), token=SecretStr("canary"), limit=3)
    other = Zones(names=frozenset(("c", "b")))
    assert fingerprint(zones) == fingerprint(same) != fingerprint(other)


class Failing(Config):
    size: int = 1

    @field_serializer("size")
    def written(self, size: int) -> int:
        raise KeyError(size)


def test_a_config_that_cannot_be_written_is_a_problem_of_its_link() -> None:
    registry = Registry((Plugin("mine", Failing, lambda template, _, __: template, version="1.0.0"),))
    chain = links((PluginSpec(name="mine", config={"size": 2}),), "deployment", kind=KIND, key=KEY)
    bound, (problem,) = bind(chain, registry, roles=("decode",))
    assert (bound, problem.path) == ((), "spec.plugins[0].config")
    assert problem.what.startswith("build plugin mine: its config cannot be written as JSON: ")
