"""A project as it was in a commit, asked of a real git."""

import os
from pathlib import Path

import pytest
from in_git import commit, git

from inferfleet.documents.problems import InvalidDocuments
from inferfleet.review import commit as module
from inferfleet.review.commit import revision

FILES = {
    "Pulumi.yaml": "name: inferfleet\n",
    "classes/l4.yaml": "one\n",
    "stacks/prod/models.yaml": "one\n",
    "stacks/prod/placement.lock": "one\n",
    "plugins/tidy.py": "one\n",
    "elsewhere/more.yaml": "not read\n",
    "notes.yaml": "not read\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in which the test runs."""
    root = tmp_path / "repository"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    commit(root)
    monkeypatch.chdir(root)
    return root


def _files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()
    }


def _refusal(project: Path, ref: str) -> str:
    with pytest.raises(InvalidDocuments) as refused, revision(project, ref):
        pass
    return str(refused.value)


def test_the_files_that_inferfleet_reads_are_those_of_the_commit(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD")
    (project / "stacks/prod/models.yaml").write_text("two\n")
    (project / "stacks/prod/new.yaml").write_text("two\n")
    with revision(project, "main") as before:
        read = {name: text for name, text in FILES.items() if text != "not read\n"}
        assert (before.commit, before.prefix, before.exists, before.notices) == (head, "", True, ())
        assert _files(before.root) == read
    assert not before.root.exists()


def test_a_project_in_a_folder_of_its_repository_is_found_from_inside(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "fleets/eu"
    (inner / "stacks/prod").mkdir(parents=True)
    (inner / "Pulumi.yaml").write_text("name: inferfleet\n")
    (inner / "stacks/prod/models.yaml").write_text("inner\n")
    commit(project)
    monkeypatch.chdir(inner / "stacks")
    with revision(inner, "HEAD") as before:
        assert before.prefix == "fleets/eu/"
        assert _files(before.root) == {
            "Pulumi.yaml": "name: inferfleet\n",
            "stacks/prod/models.yaml": "inner\n",
        }


def test_a_commit_without_the_project_has_no_files_and_says_so(project: Path) -> None:
    (project / "Pulumi.yaml").unlink()
    without = commit(project)
    (project / "Pulumi.yaml").write_text("name: inferfleet\n")
    commit(project)
    with revision(project, without) as before:
        (notice,) = before.notices
    assert (before.exists, notice.severity) == (False, "notice")
    assert notice.what == f"the project is not there in {without}, so everything in it is new"


def test_commits_that_this_version_lacks_are_told(project: Path) -> None:
    git(project, "checkout", "--quiet", "-b", "mine")
    git(project, "checkout", "--quiet", "main")
    (project / "stacks/prod/models.yaml").write_text("theirs\n")
    commit(project)
    git(project, "checkout", "--quiet", "mine")
    with revision(project, "main") as before:
        assert [notice.what for notice in before.notices] == [
            "main has commits that this version lacks, and what they changed is told as undone"
        ]


def test_the_commit_at_hand_is_named_with_what_it_merges(project: Path) -> None:
    base = git(project, "rev-parse", "HEAD")
    git(project, "checkout", "--quiet", "-b", "mine")
    proposed = commit(project)
    git(project, "checkout", "--quiet", "main")
    with revision(project, base) as before:
        assert (before.head, before.merges) == (base, "")
    git(project, "merge", "--quiet", "--no-ff", "--message=merged", "mine")
    merged = git(project, "rev-parse", "HEAD")
    for ref, merges in (("HEAD^1", proposed), ("HEAD^2", ""), ("HEAD", "")):
        with revision(project, ref) as before:
            assert (before.head, before.merges) == (merged, merges)


@pytest.mark.parametrize("name", ["HEAD", "main"])
def test_a_file_with_the_name_of_a_commit_hides_none(project: Path, name: str) -> None:
    (project / name).write_text("")
    head = commit(project)
    with revision(project, "main") as before:
        assert (before.head, before.uncommitted) == (head, False)


@pytest.mark.parametrize(
    ("file", "uncommitted"),
    [
        ("notes.yaml", True),
        ("stacks/prod/new.yaml", True),
        ("new.yaml", False),
        ("plugins/__pycache__/tidy.pyc", False),
    ],
)
def test_what_is_in_no_commit_is_told(project: Path, file: str, uncommitted: bool) -> None:
    with revision(project, "main") as before:
        assert not before.uncommitted
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text("another\n")
    with revision(project, "main") as before:
        assert before.uncommitted == uncommitted


def test_a_work_tree_beside_a_clone_is_read_and_one_that_settings_move_is_not(
    project: Path, tmp_path: Path
) -> None:
    beside = tmp_path / "beside"
    git(project, "worktree", "add", "--quiet", str(beside))
    with revision(beside, "main") as before:
        assert (before.clone.top, before.prefix) == (beside, "")
    git(project, "config", "core.worktree", str(tmp_path))
    assert f"has its work tree elsewhere, in {tmp_path}. Run it in that work tree" in _refusal(
        project, "main"
    )


def test_a_submodule_among_documents_is_told(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{head},stacks/shared")
    git(project, "commit", "--quiet", "--message=a submodule")
    with revision(project, "HEAD") as before:
        assert [notice.what for notice in before.notices] == [
            "stacks/shared is a submodule in HEAD, whose files are not read, so all that is there now is "
            "told as new"
        ]


@pytest.mark.parametrize("ref", ["nowhere", "--help", "main:Pulumi.yaml", "", "main^{tree}"])
def test_what_names_no_commit_is_refused_with_a_next_step(project: Path, ref: str) -> None:
    assert "names no commit in this clone. Name a branch, a tag or a commit of it" in _refusal(project, ref)


def test_a_branch_that_only_the_remote_has_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "branch", "release")
    git(tmp_path, "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    assert _refusal(tmp_path / "clone", "release").endswith("Did you mean origin/release?")


def test_a_shallow_clone_says_how_to_fetch_the_commit(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = git(project, "rev-parse", "HEAD")
    (project / "stacks/prod/models.yaml").write_text("two\n")
    commit(project)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project}", "clone")
    clone = tmp_path / "clone"
    monkeypatch.chdir(clone)
    assert "which is shallow. Fetch it first: git fetch --depth=1 origin" in _refusal(clone, first)
    git(clone, "fetch", "--quiet", "--depth=1", "origin", first)
    with revision(clone, "FETCH_HEAD") as before:
        assert (before.commit, before.notices) == (first, ())


def test_a_folder_in_no_repository_and_a_machine_without_git_are_told(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"{tmp_path} is in no git repository that can be read" in _refusal(tmp_path, "main")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _refusal(project, "main") == "git is not installed, and the base is a commit. Install git"


def test_links_are_laid_down_as_links_and_nothing_is_written_through_one(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "stacks/dev").symlink_to(outside)
    (project / "stacks/prod/link.yaml").symlink_to("models.yaml")
    commit(project)
    with revision(project, "HEAD") as before:
        links = {name: os.readlink(before.root / name) for name in ("stacks/dev", "stacks/prod/link.yaml")}
    assert links == {"stacks/dev": str(outside), "stacks/prod/link.yaml": "models.yaml"}
    assert [*outside.iterdir()] == []


def test_too_many_files_are_refused_before_any_is_written(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    assert "has more than 3 files, or 200 MiB of them" in _refusal(project, "HEAD")
