"""Deployments for end-to-end tests whose workers are groups of two pods: pipeline parallelism over nodes."""

import re
from typing import Any

from documents import API, FRUGAL, Document

IMAGE = "docker.io/vllm/vllm-openai:v0.30.0"
# The kubelet replaces the references, and no shell is needed.
_JOINED = (
    *("vllm", "serve", "some/model", "--served-model-name=shared"),
    *("--tensor-parallel-size=1", "--pipeline-parallel-size=2", "--nnodes=$(LWS_GROUP_SIZE)"),
    *("--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)"),
)


def grouped(
    name: str,
    *,
    replicas: int = 1,
    image: str = IMAGE,
    follower: dict[str, Any] | None = None,
    apart: bool = False,
    startup: str = "0s",
    **spec: Any,
) -> Document:
    """`follower` are fields of the followers' engine, `startup` is how long the model takes to load.

    `apart`: entry and follower wait for each other on different ports, which nobody sees before they start.
    """
    entry = _engine(image, *_JOINED, lifecycle={"preStop": {"sleep": {"seconds": 1}}})
    other = _engine(image, *_JOINED, "--headless") | (follower or {})
    if apart:
        for engine in (entry, other):
            script = " ".join(("exec", *engine["command"], "--master-port $((LWS_WORKER_INDEX + 29501))"))
            engine["command"] = ["sh", "-c", re.sub(r"\$\((LWS_\w+)\)", r"$\1", script)]
    annotations = {"sandbox.inferfleet.dev/startup": startup}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {
            "replicas": replicas,
            "workers": {
                "topology": {"tensor": 1, "pipeline": 2},
                "entry": {"template": _template(entry, annotations)},
                "follower": {"template": _template(other, annotations)},
            },
            "endpointPicker": FRUGAL,
            **spec,
        },
    }


def workers(command: list[str], **topology: int) -> dict[str, Any]:
    """Workers whose pods all have one template."""
    return {"topology": topology, "template": _template(_engine(IMAGE, *command), {})}


def _engine(image: str, *command: str, **fields: Any) -> dict[str, Any]:
    return {"name": "engine", "image": image, "command": list(command), **fields}


def _template(engine: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [engine], "terminationGracePeriodSeconds": 10},
    }
