"""`inferfleet digest`: files that no digest reads are named, and settings are told from their file."""

import contextlib

import pytest
from in_git import commit, git
from small_project import Project


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["Pulumi.yaml"], ["program Pulumi.yaml changed"]),
        (
            ["requirements.txt", "__main__.py"],
            ["program __main__.py added", "packages requirements.txt added"],
        ),
        (
            ["plugins/mine.py", "plugins/other.py", ".github/workflows/a.yaml"],
            [
                "plugin plugins/mine.py added",
                "plugin plugins/other.py added",
                "workflow .github/workflows/a.yaml added",
            ],
        ),
        (
            ["stacks/prod/east.kubeconfig", "readme.md", "docs/page.md"],
            ["stack stacks/prod/east.kubeconfig added"],
        ),
        (["policies/all.yaml"], ["policy policies/all.yaml added"]),
    ],
)
def test_files_that_may_change_what_an_update_runs_are_told_by_name(
    committed: Project, files: list[str], named: list[str]
) -> None:
    for file in files:
        path = committed.root / file
        text = path.read_text() if path.exists() else ""
        committed.write(file, f"{text}# another\n")
    git(committed.root, "add", "--all")
    assert _named(committed) == (named, 0)
    assert "no resource changes" in committed.run("digest", "--base", "main").out


def _named(project: Project) -> tuple[list[str], int]:
    values = project.run("digest", "--base", "main", "--json").json
    return [f"{file['kind']} {file['path']} {file['change']}" for file in values["files"]], values["others"]


def test_other_files_hide_none_of_them(committed: Project) -> None:
    for number in range(30):
        for name in (
            "!pad{}",
            "!pad{}.py",
            "plugins/!pad{}.py",
            ".github/workflows/!pad{}.yaml",
            "stacks/prod/!pad{}",
        ):
            committed.write(name.format(number), "")
    for name in ("__main__.py", "requirements.txt", "plugins/zz.py", ".gitlab-ci.yml"):
        committed.write(name, "")
    git(committed.root, "add", "--all")
    told = committed.run("digest", "--base", "main").out
    lines = [line.split(", ") for line in told.splitlines() if line.startswith("- ")]
    assert [(line[0], len(line), line[-1]) for line in lines] == [
        ("- programs: new: `__main__.py`", 11, "and 21 more"),
        ("- packages: new: `requirements.txt`", 1, "- packages: new: `requirements.txt`"),
        ("- plugins: new: `plugins/!pad0.py`", 11, "and 21 more"),
        ("- workflows and other hidden files: new: `.gitlab-ci.yml`", 11, "and 21 more"),
        ("- files of stacks that are no documents: new: `stacks/prod/!pad0`", 11, "and 20 more"),
    ]
    assert "30 other files differ, which no digest reads." in told.splitlines()


def test_a_submodule_at_another_commit_is_told_whatever_gitmodules_says(committed: Project) -> None:
    first = git(committed.root, "rev-parse", "HEAD")
    committed.write(".gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = ./lib\n\tignore = all\n')
    git(committed.root, "add", ".gitmodules")
    git(committed.root, "update-index", "--add", "--cacheinfo", f"160000,{first},lib")
    git(committed.root, "commit", "--quiet", "--message=a submodule")
    (committed.root / "lib").mkdir()
    git(
        committed.root,
        "update-index",
        "--cacheinfo",
        f"160000,{git(committed.root, 'rev-parse', 'HEAD')},lib",
    )
    assert _named(committed) == (["submodule lib changed"], 0)


def test_of_the_rest_of_a_repository_workflows_and_submodules_are_named(project: Project) -> None:
    top = project.root / "top"
    inner = Project(top / "fleet")
    commit(top)
    (top / ".github/workflows").mkdir(parents=True)
    (top / ".github/workflows/a.yaml").touch()
    (top / "other.py").touch()
    git(top, "add", "--all")
    with contextlib.chdir(inner.root):
        assert _named(inner) == (["workflow /.github/workflows/a.yaml added"], 1)


def test_links_and_what_may_be_run_are_programs(committed: Project) -> None:
    (committed.root / "yaml").symlink_to("elsewhere")
    committed.write("tool", "")
    (committed.root / "tool").chmod(0o755)
    git(committed.root, "add", "--all")
    assert _named(committed) == (["program tool added", "program yaml added"], 0)


def test_of_a_stack_with_errors_only_what_is_no_document_is_named(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: many")
    committed.write("stacks/prod/east.kubeconfig", "")
    git(committed.root, "add", "--all")
    assert _named(committed) == (["stack stacks/prod/east.kubeconfig added"], 0)


def test_documents_that_are_read_and_files_of_nobody_are_not_named(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    committed.edit("classes/l4.yaml", "cpu", "cpu")
    committed.write("stacks/prod/notes.md", "read by people")
    committed.write("built.whl", "not in git")
    committed.run("plan", "--write")
    git(committed.root, "add", "stacks")
    assert _named(committed) == ([], 0)


def test_settings_that_differ_are_told_from_the_file(committed: Project) -> None:
    committed.write("stacks/Pulumi.prod.yaml", "config: {gcp:project: acme, aws:secretKey: canary}\n")
    ran = committed.run("digest", "--base", "main")
    assert '  - `aws:secretKey` is new\n  - `gcp:project` is new: "acme"\n' in ran.out
    assert "canary" not in ran.out
