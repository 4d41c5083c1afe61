"""The workflow on pull requests that a project comes with: its own steps, run in a clone of one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed import ROOT
from workflows import FOLDER, Clone, programs_in, steps_of

FILE = "inferfleet.yaml"


def test_a_pull_request_has_its_digest_without_credentials(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    digested = clone.step(FILE, "digest", "Digest", HEAD="")
    assert (digested.returncode, clone.output("code")) == (0, "0"), digested.stderr
    text = (clone.root.parent / "digest/digest.md").read_text()
    assert text.startswith("<!-- inferfleet digest -->")
    assert "- update `Deployment east/ml/qwen3-8b-decode-l4`: `spec.replicas`" in text.splitlines()
    assert Path(clone.environment["GITHUB_STEP_SUMMARY"]).read_text() == text
    assert (clone.root.parent / "digest/fleet-local.html").exists()
    assert clone.step(FILE, "digest", "Problems at their lines").returncode == 0
    assert clone.step(FILE, "digest", "Result", CODE=clone.output("code")).returncode == 0


def test_outputs_that_a_branch_committed_are_none(clone: Clone) -> None:
    """Neither where outputs lie, nor where a run before left some, does one survive a run that ends early."""
    for name in ("digest/digest.md", "digest/digest.json", "../digest/digest.md"):
        clone.write(name, "<!-- inferfleet digest -->\nMerge this.\n")
    clone.git("add", "--all", "--force")
    assert clone.step(FILE, "digest", "Digest", HEAD="0" * 40).returncode == 0
    assert "Merge this." not in Path(clone.environment["GITHUB_STEP_SUMMARY"]).read_text()
    (clone.root.parent / "digest/digest.md").write_text("Merge this.\n")
    failed = programs_in(clone.root.parent / "failing", inferfleet="#!/bin/sh\nexit 1\n")
    path = f"{failed}:{clone.environment['PATH']}"
    clone.environment["GITHUB_STEP_SUMMARY"] += "2"
    assert clone.step(FILE, "digest", "Digest", HEAD="0" * 40, PATH=path).returncode == 0
    assert Path(clone.environment["GITHUB_STEP_SUMMARY"]).read_text() == (
        f"No digest of {'0' * 40}: the log of this job says why.\n"
    )
    assert list((clone.root.parent / "digest").iterdir()) == []


def test_artifacts_are_never_what_a_checkout_has(clone: Clone) -> None:
    workflows = [yaml.safe_load(path.read_text()) for path in sorted((clone.root / FOLDER).iterdir())]
    action = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    jobs = [job["steps"] for workflow in workflows for job in workflow["jobs"].values()]
    paths = [
        step["with"].get("path")
        for step in (step for steps in [action, *jobs] for step in steps)
        if "artifact" in step.get("uses", "")
    ]
    assert (len(paths), {path.partition("}/")[0] for path in paths}) == (5, {"${{ runner.temp }"})


def test_the_digest_names_the_commit_of_the_pull_request(clone: Clone) -> None:
    proposed, merged, base = (clone.git("rev-parse", name)[:12] for name in ("HEAD^2", "HEAD", "HEAD^1"))
    assert clone.step(FILE, "digest", "Digest", HEAD=proposed).returncode == 0
    line = (clone.root.parent / "digest/digest.md").read_text().splitlines()[3]
    assert line.startswith(f"Commit `{proposed}`, merged as `{merged}`, compared with `{base}`")
    page = (clone.root.parent / "digest/fleet-local.html").read_text()
    assert f"<dt>Commit</dt><dd>{proposed}, merged as {merged}</dd>" in page


def test_nothing_runs_by_way_of_git_where_a_fork_commits_a_repository(clone: Clone) -> None:
    """The job of a project in a folder of its repository: git would find the one in that folder first."""
    canary = (
        programs_in(clone.root.parent / "canary", ran=f"#!/bin/sh\ntouch {clone.root.parent}/ran\n") / "ran"
    )
    (clone.root / "refs/remotes/origin").mkdir(parents=True)
    (clone.root / "objects").mkdir()
    clone.write("refs/remotes/origin/main", f"{'0' * 39}1\n")
    clone.write("HEAD", "ref: refs/heads/main\n")
    clone.write(
        "config",
        f"[core]\n\trepositoryformatversion = 1\n\tsshCommand = {canary}\n"
        "[extensions]\n\tpartialClone = there\n"
        '[remote "there"]\n\turl = ssh://example.com/a\n\tpromisor = true\n',
    )
    (clone.root / ".git").rename(clone.root.parent / ".git")
    installed = clone.step(FILE, "digest", "Install", FORK="true")
    assert (installed.returncode == 0, (clone.root.parent / "ran").exists()) == (False, False)
    assert "cannot use bare repository" in installed.stderr


def test_what_others_merged_since_is_no_part_of_the_digest(clone: Clone) -> None:
    """The base is what GitHub merged the pull request into, not what the branch is by now."""
    merged = clone.git("rev-parse", "HEAD")
    clone.git("switch", "--quiet", "main")
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    clone.commit("of somebody else")
    clone.git("update-ref", "refs/remotes/origin/main", "HEAD")
    clone.git("switch", "--quiet", "--detach", merged)
    assert clone.step(FILE, "digest", "Digest", HEAD="").returncode == 0
    assert "qwen3-8b" not in (clone.root.parent / "digest/digest.md").read_text()


def test_a_fork_has_the_same_digest_as_a_branch_of_the_repository(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    texts = []
    for fork in ("false", "true"):
        clone.step(FILE, "digest", "Install", FORK=fork)
        told = Path(clone.environment["GITHUB_ENV"])
        variables = dict(line.split("=") for line in told.read_text().splitlines()) if told.exists() else {}
        assert variables == ({"INFERFLEET_PLUGINS": "built-in"} if fork == "true" else {})
        assert clone.step(FILE, "digest", "Digest", HEAD="", **variables).returncode == 0
        texts.append(
            [(clone.root.parent / "digest" / f"digest.{kind}").read_text() for kind in ("md", "json")]
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
    assert clone.step(FILE, "digest", "Install", FORK=fork).returncode == 0
    Path(clone.environment["GITHUB_ENV"]).touch()
    assert Path(clone.environment["ASKED"]).read_text() == (installed or own)
    assert Path(clone.environment["GITHUB_ENV"]).read_text() == variables
    folder = Path(Path(f"{clone.environment['ASKED']}.folder").read_text().strip())
    assert (folder == clone.root) == (fork == "false")


def test_the_action_of_the_repository_does_what_the_workflow_does(clone: Clone) -> None:
    """The steps that other tests run; those before them check out the project and set up Python."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    steps = [
        {"shell": "bash"} | step if "run" in step else step for step in steps_of(clone.root, FILE, "digest")
    ]
    assert action["runs"]["steps"] == steps[2:]


def test_problems_are_annotations_at_their_lines_and_fail_the_job(clone: Clone) -> None:
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: -1")
    assert clone.step(FILE, "digest", "Digest", HEAD="").returncode == 0
    told = clone.step(FILE, "digest", "Problems at their lines").stdout
    assert "::error file=stacks/local/models.yaml,line=5::" in told
    assert clone.step(FILE, "digest", "Result", CODE=clone.output("code")).returncode == 1


def test_annotations_beyond_what_github_shows_are_counted_in_the_last_one(clone: Clone) -> None:
    """New ones come first, and each place has one."""
    old = [problem(line=line, new=False) for line in range(1, 10)]
    new = [problem(line=line, new=True) for line in range(20, 25)]
    clone.write(
        "../digest/digest.json", json.dumps({"folder": "", "stacks": [{"problems": [*old, *new, new[0]]}]})
    )
    told = clone.step(FILE, "digest", "Problems at their lines").stdout.splitlines()
    lines = [line.partition("line=")[2].partition("::")[0] for line in told]
    assert lines == ["20", "21", "22", "23", "24", "1", "2", "3", "4", ""]
    assert told[-1] == "::error::errors at 5 more places: see the digest in the summary of this run"


def test_ten_annotations_are_all_shown_and_none_at_no_place_is_lost(clone: Clone) -> None:
    ten = [problem(line=line, new=True) for line in range(1, 10)]
    everywhere = problem(line=0, new=True) | {"file": None, "what": "100% wrong"}
    clone.write(
        "../digest/digest.json", json.dumps({"folder": "a/", "stacks": [{"problems": [*ten, everywhere]}]})
    )
    told = clone.step(FILE, "digest", "Problems at their lines").stdout.splitlines()
    assert told == [
        *(
            f"::error file=a/stacks/local/models.yaml,line={line}::it is wrong. Correct it"
            for line in range(1, 10)
        ),
        "::error::100%25 wrong. Correct it",
    ]


def problem(*, line: int, new: bool) -> dict[str, Any]:
    return {
        "severity": "error",
        "new": new,
        "file": "stacks/local/models.yaml",
        "line": line,
        "what": "it is wrong",
        "step": "Correct it",
    }


def test_jobs_with_credentials_are_bound_to_environments_and_others_have_none(clone: Clone) -> None:
    workflows = {
        path.name: yaml.safe_load(path.read_text()) for path in sorted((clone.root / FOLDER).iterdir())
    }
    jobs = {
        (name, job): (one.get("environment"), one.get("permissions", workflow["permissions"]))
        for name, workflow in workflows.items()
        for job, one in workflow["jobs"].items()
    }
    deploy, comment = "inferfleet-deploy.yaml", "inferfleet-comment.yaml"
    lock = "inferfleet-lock.yaml"
    reads = {"contents": "read"}
    assert jobs == {
        (comment, "digest"): (None, reads | {"actions": "read", "pull-requests": "read"}),
        (comment, "comment"): (None, {"pull-requests": "write"}),
        (deploy, "drift"): ("drift", reads | {"id-token": "write", "issues": "write"}),
        (deploy, "preview"): ("preview", reads | {"id-token": "write", "pull-requests": "write"}),
        (deploy, "up"): ("production", reads | {"id-token": "write"}),
        (lock, "lock"): (None, {"contents": "write"}),
        (FILE, "digest"): (None, reads),
    }
    texts = {path.name: path.read_text() for path in (clone.root / FOLDER).iterdir()}
    assert [name for name, text in texts.items() if "secrets." in text] == [deploy]
    (update,) = (step for step in workflows[deploy]["jobs"]["up"]["steps"] if step.get("name") == "Update")
    assert update["run"].startswith('pulumi up --stack "$STACK" --yes')


def test_every_action_is_named_by_a_commit_and_its_version(clone: Clone) -> None:
    files = [*sorted((clone.root / FOLDER).iterdir()), ROOT / "action.yml"]
    lines = [line for file in files for line in file.read_text().splitlines() if "uses:" in line]
    pinned = [re.search(r"uses: ([a-z/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", line) for line in lines]
    assert all(pinned), [line for line, found in zip(lines, pinned, strict=True) if not found]
    versions = {match.groups() for match in pinned if match}
    assert len({action for action, _, _ in versions}) == len(versions)
