"""The workflow that comments pull requests: of theirs it reads documents, and it runs nothing."""

from pathlib import Path

import pytest
import yaml
from workflows import FOLDER, Clone, allow_plugin, programs_in, steps_of

FILE = "inferfleet-comment.yaml"


@pytest.fixture
def proposed(clone: Clone, tmp_path: Path) -> Clone:
    """The checkout of the default branch, in whose repository somebody proposes pull request 7."""
    return propose(clone, tmp_path, plugin=False)


def propose(clone: Clone, tmp_path: Path, *, plugin: bool) -> Clone:
    clone.git("switch", "--quiet", "main")
    clone.git("init", "--quiet", "--bare", str(tmp_path / "github"))
    clone.git("remote", "add", "origin", f"file://{tmp_path / 'github'}")
    clone.git("switch", "--quiet", "--create", "fork")
    clone.edit("stacks/local/models.yaml", "replicas: 1", "replicas: 2")
    clone.write("inferfleet/__init__.py", f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    if plugin:
        allow_plugin(clone)
    clone.write("digest/digest.md", "<!-- inferfleet digest -->\nMerge this.\n")
    clone.write(".gitattributes", "* filter=evil\n")
    clone.git("add", "--force", "digest")
    clone.commit("proposed")
    clone.environment["HEAD"] = clone.git("rev-parse", "HEAD")
    clone.git("switch", "--quiet", "--detach", "main")
    clone.git("merge", "--quiet", "--no-ff", "--message", "merged", "fork")
    clone.git("push", "--quiet", "origin", "main", "HEAD:refs/pull/7/merge")
    clone.git("switch", "--quiet", "main")
    inferfleet = Path(clone.run("bash", "-c", "command -v inferfleet").stdout.strip())
    (tmp_path / "inferfleet").mkdir()
    (tmp_path / "inferfleet/bin").symlink_to(inferfleet.parent)
    clone.environment |= {"NUMBERS_IN_GITHUB": "7", "BRANCH": "mallory:fork"}
    return clone


def test_the_digest_is_made_anew_and_nothing_of_the_pull_request_is_run(
    proposed: Clone, tmp_path: Path
) -> None:
    assert proposed.step(FILE, "digest", "Fetch").returncode == 0
    digested = proposed.step(FILE, "digest", "Digest", INFERFLEET_PLUGINS="built-in")
    assert (digested.returncode, proposed.output("numbers")) == (0, "7 "), digested.stderr
    lines = (tmp_path / "digests/7/digest.md").read_text().splitlines()
    assert lines[0] == "<!-- inferfleet digest -->"
    assert "- update `Deployment east/ml/qwen3-8b-decode-l4`: `spec.replicas`" in lines
    assert "Merge this." not in lines
    assert not (tmp_path / "ran").exists()
    assert proposed.asked == [
        "api --paginate --method GET repos/acme/fleet/pulls --raw-field state=open --raw-field "
        f'head=mallory:fork --jq .[] | select(.head.sha == "{proposed.environment["HEAD"]}") | .number'
    ]


def test_a_plugin_that_a_pull_request_allows_is_not_imported(clone: Clone, tmp_path: Path) -> None:
    proposed = propose(clone, tmp_path, plugin=True)
    assert proposed.step(FILE, "digest", "Fetch").returncode == 0
    (digest,) = (step for step in steps_of(proposed.root, FILE, "digest") if step.get("name") == "Digest")
    assert proposed.step(FILE, "digest", "Digest", **digest["env"]).returncode == 0
    text = (tmp_path / "digests/7/digest.md").read_text()
    assert "plugin evil is not imported, because of INFERFLEET\\_PLUGINS=built-in" in text
    assert not (tmp_path / "ran").exists()


def test_a_branch_of_the_repository_has_the_digest_of_its_own_run(proposed: Clone, tmp_path: Path) -> None:
    """That run knows plugins of the project, and who may push a branch may comment as well."""
    (own,) = (
        step
        for step in steps_of(proposed.root, FILE, "digest")
        if "download-artifact" in step.get("uses", "")
    )
    run = "github.event.workflow_run"
    assert own["if"] == f"{run}.head_repository.full_name == github.repository"
    (tmp_path / "own").mkdir()
    (tmp_path / "own/digest.md").write_text("<!-- inferfleet digest -->\nits own\n")
    assert proposed.step(FILE, "digest", "Fetch").returncode == 0
    assert proposed.step(FILE, "digest", "Digest").returncode == 0
    assert proposed.output("numbers") == "7 "
    assert (tmp_path / "digests/7/digest.md").read_text() == "<!-- inferfleet digest -->\nits own\n"


def test_a_pull_request_that_has_another_commit_by_now_has_no_digest(proposed: Clone) -> None:
    fetched = proposed.step(FILE, "digest", "Fetch", HEAD="0" * 40)
    assert (fetched.returncode, fetched.stdout) == (0, "pull request 7 has another commit by now\n")
    assert proposed.step(FILE, "digest", "Digest", INFERFLEET_PLUGINS="built-in").returncode == 0
    assert proposed.output("numbers") == ""


def test_the_job_that_reads_a_pull_request_has_no_token_while_it_does(proposed: Clone) -> None:
    steps = steps_of(proposed.root, FILE, "digest")
    with_token = [
        step.get("name") or step["uses"].partition("@")[0] for step in steps if "token" in str(step)
    ]
    assert with_token == ["Fetch", "actions/download-artifact"]
    assert [step["with"] for step in steps if "checkout" in step.get("uses", "")] == [
        {"persist-credentials": False}
    ]


def test_only_finished_runs_of_pull_requests_are_commented(clone: Clone) -> None:
    """A run that was cancelled has a successor, and one that waits for approval has done nothing."""
    job = yaml.safe_load((clone.root / FOLDER / FILE).read_text())["jobs"]["digest"]
    run = "github.event.workflow_run"
    assert job["if"] == (
        f"{run}.event == 'pull_request' && ({run}.conclusion == 'success' || {run}.conclusion == 'failure')"
    )


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", "--method POST repos/acme/fleet/issues/7/comments"),
        ("41", "--method PATCH repos/acme/fleet/issues/comments/41"),
    ],
)
def test_the_comment_is_written_once_and_then_updated(clone: Clone, written: str, asked: str) -> None:
    clone.write("digests/7/digest.md", "<!-- inferfleet digest -->\n")
    assert clone.step(FILE, "comment", "Comment", NUMBERS="7 8 ", WRITTEN=written).returncode == 0
    assert clone.asked[-1] == f"api --silent {asked} --field body=@digests/7/digest.md"


def test_the_program_is_what_the_default_branch_requires(proposed: Clone, tmp_path: Path) -> None:
    install = [step for step in steps_of(proposed.root, FILE, "digest") if step.get("name") == "Install"]
    (tmp_path / "inferfleet/bin").unlink()
    (tmp_path / "inferfleet").rmdir()
    python = f'#!/bin/sh\nmkdir -p "$3/bin" && cp {tmp_path / "bin/pip"} "$3/bin/pip"\n'
    path = programs_in(tmp_path / "python", python=python)
    proposed.environment["PATH"] = f"{path}:{proposed.environment['PATH']}"
    assert proposed.run("bash", "-ec", install[0]["run"]).returncode == 0
    assert Path(proposed.environment["ASKED"]).read_text() == (proposed.root / "requirements.txt").read_text()
