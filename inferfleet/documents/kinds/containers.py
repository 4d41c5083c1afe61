"""Containers and labels that mean something in pods and on nodes."""

from collections.abc import Mapping
from typing import Any

# The label of nodes that names their pool.
POOL_LABEL = "inferfleet.dev/pool"
# The container that serves the model.
ENGINE = "engine"
# The init container that runs beside the engine of a decode pod where prefill is apart, and takes requests.
ROUTING_PROXY = "routing-proxy"


def engine_container(spec: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the place of the engine among the containers of a pod's spec, and its container.

    A spec without one is refused when it is read.
    """
    containers = enumerate(spec["containers"])
    return next((place, container) for place, container in containers if container["name"] == ENGINE)
