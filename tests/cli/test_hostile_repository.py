"""What a branch can commit to have git run a program.

Each trick that notes of releases of git tell of as a security issue, from 2.39.4 (May 2024) to 2.50.1 (July
2025), is committed, and the commands that ask git run nothing of it.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from in_git import commit, git
from small_project import Project

from inferfleet.clusters.connections import git as git_module

VERBS = (
    ("digest", "--base", "main"),
    ("plan", "--base", "main", "--stack", "prod"),
    ("report", "--base", "main", "--stack", "prod", "--output", "../page.html"),
)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that writes the file `ran` when somebody runs it."""
    program = tmp_path / "canary"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in a folder of its repository, in which the test's command runs."""
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "top").mkdir()
    made = Project(tmp_path / "top/fleet")
    commit(tmp_path / "top")
    monkeypatch.chdir(made.root)
    return made


Trick = Callable[[Path, Path], None]


def _bare(folder: Path, config: str) -> None:
    """Files that git takes for a bare repository, which names the folder as its work tree. It has the
    commits, but for that of its branch `main`."""
    top = next(parent for parent in folder.parents if (parent / ".git").exists())
    shutil.copytree(top / ".git/objects", folder / "objects")
    shutil.copy(top / ".git/index", folder / "index")
    (folder / "refs/heads").mkdir(parents=True)
    (folder / "refs/heads/main").write_text(f"{'0' * 39}1\n")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    core = f"[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tworktree = {folder}\n"
    (folder / "config").write_text(core + config)


def _whole(folder: Path, config: str) -> None:
    """The same with the commit of `main`, and an index that no longer knows the times of the files."""
    _bare(folder, "")
    here = (f"--git-dir={folder}", f"--work-tree={folder}")
    git(folder, *here, "update-ref", "refs/heads/main", git(folder.parent, "rev-parse", "main"))
    git(folder, *here, "read-tree", "main:fleet")
    git(folder, *here, "commit", "--quiet", "--message=of the branch")
    with (folder / "config").open("a") as settings:
        settings.write(config)


def _promised(canary: Path) -> str:
    """Settings by which git fetches what is missing, with a program of the branch's choice."""
    return (
        f"\tsshCommand = {canary}\n[extensions]\n\tpartialClone = there\n"
        f'[remote "there"]\n\turl = ssh://example.com/a\n\tpromisor = true\n\tuploadpack = {canary}\n'
    )


def lazy_fetch(root: Path, canary: Path) -> None:
    """CVE-2024-32004 and CVE-2024-32465: a repository on this machine says what is run for its objects."""
    _bare(root, _promised(canary))


def lazy_fetch_beside_documents(root: Path, canary: Path) -> None:
    _bare(root / "stacks/prod", _promised(canary))


def file_system_monitor(root: Path, canary: Path) -> None:
    _whole(root, f"\tfsmonitor = {canary}\n")


def hooks(root: Path, canary: Path) -> None:
    """CVE-2024-32465: hooks of a repository that somebody else wrote."""
    _whole(root, f"\thooksPath = {canary.parent}\n")
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        shutil.copy(canary, canary.parent / name)


def filters(root: Path, canary: Path) -> None:
    (root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    _whole(
        root,
        f'[filter "evil"]\n\tclean = {canary}\n\tsmudge = {canary}\n'
        f'\tprocess = {canary}\n\trequired = true\n[diff "evil"]\n\tcommand = {canary}\n'
        f"\ttextconv = {canary}\n[diff]\n\texternal = {canary}\n",
    )


def submodule_with_a_carriage_return(root: Path, canary: Path) -> None:
    """CVE-2025-48384: the path of a submodule ends in CR, and a link without it leads to hooks."""
    top = root.parent
    (top / ".gitmodules").write_bytes(
        f'[submodule "sub"]\n\tpath = "sub\r"\n\turl = ./evil\n\tupdate = !{canary}\n'.encode()
    )
    (top / "sub").symlink_to(".git/modules/sub/hooks")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{git(top, 'rev-parse', 'HEAD')},sub\r")


def submodule_in_another_case(root: Path, canary: Path) -> None:
    """CVE-2024-32002: a submodule's path and a link into `.git` differ by upper and lower case alone."""
    top = root.parent
    (top / "a").symlink_to(".git")
    (top / ".gitmodules").write_text('[submodule "x/y"]\n\tpath = A/modules/x\n\turl = ./evil\n')
    head = git(top, "rev-parse", "HEAD")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{head},A/modules/x")
    hook = root / "A/modules/x/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    shutil.copy(canary, hook)


def links_as_objects(root: Path, canary: Path) -> None:
    """CVE-2024-32020 and CVE-2024-32021: objects of a repository that are links to files of the machine."""
    _bare(root, _promised(canary))
    (root / "objects/info").mkdir(exist_ok=True)
    (root / "objects/info/alternates").write_text(f"{canary.parent}\n")
    (root / "objects/00").mkdir(exist_ok=True)
    (root / "objects/00" / ("0" * 37 + "1")).symlink_to("/etc/passwd")


def bundle(root: Path, canary: Path) -> None:
    """CVE-2025-48385: a bundle is fetched to where another says, with line breaks in its address."""
    _bare(root, f'{_promised(canary)}[fetch]\n\tbundleURI = "ssh://a\\nb {canary}"\n')


def prompt_for_credentials(root: Path, canary: Path) -> None:
    """CVE-2024-50349 and CVE-2024-52006: a password is asked for by an address with escapes and a CR."""
    _bare(
        root,
        f"\taskPass = {canary}\n[credential]\n\thelper = !{canary}\n"
        f"[extensions]\n\tpartialClone = there\n"
        f'[remote "there"]\n\turl = "https://a%1b[31m%0d@127.0.0.1:9/"\n\tpromisor = true\n',
    )


def programs_in_the_work_tree(root: Path, canary: Path) -> None:
    """CVE-2025-46334: programs are found in the work tree."""
    for name in ("git", "sh", "ssh", "astextplain"):
        shutil.copy(canary, root / name)


TRICKS = (
    lazy_fetch,
    lazy_fetch_beside_documents,
    file_system_monitor,
    hooks,
    filters,
    submodule_with_a_carriage_return,
    submodule_in_another_case,
    links_as_objects,
    bundle,
    prompt_for_credentials,
    programs_in_the_work_tree,
)


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
@pytest.mark.parametrize("below", ["", "stacks/prod"])
def test_nothing_that_a_branch_commits_is_run_by_way_of_git(
    inner: Project, canary: Path, trick: Trick, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trick(inner.root, canary)
    git(inner.root.parent, "add", "--all", "--force")
    git(inner.root.parent, "commit", "--quiet", "--allow-empty", "--message=proposed")
    monkeypatch.chdir(inner.root / below)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    codes = [inner.run(*verb).code for verb in VERBS]
    assert not (canary.parent / "ran").exists()
    assert codes == [0, 0, 0]


def test_programs_that_settings_of_the_clone_name_are_not_run(inner: Project, canary: Path) -> None:
    """A branch says by `.gitattributes` on what they run, and has some in a file that is included."""
    top = inner.root.parent
    inner.write(
        ".gitconfig",
        f"[core]\n\tfsmonitor = {canary}\n\tsshCommand = {canary}\n\thooksPath = {canary.parent}\n"
        f'[filter "own"]\n\tclean = {canary}\n\tsmudge = {canary}\n\tprocess = {canary}\n'
        f"\trequired = true\n[diff]\n\texternal = {canary}\n"
        f'[diff "own"]\n\tcommand = {canary}\n\ttextconv = {canary}\n',
    )
    inner.write(".gitattributes", "* filter=own diff=own\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message=proposed")
    git(top, "config", "include.path", "../fleet/.gitconfig")
    shutil.copy(canary, canary.parent / "post-index-change")
    inner.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    (inner.root / "classes/l4.yaml").touch()
    codes = [inner.run(*verb).code for verb in VERBS]
    assert (codes, (canary.parent / "ran").exists()) == ([0, 0, 0], False)


def test_what_a_clone_lacks_is_not_fetched(inner: Project, canary: Path) -> None:
    top = inner.root.parent
    blob = git(top, "rev-parse", "main:fleet/classes/l4.yaml")
    (top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with (top / ".git/config").open("a") as settings:
        settings.write(f"[core]\n\trepositoryformatversion = 1\n{_promised(canary)}")
    ran = inner.run("digest", "--base", "main")
    assert (ran.code, (canary.parent / "ran").exists()) == (1, False)
    assert "git cannot list commit" in ran.err or "git does not have the content" in ran.err


def test_filters_of_the_machine_are_not_missed(
    inner: Project, canary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines of CI have git-lfs for all users, and its filter is required."""
    canary.write_text(f"{canary.read_text()}exit 1\n")
    (tmp_path / "system").write_text(
        f'[filter "lfs"]\n\tclean = {canary}\n\tsmudge = {canary}\n\tprocess = {canary}\n\trequired = true\n'
    )
    inner.write(".gitattributes", "* filter=lfs\n")
    git(inner.root.parent, "add", "--all")
    git(inner.root.parent, "commit", "--quiet", "--message=proposed")
    (inner.root / "classes/l4.yaml").touch()
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))
    codes = [inner.run(*verb).code for verb in VERBS]
    assert (codes, (canary.parent / "ran").exists()) == ([0, 0, 0], False)


def test_a_folder_of_another_owner_is_read_where_the_user_said_so(
    inner: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(git_module._ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    top = inner.root.parent
    ran = inner.run("digest", "--base", "main")
    assert ran.code == 1
    assert f"If you trust it: git config --global --add safe.directory {top}" in ran.err
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = /other\n\tdirectory = {top}\n")
    assert inner.run("digest", "--base", "main").code == 0


def test_a_name_that_is_no_text_is_told_and_written(committed: Project) -> None:
    """Its warning stands in Markdown and JSON."""
    (committed.root / os.fsdecode(b"stacks/prod/models\xff.YAML")).touch()
    git(committed.root, "add", "--all")
    for verb in (("digest", "--output", "told"), ("report", "--output", "page.html")):
        ran = committed.run(*verb, "--base", "main")
        assert ran.code == 0, ran.err
    (stack,) = json.loads((committed.root / "told/digest.json").read_text())["stacks"]
    assert os.fsdecode(b"stacks/prod/models\xff.YAML") in [told["file"] for told in stack["problems"]]
    assert "models\\udcff.YAML" in (committed.root / "told/digest.md").read_text()
