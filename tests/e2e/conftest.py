"""Sandboxes with a real Pulumi engine: two clusters for most tests, and one for what takes minutes."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import refused
from documents import east, west
from halves import HALVES
from project import Project
from refused import Course, course
from sandboxes import running

STACK = "e2e"
# The sandbox that stands now, if any.
SHARED = ExitStack()

# What takes longest goes first, so that nothing long ends alone.
LONGEST = (
    *(file for half in HALVES for file in half),
    "test_gke_killed",
    "test_gke_edits",
    "test_simulated_cloud",
    "test_refused_pickers",
    "test_gke_cluster",
    "test_gke_beside_existing",
    "test_gke_drift",
    "test_gke_apart",
    "test_gke_replaced",
    "test_gke_life",
    "test_gke_refused",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, and last all that needs no engine, which fills the gaps."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
    sharing = {item.path.stem for item in items if _shares(item)}
    if unknown := sharing - {file for half in HALVES for file in half}:
        raise pytest.UsageError(f"{unknown} share two clusters: HALVES in tests/halves.py has to name them")
    items.sort(key=lambda item: (here not in item.path.parents, _turn(item)))


def _turn(item: pytest.Item) -> int:
    return LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)


def _shares(item: pytest.Item | None) -> bool:
    return "sandboxed" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """The shared clusters end with the last test of theirs, which all stand in a row."""
    yield
    if _shares(item) and not _shares(nextitem):
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
