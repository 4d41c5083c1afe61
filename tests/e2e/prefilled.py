"""Deployments for end-to-end tests whose prompts are computed by pods of their own."""

from typing import Any

from documents import API, FRUGAL, Document

PROXY = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1"
# Seconds that a pod which ends may go on with the streams that it has.
GRACE = 60


def apart(
    name: str,
    *,
    decode: int = 1,
    prefill: int | None = 1,
    tensor: int = 1,
    gpu: str = "NVIDIA L4",
    image: str = "v0.32.0",
    args: tuple[str, ...] = (),
    tokens: int | None = None,
    proxy: str | None = None,
    connector: str | None = None,
    speed: int = 100,
    annotations: dict[str, str] | None = None,
    grace: int = GRACE,
    **spec: Any,
) -> Document:
    """So many decode and prefill pods; without `prefill`, decode pods that do both.

    `speed` is in tokens per second and request, `tokens` are those that a prompt must have to be computed
    apart, and `args` are of the engines of both roles, beside those that are written.
    """
    template = _template(image, speed, annotations or {}, grace)
    engine = {"model": "some/model", "servedNames": ["shared"], "args": list(args), **spec.pop("engine", {})}
    workers = {"topology": {"tensor": tensor}, "template": template}
    if prefill is not None:
        spec["prefill"] = {"workers": {**workers, "count": prefill}}
        if tokens:
            spec["prefill"]["decider"] = {"nonCachedTokens": tokens}
        if proxy:
            spec["prefill"]["proxy"] = {"image": proxy}
        if connector:
            spec["prefill"]["connector"] = connector
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {
            "replicas": 1,
            "nodeSelector": {"cel": f'attributes["gpu.nvidia.com/productName"] == "{gpu}"'},
            "engine": engine,
            "workers": {**workers, "count": decode},
            "endpointPicker": FRUGAL | {"resources": {"requests": {"cpu": "100m"}}},
            # The sandbox has no program of the default profile's pickers for prefill.
            "profile": "scheduler-0.7",
            **spec,
        },
    }


def _template(image: str, speed: int, annotations: dict[str, str], grace: int) -> dict[str, Any]:
    engine = {
        "name": "engine",
        "image": f"docker.io/vllm/vllm-openai:{image}",
        "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
    }
    steering = {"tokens-per-second": str(speed), **annotations}
    return {
        "metadata": {
            "annotations": {f"sandbox.inferfleet.dev/{key}": value for key, value in steering.items()}
        },
        "spec": {"containers": [engine], "terminationGracePeriodSeconds": grace},
    }
