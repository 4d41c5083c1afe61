import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from small_project import Project
from typer.main import get_command

from inferfleet.cli.main import VERBS, app
from inferfleet.documents.loading.schema import json_schema
from inferfleet.plugins.registry import MODULES, builtin


def test_schema_is_the_schema_of_the_documents(project: Project) -> None:
    plugins = {plugin.name: plugin.config for plugin in builtin().plugins}
    assert project.run("schema").json == json_schema(plugins)


def test_outside_of_a_project_a_stack_cannot_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    inside = Project(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "elsewhere")
    ran = inside.run("plan")
    assert (ran.code, "contains a Pulumi.yaml" in ran.err) == (1, True)
    assert inside.run("plan", "../project/stacks", "../project/classes").code == 0


def test_help_names_the_exit_codes(project: Project) -> None:
    for words in (("--help",), ("plan", "--help")):
        said = " ".join(project.run(*words).out.split())
        assert "3 replicas have no place" in said


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-c", "from inferfleet.cli.main import main; main()", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process


def test_a_reader_that_goes_away_is_no_error_to_talk_about(project: Project) -> None:
    with command("render") as process:
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        assert (process.stderr.read(), process.wait()) == ("", 141)


def test_an_output_without_room_is_named(project: Project) -> None:
    program = [sys.executable, "-c", "from inferfleet.cli.main import main; main()", "schema"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stderr.splitlines()[0][:40]) == (
        1,
        "the output: No space left on device. Che",
    )


def test_verbs_other_than_sandbox_need_neither_pulumi_nor_a_kubernetes_client(project: Project) -> None:
    program = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from inferfleet.cli.main import app\n"
        "for words in (['plan'], ['validate'], ['render'], ['explain', 'qwen'], ['classes'], ['schema']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0, words\n"
        "import json\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(json.dumps(sorted(roots & {'pulumi', 'pulumi_kubernetes', 'kubernetes', 'sandbox'})))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stderr, json.loads(ran.stdout)) == ("", [])


def test_the_list_of_verbs_imports_none_and_says_what_the_help_of_each_begins_with() -> None:
    program = "import sys; from inferfleet.cli.main import main\ntry: main()\nfinally: print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    modules = listed.stdout.splitlines()[-1].split()
    assert [name for name in modules if name.startswith(("inferfleet.cli.verbs.", "pydantic"))] == []
    group: Any = get_command(app)
    for name, (_, summary) in VERBS.items():
        said = " ".join(group.get_command(None, name).help.split())
        assert said.startswith(summary), name


def test_a_stack_that_names_no_plugin_imports_none() -> None:
    assert builtin(()).names == builtin().names
    assert builtin(["istio"]).plugins == tuple(
        plugin for plugin in builtin().plugins if plugin.name == "istio"
    )
    assert list(MODULES) == [plugin.name for plugin in builtin().plugins]
