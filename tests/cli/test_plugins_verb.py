"""`inferfleet plugins`, and plugins in other verbs: nothing of a plugin spoils what a verb prints."""

from pathlib import Path
from typing import Any

import pytest
from small_project import Project

from inferfleet.plugins.registry import builtin

PLUGIN = '''\
from inferfleet.plugins.api import Config, Edited, Plugin, PodTemplate, Request


class Mine(Config):
    size: int
    """How large it is."""


def edit(template: PodTemplate, request: Request, config: Mine) -> Edited:
    """Say how large it is."""
    return Edited(template, remarks=(f"it is {config.size}",))


PLUGIN = Plugin("mine", Mine, edit, version="2.0.0")
'''
SETTINGS = """\
config:
  inferfleet:allowedPlugins: [{name: mine, version: 2.0.0}]
  inferfleet:plugins:
    - {name: mine, config: {size: 3}}
    - {name: mine, config: {size: 4}, scope: {target: Worker}}
"""


@pytest.fixture
def mine(project: Project) -> Project:
    """A project with a plugin of its own."""
    project.write("plugins/mine.py", PLUGIN)
    project.write("plugins/unnamed.py", "raise SystemExit('it ran')")
    project.write("stacks/Pulumi.prod.yaml", SETTINGS)
    return project


def test_plugins_are_listed_with_version_purpose_config_and_origin(mine: Project) -> None:
    ran = mine.run("plugins")
    assert (ran.code, ran.err) == (0, "")
    assert (
        "mine 2.0.0 (plugins/mine.py)\n"
        "  Say how large it is.\n"
        "  config.size (whole number, required): How large it is.\n"
        "\n"
        "found, not allowed, and not imported:\n"
        "  unnamed (plugins/unnamed.py)\n"
    ) in ran.out


def test_machines_get_the_same_with_a_schema_of_each_config(mine: Project) -> None:
    ran = mine.run("plugins", "--json")
    plugins: list[dict[str, Any]] = ran.json["plugins"]
    assert [(plugin["name"], plugin["version"], plugin["origin"]) for plugin in plugins] == [
        *((plugin.name, plugin.version, "built in") for plugin in builtin().plugins),
        ("mine", "2.0.0", "plugins/mine.py"),
    ]
    assert all(plugin["purpose"] for plugin in plugins)
    for plugin in plugins:
        assert all(field["description"] for field in plugin["config"]["properties"].values())
    assert plugins[-1]["config"]["properties"] == {
        "size": {"type": "integer", "description": "How large it is."}
    }
    assert ran.json["notAllowed"] == [{"name": "unnamed", "origin": "plugins/unnamed.py"}]


def test_outside_of_a_project_the_built_in_ones_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    (tmp_path / "Pulumi.yaml").unlink()
    names = [plugin["name"] for plugin in project.run("plugins", "--json").json["plugins"]]
    assert names == [plugin.name for plugin in builtin().plugins]


def test_explain_names_links_without_effect_and_out_of_scope(mine: Project) -> None:
    out = mine.run("explain", "qwen").out
    assert (
        "east/l4, role decode: plugin mine 2.0.0 (stack chain, plugins[0]) changes nothing\n"
        "  remark: it is 3\n"
        "\n"
        "east/l4, role decode: plugin mine 2.0.0 (stack chain, plugins[1]) is out of scope\n"
    ) in out


def test_editors_complete_the_config_of_each_plugin_by_its_name(mine: Project) -> None:
    schema = mine.run("schema", "--stack", "prod").json
    link = schema["$defs"]["PluginSpec"]
    rules = {rule["if"]["properties"]["name"]["const"]: rule["then"] for rule in link["allOf"]}
    assert rules["mine"] == {"properties": {"config": {"$ref": "#/$defs/mine.config"}}}
    assert schema["$defs"]["mine.config"]["required"] == ["size"]
    ours = builtin().names
    assert [*rules] == sorted([*ours, "mine"]) == link["properties"]["name"]["examples"]
    without = mine.run("schema").json["$defs"]["PluginSpec"]
    assert without["properties"]["name"]["examples"] == list(ours)
    references = set(_references(schema))
    assert references <= {f"#/$defs/{name}" for name in schema["$defs"]}


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [reference for entry in value for reference in _references(entry)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [reference for entry in value.values() for reference in _references(entry)]


@pytest.mark.parametrize(
    "line", ["print('hello')", "import os; os.write(1, b'hello')", "import sys; sys.exit(0)", "1 / 0"]
)
@pytest.mark.parametrize("where", ["import", "edit"])
@pytest.mark.parametrize("verb", [["validate", "--json"], ["render", "--format", "json"], ["plan", "--json"]])
def test_a_plugin_that_prints_or_exits_leaves_the_output_whole(
    mine: Project, capfd: pytest.CaptureFixture[str], line: str, where: str, verb: list[str]
) -> None:
    text = (
        f"{PLUGIN}\n{line}\n"
        if where == "import"
        else PLUGIN.replace("    return", f"    {line}\n    return")
    )
    mine.write("plugins/mine.py", text)
    ran = mine.run(*verb)
    assert ran.code == (0 if "hello" in line else 1)
    said = {"print('hello')": "hello", "1 / 0": "ZeroDivisionError"}.get(line, "")
    assert said in ran.out + ran.err
    past_python = capfd.readouterr()
    assert ("Traceback" in ran.out + ran.err, past_python.out) == (False, "")
    assert ("hello" in past_python.err) == ("os.write" in line)


@pytest.mark.parametrize("verb", [["plugins", "--json"], ["schema", "--stack", "prod"]])
def test_what_a_child_process_prints_while_a_plugin_is_imported_goes_to_stderr(
    mine: Project, capfd: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    mine.write("plugins/mine.py", f"{PLUGIN}\nimport os; os.system('echo hello')\n")
    assert mine.run(*verb).json
    assert capfd.readouterr() == ("", "hello\n")


def test_where_nobody_has_reviewed_the_settings_none_of_their_plugins_is_imported(
    mine: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.write("plugins/mine.py", "raise SystemExit('it ran')")
    monkeypatch.setenv("INFERFLEET_PLUGINS", "built-in")
    for verb in (["validate"], ["plugins"], ["schema", "--stack", "prod"], ["explain", "qwen"], ["render"]):
        ran = mine.run(*verb)
        assert ran.code == 1
        assert "it ran" not in ran.out + ran.err
        assert "plugin mine is not imported, because of INFERFLEET_PLUGINS=built-in" in ran.err


@pytest.mark.parametrize("value", ["builtin", "Built-in", "none"])
def test_a_misspelt_variable_lets_no_plugin_in(
    mine: Project, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    mine.write("plugins/mine.py", "raise SystemExit('it ran')")
    monkeypatch.setenv("INFERFLEET_PLUGINS", value)
    for verb in (["validate"], ["plugins"], ["schema", "--stack", "prod"]):
        ran = mine.run(*verb)
        assert ran.code == 1
        assert f"INFERFLEET_PLUGINS is '{value}', and its one value is built-in" in ran.err


def test_a_config_that_holds_itself_is_listed(mine: Project) -> None:
    text = '    """How large it is."""'
    mine.write("plugins/mine.py", PLUGIN.replace(text, f"{text}\n    inner: 'tuple[Mine, ...]' = ()"))
    ran = mine.run("plugins")
    assert (ran.code, ran.err) == (0, "")
    assert "  config.inner (list of map)\n" in ran.out


BROKEN = """\
  plugins:
    - {config: {}}
    - {name: demo-pod-tweaks, type: Webhook}
    - {name: demo-pod-tweaks, scope: {target: entry}}
    - {name: demo-pod-tweaks, conifg: {}}
    - {name: demo-pod-tweaks, scope: decode}
    - {name: demo-pod-tweaks, scope: {roles: [Decode]}}
    - {name: demo-pod-tweak}
    - {name: demo-pod-tweaks, config: {annotation: {}}}
    - {name: accelerator, config: {product: 5}}
    - {name: accelerator, scope: {roles: [decod]}}
    - {name: accelerator, config: {runtimeClassName: a}}
    - {name: accelerator, config: {runtimeClassName: b}}
    - {name: demo-pod-tweaks, override: yes please}
"""


def test_one_run_shows_every_broken_link_of_a_document(project: Project) -> None:
    project.edit(
        "stacks/prod/models.yaml",
        "  plugins: [{name: demo-pod-tweaks, config: {env: [{name: LOG, value: info}]}}]\n",
        BROKEN,
    )
    ran = project.run("validate", "--json")
    links = [problem["path"].removeprefix("spec.") for problem in ran.json["problems"]]
    assert links == [
        "plugins[0].name",
        "plugins[1].type",
        "plugins[2].scope.target",
        "plugins[3].conifg",
        "plugins[4].scope",
        "plugins[5].scope.roles[0]",
        "plugins[6].name",
        "plugins[7].config.annotation",
        "plugins[8].config.product",
        "plugins[9].scope.roles[0]",
        "plugins[11]",
        "plugins[12].override",
    ]
    assert all(problem["line"] for problem in ran.json["problems"])


def test_a_broken_link_is_told_with_problems_of_other_files_too(project: Project) -> None:
    project.write("stacks/Pulumi.prod.yaml", "config:\n  inferfleet:plugins: [{name: x, scope: 5}]\n")
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 1", "nodeCount: one")
    paths = [problem["path"] for problem in project.run("validate", "--json").json["problems"]]
    assert paths == ["inferfleet:plugins[0].scope", "spec.nodePools[0].nodeCount"]
