"""Labels and annotations by which a LeaderWorkerSet's controller knows its pods: nobody else sets them."""

from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Mistake, Problem
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.check import document_problems, template_check
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.template import PlacedPod

INDEX, EXCLUSIVE = (f"leaderworkerset.sigs.k8s.io/{name}" for name in ("group-index", "exclusive-topology"))
STEP = "Remove it, or use a prefix of your own"


def _stand(metadata: dict[str, Any], *, pods: int) -> PlacedPod:
    template = {"metadata": metadata, "spec": {"containers": [{"name": "engine", "image": "x"}]}}
    document = ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "workers": {"topology": {"tensor": 2, "pipeline": pods}, "template": template},
            },
        }
    )
    needs = Hardware("nvidia.com/gpu", 2, 2, {"inferfleet.dev/pool": "h100"})
    spot = Spot("ml/qwen", "east", (("decode", "h100"),))
    return PlacedPod(document, spot, "decode", "Entry", Shape(pods, 2), needs)


def _told(kind: str, key: str) -> str:
    return (
        f"the {kind} {key} is one that the controller of LeaderWorkerSets sets on pods of workers, and these "
        "workers have 2 pods"
    )


@pytest.mark.parametrize(("kind", "key"), [("label", INDEX), ("annotation", EXCLUSIVE)])
def test_a_team_does_not_set_them_on_workers_of_several_pods(kind: str, key: str) -> None:
    found = list(document_problems(_stand({f"{kind}s": {key: "1", "team": "ml"}}, pods=2)))
    path = f'spec.workers.template.metadata.{kind}s["{key}"]'
    assert found == [Problem(_told(kind, key), STEP, path, kind="ModelDeployment", key="ml/qwen")]


def test_nor_does_a_plugin() -> None:
    template = {
        "metadata": {"labels": {INDEX: "1"}},
        "spec": {"containers": [{"name": "engine", "image": "x"}]},
    }
    found = list(template_check(_stand({}, pods=2))(template))
    assert found == [Mistake(_told("label", INDEX), STEP, (f'metadata.labels["{INDEX}"]',))]


def test_pods_of_a_deployment_may_have_them() -> None:
    assert list(document_problems(_stand({"labels": {INDEX: "1"}}, pods=1))) == []
