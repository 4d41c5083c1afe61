"""The verb `stack render`: what documents have the stack install is written into the project, or compared."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from small_project import Project

from inferfleet.tables.addons import ADDONS

RELEASE = ADDONS["gatewayAPI"].releases[0]
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gateways.gateway.networking.k8s.io"},
}
FOLDER = f"stacks/prod/installed/gatewayAPI/{RELEASE.version}"
RENDER = ("stack", "render", "--stack", "prod")


@pytest.fixture
def managed(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The cluster gets Gateway API from the stack, and a stand-in for `go` has its module."""
    module = tmp_path / "module" / "config" / "crd" / "standard"
    module.mkdir(parents=True)
    (module / "gateway.yaml").write_text(yaml.safe_dump(DEFINITION))
    answer = json.dumps({"Dir": str(tmp_path / "module"), "Sum": RELEASE.digest})
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "go").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (programs / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    text = (project.root / "stacks/prod/clusters.yaml").read_text()
    cluster = yaml.safe_load(text)
    cluster["spec"]["serving"]["stack"] = {"gatewayAPI": "Managed"}
    project.write("stacks/prod/clusters.yaml", yaml.safe_dump(cluster))
    return project


def test_what_is_written_is_what_a_check_finds(managed: Project) -> None:
    assert managed.run(*RENDER, "--check").code == 1
    assert not (managed.root / FOLDER).exists()
    ran = managed.run(*RENDER)
    line = f"Gateway API {RELEASE.version}: {FOLDER}\n"
    assert (ran.code, ran.out) == (0, f"{line}2 files written or removed\n")
    again = managed.run(*RENDER, "--check")
    assert (again.code, again.out) == (0, f"{line}all files are as they are rendered\n")


def test_a_check_names_each_file_that_differs_and_the_command(managed: Project) -> None:
    assert managed.run(*RENDER).code == 0
    file = f"{FOLDER}/gateways.gateway.networking.k8s.io.json"
    managed.edit(file, '"apiVersion"', '"x": 1, "apiVersion"')
    more = {**DEFINITION, "metadata": {"name": "others.example.com"}}
    managed.write(f"{FOLDER}/more.json", json.dumps(more))
    ran = managed.run(*RENDER, "--check")
    step = "Run `inferfleet stack render --stack prod`, and commit what it writes"
    assert ran.code == 1
    assert [line for line in ran.err.splitlines() if step in line] == [
        f"{file}:1: the file is different. {step}",
        f"{FOLDER}/more.json:1: the file is left over. {step}",
    ]


def test_a_damaged_file_is_made_anew_once_its_folder_is_gone(managed: Project) -> None:
    assert managed.run(*RENDER).code == 0
    file = f"{FOLDER}/gateways.gateway.networking.k8s.io.json"
    managed.write(file, "<<<<<<< HEAD\n")
    damaged = managed.run(*RENDER)
    step = "Remove its folder, and run `inferfleet stack render`, which makes it anew"
    assert damaged.code == 1
    assert damaged.err.startswith(f"{file}:1: the file cannot be read: ")
    assert f". {step}\n" in damaged.err
    shutil.rmtree(managed.root / FOLDER)
    assert managed.run(*RENDER).code == 0


def test_a_stack_that_installs_nothing_asks_for_no_program(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    ran = project.run(*RENDER, "--check")
    assert (ran.code, ran.out) == (0, "stack prod installs nothing on its clusters\n")
