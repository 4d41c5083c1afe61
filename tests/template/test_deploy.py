"""The workflow with credentials: what it tells of previews, and of what somebody changed by hand."""

import re
from pathlib import Path

import pytest
import yaml
from workflows import FOLDER, Clone

FILE = "inferfleet-deploy.yaml"
TITLE = "Stack local is not what its documents say"
PREVIEW = """\
 +  kubernetes:apps/v1:Deployment <east> & more create
Resources:
    + 2 to create
    80 unchanged
"""


def test_counts_and_the_result_of_a_preview_stand_outside_of_the_fold(clone: Clone) -> None:
    clone.write("told.txt", PREVIEW)
    assert clone.step(FILE, "preview", "Fold", CODE="0").returncode == 0
    assert (clone.root / "told.md").read_text() == (
        "`pulumi preview` of stack `local` ended without an error.\n"
        "\n<pre>\n    + 2 to create\n    80 unchanged\n</pre>\n"
        "\n<details><summary>All of it</summary>\n\n<pre>\n"
        " +  kubernetes:apps/v1:Deployment &lt;east&gt; &amp; more create\n"
        "Resources:\n    + 2 to create\n    80 unchanged\n"
        "\n</pre>\n</details>\n"
    )


def test_a_long_preview_keeps_its_end_and_says_how_much_is_left_out(clone: Clone) -> None:
    """What must be escaped grows after it was counted: a comment of only that still fits."""
    clone.write("told.txt", "first\n" + "<&ü\n" * 30_000 + "error: the last line\n")
    assert clone.step(FILE, "preview", "Fold", CODE="255").returncode == 0
    text = (clone.root / "told.md").read_text()
    assert text.startswith(
        "`pulumi preview` of stack `local` ended with exit code 255.\n\nIt counted no resources.\n"
    )
    assert len(text.encode()) < 62_000
    assert "<pre>\nfirst\n&lt;&amp;ü\n" in text
    assert text.endswith("&lt;&amp;ü\nerror: the last line\n\n</pre>\n</details>\n")
    inside = text.partition("<summary>All of it</summary>\n\n<pre>\n")[2].partition("\n</pre>")[0]
    told = re.search(
        r"\n\[\.\.\. (\d+) bytes are left out here: the log of the job has them \.\.\.\]\n", inside
    )
    assert told
    kept = (inside[: told.start()] + inside[told.end() :]).replace("&lt;", "<").replace("&amp;", "&")
    assert len(kept.encode()) + int(told[1]) == len((clone.root / "told.txt").read_bytes())


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", "--method POST repos/acme/fleet/issues/7/comments"),
        ("41", "--method PATCH repos/acme/fleet/issues/comments/41"),
    ],
)
def test_the_comment_of_a_preview_is_written_once_and_then_updated(
    clone: Clone, written: str, asked: str
) -> None:
    clone.write("told.md", "told\n")
    assert clone.step(FILE, "preview", "Comment", NUMBER="7", WRITTEN=written).returncode == 0
    assert clone.asked[-1] == f"api --silent {asked} --field body=@comment.md"
    assert (clone.root / "comment.md").read_text() == "<!-- inferfleet preview -->\ntold\n"


@pytest.mark.parametrize(
    ("code", "number", "asked"),
    [
        ("1", "", f"POST repos/acme/fleet/issues --raw-field title={TITLE} --field body=@told.md"),
        ("1", "9", "PATCH repos/acme/fleet/issues/9 --field body=@told.md"),
        ("0", "9", "PATCH repos/acme/fleet/issues/9 --raw-field state=closed"),
        ("0", "", None),
    ],
)
def test_one_issue_tells_what_differs_and_is_closed_when_nothing_does(
    clone: Clone, code: str, number: str, asked: str | None
) -> None:
    """An issue of somebody else with the same title is not taken for it."""
    assert clone.step(FILE, "drift", "Issue", CODE=code, WRITTEN=number).returncode == 0
    looked, *done = clone.asked[:1] + [line for line in clone.asked if "--silent" in line]
    assert looked == (
        "api --paginate --method GET repos/acme/fleet/issues --raw-field state=open "
        "--raw-field per_page=100 --jq .[]"
    )
    assert f'.user.login == "github-actions[bot]" and .title == "{TITLE}"' in clone.asked[1]
    assert done == ([f"api --silent --method {asked}"] if asked else [])


def test_what_differs_is_looked_for_on_the_default_branch_without_anybodys_approval(clone: Clone) -> None:
    jobs = yaml.safe_load((clone.root / FOLDER / FILE).read_text())["jobs"]
    assert (jobs["drift"]["if"], jobs["drift"]["environment"]) == (
        "github.event_name == 'schedule' && vars.INFERFLEET_STACK != ''",
        "drift",
    )


def test_both_systems_take_the_same_release_of_pulumi_by_its_checksum(clone: Clone) -> None:
    github = yaml.safe_load((clone.root / FOLDER / FILE).read_text())["env"]
    gitlab = yaml.safe_load((clone.root / ".gitlab-ci.yml").read_text())["variables"]
    assert {name: github[name] for name in ("PULUMI", "PULUMI_SHA256")} == {
        name: gitlab[name] for name in ("PULUMI", "PULUMI_SHA256")
    }


def test_a_release_of_pulumi_with_another_checksum_is_not_run(clone: Clone, tmp_path: Path) -> None:
    curl = tmp_path / "bin/curl"
    curl.write_text('#!/bin/sh\necho other > "$6"\n')
    curl.chmod(0o755)
    for job in ("preview", "up", "drift"):
        done = clone.step(FILE, job, "Install", PULUMI="3.259.0", PULUMI_SHA256="0" * 64)
        assert (done.returncode, "did NOT match" in done.stderr) == (1, True)
    assert not (clone.root / ".venv").exists()
