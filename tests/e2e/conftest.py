"""Sandboxes with a real Pulumi engine: two clusters for most tests, and one for what takes minutes."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import refused
from documents import east, west
from project import Project
from refused import Course, course
from sandboxes import running

STACK = "e2e"


# What takes longest goes first, so that it does not end alone.
LONGEST = (
    "test_refused_pickers",
    "test_gke_killed",
    "test_gke_edits",
    "test_simulated_cloud",
    "test_recover_on_engine",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest, then files of clusters of Google's, then those that share two clusters, which in most
    processes so stand for half of the time only; then all that needs no engine, which fills the gaps.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
    items.sort(key=lambda item: (here not in item.path.parents, _turn(item)))


def _turn(item: pytest.Item) -> int:
    if item.path.stem in LONGEST:
        return LONGEST.index(item.path.stem)
    return len(LONGEST) + ("sandboxed" in getattr(item, "fixturenames", ()))


def _waits(item: pytest.Item) -> bool:
    return "going" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with running(tmp_path_factory.mktemp("fleet"), STACK, east(), west()) as project:
        yield project


@pytest.fixture(scope="session")
def going(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[Course]]:
    """What goes on in a sandbox of its own beside the other tests, because it takes minutes of waiting."""
    with (
        running(tmp_path_factory.mktemp("refused"), refused.STACK, refused.cluster()) as project,
        ThreadPoolExecutor(1) as background,
    ):
        yield background.submit(course, project)


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
