"""Prefill and decode that do not understand each other, and what `inferfleet validate` says of each pair.

The pairs are in broken_pairs.yaml: what is changed of a good one, and each line that is told.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pair_on_disk import told
from small_project import Project

CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("broken_pairs.yaml").read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_broken_pair_is_told_with_line_and_next_step(project: Project, name: str) -> None:
    assert told(project, CASES[name]) == CASES[name]["told"]


def test_a_good_pair_is_told_nothing(project: Project) -> None:
    assert told(project, {}) == []


def test_there_are_many_broken_pairs() -> None:
    """Each of them is refused by an engine when requests come, or by llm-d's proxy."""
    assert len(CASES) >= 25
