"""Probes of an engine whose team wrote none: time to load, then quick to leave and slow to be killed."""

from typing import Any

from inferfleet.api.model_deployment import Engine
from inferfleet.fleet.engine_args import startup_of
from inferfleet.profiles.engines import engine

STARTUP_PERIOD = 10
# One second, the default, is less than a busy engine needs to answer while it schedules a large batch.
TIMEOUT = 5


def probes(document: Engine, *, port: str) -> dict[str, Any]:
    """The three probes of an engine container, by the engine's health path, or by its open port."""
    return {
        "startupProbe": {
            **_how(document, port),
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": -(-startup_of(document) // STARTUP_PERIOD),
        },
        "readinessProbe": {**_how(document, port), "periodSeconds": 5, "timeoutSeconds": TIMEOUT},
        "livenessProbe": {
            **_how(document, port),
            "periodSeconds": 10,
            "timeoutSeconds": TIMEOUT,
            "failureThreshold": 3,
        },
    }


def _how(document: Engine, port: str) -> dict[str, Any]:
    path = engine(document.type).health_path
    if path is None:
        return {"tcpSocket": {"port": port}}
    return {"httpGet": {"path": path, "port": port}}
