"""An upgrade of inferfleet does to a stack that runs what the list `upgrade.yaml` says, and nothing else.

The stack is deployed by the program of the last release, before the first one by that of the commit that this
one began from, with the documents of its tests. Then this program is asked what it would do.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from documents import east
from groups import grouped
from project import ROOT, Project
from sandboxes import running
from upgrades import LIST, Step, rows, steps, unlisted, unused

# Documents by the builders of a checkout's own tests, in the form that its program takes: a workload of each
# kind, pickers of both profiles, one of them with several replicas, and routes.
DOCUMENTS = """\
import sys, yaml
from documents import deployment, east, service
from groups import grouped
from prefilled import apart
on_east = {"clusterSelector": {"matchLabels": {"region": "east"}}}
documents = [
    east(),
    deployment("qwen", on="east", engine={"servedNames": ["shared"]}, endpointPicker={"replicas": 2}),
    grouped("kimi", **on_east),
    apart("deepseek", **on_east),
    service("chat", qwen=1, kimi=1),
]
print(yaml.safe_dump_all(documents))
"""
# What another version of the program could do: a name of a workload that is another one.
RENAMED = """\
from inferfleet.fleet import names
workload = names.workload
names.workload = lambda *arguments: f"{workload(*arguments)}-x"

"""


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else ""


def release() -> str:
    """The last release before this commit, "" for none."""
    return git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")


def base() -> str:
    """The commit of the last release, else where this branch began, else the one before; "" for none."""
    if last := release():
        return last
    head = git("rev-parse", "HEAD")
    begun = next((at for name in ("origin/main", "main") if (at := git("merge-base", name, "HEAD"))), head)
    return begun if begun != head else git("rev-parse", "--verify", "--quiet", "HEAD^")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The files of the program that an upgrade begins from."""
    if not (commit := base()):
        pytest.skip("no commit is before this one here: without history there is no program to upgrade from")
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True, timeout=60
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path / "former", filter="tar")
    return tmp_path / "former"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A cluster of its own, with the controller for workers of many pods."""
    with running(tmp_path, "e2e", east(), grouped("kimi")) as project:
        yield project
        left = project.destroy()
        assert left.code == 0, left.output


def write(project: Project, checkout: Path) -> None:
    """The documents as tests of a checkout write them."""
    for file in project.documents.glob("*.yaml"):
        file.unlink()
    written = subprocess.run(
        [sys.executable, "-c", DOCUMENTS],
        env=os.environ | {"PYTHONPATH": str(checkout / "tests" / "e2e")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    (project.documents / "all.yaml").write_text(written.stdout)


@contextmanager
def program_of(project: Project, checkout: Path) -> Iterator[None]:
    """The project runs the program of another checkout, until the block ends."""
    _link(project, checkout)
    try:
        yield
    finally:
        _link(project, ROOT)


def _link(project: Project, checkout: Path) -> None:
    link = project.root / "inferfleet"
    link.unlink()
    link.symlink_to(checkout / "inferfleet")
    shutil.copy(checkout / "__main__.py", project.root)
    shutil.rmtree(project.root / "classes")
    shutil.copytree(checkout / "classes", project.root / "classes")


def announced(project: Project) -> list[Step]:
    """What the program of this checkout would do."""
    done = project.run("pulumi", "preview", "--json", "--non-interactive", "--stack", project.stack)
    return steps(done.stdout)


def test_an_upgrade_does_what_is_listed_and_nothing_else(project: Project, former: Path) -> None:
    project.configure(await_="applied")
    write(project, former)
    with program_of(project, former):
        deployed = project.up()
        assert deployed.code == 0, deployed.output
    found = announced(project)
    if any(step.step == "refuse" for step in found):
        # Whoever upgrades mends the documents first.
        write(project, ROOT)
        found += announced(project)
    listed = rows(LIST.read_text())
    # Before the first release rows stay: which commit is the one before differs by clone.
    faults = [*unlisted(found, listed), *(unused(found, listed) if release() else ())]
    assert not faults, "\n".join(map(str, faults))
    with project.with_code(RENAMED):
        renamed = unlisted(announced(project), listed)
    assert {step.step for step in renamed} >= {"create", "delete"}
