"""`inferfleet new`: a project of one's own, and the template that it is made from."""

import json
import re
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from small_project import Ran
from typer.testing import CliRunner

from inferfleet.cli.main import VERBS, app
from inferfleet.cli.verbs.new import project_files, requirement_of

ROOT = Path(__file__).parents[2]
FILES = {
    ".github/dependabot.yml",
    ".github/workflows/inferfleet-comment.yaml",
    ".github/workflows/inferfleet-deploy.yaml",
    ".github/workflows/inferfleet-lock.yaml",
    ".github/workflows/inferfleet.yaml",
    ".gitignore",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    "Pulumi.yaml",
    "README.md",
    "__main__.py",
    "requirements.txt",
    "stacks/Pulumi.local.yaml",
    "stacks/local/clusters.yaml",
    "stacks/local/models.yaml",
}
VALID = "local: valid: classes 65, clusters 1, deployments 1, services 1\n"


def run(*words: str) -> Ran:
    result = CliRunner().invoke(app, list(words), prog_name="inferfleet")
    return Ran(result.exit_code, result.stdout, result.stderr)


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_new_project_is_whole_and_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("new", "fleet")
    written = "fleet: project fleet is written. Its README.md says how to begin."
    assert (ran.code, ran.out.splitlines()[0], ran.err) == (0, written, "")
    monkeypatch.chdir(tmp_path / "fleet")
    ran = run("validate", "--all")
    assert (files(Path()), ran.code, ran.out) == (FILES, 0, VALID)


def test_the_project_names_itself_and_no_template(tmp_path: Path) -> None:
    assert run("new", str(tmp_path), "--name", "chat", "--description", "Chat for all").code == 0
    assert yaml.safe_load((tmp_path / "Pulumi.yaml").read_text()) == {
        "name": "chat",
        "description": "Chat for all",
        "runtime": {"name": "python", "options": {"virtualenv": ".venv"}},
        "stackConfigDir": "stacks",
    }
    assert [file for file in files(tmp_path) if "${PROJECT}" in (tmp_path / file).read_text()] == []


@pytest.mark.parametrize(
    ("version", "origin", "line"),
    [
        ("0.2.0", None, "inferfleet==0.2.0"),
        ("0.2.0", {"url": "file:///tmp/x.whl", "archive_info": {}}, "inferfleet==0.2.0"),
        ("0.2.1.dev7+g1c5d883", None, None),
        ("0.0.0", None, None),
        ("0.2.1.dev7+g1c5d883", {"url": "file:///src", "dir_info": {"editable": True}}, None),
        (
            "0.2.1.dev7+g1c5d883",
            {
                "url": "https://git.example.com/acme/inferfleet",
                "vcs_info": {"vcs": "git", "commit_id": "1c5d883"},
            },
            "inferfleet @ git+https://git.example.com/acme/inferfleet@1c5d883",
        ),
        (
            "0.2.1.dev7+g1c5d883",
            {
                "url": "https://me:secret@git.example.com/inferfleet",
                "vcs_info": {"vcs": "git", "commit_id": "1"},
            },
            None,
        ),
        (
            "0.1.0",
            {"url": "https://TOKEN@host/o/r.git", "vcs_info": {"vcs": "git", "commit_id": "c" * 40}},
            "inferfleet==0.1.0",
        ),
        (
            "0.1.1.dev2+g1234",
            {"url": "https://TOKEN@host/o/r.git", "vcs_info": {"vcs": "git", "commit_id": "c" * 40}},
            None,
        ),
    ],
)
def test_the_project_requires_a_release_or_the_commit_that_runs(
    version: str, origin: dict[str, object] | None, line: str | None
) -> None:
    assert requirement_of(version, json.dumps(origin) if origin else None) == line


@pytest.mark.parametrize("line", ["inferfleet==0.2.0", None])
def test_what_no_index_has_is_told_and_fails_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str | None
) -> None:
    """No name of a package that a stranger may have registered is left in the file."""
    monkeypatch.setattr("inferfleet.cli.verbs.new.requirement_of", lambda *_: line)
    ran = run("new", str(tmp_path), "--name", "fleet")
    (required,) = (
        text for text in (tmp_path / "requirements.txt").read_text().splitlines() if not text.startswith("#")
    )
    assert required == (line or "inferfleet @ git+https://write-where-it-comes-from.invalid/inferfleet")
    assert ("requirements.txt: write where inferfleet comes from" in ran.out) == (line is None)


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    ran = run("new", str(tmp_path), "--name", "fleet")
    assert (ran.code, files(tmp_path), (tmp_path / "README.md").read_text()) == (1, {"README.md"}, "mine")
    assert "README.md already, and nothing is overwritten. Name a new folder" in ran.err


def test_a_file_is_no_folder_for_a_project(tmp_path: Path) -> None:
    (tmp_path / "fleet").touch()
    assert "fleet is a file, not a folder. Name a new folder" in run("new", str(tmp_path / "fleet")).err


@pytest.mark.parametrize(
    "words",
    [
        ("--name", "a/b"),
        ("--name", ""),
        ("--name", "-x"),
        ("--description", "a: b"),
        ("--description", "[x"),
        ("--description", "a\nb"),
    ],
)
def test_what_pulumi_yaml_cannot_have_is_refused(tmp_path: Path, words: tuple[str, str]) -> None:
    assert (run("new", str(tmp_path / "x"), *words).code, files(tmp_path)) == (1, set())


def test_the_template_has_the_program_and_the_runtime_of_this_checkout() -> None:
    template = project_files(
        "inferfleet", "A few short documents become a running, routed GPU inference fleet."
    )
    assert template["__main__.py"] == (ROOT / "__main__.py").read_text()
    assert yaml.safe_load(template["Pulumi.yaml"]) == yaml.safe_load((ROOT / "Pulumi.yaml").read_text())


def test_the_hook_for_pre_commit_is_a_command_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *words = hook["entry"].split()
    run("new", str(tmp_path), "--name", "fleet")
    monkeypatch.chdir(tmp_path)
    assert (program, run(*words).code) == ("inferfleet", 0)
    own = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]
    assert own["entry"] == f".venv/bin/{hook['entry']}"


def test_without_its_packages_the_sandbox_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "sandbox", ("sandbox.of_nobody", ""))
    ran = run("sandbox", "up", "--stack", "local")
    assert (ran.code, ran.err) == (
        1,
        "the sandbox needs packages that are not installed, such as sandbox.of_nobody. "
        "Install them: pip install 'inferfleet[sandbox]'\n\n1 problem\n",
    )


@pytest.mark.parametrize(
    ("written", "with_sandbox"),
    [
        ("inferfleet==0.2.0", "inferfleet[gke,sandbox]==0.2.0"),
        ("inferfleet[gke]==0.2.0", "inferfleet[gke,sandbox]==0.2.0"),
        (
            "inferfleet @ git+https://h/o/inferfleet@0",
            "inferfleet[gke,sandbox] @ git+https://h/o/inferfleet@0",
        ),
    ],
)
def test_the_readme_installs_the_sandbox_from_where_the_project_has_inferfleet(
    tmp_path: Path, written: str, with_sandbox: str
) -> None:
    """In the requirement itself: an extra apart from it is looked up in an index by pip 23.0 and 23.2."""
    text = project_files("fleet", "Ours")["README.md"]
    (line,) = re.findall(r"^sed .*(?= > .venv/sandbox.txt$)", text, re.MULTILINE)
    (tmp_path / "requirements.txt").write_text(f"# Where inferfleet comes from\n{written}\n")
    made = subprocess.run(shlex.split(line), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stdout == f"# Where inferfleet comes from\n{with_sandbox}\n"


def test_the_version_is_printed_and_nothing_else_is_done() -> None:
    assert run("--version") == Ran(0, f"inferfleet {version('inferfleet')}\n", "")


@pytest.mark.parametrize("name", [".", "..", "-x", ""])
def test_a_name_that_is_a_folder_of_every_place_is_none_of_a_project(tmp_path: Path, name: str) -> None:
    ran = run("new", str(tmp_path), f"--name={name}")
    assert (ran.code, list(tmp_path.iterdir())) == (1, [])
    assert "is no name of a project" in ran.err
