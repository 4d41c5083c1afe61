"""The workflow that comments pull requests: of theirs it reads documents, and it runs nothing."""

from pathlib import Path

import pytest
import yaml
from workflows import FOLDER, Clone, allow_plugin, programs_in, steps_of

FILE = "inferfleet-comment.yaml"
COMMENT = {
    "NUMBERS_IN_GITHUB": "7",
    "BRANCH": "mallory:fork",
    "HEAD": f"abcdef012345{'6' * 28}",
    "RUN": "https://example.com/run",
}
OF_HEAD = """\
<!-- inferfleet digest -->
## What changes in the fleet

Commit `abcdef012345`, merged as `111111111111`, compared with `222222222222`, by documents and locks alone.
"""


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


def numbers(folder: Path) -> list[str]:
    """The pull requests that have a digest."""
    return sorted(path.name for path in (folder / "digests").iterdir())


def test_the_digest_is_made_anew_and_nothing_of_the_pull_request_is_run(
    proposed: Clone, tmp_path: Path
) -> None:
    assert proposed.step(FILE, "digest", "Fetch").returncode == 0
    digested = proposed.step(FILE, "digest", "Digest", INFERFLEET_PLUGINS="built-in")
    assert (digested.returncode, numbers(tmp_path)) == (0, ["7"]), digested.stderr
    lines = (tmp_path / "digests/7/digest.md").read_text().splitlines()
    assert lines[0] == "<!-- inferfleet digest -->"
    assert "- update `Deployment east/ml/qwen3-8b-decode-l4`: `spec.replicas`" in lines
    assert "Merge this." not in lines
    assert lines[3].startswith(f"Commit `{proposed.environment['HEAD'][:12]}`, merged as `")
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
    assert numbers(tmp_path) == ["7"]
    assert (tmp_path / "digests/7/digest.md").read_text() == "<!-- inferfleet digest -->\nits own\n"


def test_a_pull_request_that_has_another_commit_by_now_has_no_digest(proposed: Clone, tmp_path: Path) -> None:
    fetched = proposed.step(FILE, "digest", "Fetch", HEAD="0" * 40)
    assert (fetched.returncode, fetched.stdout) == (0, "pull request 7 has another commit by now\n")
    assert proposed.step(FILE, "digest", "Digest", INFERFLEET_PLUGINS="built-in").returncode == 0
    assert numbers(tmp_path) == []


def test_the_job_that_reads_a_pull_request_has_no_token_while_it_does(proposed: Clone) -> None:
    steps = steps_of(proposed.root, FILE, "digest")
    with_token = [
        step.get("name") or step["uses"].partition("@")[0] for step in steps if "token" in str(step)
    ]
    assert with_token == ["Fetch", "actions/download-artifact"]
    assert [step["with"] for step in steps if "checkout" in step.get("uses", "")] == [
        {"persist-credentials": False}
    ]


def test_every_run_of_a_pull_request_that_did_something_is_commented(clone: Clone) -> None:
    """Also one that took too long, which is cancelled: its digest is missing, and an old one would stay."""
    jobs = yaml.safe_load((clone.root / FOLDER / FILE).read_text())["jobs"]
    run = "github.event.workflow_run"
    assert jobs["digest"]["if"] == (
        f"{run}.event == 'pull_request' && {run}.conclusion != 'action_required' "
        f"&& {run}.conclusion != 'skipped'"
    )
    assert jobs["comment"]["if"] == "${{ !cancelled() && needs.digest.result != 'skipped' }}"


def test_filters_of_the_machine_run_on_nothing_of_a_pull_request(proposed: Clone, tmp_path: Path) -> None:
    """git-lfs is installed for all users of common runners, and is required."""
    system = tmp_path / "system"
    system.write_text(
        f'[filter "evil"]\n\tsmudge = "touch {tmp_path}/ran; false"\n\tclean = false\n\trequired = true\n'
    )
    assert proposed.step(FILE, "digest", "Fetch").returncode == 0
    done = proposed.step(
        FILE, "digest", "Digest", GIT_CONFIG_SYSTEM=str(system), GIT_CONFIG_GLOBAL=str(system)
    )
    assert (done.returncode, numbers(tmp_path), (tmp_path / "ran").exists()) == (0, ["7"], False), done.stderr


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", "--method POST repos/acme/fleet/issues/7/comments"),
        ("41", "--method PATCH repos/acme/fleet/issues/comments/41"),
    ],
)
def test_the_comment_is_written_once_and_then_updated(clone: Clone, written: str, asked: str) -> None:
    digest = clone.root.parent / "digests/7/digest.md"
    digest.parent.mkdir(parents=True)
    digest.write_text(OF_HEAD)
    assert clone.step(FILE, "comment", "Comment", WRITTEN=written, **COMMENT).returncode == 0
    assert clone.asked[-1] == f"api --silent {asked} --field body=@{digest}"
    assert digest.read_text() == OF_HEAD


@pytest.mark.parametrize("text", [None, "", OF_HEAD.replace("abcdef", "000000"), "Commit `abcdef012345`\n"])
def test_a_digest_that_is_missing_or_of_another_commit_is_replaced(clone: Clone, text: str | None) -> None:
    digest = clone.root.parent / "digests/7/digest.md"
    if text is not None:
        digest.parent.mkdir(parents=True)
        digest.write_text(text)
    assert clone.step(FILE, "comment", "Comment", WRITTEN="41", **COMMENT).returncode == 0
    assert clone.asked[-1].startswith("api --silent --method PATCH repos/acme/fleet/issues/comments/41 ")
    assert digest.read_text() == (
        "<!-- inferfleet digest -->\nNo digest of `abcdef012345`: a job that makes it failed, and "
        "[its run](https://example.com/run) says why.\n"
    )


def test_the_program_is_what_the_default_branch_requires(proposed: Clone, tmp_path: Path) -> None:
    install = [step for step in steps_of(proposed.root, FILE, "digest") if step.get("name") == "Install"]
    (tmp_path / "inferfleet/bin").unlink()
    (tmp_path / "inferfleet").rmdir()
    python = f'#!/bin/sh\nmkdir -p "$3/bin" && cp {tmp_path / "bin/pip"} "$3/bin/pip"\n'
    path = programs_in(tmp_path / "python", python=python)
    proposed.environment["PATH"] = f"{path}:{proposed.environment['PATH']}"
    assert proposed.run("bash", "-ec", install[0]["run"]).returncode == 0
    assert Path(proposed.environment["ASKED"]).read_text() == (proposed.root / "requirements.txt").read_text()
