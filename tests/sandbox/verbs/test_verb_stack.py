"""A verb works on a stack that exists, and says so when there is none."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from inferfleet.api import InvalidDocuments
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
