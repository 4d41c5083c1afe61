from pathlib import Path

import pytest
from in_git import commit
from small_project import LOCK, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with one stack `prod`, in which the test's command runs."""
    made = Project(tmp_path)
    monkeypatch.chdir(tmp_path)
    # In CI stacks are locked by default, and tests say themselves where they are.
    monkeypatch.delenv("CI", raising=False)
    return made


@pytest.fixture
def committed(project: Project) -> Project:
    """The project with its lock, committed."""
    project.write("stacks/prod/placement.lock", LOCK)
    commit(project.root)
    return project
