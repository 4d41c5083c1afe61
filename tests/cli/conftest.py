from pathlib import Path

import pytest
from small_project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with one stack `prod`, in which the test's command runs."""
    made = Project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made
