"""A verb works on a stack that exists, and says so when there is none."""

import errno
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inferfleet.documents import InvalidDocuments
from sandbox.problem import SandboxProblem
from sandbox.verbs.sandbox import app
from sandbox.verbs.stack import stack_documents, stack_places


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks" / "local").mkdir(parents=True)
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text("config: {inferfleet:documents: elsewhere}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    return tmp_path


@pytest.mark.parametrize(
    "verb",
    [
        ("kill", "qwen"),
        ("logs", "qwen"),
        ("stop", "east"),
        ("start", "east"),
        ("chat",),
        ("status",),
        ("up",),
    ],
)
def test_a_stack_that_does_not_exist_is_named_with_those_that_do(root: Path, verb: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*verb, "--stack", "staging"])
    assert done.exit_code == 1
    assert f"there is no stack 'staging' in {root / 'stacks'}. Known stacks: local, prod" in done.output


def test_a_mistyped_stack_gets_the_nearest_name(root: Path) -> None:
    with pytest.raises(SandboxProblem, match=r"there is no stack 'locla'.*Did you mean local\?"):
        stack_places(root, "locla")


def test_a_stack_without_documents_exists_while_its_sandbox_does(root: Path) -> None:
    (root / ".sandbox" / "gone").mkdir(parents=True)
    assert stack_places(root, "gone").folder == root / ".sandbox" / "gone"


def test_documents_are_read_from_the_folder_of_the_settings(root: Path) -> None:
    with pytest.raises(SandboxProblem, match=f"does not exist: {root / 'elsewhere'}"):
        stack_documents(root, "prod")
    (root / "elsewhere").mkdir()
    assert stack_documents(root, "prod").clusters == {}


def test_settings_that_are_no_yaml_are_a_problem(root: Path) -> None:
    (root / "stacks" / "Pulumi.prod.yaml").write_text("config: [")
    with pytest.raises(InvalidDocuments):
        stack_documents(root, "prod")


@pytest.mark.parametrize("name", ["/", "..", "../elsewhere", "link"])
def test_documents_outside_of_the_project_are_not_read(root: Path, name: str) -> None:
    (root.parent / "elsewhere").mkdir(exist_ok=True)
    (root / "link").symlink_to(root.parent / "elsewhere")
    (root / "stacks" / "Pulumi.prod.yaml").write_text(f"config: {{inferfleet:documents: {name}}}\n")
    with pytest.raises(SandboxProblem, match="is outside of the project"):
        stack_documents(root, "prod")


@pytest.mark.parametrize("verb", [("status",), ("env",), ("cloud", "show")])
def test_json_is_printed_also_of_early_failures(root: Path, verb: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*verb, "--stack", "st/aging", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, [*told]) == (1, ["problems"])
    assert [problem["what"] for problem in told["problems"]] == [
        "stack 'st/aging' is not a stack name: letters, digits, '-', '_' and '.', at most 100. "
        "Pass --stack NAME."
    ]


def test_what_documents_say_cannot_act_on_a_terminal_or_a_ci_system(root: Path) -> None:
    hostile = '"::set-output \\e[31m\\u202e"'
    (root / "stacks" / "local" / "a.yaml").write_text(f"apiVersion: {hostile}\nkind: x\n")
    done = CliRunner().invoke(app, ["up"])
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert all(line.isprintable() and not line.startswith("::") for line in lines), lines


def test_a_file_that_cannot_be_written_is_named_without_a_traceback(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root / "x"))

    monkeypatch.setattr("sandbox.verbs.sandbox.clusters.down", lambda *_, **__: full())
    done = CliRunner().invoke(app, ["down"])
    assert done.exit_code == 1
    assert f"{root / 'x'}: No space left on device. Check that it exists" in done.output
