"""Pods with probes of a team's own, and what is said of them."""

from typing import Any

from inferfleet.manifests.pod.probes import probe_mistakes

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.clashes import document_contradictions
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import pod_template

Said = list[tuple[str, str]]
VLLM = ["vllm", "serve", "m"]
LEAVE = "leave the probes out, and inferfleet writes all three"


def stand_of(
    *beside: dict[str, Any],
    kind: str = "vLLM",
    startup: str | None = None,
    role: str = "decode",
    **engine: Any,
) -> Stand:
    container = {"name": "engine", "image": "x", "command": VLLM, **engine}
    document = ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "engine": {"type": kind, **({"startup": startup} if startup else {})},
                "workers": {
                    "topology": {"tensor": 1},
                    "template": {"spec": {"containers": [container, *beside]}},
                },
            },
        }
    )
    spot = Spot("ml/qwen", "east", (("decode", "h100"),))
    needs = Hardware("nvidia.com/gpu", 1, 1, {"inferfleet.dev/pool": "h100"})
    return Stand(document, spot, role, "Entry", Shape(1, 1), needs)


def refused(stand: Stand) -> Said:
    found = document_contradictions(stand)
    return [(one.path.removeprefix("spec.workers.template.spec.containers[0]."), one.what) for one in found]


def warned(*beside: dict[str, Any], **fields: Any) -> Said:
    stand = stand_of(*beside, **fields)
    found = probe_mistakes(pod_template(stand)["spec"], stand)
    return [(mistake.what, mistake.next_step) for mistake in found]


def asking(**way: Any) -> dict[str, Any]:
    return {"httpGet": {"path": "/health", "port": "http", **way}}
