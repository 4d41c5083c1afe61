"""The guide to plugins works as it is written: its files in a new project, its commands, what they print."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, LOCK, SERVICE, OnDisk, together

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/guides/plugins.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
# A block whose first line is the comment `# path` is a file.
FILES = {
    named[1]: text for _, text in BLOCKS if (named := re.match(r"# ([\w./-]+\.(?:py|yaml|toml))\n", text))
}
CONSOLES = [text for kind, text in BLOCKS if kind == "console"]


@pytest.fixture
def project(tmp_path: Path) -> OnDisk:
    made = OnDisk(tmp_path / "project")
    made.write("Pulumi.yaml", "name: inferfleet\n")
    made.write("classes/l4.yaml", CLASS)
    made.write("stacks/prod/fleet.yaml", together(CLUSTER, DEPLOYMENT, SERVICE))
    made.write("stacks/prod/placement.lock", LOCK)
    for name, text in FILES.items():
        made.write(name, text)
    return made


def run(project: OnDisk, command: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    program, *words = command.split()
    start = {
        "inferfleet": ["-c", "from inferfleet.cli.start import main; main()"],
        "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
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
        "stacks/Pulumi.prod.yaml",
        "tests/test_zone_spread.py",
        "pyproject.toml",
    ]
    assert [command for text in CONSOLES for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE)] == [
        "inferfleet plugins",
        "inferfleet explain qwen",
        "inferfleet validate",
        "pytest tests/test_zone_spread.py",
    ]


def test_every_command_of_the_guide_prints_what_the_guide_says(project: OnDisk) -> None:
    for command, *lines in (
        part.strip().splitlines() for text in CONSOLES for part in text.split("$ ") if part
    ):
        ran = run(project, command)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [line for line in lines if line not in ran.stdout] == []


def test_without_the_allow_list_the_module_is_not_run(project: OnDisk) -> None:
    settings = FILES["stacks/Pulumi.prod.yaml"]
    project.write("stacks/Pulumi.prod.yaml", settings.replace("zone-spread, version", "other, version"))
    project.write("plugins/zone_spread.py", "raise SystemExit('it ran')\n")
    ran = run(project, "inferfleet validate")
    assert ran.returncode == 1
    assert "it ran" not in ran.stderr
    assert (
        "stacks/Pulumi.prod.yaml:6: plugins[0].name: plugin zone-spread (plugins/zone_spread.py) is not "
        "allowed in this stack. Review it, and add {name: zone-spread, version: ...} to "
        "inferfleet:allowedPlugins"
    ) in ran.stderr


def test_the_same_plugin_comes_from_a_package(project: OnDisk, tmp_path: Path) -> None:
    packaging = tomllib.loads(FILES["pyproject.toml"])["project"]
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
    ran = run(project, "inferfleet plugins", path=site.root)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "zone-spread 1.0.0 (acme-plugins 1.0.0, zone_spread:PLUGIN)" in ran.stdout
    assert run(project, "inferfleet validate", path=site.root).returncode == 0
