"""Three plugins of others, written by the guide, act the same from the folder and from a package."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, LOCK, SERVICE, OnDisk, together
from installing import TEXTS, as_package, in_folder
from typer.testing import CliRunner

from inferfleet.cli.main import app

NAMES = {"even_spread": "even-spread", "rdma": "rdma", "tokenizer": "tokenizer"}
SETTINGS = """\
config:
  inferfleet:allowedPlugins:
    - {name: even-spread, version: 1.2.0}
    - {name: rdma, version: 1.2.0}
    - {name: tokenizer, version: 1.2.0}
  inferfleet:plugins:
    - {name: even-spread, config: {whenUnsatisfiable: DoNotSchedule}}
    - {name: rdma, config: {hugePages: 4Gi}}
    - {name: tokenizer, config: {image: "tokenizer:1"}}
"""


@pytest.fixture(params=["folder", "package"])
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    made = OnDisk(tmp_path / "project")
    made.write("Pulumi.yaml", "name: inferfleet\n")
    made.write("classes/l4.yaml", CLASS.replace("memory: 64Gi}", "memory: 64Gi, hugepages: {2Mi: 16Gi}}"))
    deployment = DEPLOYMENT.replace("{tensor: 1}", "{tensor: 2}").replace(
        '"vllm:1"',
        '"vllm:1", resources: {requests: {cpu: "4", memory: 16Gi}}',
    )
    made.write("stacks/prod/placement.lock", LOCK)
    made.write("stacks/prod/fleet.yaml", together(CLUSTER, deployment, SERVICE))
    made.write("stacks/Pulumi.prod.yaml", SETTINGS)
    if request.param == "folder":
        for module, text in TEXTS.items():
            in_folder(made, module, text)
    else:
        site = OnDisk(tmp_path / "site")
        for module, text in TEXTS.items():
            site.write(f"acme_outside_{module}.py", text)
        points = {NAMES[module]: f"acme_outside_{module}:PLUGIN" for module in TEXTS}
        as_package(site.root, monkeypatch, points)
    monkeypatch.chdir(made.root)
    return made


def run(*words: str) -> Any:
    ran = CliRunner().invoke(app, list(words), prog_name="inferfleet")
    assert ran.exit_code == 0
    return json.loads(ran.stdout)


def objects() -> dict[str, Any]:
    manifests = [entry["manifest"] for entry in run("render", "--format", "json")]
    return {f"{made['kind']} {made['metadata']['name']}": made for made in manifests}


def test_the_whole_pod_is_what_the_three_say(project: OnDisk) -> None:
    made = objects()
    pod = made["Deployment qwen-decode-l4"]["spec"]["template"]["spec"]
    (project.root / "stacks/Pulumi.prod.yaml").unlink()
    expected = copy.deepcopy(objects()["Deployment qwen-decode-l4"]["spec"]["template"]["spec"])
    expected["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {
                "matchLabels": {
                    "inferfleet.dev/deployment": "qwen",
                    "inferfleet.dev/role": "decode",
                    "inferfleet.dev/placement": "l4",
                }
            },
        }
    ]
    (engine,) = expected["containers"]
    for part in ("limits", "requests"):
        engine["resources"][part] |= {"rdma/ib": "1", "hugepages-2Mi": "4Gi"}
    engine["securityContext"]["capabilities"]["add"] = ["IPC_LOCK"]
    engine["volumeMounts"].append({"name": "hugepages", "mountPath": "/hugepages-2Mi"})
    engine["env"].append({"name": "UCX_TLS", "value": "rc,cuda_copy,cuda_ipc"})
    expected["volumes"] += [
        {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}},
        {"name": "tokenizer", "configMap": {"name": "qwen-decode-l4-tokenizer"}},
    ]
    expected["containers"].append(
        {
            "name": "tokenizer",
            "image": "tokenizer:1",
            "ports": [{"name": "tokenize", "containerPort": 8500}],
            "volumeMounts": [{"name": "tokenizer", "mountPath": "/etc/tokenizer", "readOnly": True}],
        }
    )
    assert pod == expected
    assert made["ConfigMap qwen-decode-l4-tokenizer"]["data"] == {
        "settings.json": '{"engine": "http://localhost:8000", "threads": 4}'
    }


def test_explain_names_each_with_its_effect_and_remarks(project: OnDisk) -> None:
    (placement,) = run("explain", "qwen", "--json")["placements"]
    (role,) = placement["roles"]
    assert [
        (step["plugin"], step["version"], step["effect"], step["remarks"]) for step in role["plugins"]
    ] == [
        ("even-spread", "1.2.0", "changed", []),
        ("rdma", "1.2.0", "changed", []),
        ("tokenizer", "1.2.0", "changed", ["the tokenizer listens on port 8500"]),
    ]
    beside = {"object": "ConfigMap qwen-decode-l4-tokenizer", "when": "before"}
    assert [step["companions"] for step in role["plugins"]] == [[], [], [beside]]
    told = CliRunner().invoke(app, ["explain", "qwen"], prog_name="inferfleet").stdout
    assert "  created before the workload: ConfigMap qwen-decode-l4-tokenizer\n" in told


def test_a_pod_that_the_plugin_cannot_serve_is_refused_with_the_line_of_the_link(project: OnDisk) -> None:
    file = project.root / "stacks/prod/fleet.yaml"
    file.write_text(file.read_text().replace("tensor: 2", "tensor: 1").replace("size=2", "size=1"))
    ran = CliRunner().invoke(app, ["validate"], prog_name="inferfleet")
    assert ran.exit_code == 1
    assert ran.stderr.splitlines()[0] == (
        "stacks/Pulumi.prod.yaml:8: plugins[1]: plugin rdma: a pod with 1 of 2 devices shares "
        "its node's adapters (deployment ml/qwen, role decode on east/l4). Take whole nodes"
    )
