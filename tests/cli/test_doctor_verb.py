"""`inferfleet doctor`: exit codes, the table, the JSON. A stand-in tells what was looked at."""

from typing import Any

import pytest
from small_project import Project

from inferfleet.cli.verbs import doctor as verb
from inferfleet.clusters.preflight.check import Check, unseen
from inferfleet.documents.problems import Problem

FINE = Check("this machine", "program pulumi")
OFF = Problem("API iam.googleapis.com is not enabled in project acme", "Run `gcloud services enable`")
WRONG = Check("project acme", "API iam.googleapis.com", "wrong", OFF)
UNSEEN = unseen("project acme", "permissions", "the API is off", "Enable it")


def looks(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    def look(*_: Any, **__: Any) -> tuple[Check, ...]:
        return checks

    monkeypatch.setattr(verb, "look", look)


def test_a_stack_with_all_it_needs_ends_well(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, FINE)
    result = project.run("doctor", "--stack", "prod")
    assert result.code == 0
    assert "this machine  program pulumi  fine" in result.out


def test_what_is_wrong_ends_with_5_and_names_the_command(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, FINE, WRONG)
    result = project.run("doctor", "--stack", "prod")
    assert result.code == 5
    assert f"{OFF.what}. {OFF.next_step}" in result.err


def test_what_was_not_seen_is_a_warning(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, UNSEEN)
    result = project.run("doctor", "--stack", "prod")
    assert result.code == 0
    assert "warning: permissions of project acme: not seen, the API is off. Enable it" in result.err


def test_json_has_every_check(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, FINE, WRONG)
    problem = {"file": None, "line": None, "path": None, "what": OFF.what, "nextStep": OFF.next_step}
    assert project.run("doctor", "--json").json["checks"] == [
        {"of": "this machine", "what": "program pulumi", "verdict": "fine", "problem": None},
        {"of": "project acme", "what": "API iam.googleapis.com", "verdict": "wrong", "problem": problem},
    ]


def test_leftovers_alone_are_looked_for_where_they_are_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Problem("pvc-1 is there", "Run `pulumi destroy`")
    found = (Check("project acme", "clusters"), Check("project acme", "disks", "wrong", left))
    monkeypatch.setattr(verb, "leftovers_of", lambda *_, **__: found)
    looks(monkeypatch, WRONG)
    result = project.run("doctor", "--leftovers")
    assert (result.code, "project acme  disks     wrong" in result.out) == (5, True)
    assert f"{left.what}. {left.next_step}" in result.err
    assert OFF.what not in result.err


def test_what_could_not_be_looked_for_may_be_left(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        Check("project acme", "disks"),
        unseen("project acme", "clusters", "who asks is unknown", "Log in"),
    )
    monkeypatch.setattr(verb, "leftovers_of", lambda *_, **__: found)
    result = project.run("doctor", "--leftovers")
    assert result.code == 5
    assert "warning: clusters of project acme: not seen, who asks is unknown. Log in" in result.err
    assert project.run("doctor", "--leftovers", "--json").code == 5


def test_without_clusters_in_google_cloud_nothing_can_be_left_there(project: Project) -> None:
    result = project.run("doctor", "--leftovers")
    assert result.code == 0
    assert "notice: no document of the stack has a cluster in Google Cloud" in result.err
