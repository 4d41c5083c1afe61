"""Runs whose clusters Google would refuse to make, or to let anybody reach."""

from dataclasses import replace
from pathlib import Path

import pytest
from recorded_project import recorded

from inferfleet import run
from inferfleet.documents.problems import Problem


@pytest.mark.parametrize("preview", [True, False])
def test_what_google_would_refuse_stops_a_run_and_what_was_not_read_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    project = recorded(tmp_path, monkeypatch)
    unread = Problem("not read: policies", "Ask for it", severity="notice")
    refused = Problem("a policy refuses the gateway", "Write another", kind="InferenceCluster", key="east")
    monkeypatch.setattr(run, "cloud_problems", lambda *_, **__: (unread,))
    assert unread in project.prepare(preview=preview).warnings
    monkeypatch.setattr(run, "cloud_problems", lambda *_, **__: (unread, refused))
    assert [replace(one, where=None) for one in project.problems(preview=preview)] == [refused]
    assert "stacks/prod/placement.lock" not in project.files
