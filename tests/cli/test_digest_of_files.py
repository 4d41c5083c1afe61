"""`inferfleet digest`: files that no digest reads are named, and settings are told from their file."""

import pytest
from in_git import git
from small_project import Project

POLICY = """\
apiVersion: inferfleet.dev/v1alpha1
kind: Policy
metadata: {name: small}
spec: {each: model, cel: model.gpus <= 64, message: models are small}
"""
SAID = "files differ of which a digest tells nothing or the outcome alone: "


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["Pulumi.yaml"], "Pulumi.yaml"),
        (["__main__.py", "requirements.txt"], "__main__.py, requirements.txt"),
        (
            ["plugins/mine.py", "plugins/other.py", ".github/workflows/a.yaml"],
            ".github/workflows/a.yaml, plugins/ (2 files)",
        ),
        (["stacks/prod/east.kubeconfig", "readme.md", "docs/page.md"], "stacks/prod/east.kubeconfig"),
    ],
)
def test_files_that_no_digest_reads_are_named(committed: Project, files: list[str], named: str) -> None:
    for file in files:
        path = committed.root / file
        text = path.read_text() if path.exists() else ""
        committed.write(file, f"{text}# another\n")
    git(committed.root, "add", "--all")
    ran = committed.run("digest", "--base", "main", "--json")
    (remark,) = ran.json["remarks"]
    assert (remark["severity"], remark["what"]) == ("notice", f"{SAID}{named}")
    assert "no resource changes" in committed.run("digest", "--base", "main").out


def test_documents_that_are_read_and_files_of_nobody_are_not_named(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    committed.edit("classes/l4.yaml", "cpu", "cpu")
    committed.write("stacks/prod/notes.md", "read by people")
    committed.write("policies/all.yaml", POLICY)
    committed.write("built.whl", "not in git")
    committed.run("plan", "--write")
    git(committed.root, "add", "stacks", "policies")
    assert committed.run("digest", "--base", "main", "--json").json["remarks"] == []


def test_settings_that_differ_are_told_from_the_file(committed: Project) -> None:
    committed.write("stacks/Pulumi.prod.yaml", "config: {gcp:project: acme, aws:secretKey: canary}\n")
    ran = committed.run("digest", "--base", "main")
    assert '  - `aws:secretKey` is new\n  - `gcp:project` is new: "acme"\n' in ran.out
    assert "canary" not in ran.out
