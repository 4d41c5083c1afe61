"""Sandboxes with a real Pulumi engine: two clusters for most tests, and one for what takes minutes."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import refused
from documents import east, west
from project import Project
from refused import Course, course
from sandboxes import running
from sharing import shares

from sandbox.orphans.sweep import sweep

STACK = "e2e"
# The sandbox that stands now, if any.
SHARED = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """The shared clusters end with the last test of theirs, which all stand in a row."""
    yield
    if shares(item) and not shares(nextitem):
        SHARED.close()


def _waits(item: pytest.Item) -> bool:
    return "going" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield SHARED.enter_context(running(tmp_path_factory.mktemp("fleet"), STACK, east(), west()))
    SHARED.close()


@pytest.fixture(scope="session")
def going(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[Course]]:
    """What goes on in a sandbox of its own beside the other tests, because it takes minutes of waiting."""
    with (
        running(tmp_path_factory.mktemp("refused"), refused.STACK, refused.cluster()) as project,
        ThreadPoolExecutor(1) as background,
    ):
        yield background.submit(course, project)


@pytest.fixture(scope="session", autouse=True)
def _swept() -> None:
    """What an interrupted run has left is ended, should its watcher have been killed with it."""
    sweep(dry_run=False, say=print)


@pytest.fixture(scope="session", autouse=True)
def _begins_first(request: pytest.FixtureRequest) -> None:
    """In one process the others run meanwhile; of several, only the one that waits for it begins it."""
    if "PYTEST_XDIST_WORKER" not in os.environ and any(_waits(item) for item in request.session.items):
        request.getfixturevalue("going")


@pytest.fixture
def project(sandboxed: Project) -> Iterator[Project]:
    """The sandbox with nothing deployed, no lock, and only the two clusters' documents."""
    yield from _empty(sandboxed)


@pytest.fixture(scope="module")
def standing(sandboxed: Project) -> Iterator[Project]:
    """The same for all tests of a module, which share what stands. None of them may use `project` too."""
    yield from _empty(sandboxed)


def _empty(project: Project) -> Iterator[Project]:
    project.begin(clusters=[east(), west()])
    yield project
    left = project.destroy()
    assert left.code == 0, left.output
