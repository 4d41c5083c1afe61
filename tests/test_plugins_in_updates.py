"""`pulumi up` runs the same plugins as the command, from settings as Pulumi passes them: as JSON text."""

import json
from pathlib import Path

import pytest
from fleet_of_one import TODAY, OnDisk
from recorded_project import Project, recorded

from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.run import prepare

PLUGIN = (Path(__file__).parent / "plugins/outside/even_spread.py").read_text()
ALLOWED = json.dumps([{"name": "even-spread", "version": "1.2.0"}])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = recorded(tmp_path, monkeypatch)
    OnDisk(tmp_path).write("plugins/even_spread.py", PLUGIN)
    return made


def test_an_update_registers_what_an_allowed_plugin_of_the_project_made(project: Project) -> None:
    settings = {"plugins": json.dumps([{"name": "even-spread"}]), "allowedPlugins": ALLOWED}
    project.set(**settings)
    prepared = prepare(
        *load_stack(project.root, "prod", config=project.config),
        project.config,
        ci=False,
        preview=False,
        today=TODAY,
    )
    (steps,) = (steps for roles in prepared.desired.effects.values() for steps in roles.values())
    assert [(step.plugin, step.status) for step in steps if step.origin == "stack"] == [
        ("even-spread", "changed")
    ]


def test_a_preview_and_an_update_warn_of_what_a_plugin_says(project: Project) -> None:
    loud = PLUGIN.replace("    return template", "    print('no zones')\n    return template")
    OnDisk(project.root).write("plugins/even_spread.py", loud)
    project.set(plugins=json.dumps([{"name": "even-spread"}]), allowedPlugins=ALLOWED)
    for preview in (True, False):
        prepared = prepare(
            *load_stack(project.root, "prod", config=project.config),
            project.config,
            ci=False,
            preview=preview,
            today=TODAY,
        )
        assert [each.what for each in prepared.warnings if "even-spread" in each.what] == [
            "plugin even-spread says: no zones (deployment ml/qwen, role decode on east/l4)"
        ]


def test_an_update_runs_nothing_that_is_not_allowed(project: Project) -> None:
    settings = {"plugins": json.dumps([{"name": "even-spread"}])}
    project.set(**settings)
    with pytest.raises(InvalidDocuments, match=r"plugins/even_spread.py\) is not allowed"):
        prepare(
            *load_stack(project.root, "prod", config=project.config),
            project.config,
            ci=False,
            preview=False,
            today=TODAY,
        )


def test_an_update_runs_none_of_them_where_only_the_built_in_ones_may_run(project: Project) -> None:
    settings = {"plugins": json.dumps([{"name": "even-spread"}]), "allowedPlugins": ALLOWED}
    project.set(**settings)
    with pytest.raises(InvalidDocuments, match="is not imported, because of INFERFLEET_PLUGINS=built-in"):
        prepare(
            *load_stack(project.root, "prod", config=project.config),
            project.config,
            ci=False,
            preview=True,
            today=TODAY,
            outside_plugins=False,
        )
