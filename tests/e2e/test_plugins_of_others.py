"""Three plugins of others run on a real engine, from the project's folder and then from a package."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import API, Document, cluster, deployment
from project import ROOT, Project, checkout
from sandboxes import started

from sandbox import clusters

STACK = "outside"
VERSION = "1.2.0"
MODULES = {"even-spread": "even_spread", "rdma": "rdma", "tokenizer": "tokenizer"}
CHAIN = [
    {"name": "even-spread"},
    {"name": "rdma", "config": {"hugePages": "4Gi"}},
    {"name": "tokenizer", "config": {"image": "example.com/tokenizer:1"}},
]
WORKLOAD = "Deployment east/ml/chat-decode-h100"
# Nodes whose adapters and huge pages a device plugin and the node's boot line would offer.
CLASS = {
    "apiVersion": API,
    "kind": "InferenceClass",
    "metadata": {"name": "h100-rdma"},
    "spec": {
        "node": {
            "cpu": "200",
            "memory": "1800Gi",
            "hugepages": {"2Mi": "64Gi"},
        },
        "devices": [
            {
                "name": "gpu",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "count": 2,
                "attributes": {"productName": {"string": "NVIDIA H100 80GB HBM3"}},
            },
            {"name": "adapter", "driver": "rdma/ib", "claim": "Synthetic", "count": 8},
        ],
    },
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with the three plugins in its folder, allowed and in the chain of the stack."""
    plain = checkout(tmp_path_factory.mktemp("outside"), STACK)
    (plain.root / "classes/h100-rdma.yaml").write_text(yaml.safe_dump(CLASS))
    plain.begin(
        clusters=[cluster("east", stack=STACK, pools={"h100": ("h100-rdma", 2)})],
        chat=[_chat()],
    )
    (plain.root / "plugins").mkdir()
    for module in MODULES.values():
        shutil.copy(ROOT / "tests/plugins/outside" / f"{module}.py", plain.root / "plugins")
    try:
        made, _ = started(plain)
        made.configure(allowedPlugins=_allowed(*MODULES), plugins=CHAIN)
        yield made
    finally:
        clusters.down(plain.root, STACK)


def _chat() -> Document:
    made = deployment("chat", gpus=2)
    # Kubernetes takes huge pages only beside cores or memory.
    made["spec"]["workers"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    return made


def _allowed(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "version": VERSION} for name in names]


def _packaged(project: Project, site: Path) -> Project:
    """The same project with the modules of its folder in an installed package instead."""
    for module in MODULES.values():
        site.joinpath(f"acme_{module}.py").write_text((project.root / f"plugins/{module}.py").read_text())
    shutil.rmtree(project.root / "plugins")
    information = site / f"acme_plugins-{VERSION}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-plugins\nVersion: {VERSION}\n")
    points = "".join(f"{name} = acme_{module}:PLUGIN\n" for name, module in MODULES.items())
    (information / "entry_points.txt").write_text(f"[inferfleet.plugins]\n{points}")
    return replace(project, environment={**project.environment, "PYTHONPATH": str(site)})


def _status(project: Project) -> Mapping[str, Any]:
    told: dict[str, Any] = json.loads(project.cli("status", "--stack", STACK, "--json").stdout)
    return told


def test_plugins_of_a_folder_validate_render_explain_run_and_serve(project: Project) -> None:
    for verb in ("validate", "render"):
        ran = project.cli(verb, "--stack", STACK)
        assert ran.returncode == 0, ran.stderr
    explained = project.cli("explain", "chat", "--stack", STACK)
    assert explained.returncode == 0, explained.stderr
    assert "remark: the tokenizer listens on port 8500" in explained.stdout
    done = project.up()
    assert done.code == 0, done.output
    assert done.operations[WORKLOAD] == "create"
    [pod] = [
        pod for pod in project.items("east", "pods") if pod["metadata"]["name"].startswith("chat-decode")
    ]
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    assert {
        key: containers["engine"]["resources"]["limits"][key] for key in ("hugepages-2Mi", "rdma/ib")
    } == {
        "hugepages-2Mi": "4Gi",
        "rdma/ib": "1",
    }
    assert sorted(containers) == ["engine", "tokenizer"]
    assert pod["status"]["phase"] == "Running"
    assert {deployment["phase"] for deployment in _status(project)["deployments"]} == {"Ready"}


def test_the_same_plugins_from_a_package_change_nothing(project: Project, tmp_path: Path) -> None:
    packaged = _packaged(project, tmp_path)
    listed = packaged.cli("plugins", "--stack", STACK)
    assert "rdma 1.2.0 (acme-plugins 1.2.0, acme_rdma:PLUGIN)" in listed.stdout, listed.stderr
    done = packaged.up()
    assert (done.code, done.operations) == (0, {}), done.output


BROKEN = {
    "exits": ("raise SystemExit(3)\n", "exits.py:1"),
    "prints": ("print('hello')\nPLUGIN = None\n", "prints.py:1"),
    "fails": ("import not_there\n", "fails.py:1"),
}


def test_broken_and_unallowed_plugins_stop_an_update_with_file_and_line(project: Project) -> None:
    folder = project.root / "plugins"
    folder.mkdir(exist_ok=True)
    for name, (text, _) in BROKEN.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "unallowed.py").write_text("raise SystemExit('it ran')\n")
    project.configure(
        allowedPlugins=_allowed(*BROKEN),
        plugins=[*({"name": name} for name in BROKEN), {"name": "unallowed"}],
    )
    done = project.up()
    assert (done.code == 0, done.operations) == (False, {}), done.output
    assert [place for _, place in BROKEN.values() if place not in done.output] == []
    assert "plugin unallowed (plugins/unallowed.py) is not allowed in this stack" in done.output
    assert "Traceback" not in done.output
    assert "it ran" not in done.output
