"""A clone of a new project for each test of its workflows."""

from pathlib import Path

import pytest
from workflows import Clone, clone_in


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return clone_in(tmp_path)
