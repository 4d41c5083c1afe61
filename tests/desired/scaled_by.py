"""What validation says of one metric that replicas are scaled by."""

from typing import Any

from small_stack import cluster, made

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import InvalidDocuments

GAUGE = "Write a gauge such as vllm:num_requests_waiting"
SHARE = "Write a share such as 0.8"


def problems(
    name: str,
    target: str = "0.7",
    *,
    kind: str = "vLLM",
    image: str = "",
    most: int = 4,
    command: tuple[str, ...] = (),
    plugins: tuple[str, ...] = (),
    **topology: int,
) -> list[tuple[str, str, str, str]]:
    """What is said of a metric: severity, the end of its path, what, next step."""
    container = {"name": "engine", "image": image or "engine:1", "command": list(command)}
    written = ModelDeployment.model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {
                "engine": {"type": kind},
                "replicas": {"min": 1, "max": most},
                "scaling": {"by": "HPA", "metrics": [{"name": name, "target": target}]},
                "plugins": [{"name": plugin} for plugin in plugins],
                "workers": {
                    "topology": {"tensor": 1, **topology},
                    "template": {"spec": {"containers": [container]}},
                },
            },
        }
    )
    try:
        found: Any = made(cluster("east"), written).warnings
    except InvalidDocuments as refused:
        found = refused.problems
    below = "spec.scaling.metrics[0]."
    return [
        (one.severity, one.path.removeprefix(below), one.what, one.next_step)
        for one in found
        if one.path.startswith(below)
    ]
