"""What some gateways need beside pools and pickers."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving import gateway
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE = profile("gie-1.5")
STACK = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
HERE = {"name": "qwen", "namespace": "ml", "labels": {**STACK, "inferfleet.dev/deployment": "qwen"}}
POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}


def _policy(kind: str, default: dict[str, Any], target: dict[str, str] = POOL) -> dict[str, Any]:
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": kind,
        "metadata": {**HERE, "name": target["name"]},
        "spec": {"targetRef": target, "default": default},
    }


RULE = {
    "apiVersion": "networking.istio.io/v1",
    "kind": "DestinationRule",
    "metadata": {**HERE, "name": "qwen-epp"},
    "spec": {
        "host": "qwen-epp",
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    },
}
PICKER = {"group": "", "kind": "Service", "name": "qwen-epp"}


def _times(pods: int, picker: int) -> list[dict[str, Any]]:
    return [
        _policy(
            "GCPBackendPolicy",
            {
                "timeoutSec": 3600,
                "connectionDraining": {"drainingTimeoutSec": pods},
                "logging": {"enabled": True},
            },
        ),
        _policy(
            "GCPBackendPolicy",
            {"timeoutSec": 3600, "connectionDraining": {"drainingTimeoutSec": picker}},
            PICKER,
        ),
    ]


HTTP = {"type": "HTTP", "httpHealthCheck": {"requestPath": "/health", "port": 8000}}
TCP = {"type": "TCP", "tcpHealthCheck": {"port": 8000}}


def _health(config: dict[str, Any]) -> dict[str, Any]:
    return _policy("HealthCheckPolicy", {"timeoutSec": 2, "checkIntervalSec": 2, "config": config})


@pytest.mark.parametrize(
    ("provider", "flags", "engine", "objects"),
    [
        ("none", {}, "vLLM", []),
        ("envoy", {}, "vLLM", []),
        ("istio", {}, "vLLM", [RULE]),
        ("istio", {"secure-serving": False}, "vLLM", []),
        ("gke", {}, "vLLM", [_health(HTTP), *_times(130, 130)]),
        ("gke", {}, "Other", [_health(TCP), *_times(130, 130)]),
        (
            "gke",
            {},
            "SGLang",
            [_health({"type": "TCP", "tcpHealthCheck": {"port": 30000}}), *_times(130, 130)],
        ),
    ],
)
def test_some_gateways_need_more(
    deployment: Make,
    serving: Serve,
    provider: str,
    flags: dict[str, Any],
    engine: str,
    objects: list[dict[str, Any]],
) -> None:
    made = gateway.provider_objects(
        one_picker(deployment(engine={"type": engine}), serving(provider, eppFlags=flags))
    )
    assert made == objects


@pytest.mark.parametrize(
    ("drain", "times"), [(640, _times(640, 570)), (7200, _times(3600, 570)), (10, _times(10, 40))]
)
def test_a_load_balancer_of_google_lets_requests_end_while_their_pods_do(
    deployment: Make, serving: Serve, drain: int, times: list[dict[str, Any]]
) -> None:
    made = gateway.provider_objects(one_picker(deployment(), serving("gke"), drain=drain))
    assert made[1:] == times
