"""A sidecar of an outside plugin, in the folder of the project, changes what `plan` and `explain` say."""

import json
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, OnDisk, together
from installing import in_folder
from typer.testing import CliRunner

from inferfleet.cli.main import app

SIDECAR = '''\
"""A cache beside the engine."""

from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, put_container


class Cache(Config):
    memory: str


def edit(template: PodTemplate, request: Request, config: Cache) -> PodTemplate:
    """Run a cache beside the engine."""
    resources = {"requests": {"cpu": "2", "memory": config.memory}}
    put_container(template, {"name": "cache", "image": "cache:1", "resources": resources})
    return template


PLUGIN = Plugin("cache", Cache, edit, version="1.0.0")
'''

LINK = "stacks/Pulumi.prod.yaml:3"


INJECTED = '''\
"""A proxy that a webhook of the platform injects."""

from inferfleet.plugins.api import Config, Edited, Plugin, PodTemplate, Request, put_field


class Mesh(Config):
    memory: str


def edit(template: PodTemplate, request: Request, config: Mesh) -> Edited:
    """Let the platform inject its proxy."""
    put_field(template, "metadata", "annotations", "mesh.example.com/memory", value=config.memory)
    return Edited(template, injected={"mesh": {"cpu": "500m", "memory": config.memory}})


PLUGIN = Plugin("mesh", Mesh, edit, version="1.0.0")
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    made = OnDisk(tmp_path)
    made.write("Pulumi.yaml", "name: inferfleet\n")
    made.write("classes/l4.yaml", CLASS)
    deployment = DEPLOYMENT.replace('"vllm:1"', '"vllm:1", resources: {requests: {memory: 8Gi}}')
    made.write("stacks/prod/fleet.yaml", together(CLUSTER, deployment))
    in_folder(made, "cache", SIDECAR)
    in_folder(made, "mesh", INJECTED)
    monkeypatch.chdir(made.root)
    return made


def run(project: OnDisk, memory: str, *words: str) -> Any:
    return run_with(project, f"{{name: cache, config: {{memory: {memory}}}}}", *words)


def run_with(project: OnDisk, links: str, *words: str) -> Any:
    project.write(
        "stacks/Pulumi.prod.yaml",
        "config:\n"
        "  inferfleet:allowedPlugins: [{name: cache, version: 1.0.0}, {name: mesh, version: 1.0.0}]\n"
        f"  inferfleet:plugins: [{links}]\n",
    )
    return CliRunner().invoke(app, list(words), prog_name="inferfleet")


def test_replicas_whose_sidecar_fits_nowhere_have_no_place_and_the_plan_names_the_plugin(
    project: OnDisk,
) -> None:
    told = json.loads(run(project, "4Ti", "plan", "--json").stdout)
    why = (
        "has 64Gi of memory per node, needs 4104Gi (4096Gi of it by plugin cache, stacks/Pulumi.prod.yaml:3)"
    )
    (unplaced,) = told["unplaced"]
    assert (told["placements"], unplaced["short"], unplaced["reasons"]) == (
        [],
        f"east/l4: {why}",
        [{"cluster": "east", "pool": "l4", "why": why}],
    )


def test_explain_says_what_a_pod_asks_for_with_its_plugins(project: OnDisk) -> None:
    shown = run(project, "4Gi", "explain", "qwen").stdout
    assert (
        f"each pod asks for cpu 2 (2 of it by plugin cache, {LINK}), memory 12Gi (4Gi of it by plugin cache, "
        f"{LINK}) on east/l4"
    ) in shown.splitlines()
    assert json.loads(run(project, "4Gi", "explain", "qwen", "--json").stdout)["withPlugins"] == [
        {
            "role": "decode",
            "pools": [{"cluster": "east", "pool": "l4"}],
            "pod": {"cpu": "2", "memory": "12Gi", "hugepages-2Mi": "0Gi", "hugepages-1Gi": "0Gi"},
            "byPlugin": {
                "cache": {"cpu": "2", "memory": "4Gi", "hugepages-2Mi": "0Gi", "hugepages-1Gi": "0Gi"}
            },
            "follower": None,
        }
    ]


@pytest.mark.parametrize(
    ("plugin", "config"),
    [
        ("mesh", "{memory: 4Ti}"),
        ("istio", "{inject: true, proxy: {memory: 4Ti, memoryLimit: 4Ti}}"),
        (
            "model-cache",
            "{gcsFuse: {bucket: abc, sidecar: {memory: 4Ti}}, offline: true}",
        ),
    ],
)
def test_a_sidecar_that_a_webhook_injects_is_counted_though_no_template_has_it(
    project: OnDisk, plugin: str, config: str
) -> None:
    told = json.loads(run_with(project, f"{{name: {plugin}, config: {config}}}", "plan", "--json").stdout)
    why = f"has 64Gi of memory per node, needs 4104Gi (4096Gi of it by plugin {plugin}, {LINK})"
    assert [unplaced["reasons"][0]["why"] for unplaced in told["unplaced"]] == [why]


def test_explain_says_what_is_injected(project: OnDisk) -> None:
    links = "{name: mesh, config: {memory: 1Gi}}, {name: cache, config: {memory: 4Gi}}"
    shown = run_with(project, links, "explain", "qwen").stdout.splitlines()
    assert (
        f"each pod asks for cpu 2.5 (2 of it by plugin cache, {LINK}, 0.5 of it by plugin mesh, {LINK}), "
        f"memory 13Gi (4Gi of it by plugin cache, {LINK}, 1Gi of it by plugin mesh, {LINK}) on east/l4"
    ) in shown
    assert "  injected at admission: container mesh, which requests cpu 500m, memory 1Gi" in shown
    values = json.loads(run_with(project, links, "explain", "qwen", "--json").stdout)
    steps = values["placements"][0]["roles"][0]["plugins"]
    assert [step["injected"] for step in steps] == [{"mesh": {"cpu": "500m", "memory": "1Gi"}}, {}]


def test_two_links_that_disagree_on_what_is_injected_are_refused_with_both_names(project: OnDisk) -> None:
    links = "{name: istio, config: {inject: true}}, {name: istio, config: {inject: true, proxy: {cpu: 300m}}}"
    refused = run_with(project, links, "validate")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "proxyCPU 300m contradicts the template, which has 100m" in refused.stderr
