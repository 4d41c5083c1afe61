"""Pods that no node of their pool takes: an error of the document, or of the plugin that asks for it."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack
from test_on_cloud import on_gke

from inferfleet.desired import desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, mapping, require_nodes
from inferfleet.plugins.registry import builtin

REQUIRED = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
STEP = "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean"


class Label(Config):
    key: str
    value: str


def _nodes(template: PodTemplate, request: Request, config: Label) -> PodTemplate:
    """Require a label of nodes."""
    require_nodes(template, config.key, [config.value])
    return template


def _selector(template: PodTemplate, request: Request, config: Label) -> PodTemplate:
    """Select nodes by a label."""
    mapping(template, "spec", "nodeSelector")[config.key] = config.value
    return template


REGISTRY = builtin().with_(
    Plugin("nodes", Label, _nodes, version="1.0.0"), Plugin("selector", Label, _selector, version="1.0.0")
)


def _errors(documents: Documents) -> list[str]:
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING, registry=REGISTRY)
    return [f"{problem.key} {problem}" for problem in raised.value.problems]


def _requires(key: str, value: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED.rpartition(".")[2]: terms}}}


def test_an_affinity_of_the_document_that_excludes_the_pool_is_an_error_with_its_field() -> None:
    documents = stack(cluster("east"), deployment("a", pod=_requires("inferfleet.dev/pool", "other")))
    assert _errors(documents) == [
        "ml/a spec.workers.template.spec.affinity.nodeAffinity: no pool of the clusters that clusterSelector "
        "matches has nodes for this template (east/l4: its nodes have inferfleet.dev/pool=l4, and the "
        "template needs inferfleet.dev/pool=other). Correct it, or add a pool with such nodes"
    ]


def test_an_affinity_of_a_plugin_that_excludes_the_pool_is_an_error_of_its_link() -> None:
    links = [{"name": "nodes", "config": {"key": "inferfleet.dev/pool", "value": "other"}}]
    documents = stack(cluster("east"), deployment("a"), plugins=links)
    (error,) = _errors(documents)
    assert error.startswith("test plugins[0]: plugin nodes: ")


def test_labels_that_gke_gives_its_nodes_are_known() -> None:
    documents = on_gke(zones=["us-east4-a"])
    values = {
        "topology.kubernetes.io/zone": ("us-east4-b", "us-east4-a"),
        "kubernetes.io/arch": ("arm64", "amd64"),
        "cloud.google.com/gke-accelerator": ("nvidia-h100-80gb", "nvidia-l4"),
    }
    links = [
        {"name": "selector", "config": {"key": key, "value": wrong}} for key, (wrong, _) in values.items()
    ]
    settings = documents.settings.model_validate({"stack": "test", "plugins": links})
    step = f"(deployment ml/a, role decode on east/l4). {STEP}"
    assert _errors(replace(documents, settings=settings)) == [
        f'test plugins[{number}]: plugin selector: spec.nodeSelector["{key}"]: '
        f"it is {wrong!r}, but nodes of pool l4 of cluster east, where it was placed, have {key}={right} "
        f"{step}"
        for number, (key, (wrong, right)) in enumerate(values.items())
    ]


def test_of_nodes_that_exist_already_only_the_labels_of_the_document_are_known() -> None:
    selected = {"nodeSelector": {"kubernetes.io/arch": "arm64", "topology.kubernetes.io/zone": "z"}}
    found = desired(stack(cluster("east"), deployment("a", pod=selected)), NOTHING)
    assert [placement.replicas for placement in found.plan.placements] == [1]
