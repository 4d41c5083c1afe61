"""`inferfleet merge`, called by a real git as docs/explanation/placement-lock.md says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_of_one import DEPLOYMENT
from small_project import LOCK, Project

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/placement-lock.md").read_text()
DRIVER = re.search(r"^git config merge\.placement-lock\.driver .*$", PAGE, re.MULTILINE)[0]
AGAIN = re.search(r"^git checkout --merge -- .*$", PAGE, re.MULTILINE)[0]
ATTRIBUTES = re.search(r"^stacks/.* merge=placement-lock$", PAGE, re.MULTILINE)[0]
FILE = "stacks/prod/placement.lock"


class Clone:
    """A repository with the lock of one stack, whose lines are of `placements`."""

    def __init__(self, root: Path, *, driver: bool) -> None:
        self.root = root / "clone"
        self.lock = self.root / FILE
        self.lock.parent.mkdir(parents=True)
        command = root / "bin dir" / "inferfleet"
        command.parent.mkdir()
        command.write_text(
            f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -c "
            "'from inferfleet.cli.start import main; main()' \"$@\"\n"
        )
        command.chmod(0o755)
        self._environment = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "HOME": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.sh("git init -q -b main")
        (self.root / ".gitattributes").write_text(f"{ATTRIBUTES}\n")
        if driver:
            self.sh(DRIVER)

    def sh(self, command: str, *, code: int = 0) -> str:
        ran = subprocess.run(
            command, shell=True, cwd=self.root, env=self._environment, capture_output=True, text=True
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def commit(self, *lines: str) -> None:
        self.lock.write_text(_of(*lines))
        self.sh("git add -A && git commit -qm change")

    def branches(self, *, base: list[str], ours: list[str], theirs: list[str]) -> None:
        """Commit a base, theirs on a branch of that name, and ours on main."""
        self.commit(*base)
        self.sh("git checkout -q -b theirs")
        self.commit(*theirs)
        self.sh("git checkout -q main")
        self.commit(*ours)


def _of(*lines: str) -> str:
    return "\n".join(["version: 1", "stack: prod", "placements:", *(f"  ml/{line}" for line in lines), ""])


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (["a e decode=p: 1", "c e decode=p: 1"], ["a e decode=p: 2", "b e decode=p: 1", "c e decode=p: 1"],
         ["a e decode=p: 1", "b e decode=p: 1  # was 0", "c e decode=p: 1"]),
        (["a e decode=p: 2", "c e decode=p: 3"], ["a e decode=p: 2", "b e decode=p: 1", "c e decode=p: 1"],
         ["a e decode=p: 2", "b e decode=p: 1  # was 0", "c e decode=p: 3  # was 1"]),
        (["a w decode=p: 2", "c e decode=p: 1"], ["a e decode=p: 2", "b e decode=p: 1", "c e decode=p: 1"],
         ["a w decode=p: 2  # was 0, 2 moved here", "b e decode=p: 1  # was 0", "c e decode=p: 1"]),
        (["c e decode=p: 1"], ["a e decode=p: 2", "b e decode=p: 1", "c e decode=p: 1"],
         ["b e decode=p: 1  # was 0", "c e decode=p: 1"]),
    ],
    ids=["scaled down", "scaled up", "moved", "removed"],
)  # fmt: skip
def test_git_merges_a_change_beside_a_line_that_the_other_branch_added(
    tmp_path: Path, ours: list[str], theirs: list[str], merged: list[str]
) -> None:
    clone = Clone(tmp_path, driver=True)
    clone.branches(base=["a e decode=p: 2", "c e decode=p: 1"], ours=ours, theirs=theirs)
    said = clone.sh("git merge -q theirs")
    assert clone.lock.read_text() == _of(*merged)
    assert (
        f"notice: {FILE} has notes of how many replicas its lines had before the two branches. "
        "Run inferfleet plan --write, and read what it moves; it removes the notes\n"
    ) in said


def test_git_stops_at_an_entry_that_both_branches_changed(tmp_path: Path) -> None:
    clone = Clone(tmp_path, driver=True)
    clone.branches(base=["a e decode=p: 2"], ours=["a e decode=p: 3"], theirs=["a e decode=p: 1"])
    said = clone.sh("git merge theirs", code=1)
    assert f"CONFLICT (content): Merge conflict in {FILE}" in said
    assert f"{FILE}:4: both branches changed ml/a e decode=p: ours has 'ml/a e decode=p: 3'" in said
    assert clone.sh("git status --short") == f"UU {FILE}\n"
    assert clone.lock.read_text().splitlines()[3:] == [
        "<<<<<<< ours",
        "  ml/a e decode=p: 3  # was 2",
        "=======",
        "  ml/a e decode=p: 1",
        ">>>>>>> theirs",
    ]


def test_a_conflict_of_git_alone_is_merged_again_once_the_driver_is_there(tmp_path: Path) -> None:
    clone = Clone(tmp_path, driver=False)
    clone.branches(
        base=["a e decode=p: 2"],
        ours=["a e decode=p: 2", "b e decode=p: 1"],
        theirs=["a e decode=p: 2", "c e decode=p: 1"],
    )
    clone.sh("git merge theirs", code=1)
    clone.sh(DRIVER)
    clone.sh(AGAIN)
    assert clone.lock.read_text() == _of(
        "a e decode=p: 2", "b e decode=p: 1  # was 0", "c e decode=p: 1  # was 0"
    )


def test_branches_that_were_merged_with_each_other_before_merge_again(tmp_path: Path) -> None:
    """They have two bases, which git merges into one first, and there both changed one entry."""
    clone = Clone(tmp_path, driver=True)
    clone.branches(base=["a e decode=p: 1"], ours=["a e decode=p: 2"], theirs=["a e decode=p: 3"])
    clone.sh("git branch main-before")
    for branch, other in (("main", "theirs"), ("theirs", "main-before")):
        clone.sh(f"git checkout -q {branch}")
        clone.sh(f"git merge {other}", code=1)
        clone.commit("a e decode=p: 3", f"{branch} e decode=p: 1")
    clone.sh("git merge -q main")
    assert [line.partition("  #")[0] for line in clone.lock.read_text().splitlines()] == _of(
        "a e decode=p: 3", "main e decode=p: 1", "theirs e decode=p: 1"
    ).splitlines()


def test_a_file_that_is_not_there_is_told(project: Project) -> None:
    ran = project.run("merge", "base", "ours", "theirs")
    assert (ran.code, ran.err) == (1, "there is no file base. Name three files, as git does\n\n1 problem\n")


def _more(project: Project) -> None:
    """Deployments `a` and `z` beside `qwen`, with a replica of one GPU each, and a node of two GPUs."""
    for name in ("a", "z"):
        text = DEPLOYMENT.replace("{name: qwen", f"{{name: {name}").replace("{family: qwen}", "{}")
        project.write(f"stacks/prod/{name}.yaml", text)


def test_of_two_branches_that_took_the_last_gpu_one_is_left_with_a_warning(project: Project) -> None:
    _more(project)
    lines = ["a east decode=l4: 1  # was 0", "qwen east decode=l4: 1", "z east decode=l4: 1  # was 0"]
    project.write(FILE, _of(*lines))
    ran = project.run("plan", "--write")
    assert ran.code == 0
    assert "warning: stacks/prod/z.yaml:5: spec.replicas: 1 of 1 replicas of ml/z found no place" in ran.err
    lock = (project.root / FILE).read_text()
    assert [line for line in lock.splitlines() if "decode" in line] == [
        "  ml/a east decode=l4: 1",
        "  ml/qwen east decode=l4: 1",
    ]
    assert project.run("plan", "--locked").code == 0


def test_a_lock_with_notes_does_not_match_until_it_is_written(project: Project) -> None:
    """Else what is noted as new would have to leave later on, though it runs by then."""
    project.write(FILE, LOCK.replace("l4: 1", "l4: 1  # was 0"))
    ran = project.run("plan", "--locked")
    assert (ran.code, "placement.lock does not match the documents (it has notes of a merge)" in ran.err) == (
        4,
        True,
    )
    assert project.run("plan", "--write").code == 0
    assert (project.root / FILE).read_text() == LOCK
    assert project.run("plan", "--locked").code == 0


def test_without_notes_a_pool_that_is_too_small_is_an_error_at_its_line(project: Project) -> None:
    _more(project)
    project.write(FILE, _of("a east decode=l4: 1", "qwen east decode=l4: 1", "z east decode=l4: 1"))
    ran = project.run("plan")
    assert ran.code == 1
    assert (
        "stacks/prod/clusters.yaml:6: spec.nodePools[0]: pool east/l4 with 1 node is too small for the "
        "replicas that are placed on it (1 of ml/a, 1 of ml/qwen, 1 of ml/z), and there is no room"
    ) in ran.err
