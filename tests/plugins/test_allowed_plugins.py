"""Plugins of others: imported only if the settings name them, and never able to spoil a run."""

import ast
import os
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import OnDisk
from installing import as_package, in_folder

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.settings import AllowedPlugin, Settings
from inferfleet.plugins.loading import found_plugins, installed, registered
from inferfleet.plugins.registry import MODULES, Registry, builtin

ROOT = Path(__file__).parent.parent.parent
GOOD = '''\
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Do nothing."""
    return template


PLUGIN = Plugin("my-plugin", Config, edit, version="1.2.0")
'''


@pytest.fixture
def project(tmp_path: Path) -> OnDisk:
    made = OnDisk(tmp_path / "project")
    made.write("Pulumi.yaml", "name: inferfleet\n")
    return made


def settings(*allowed: tuple[str, str | None], plugins: tuple[str, ...] = ()) -> Settings:
    return Settings(
        stack="prod",
        allowed_plugins=tuple(AllowedPlugin(name=name, version=version) for name, version in allowed),
        plugins=tuple(PluginSpec(name=name) for name in plugins),
    )


def found(project: OnDisk, *allowed: tuple[str, str | None]) -> Registry:
    return found_plugins(settings(*allowed), project.root, wanted=frozenset(MODULES))


def refused(project: OnDisk, *allowed: tuple[str, str | None]) -> list[str]:
    return [str(problem) for problem in found(project, *allowed).unusable.values()]


def test_a_module_that_is_named_comes_in_and_one_that_is_not_is_never_run(
    project: OnDisk, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    in_folder(project, "my_plugin", GOOD)
    in_folder(project, "other", f"open({str(ran)!r}, 'w')\n" + GOOD.replace("my-plugin", "other"))
    project.write("plugins/_shared.py", f"open({str(ran)!r}, 'w')\n")
    registry = found(project, ("my-plugin", "1.2.0"))
    assert {*registry.names} == {*builtin().names, "my-plugin"}
    assert registry.origin("my-plugin") == "plugins/my_plugin.py"
    assert (registry.not_allowed, registry.unusable) == ({"other": "plugins/other.py"}, {})
    assert not ran.exists()
    found(project, ("other", "1.2.0"))
    assert ran.exists()


def test_the_default_allows_nothing(project: OnDisk) -> None:
    in_folder(project, "my_plugin", "raise SystemExit")
    assert found(project) == Registry(builtin().plugins, not_allowed={"my-plugin": "plugins/my_plugin.py"})
    assert found_plugins(settings(), None, wanted=frozenset()) == builtin(())


def test_a_package_of_another_version_than_the_allowed_one_is_not_imported(
    project: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = OnDisk(tmp_path / "site")
    site.write("acme_one.py", GOOD)
    site.write("acme_two.py", "raise SystemExit('it ran')\n")
    as_package(site.root, monkeypatch, {"my-plugin": "acme_one:PLUGIN", "two": "acme_two:PLUGIN"})
    registry = found(project, ("my-plugin", "1.2.0"), ("two", "1.1.0"))
    assert registry.origin("my-plugin") == "acme-plugins 1.2.0, acme_one:PLUGIN"
    assert [str(problem) for problem in registry.unusable.values()] == [
        "allowedPlugins[1]: plugin two (acme-plugins 1.2.0, acme_two:PLUGIN) is version 1.2.0, and the stack "
        "allows 1.1.0. Review it, and write version: '1.2.0' in inferfleet:allowedPlugins"
    ]


DESCRIBED = """\
class Odd(Config):
    def __get_pydantic_json_schema__(*_): raise KeyError("odd")
def edit"""
IMPORT = "cannot be imported: "


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("import nothing_of_that_name", 1, f"{IMPORT}ModuleNotFoundError: No module named 'nothing_of"),
        ("\n\ndef edit(:\n", 3, "is no Python: invalid syntax"),
        ("\nimport sys\nsys.exit(3)", 3, f"{IMPORT}ended the program with sys.exit(3) (at my_plugin.py:3)"),
        (GOOD.replace("PLUGIN", "MINE"), 1, "has no PLUGIN. End the module with PLUGIN = Plugin(...)"),
        ("PLUGIN = 5", 1, "is of type int, but must be a Plugin of inferfleet.plugins.api"),
        (GOOD.replace('"my-plugin"', '"yours"'), 1, "is called 'yours' in its code, and my-plugin where"),
        (
            "from pydantic import BaseModel as Config\n" + GOOD.replace("import Config, ", "import "),
            1,
            "cannot be registered: plugin my-plugin: config (BaseModel) takes unknown keys",
        ),
        (
            GOOD.replace(", config: Config)", ")"),
            4,
            "cannot be registered: plugin my-plugin: its edit cannot be called with (template, request, "
            "config); give it these parameters (at my_plugin.py:4). Mend the plugin",
        ),
        (
            GOOD.replace('"1.2.0"', '"1.2.0", ready=edit'),
            4,
            "cannot be registered: plugin my-plugin: its ready cannot be called with (ready, config); give",
        ),
        (
            GOOD.replace("def edit", "async def edit"),
            4,
            "cannot be registered: plugin my-plugin: its edit is async",
        ),
        ("raise KeyError('x' * 20_000)", 1, f"{IMPORT}KeyError: 'xxx"),
        ("x = 1 / 0", 1, f"{IMPORT}ZeroDivisionError: division by zero"),
        (
            GOOD.replace("def edit", DESCRIBED).replace("Config, edit", "Odd, edit"),
            5,
            f"{IMPORT}KeyError: 'odd' (at my_plugin.py:5)",
        ),
        ("\x00", 1, "is no Python: source code string cannot contain null bytes"),
    ],
)
def test_whatever_goes_wrong_in_an_import_is_a_problem_with_file_and_line(
    project: OnDisk, capfd: pytest.CaptureFixture[str], text: str, line: int, said: str
) -> None:
    in_folder(project, "my_plugin", text)
    (problem,) = refused(project, ("my-plugin", "1.2.0"))
    name = "plugins/my_plugin.py"
    wanted = f"{name}:{line}: allowedPlugins[0]: plugin my-plugin ({name}) {said}"
    assert problem[: len(wanted)] == wanted
    assert capfd.readouterr() == ("", "")


SAYS = """
import os, sys, warnings
print("hello")
warnings.warn("old", FutureWarning)
os.system("echo child")
"""


def test_what_a_plugin_says_while_it_is_imported_is_a_warning_and_in_no_output(
    project: OnDisk, capfd: pytest.CaptureFixture[str]
) -> None:
    in_folder(project, "my_plugin", GOOD + SAYS)
    documents = Documents(settings(("my-plugin", "1.2.0")))
    with registered(documents, project.root) as registry:
        (remark,) = registry.remarks
        os.system("echo another")
    assert (remark.severity, remark.path, remark.what) == (
        "warning",
        "allowedPlugins[0]",
        "plugin my-plugin (plugins/my_plugin.py) says while it is imported: hello; FutureWarning: old (at "
        "my_plugin.py:13)",
    )
    print("of the command")
    assert capfd.readouterr() == ("of the command\n", "child\nanother\n")


def test_a_module_of_the_project_needs_no_version_and_a_package_does(
    project: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_folder(project, "mine", GOOD.replace("my-plugin", "mine").replace("1.2.0", "1.3.0"))
    site = OnDisk(tmp_path / "site")
    site.write("acme_one.py", GOOD)
    as_package(site.root, monkeypatch, {"my-plugin": "acme_one:PLUGIN"})
    registry = found(project, ("mine", None), ("my-plugin", None))
    assert registry.get("mine") is not None
    assert [problem.what for problem in registry.unusable.values()] == [
        "plugin my-plugin (acme-plugins 1.2.0, acme_one:PLUGIN) is version 1.2.0, and the stack allows no "
        "version of it"
    ]


def test_an_entry_point_that_leads_nowhere_names_no_line_of_the_importer(
    project: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_package(tmp_path / "site", monkeypatch, {"one": "nothing_of_that_name:PLUGIN", "two": "json:PLUGIN"})
    assert refused(project, ("one", "1.2.0"), ("two", "1.2.0")) == [
        "allowedPlugins[0]: plugin one (acme-plugins 1.2.0, nothing_of_that_name:PLUGIN) cannot be imported: "
        "ModuleNotFoundError: No module named 'nothing_of_that_name'. Mend the plugin",
        "allowedPlugins[1]: plugin two (acme-plugins 1.2.0, json:PLUGIN) cannot be imported: "
        "AttributeError: module 'json' has no attribute 'PLUGIN'. Mend the plugin",
    ]


def test_a_package_with_broken_metadata_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    as_package(site, monkeypatch, {"my-plugin": "acme:PLUGIN"})
    broken = OnDisk(site)
    broken.write("broken-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    broken.write("broken-1.dist-info/entry_points.txt", "[inferfleet.plugins]\na line without a value\n")
    broken.write("nameless-1.dist-info/entry_points.txt", "[inferfleet.plugins]\nnameless = acme:PLUGIN\n")
    assert [(point.name, point.origin, point.version) for point in installed()] == [
        ("my-plugin", "acme-plugins 1.2.0, acme:PLUGIN", "1.2.0")
    ]


def test_only_regular_files_inside_of_the_project_are_run(project: OnDisk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(GOOD)
    project.write("plugins/.keep", "")
    (project.root / "plugins/my_plugin.py").symlink_to(outside)
    (problem,) = refused(project, ("my-plugin", "1.2.0"))
    assert "cannot be read: the file is outside of" in problem
    (project.root / "plugins/my_plugin.py").unlink()
    (project.root / "plugins/.keep").unlink()
    (project.root / "plugins").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/my_plugin.py").write_text(GOOD)
    (project.root / "plugins").symlink_to(tmp_path / "elsewhere")
    (problem,) = refused(project, ("my-plugin", "1.2.0"))
    assert "cannot be read: the file is outside of" in problem


def test_names_that_lead_nowhere_or_to_several_plugins_are_told_at_once(
    project: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_folder(project, "my_plugin", GOOD)
    as_package(tmp_path / "site", monkeypatch, {"my-plugin": "acme_three:PLUGIN"})
    assert refused(project, ("my-plugin", "1.2.0"), ("my-plugn", "1"), ("accelerator", "1.0.0")) == [
        "allowedPlugins[0]: plugin my-plugin is in plugins/my_plugin.py and in acme-plugins 1.2.0, "
        "acme_three:PLUGIN. Remove or rename one of them",
        "allowedPlugins[1]: plugin my-plugn is neither in plugins/my_plugn.py nor an entry point of the "
        "group inferfleet.plugins. Did you mean my-plugin?",
        "allowedPlugins[2]: plugin accelerator comes with inferfleet and is always allowed. "
        "Remove it from the list",
    ]


def test_the_built_in_plugins_import_nothing_of_ours_but_the_door() -> None:
    imported: set[Any] = set()
    room = ROOT / "inferfleet/plugins/builtin"
    for file in room.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("inferfleet"):
                imported |= (
                    {node.module}
                    if node.module != "inferfleet.plugins"
                    else {f"{node.module}.{alias.name}" for alias in node.names}
                )
                if file.parent != room:
                    # Modules of a plugin that is a folder know each other.
                    own = f"inferfleet.plugins.builtin.{file.parent.name}"
                    imported = {name for name in imported if name.rpartition(".")[0] != own and name != own}
    assert imported == {"inferfleet.plugins.api"}
