"""Manifests of add-ons beside the lock: what is written is what is read, and all else is a problem."""

from pathlib import Path
from typing import Any

import pytest

from inferfleet.documents.documents import Rendered
from inferfleet.documents.loading.installed import texts_of
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments

CLUSTER = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: Existing, existing: {kubeconfig: {path: east.kubeconfig}}}
  nodePools: [{name: l4, className: nvidia-l4-4x, nodeCount: 2}]
  serving: {gateway: {className: istio, provider: istio}, stack: STACK}
"""
SETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "sets.example.com"},
    "spec": {"group": "example.com"},
}
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "config", "namespace": "lws-system"},
    "data": {"config.yaml": "a: 1\nb: true\n"},
}
RENDERED = Rendered("h1:abc", {"replicaCount": 2}, (CONFIG, SETS))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\nstackConfigDir: stacks\n")
    folder = tmp_path / "stacks" / "prod"
    folder.mkdir(parents=True)
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text("config: {}\n")
    (folder / "clusters.yaml").write_text(CLUSTER.replace("STACK", "Managed"))
    return tmp_path


def written(project: Path, rendered: Rendered = RENDERED, version: str = "0.9.0") -> Path:
    folder = project / "stacks" / "prod" / "installed" / "leaderWorkerSet" / version
    folder.mkdir(parents=True)
    for name, text in texts_of(rendered).items():
        (folder / name).write_text(text)
    return folder


def test_what_is_written_is_read_again(project: Path) -> None:
    folder = written(project)
    assert sorted(path.name for path in folder.iterdir()) == [
        "configmap-lws-system-config.yaml",
        "sets.example.com.json",
        "source.yaml",
    ]
    documents, _ = load_stack(project, "prod", base=project)
    assert documents.installed == {"leaderWorkerSet": {"0.9.0": RENDERED}}


def test_texts_of_several_lines_are_written_line_by_line(project: Path) -> None:
    text = (written(project) / "configmap-lws-system-config.yaml").read_text()
    assert "config.yaml: |\n    a: 1\n    b: true\n" in text


def test_a_stack_that_installs_nothing_reads_none(project: Path) -> None:
    (written(project) / "sets.example.com.json").write_text("no JSON")
    clusters = project / "stacks" / "prod" / "clusters.yaml"
    clusters.write_text(CLUSTER.replace("STACK", "Provided"))
    documents, _ = load_stack(project, "prod", base=project)
    assert documents.installed == {}


def test_a_version_that_was_not_written_whole_is_not_there(project: Path) -> None:
    (written(project) / "source.yaml").unlink()
    documents, _ = load_stack(project, "prod", base=project)
    assert documents.installed == {}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("sets.example.com.json", "{", "the file cannot be read: Expecting property name enclosed in"),
        ("more.yaml", "a: [", "the file cannot be read: while parsing a flow node"),
        ("more.yaml", "- a", "the file has no map"),
        (
            "more.yaml",
            "kind: A",
            "the file is no object of Kubernetes",
        ),
    ],
)
def test_a_damaged_file_is_told_with_its_name(project: Path, name: str, content: str, what: str) -> None:
    (written(project) / name).write_text(content)
    with pytest.raises(InvalidDocuments) as raised:
        load_stack(project, "prod", base=project)
    (problem,) = raised.value.problems
    assert problem.where
    assert problem.where.file == f"stacks/prod/installed/leaderWorkerSet/0.9.0/{name}"
    assert problem.what.startswith(what)
    assert problem.next_step == "Remove its folder, and run `inferfleet stack render`, which makes it anew"
