"""Runs where there is less room than documents ask for, or was when somebody looked."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fleet_of_one import DEPLOYMENT, TODAY
from recorded_project import EAST, LOCK, Project, recorded

from inferfleet.documents.problems import Where
from inferfleet.fleet.lock.capacity import Observation, text


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return recorded(tmp_path, monkeypatch)


def test_replicas_without_a_place_stop_an_update_and_are_announced_by_a_preview(project: Project) -> None:
    project.set(unplaced="error")
    project.write("stacks/prod/models.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: 3"))
    no_lock, *announced = project.prepare(preview=True).warnings
    assert no_lock.what.startswith("there is no stacks/prod/placement.lock")
    assert project.problems(preview=False) == tuple(replace(one, severity="error") for one in announced)
    assert [one.severity for one in announced] == ["warning"]
    assert [(one.path, one.where) for one in announced] == [
        ("spec.replicas", Where("stacks/prod/models.yaml", 5))
    ]


def test_by_default_new_replicas_without_a_place_stop_nothing_and_lost_ones_do(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.write("stacks/prod/models.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: 3"))
    prepared = project.prepare()
    assert ["1 of 3 replicas of ml/qwen" in one.what for one in prepared.warnings] == [True]
    assert prepared.lock_text == LOCK.replace("l4: 1", "l4: 2")
    project.write("stacks/prod/clusters.yaml", EAST.replace("spec:\n", "spec:\n  state: abandoned\n"))
    assert ["1 of them runs now" in one.what for one in project.problems(preview=False)] == [True]
    assert project.prepare(preview=True).lock_text is not None
    assert project.files["stacks/prod/placement.lock"] == LOCK


@pytest.mark.parametrize(("days", "told"), [(7, False), (8, True)])
def test_previews_and_updates_say_that_what_was_seen_is_old(project: Project, days: int, told: bool) -> None:
    seen = Observation(TODAY - timedelta(days=days), 1)
    project.write("stacks/prod/capacity.lock", text("prod", {("east", "l4"): seen}))
    old = f"capacity.lock has pool east/l4 as of {seen.day}, {days} days ago"
    for preview in (True, False):
        warnings = [one.what for one in project.prepare(preview=preview).warnings]
        assert (old in warnings) == told


def test_previews_and_updates_say_that_what_was_seen_cannot_be(project: Project) -> None:
    seen = {("east", "x"): Observation(TODAY, 1), ("east", "l4"): Observation(TODAY + timedelta(days=9), 1)}
    project.write("stacks/prod/capacity.lock", text("prod", seen))
    for preview in (True, False):
        told = [str(one.where) for one in project.prepare(preview=preview).warnings if one.where]
        assert sorted(told) == ["stacks/prod/capacity.lock:4", "stacks/prod/capacity.lock:5"]
