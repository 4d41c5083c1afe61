"""A deployment whose prefill and decode are apart, and stands of its pods on one cluster."""

from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.template import PlacedPod

SPOT = Spot("ml/qwen", "east", (("decode", "h100"), ("prefill", "h200")), "3fa01c")
ONE = {"tensor": 2}
MODEL = "Qwen/Qwen3-32B"


def workers(*, topology: dict[str, int] | None = None, **pod: Any) -> dict[str, Any]:
    """Workers; `engine` are fields of their engine's container, others of the pod."""
    engine = {"name": "engine", "image": "vllm:1", **pod.pop("engine", {})}
    spec = {"containers": [engine, *pod.pop("sidecars", [])], **pod}
    return {"topology": topology or ONE, "template": {"spec": spec}}


def apart(
    decode: dict[str, Any] | None = None, prefill: dict[str, Any] | None = None, **fields: Any
) -> ModelDeployment:
    """ml/qwen with these workers; `engine` are fields of the deployment's, others those of prefill."""
    engine = {"model": MODEL, **fields.pop("engine", {})}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "workers": decode or workers(),
                "prefill": {"workers": prefill or workers(), **fields},
                "engine": engine,
            },
        }
    )


def stand(
    document: ModelDeployment,
    role: str = "decode",
    position: Any = "Entry",
    *,
    profile: str = "gie-1.5",
    fabric: Any = "None",
    **serving: Any,
) -> PlacedPod:
    """Pods of a role on nodes with as many GPUs as a pod has; `serving` is the cluster's."""
    topology = (document.spec.prefill or document.spec).workers.topology if role == "prefill" else None
    topology = topology or document.spec.workers.topology
    gpus = topology.gpus_per_pod
    return PlacedPod(
        document,
        SPOT,
        role,
        position,
        Shape(topology.pods_per_worker, gpus),
        Hardware("nvidia.com/gpu", gpus, gpus, {"inferfleet.dev/pool": SPOT.pool(role)}, fabric=fabric),
        serving=Serving.model_validate(
            {"gateway": {"className": "any", "provider": "none"}, "profile": profile, **serving}
        ),
    )
