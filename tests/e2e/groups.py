"""Deployments for end-to-end tests whose workers are groups of two pods: pipeline parallelism over nodes."""

from typing import Any

from documents import API, FRUGAL, Document

IMAGE = "docker.io/vllm/vllm-openai:v0.32.0"
# A command of one's own, by which entry and followers wait for each other on different ports.
_APART = (
    "exec vllm serve $INFERFLEET_MODEL --served-model-name $INFERFLEET_SERVED_NAMES --port $INFERFLEET_PORT "
    "--pipeline-parallel-size $INFERFLEET_PIPELINE --nnodes $INFERFLEET_PODS --node-rank $INFERFLEET_RANK "
    "--master-addr $INFERFLEET_LEADER --master-port $((INFERFLEET_RANK + 29501)) "
    "$( [ $INFERFLEET_RANK -gt 0 ] && echo --headless )"
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
    command = ("sh", "-c", _APART) if apart else ()
    entry = _engine(image, *command, lifecycle={"preStop": {"sleep": {"seconds": 1}}})
    other = _engine(image, *command) | (follower or {})
    annotations = {"sandbox.inferfleet.dev/startup": startup}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {
            "replicas": replicas,
            "engine": {"model": "some/model", "servedNames": ["shared"], **spec.pop("engine", {})},
            "workers": {
                "topology": {"tensor": 1, "pipeline": 2},
                "entry": {"template": _template(entry, annotations)},
                "follower": {"template": _template(other, annotations)},
            },
            "endpointPicker": FRUGAL,
            **spec,
        },
    }


def workers(**topology: int) -> dict[str, Any]:
    """Workers whose pods all have one template."""
    return {"topology": topology, "template": _template(_engine(IMAGE), {})}


def _engine(image: str, *command: str, **fields: Any) -> dict[str, Any]:
    own = {"command": list(command)} if command else {}
    return {"name": "engine", "image": image, **own, **fields}


def _template(engine: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [engine], "terminationGracePeriodSeconds": 10},
    }
