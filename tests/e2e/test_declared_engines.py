"""The smallest deployments, without a template, answer in every shape that a command line is written for."""

from collections.abc import Iterator
from typing import Any

import pytest
from asking import ask, url
from documents import API, FRUGAL, Document, cluster
from project import Project

STACK, CLUSTER = "declared", "east"
ONE = {"tensor": 1}
# By name: the engine's type, the topology, and who shares requests; with `prefill` two roles.
SHAPES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "vllm-one": ("vLLM", ONE, {}),
    "vllm-two": ("vLLM", {"tensor": 1, "pipeline": 2}, {}),
    "vllm-copies": ("vLLM", {"tensor": 1, "data": 2, "dataLocal": 2}, {"balance": "Engine"}),
    "vllm-entry": ("vLLM", {"tensor": 1, "data": 4, "dataLocal": 2}, {"balance": "Engine"}),
    "vllm-pods": ("vLLM", {"tensor": 1, "data": 2}, {"balance": "Pod"}),
    "vllm-hybrid": ("vLLM", {"tensor": 1, "data": 4, "dataLocal": 2}, {"balance": "Pod"}),
    "vllm-ports": ("vLLM", {"tensor": 1, "data": 4, "dataLocal": 2}, {"balance": "Port"}),
    "vllm-apart": ("vLLM", ONE, {"prefill": True}),
    "sglang-one": ("SGLang", ONE, {}),
    "sglang-two": ("SGLang", {"tensor": 1, "pipeline": 2}, {}),
    "sglang-attention": ("SGLang", {"tensor": 2, "attention": 2}, {}),
    "sglang-apart": ("SGLang", ONE, {"prefill": True}),
}


def declared(name: str) -> Document:
    kind, topology, more = SHAPES[name]
    spec: dict[str, Any] = {
        "replicas": 1,
        "engine": {"type": kind, "model": "some/model", "servedNames": ["shared"], "drain": "5s"},
        "workers": {"topology": topology, "balance": more.get("balance")},
        "endpointPicker": FRUGAL | {"resources": {"requests": {"cpu": "100m"}}},
    }
    if "prefill" in more:
        # The sandbox has no program of the default profile's pickers for prefill.
        spec |= {"prefill": {"workers": {"topology": topology}}, "profile": "scheduler-0.7"}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    from sandboxes import running

    nodes = cluster(CLUSTER, stack=STACK, pools={"l4": ("nvidia-l4-4x", 10)})
    models = [declared(name) for name in SHAPES]
    with running(tmp_path_factory.mktemp(STACK), STACK, nodes, *models) as project:
        project.begin(clusters=[nodes], models=models)
        done = project.up()
        assert done.code == 0, done.output
        yield project


@pytest.mark.parametrize("name", SHAPES)
def test_the_smallest_deployment_answers(fleet: Project, name: str) -> None:
    answers = [ask(url(fleet, CLUSTER, f"ml/deployments/{name}"), "x " * 200) for _ in range(8)]
    assert {answer.status for answer in answers} == {200}, answers


def test_requests_reach_every_pod_whose_copies_a_picker_chooses_among(fleet: Project) -> None:
    for name, pods in {"vllm-entry": 1, "vllm-pods": 2, "vllm-hybrid": 2, "vllm-ports": 2}.items():
        path = url(fleet, CLUSTER, f"ml/deployments/{name}")
        seen = {ask(path, f"{number} " * 50).pod for number in range(40)}
        assert len(seen) == pods, name
