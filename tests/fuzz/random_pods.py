"""Pod templates as the system generates them, from random ones that a team may write."""

from typing import Any

from pods import templates

from inferfleet.documents.kinds.base import API_VERSION
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.loading.validation import validated
from inferfleet.documents.pods.template import template_mistakes
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.check import document_problems, template_problems
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template

_SPOT = Spot("ml/web", "east", (("decode", "h100"),))
_HARDWARE = Hardware("nvidia.com/gpu", 2, 8, {"inferfleet.dev/pool": "h100"})


def generated_pod(seed: int) -> dict[str, Any]:
    """The first template of a seed that is taken, with what serving and hardware need."""
    for template in templates(seed):
        if any(template_mistakes(template)):
            continue
        document, _ = validated(ModelDeployment, _document(template))
        if document is None:
            continue
        stand = PlacedPod(document, _SPOT, "decode", "Entry", Shape(1, 2), _HARDWARE)
        if any(document_problems(stand)):
            continue
        generated = pod_template(stand)
        if not any(template_problems(generated, stand)):
            return generated
    raise AssertionError("templates are endless")


def _document(template: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ModelDeployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"replicas": 1, "workers": {"topology": {"tensor": 2}, "template": template}},
    }
