"""The guide to plugins works as it is written: its files in a new project, its commands, what they print."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from fleet_of_one import OnDisk
from packaging.requirements import Requirement

from inferfleet.plugins.registry import builtin

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/guides/plugins.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
# A block whose first line is the comment `# path` is a file.
FILES = {
    named[1]: text for _, text in BLOCKS if (named := re.match(r"# ([\w./-]+\.(?:py|yaml|toml))\n", text))
}
CONSOLES = [text for kind, text in BLOCKS if kind == "console"]
SETTINGS = "stacks/Pulumi.local.yaml"
# What the guide says of a fresh clone.
NO_LOCK = (
    "warning: there is no stacks/local/placement.lock, so all replicas are placed as if none ran yet. Before "
    "the first update this is as it should be; else restore the file from version control\n\n1 warning\n"
)


@pytest.fixture
def project(tmp_path: Path) -> OnDisk:
    """What a fresh clone has of the stack `local`, with the files of the guide."""
    made = OnDisk(tmp_path / "project")
    made.write("Pulumi.yaml", "name: inferfleet\n")
    shutil.copytree(ROOT / "classes", made.root / "classes")
    for name in ("clusters", "models"):
        made.write(f"stacks/local/{name}.yaml", (ROOT / f"stacks/local/{name}.yaml").read_text())
    for name, text in FILES.items():
        made.write(name, text)
    made.write(SETTINGS, (ROOT / SETTINGS).read_text() + FILES[SETTINGS].partition("config:\n")[2])
    return made


def run(project: OnDisk, command: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    program, *words = command.split()
    start = {
        "inferfleet": ["-c", "from inferfleet.cli.start import main; main()"],
        "pytest": ["-m", "pytest", "-p", "no:cacheprovider"],
    }[program]
    paths = [str(ROOT), *([str(path)] if path else [])]
    return subprocess.run(
        [sys.executable, *start, *words],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_guide_has_the_files_and_commands_that_this_test_knows() -> None:
    assert [*FILES] == [
        "plugins/zone_spread.py",
        "stacks/Pulumi.local.yaml",
        "tests/test_zone_spread.py",
        "acme-plugins/pyproject.toml",
    ]
    assert [command for text in CONSOLES for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE)] == [
        "inferfleet plugins --stack local",
        "inferfleet explain qwen3-8b --stack local",
        "pytest -q tests/test_zone_spread.py",
    ]


def pattern(shown: str) -> str:
    """A regular expression for what the guide shows, in which `...` stands for anything."""
    return ".*".join(re.escape(part) for part in shown.strip("\n").split("..."))


def test_every_command_of_the_guide_prints_what_the_guide_shows(project: OnDisk) -> None:
    for part in (part for text in CONSOLES for part in re.split(r"^\$ ", text, flags=re.MULTILINE) if part):
        command, _, shown = part.partition("\n")
        ran = run(project, command)
        assert (ran.returncode, ran.stderr.replace(NO_LOCK, "")) == (0, "")
        assert re.fullmatch(pattern(shown), ran.stdout.strip("\n"), re.DOTALL), ran.stdout


@pytest.mark.parametrize("verb", ["validate", "render", "schema"])
def test_the_verbs_that_the_guide_names_work(project: OnDisk, verb: str) -> None:
    ran = run(project, f"inferfleet {verb} --stack local")
    assert (ran.returncode, ran.stderr.replace(NO_LOCK, "")) == (0, "")


def test_without_the_allow_list_the_module_is_not_run(project: OnDisk) -> None:
    settings = (project.root / SETTINGS).read_text()
    project.write(SETTINGS, settings.replace("{name: zone-spread}", "{name: other}"))
    project.write("plugins/zone_spread.py", "raise SystemExit('it ran')\n")
    ran = run(project, "inferfleet validate --stack local")
    assert ran.returncode == 1
    assert "it ran" not in ran.stderr
    line = settings[: settings.index("- name: zone-spread")].count("\n") + 1
    assert (
        f"{SETTINGS}:{line}: plugins[0].name: plugin zone-spread (plugins/zone_spread.py) is not allowed in "
        "this stack. Review it, and add {name: zone-spread} to inferfleet:allowedPlugins"
    ) in ran.stderr


def test_plugins_ends_with_1_where_an_allowed_plugin_cannot_be_used(project: OnDisk) -> None:
    (project.root / "plugins/zone_spread.py").write_text("raise ValueError('broken')\n")
    ran = run(project, "inferfleet plugins --stack local --json")
    told = json.loads(ran.stdout)
    assert (ran.returncode, [problem["what"] for problem in told["problems"]]) == (
        1,
        [
            "plugin zone-spread (plugins/zone_spread.py) cannot be imported: ValueError: broken (at "
            "zone_spread.py:1)"
        ],
    )
    assert [plugin["name"] for plugin in told["plugins"]] == list(builtin().names)


def test_the_package_can_be_installed_beside_the_inferfleet_of_a_clone_and_is_allowed_before() -> None:
    (install,) = re.findall(r"^pip install (.*)$", GUIDE, re.MULTILINE)
    (required,) = tomllib.loads(FILES["acme-plugins/pyproject.toml"])["project"]["dependencies"]
    taken = Requirement(required).specifier.contains(version("inferfleet"), prereleases=True)
    assert taken or "--no-deps" in install.split()
    assert GUIDE.index("`{name: zone-spread, version: 1.0.0}`") < GUIDE.index("pip install")


def test_the_same_plugin_comes_from_a_package(project: OnDisk, tmp_path: Path) -> None:
    packaging = tomllib.loads(FILES["acme-plugins/pyproject.toml"])["project"]
    site = OnDisk(tmp_path / "site")
    site.write("zone_spread.py", FILES["plugins/zone_spread.py"])
    info = f"{packaging['name'].replace('-', '_')}-{packaging['version']}.dist-info"
    site.write(
        f"{info}/METADATA",
        f"Metadata-Version: 2.1\nName: {packaging['name']}\nVersion: {packaging['version']}\n",
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items())
        for group, of in packaging["entry-points"].items()
    )
    site.write(f"{info}/entry_points.txt", points)
    (project.root / "plugins/zone_spread.py").unlink()
    settings = (project.root / SETTINGS).read_text()
    project.write(SETTINGS, settings.replace("{name: zone-spread}", "{name: zone-spread, version: 1.0.0}"))
    ran = run(project, "inferfleet plugins --stack local", path=site.root)
    assert (ran.returncode, ran.stderr) == (0, "")
    (origin,) = re.findall(r"# (zone-spread .*)", GUIDE)
    assert origin == "zone-spread 1.0.0 (acme-plugins 1.0.0, zone_spread:PLUGIN)"
    assert origin in ran.stdout
    assert run(project, "inferfleet validate --stack local", path=site.root).returncode == 0
