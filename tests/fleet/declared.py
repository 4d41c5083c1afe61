"""A deployment by what it declares of its engine, and the command lines that are written for it."""

from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position
from inferfleet.fleet.roles import workers_of
from inferfleet.serving.engines.command_line import WorkerPod, command_line

MODEL = "Qwen/Qwen3-32B"
NOTHING: dict[str, Any] = {}


def declared(
    topology: dict[str, Any] | None = None,
    *,
    engine: dict[str, Any] = NOTHING,
    container: dict[str, Any] | None = None,
    pod: dict[str, Any] = NOTHING,
    workers: dict[str, Any] = NOTHING,
    **spec: Any,
) -> ModelDeployment:
    """ml/qwen with MODEL on one GPU; `engine` are further fields of `spec.engine`, which may take the model
    away. With fields of a container or of the pod it has a template.
    """
    template = {"spec": {"containers": [{"name": "engine", **(container or {})}], **pod}}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "engine": {"model": MODEL, **engine},
                "workers": {
                    "topology": topology or {"tensor": 1},
                    **({"template": template} if container or pod else {}),
                    **workers,
                },
                **spec,
            },
        }
    )


def pod_of(
    document: ModelDeployment, role: str = "decode", position: Position = "Entry", pods: int | None = None
) -> WorkerPod:
    """A pod of workers of so many pods: by default as many as the topology says."""
    return WorkerPod(document, role, position, pods or workers_of(document, role).topology.pods_per_worker)


def words(
    document: ModelDeployment, role: str = "decode", position: Position = "Entry", pods: int | None = None
) -> str:
    """The written command line of such a pod, with a blank between its words."""
    line = command_line(pod_of(document, role, position, pods))
    assert line is not None
    return " ".join([*line.command, *line.args])
