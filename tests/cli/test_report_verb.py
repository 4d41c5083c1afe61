"""`inferfleet report`: one file for a browser, written whole or not at all."""

from pathlib import Path

from in_git import commit, git
from small_project import LOCK, Project


def test_a_report_is_one_file_and_the_same_each_time(project: Project) -> None:
    ran = project.run("report", "-o", "fleet.html")
    assert (ran.code, ran.out) == (0, "fleet.html is written\n")
    text = (project.root / "fleet.html").read_text()
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "ml/qwen" in text
    project.run("report", "-o", "fleet.html")
    assert (project.root / "fleet.html").read_text() == text


def test_the_base_is_named_and_what_changes_is_marked(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    commit(project.root)
    project.edit("stacks/prod/models.yaml", "vllm:1", "vllm:2")
    ran = project.run("report", "-o", "fleet.html", "--base", "HEAD", "--json")
    assert ran.code == 0
    assert ran.json["base"] == git(project.root, "rev-parse", "HEAD").strip()
    (model,) = ran.json["models"]
    assert "Deployment east/ml/qwen-decode-l4 restarts" in " ".join(model["changes"])


def test_documents_with_problems_give_no_file(project: Project) -> None:
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: many")
    ran = project.run("report", "-o", "fleet.html")
    assert (ran.code, (project.root / "fleet.html").exists()) == (1, False)


def test_nothing_is_written_through_a_link(project: Project, tmp_path: Path) -> None:
    (project.root / "fleet.html").symlink_to(tmp_path / "elsewhere.html")
    ran = project.run("report", "-o", "fleet.html")
    assert (ran.code, (tmp_path / "elsewhere.html").exists()) == (1, False)
    assert "symbolic link" in ran.err


def test_a_cluster_without_an_answer_is_told_with_live(project: Project) -> None:
    ran = project.run("report", "-o", "fleet.html", "--live", "--json")
    assert ran.code == 0
    assert [cluster["phase"] for cluster in ran.json["clusters"]] == ["Unknown"]
    assert ran.json["clusters"][0]["silent"]
