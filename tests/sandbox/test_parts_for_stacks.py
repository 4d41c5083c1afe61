"""Parts of the toolchain that only some stacks need are built for those, and found by what runs already."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, OnDisk, together

from inferfleet.documents import load
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.images import PICKERS, SUITES
from sandbox.agent.programs.real_program import RealProgram
from sandbox.cluster import companions
from sandbox.cluster.kwok import KwokCluster
from sandbox.places import StackPlaces
from sandbox.plans import parts_for
from sandbox.toolchain.parts import EPP, LLM_D
from sandbox.toolchain.tools import Tools

ROOT = Path(__file__).parents[2]
MIRRORED = "mirror.example.com/team/llm-d-inference-scheduler:v0.7.1"


@pytest.mark.parametrize(
    ("stack", "parts"),
    [
        ("local", ["epp"]),
        ("gke-demo", ["epp"]),
        ("quickstart", ["epp"]),
        ("frontier", ["epp", "lws"]),
        ("disaggregated", ["epp", "llm-d", "lws"]),
    ],
)
def test_a_stack_has_the_parts_that_its_pods_use(stack: str, parts: list[str]) -> None:
    documents = load([ROOT / "stacks" / stack], catalogue=ROOT / "classes")
    assert [part.name for part in parts_for(documents)] == parts


@pytest.mark.parametrize(
    "documents",
    [
        (CLUSTER, DEPLOYMENT + f"  endpointPicker: {{image: '{MIRRORED}'}}\n"),
        (
            CLUSTER.replace("{className: istio}", f"{{className: istio}}, images: {{epp: '{MIRRORED}'}}"),
            DEPLOYMENT,
        ),
    ],
)
def test_a_picker_of_llm_d_asks_for_its_programs(tmp_path: Path, documents: tuple[str, str]) -> None:
    OnDisk(tmp_path).write("stacks/prod/fleet.yaml", together(CLASS, *documents))
    assert parts_for(load([tmp_path / "stacks" / "prod"], catalogue=None)) == (EPP, LLM_D)


def test_a_fleet_without_models_needs_none(tmp_path: Path) -> None:
    OnDisk(tmp_path).write("stacks/prod/fleet.yaml", together(CLASS, CLUSTER))
    assert parts_for(load([tmp_path / "stacks" / "prod"], catalogue=None)) == ()


def test_what_is_built_later_is_found_by_companions_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "bin-1", tmp_path / "bin-2"
    for folder in (first, second):
        folder.mkdir()
    (second / "epp").write_text("")
    (second / "epp").chmod(0o700)
    cluster = KwokCluster(StackPlaces(tmp_path, "local"), "east")
    started: list[dict[str, str]] = []
    monkeypatch.setattr(companions, "missing", lambda _: () if started else (companions.AGENT.name,))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.append(env))
    companions.ensure_running(cluster, Tools((), f"{first}{os.pathsep}/usr/bin"))
    monkeypatch.setenv("PATH", started[0]["PATH"])
    host = ProgramHost(cast(Any, None), cluster.places, cluster.folder)
    assert host.find("epp") is None
    companions.ensure_running(cluster, Tools((), f"{second}{os.pathsep}/usr/bin"))
    assert (host.find("epp"), len(started)) == (second / "epp", 1)


@pytest.mark.parametrize(
    ("images", "image", "words"),
    [
        (PICKERS, MIRRORED, "llm-d-epp is not built. `inferfleet sandbox up` builds it."),
        (SUITES, next(iter(SUITES)), "echo-basic is not built. `make conformance` builds it."),
    ],
)
def test_a_pod_says_what_builds_a_program_that_is_missing(
    images: dict[str, str], image: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    pod = {"metadata": {"name": "p", "namespace": "ml"}, "spec": {}}
    host, container = (
        ProgramHost(cast(Any, None), StackPlaces(tmp_path, "s"), tmp_path),
        {"name": "epp", "image": image},
    )
    program = RealProgram(host, images, pod, container, tmp_path, ContainerLog(tmp_path, "epp"))
    with pytest.raises(CannotStart) as told:
        asyncio.run(program.start())
    assert (told.value.reason, told.value.message) == ("ErrImageNeverPull", words)
