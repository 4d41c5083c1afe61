"""Sandboxes with a real Pulumi engine, for the tests that need no other clusters than two with a few GPUs."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import toolchain
from budget import machine, part
from documents import east, west
from project import Project
from sandboxes import running
from sharing import group, shares

from sandbox.orphans.sweep import sweep

STACK = "e2e"
# The sandbox that stands now, if any, and the part of the machine that the group of tests has.
SHARED, PART = ExitStack(), ExitStack()
# The group that has it.
HOLDER: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Around all that is measured: a group that waits for its part takes no longer for it."""
    if [group(item)] != HOLDER:
        PART.close()
        PART.enter_context(part(machine(item.config).parts))
        HOLDER[:] = [group(item)]
    try:
        return (yield)
    finally:
        if group(nextitem) != group(item):
            PART.close()
            HOLDER.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """The shared clusters end with the last test of theirs, which all stand in a row."""
    yield
    if shares(item) and not shares(nextitem):
        SHARED.close()


@pytest.fixture(scope="session")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield SHARED.enter_context(running(tmp_path_factory.mktemp("fleet"), STACK, east(), west()))
    SHARED.close()


@pytest.fixture(scope="session", autouse=True)
def _begun() -> None:
    """The toolchain is there, and what an interrupted run has left is ended, should its watcher have been
    killed with it.
    """
    toolchain.wait()
    sweep(dry_run=False, say=print)


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
