"""The workflows that a project comes with: their own steps, run in a clone of such a project."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed import ROOT
from workflows import BASH, FOLDER, GH, command, programs_in

from inferfleet.cli.verbs.new import project_files

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")


@dataclass
class Clone:
    """A new project at a commit, as it is checked out for a pull request to `main`."""

    root: Path
    environment: dict[str, str]

    def git(self, *words: str) -> None:
        subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, *words: str, **more: str) -> Any:
        environment = self.environment | more
        return subprocess.run(
            words, cwd=self.root, env=environment, capture_output=True, text=True, timeout=60
        )

    def step(self, file: str, job: str, name: str, **more: str) -> Any:
        return self.run(*command(self.root, file, job, name), **more)

    def output(self, name: str) -> str:
        lines = Path(self.environment["GITHUB_OUTPUT"]).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)[name]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    programs = programs_in(tmp_path / "bin", gh=GH, pip='#!/bin/sh\ncat "$4" > "$ASKED"\n')
    made = Clone(
        tmp_path / "fleet",
        {
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(tmp_path),
            "GITHUB_BASE_REF": "main",
            "GITHUB_ENV": str(tmp_path / "env"),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_REPOSITORY": "acme/fleet",
            "ASKED": str(tmp_path / "asked"),
            "NUMBER": "7",
        },
    )
    made.root.mkdir()
    for name, text in project_files("fleet", "A fleet").items():
        made.write(name, text)
    made.git("init")
    made.git("add", "--all")
    made.git("commit", "--message", "begin")
    made.git("update-ref", "refs/remotes/origin/main", "HEAD")
    return made


def test_a_pull_request_has_its_digest_without_credentials(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    digested = clone.step("inferfleet.yaml", "digest", "Digest")
    assert (digested.returncode, clone.output("code")) == (0, "0"), digested.stderr
    text = (clone.root / "digest/digest.md").read_text()
    assert text.startswith("<!-- inferfleet digest -->")
    assert "- update `Deployment east/ml/qwen3-8b-decode-l4`: `spec.replicas`" in text.splitlines()
    assert Path(clone.environment["GITHUB_STEP_SUMMARY"]).read_text() == text
    assert clone.step("inferfleet.yaml", "digest", "Problems at their lines").returncode == 0
    assert clone.step("inferfleet.yaml", "digest", "Result", CODE=clone.output("code")).returncode == 0


def test_a_fork_has_the_same_digest_as_a_branch_of_the_repository(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    texts = []
    for fork in ("false", "true"):
        clone.step("inferfleet.yaml", "digest", "Install", FORK=fork)
        told = Path(clone.environment["GITHUB_ENV"])
        variables = dict(line.split("=") for line in told.read_text().splitlines()) if told.exists() else {}
        assert variables == ({"INFERFLEET_PLUGINS": "built-in"} if fork == "true" else {})
        assert clone.step("inferfleet.yaml", "digest", "Digest", **variables).returncode == 0
        texts.append(
            [(clone.root / "digest" / f"digest.{kind}").read_text() for kind in ("md", "json", "sarif")]
        )
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("fork", "installed", "variables"),
    [("false", "evil\n", ""), ("true", "", "INFERFLEET_PLUGINS=built-in\n")],
)
def test_packages_and_plugins_of_a_fork_are_not_run(
    clone: Clone, fork: str, installed: str, variables: str
) -> None:
    own = (clone.root / "requirements.txt").read_text()
    clone.write("requirements.txt", "evil\n")
    assert clone.step("inferfleet.yaml", "digest", "Install", FORK=fork).returncode == 0
    Path(clone.environment["GITHUB_ENV"]).touch()
    assert Path(clone.environment["ASKED"]).read_text() == (installed or own)
    assert Path(clone.environment["GITHUB_ENV"]).read_text() == variables


def test_the_action_of_the_repository_does_what_the_workflow_does(clone: Clone) -> None:
    """The steps that other tests run; those before them check out the project and set up Python."""
    workflow = yaml.safe_load((clone.root / FOLDER / "inferfleet.yaml").read_text())
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    steps = [
        {"shell": "bash"} | step if "run" in step else step for step in workflow["jobs"]["digest"]["steps"]
    ]
    assert action["runs"]["steps"] == steps[2:]


def test_problems_are_annotations_at_their_lines_and_fail_the_job(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: -1")
    assert clone.step("inferfleet.yaml", "digest", "Digest").returncode == 0
    told = clone.step("inferfleet.yaml", "digest", "Problems at their lines").stdout
    assert "::error file=stacks/local/models.yaml,line=5::" in told
    assert clone.step("inferfleet.yaml", "digest", "Result", CODE=clone.output("code")).returncode == 1


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", "api --silent --method POST repos/acme/fleet/issues/7/comments --field body=@digest/digest.md"),
        (
            "41",
            "api --silent --method PATCH repos/acme/fleet/issues/comments/41 --field body=@digest/digest.md",
        ),
    ],
)
def test_the_comment_is_written_once_and_then_updated(clone: Clone, written: str, asked: str) -> None:
    clone.write("digest/digest.md", "<!-- inferfleet digest -->\n")
    clone.write("digest/number", "7\n")
    places = {"HEAD": "abc", "HEAD_IN_GITHUB": "abc", "WRITTEN": written}
    assert clone.step("inferfleet-comment.yaml", "comment", "Comment", **places).returncode == 0
    assert Path(clone.environment["ASKED"]).read_text().splitlines()[-1] == asked


def test_no_comment_is_written_where_the_pull_request_is_not_of_this_commit(clone: Clone) -> None:
    clone.write("digest/digest.md", "<!-- inferfleet digest -->\n")
    clone.write("digest/number", "7; rm -rf /\n")
    done = clone.step("inferfleet-comment.yaml", "comment", "Comment", HEAD="abc", HEAD_IN_GITHUB="def")
    assert (done.returncode, done.stdout) == (0, "pull request 7 has another commit by now\n")
    assert Path(clone.environment["ASKED"]).read_text() == "api repos/acme/fleet/pulls/7 --jq .head.sha\n"


def test_gitlab_has_the_same_digest_and_its_own_list_of_problems(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: -1")
    script = yaml.safe_load((clone.root / ".gitlab-ci.yml").read_text())["digest"]["script"][-1]
    done = clone.run(*BASH, script, CI_MERGE_REQUEST_DIFF_BASE_SHA="origin/main", GITLAB_TOKEN="")
    assert done.returncode == 1
    (problem,) = (
        problem
        for problem in json.loads((clone.root / "digest/problems.json").read_text())
        if problem["severity"] == "critical"
    )
    assert problem["location"] == {"path": "stacks/local/models.yaml", "lines": {"begin": 5}}


def test_jobs_with_credentials_are_bound_to_environments_and_others_have_none(clone: Clone) -> None:
    workflows = {
        path.name: yaml.safe_load(path.read_text()) for path in sorted((clone.root / FOLDER).iterdir())
    }
    jobs = {
        (name, job): (one.get("environment"), sorted(one.get("permissions", workflow["permissions"])))
        for name, workflow in workflows.items()
        for job, one in workflow["jobs"].items()
    }
    deploy = "inferfleet-deploy.yaml"
    assert jobs == {
        ("inferfleet-comment.yaml", "comment"): (None, ["actions", "pull-requests"]),
        (deploy, "drift"): ("preview", ["contents", "id-token", "issues"]),
        (deploy, "preview"): ("preview", ["contents", "id-token", "pull-requests"]),
        (deploy, "up"): ("production", ["contents", "id-token"]),
        ("inferfleet.yaml", "digest"): (None, ["contents"]),
    }
    texts = {path.name: path.read_text() for path in (clone.root / FOLDER).iterdir()}
    assert [name for name, text in texts.items() if "secrets." in text] == [deploy]
    update = [step for step in workflows[deploy]["jobs"]["up"]["steps"] if step.get("name") == "Update"]
    assert update[0]["run"].startswith('pulumi up --stack "$STACK" --yes')
