"""What the picker of a deployment requests: its own, or by what it does."""

from typing import Any

import pytest

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.picker_size import endpoints_of_replica, picker_resources, size_for


def _deployment(*, count: int = 1, balance: str | None = None, **spec: Any) -> ModelDeployment:
    topology = {"tensor": 1, **spec.pop("topology", {})}
    workers = {"count": count, "topology": topology, "balance": balance}
    written = {"replicas": 1, "engine": {"model": "m"}, "workers": workers, **spec}
    return ModelDeployment.model_validate({"metadata": {"name": "qwen"}, "spec": written})


def _size(cpu: str, memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": "16Gi"}}


def test_what_a_document_says_counts_as_a_whole() -> None:
    own = _deployment(endpointPicker={"resources": {"requests": {"cpu": "1"}}})
    assert picker_resources(own, Serving(), 100) == {"requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("deployment", "serving", "replicas", "size"),
    [
        (_deployment(), {}, 1, _size("500m", "512Mi")),
        (_deployment(), {}, 8, _size("1", "512Mi")),
        (_deployment(count=4), {}, 2, _size("1", "512Mi")),
        # By the flags of the profile, of the cluster, and of the deployment.
        (_deployment(), {"eppFlags": {"refresh-metrics-interval": "50ms"}}, 8, _size("2", "512Mi")),
        (
            _deployment(endpointPicker={"flags": {"refresh-metrics-interval": "1m0.5s"}}),
            {"eppFlags": {"refresh-metrics-interval": "50ms"}},
            8,
            _size("500m", "512Mi"),
        ),
        (_deployment(endpointPicker={"flags": {"refresh-metrics-interval": 0}}), {}, 8, _size("2", "512Mi")),
        # The picker refuses it, and says so.
        (
            _deployment(endpointPicker={"flags": {"refresh-metrics-interval": "x"}}),
            {},
            8,
            _size("2", "512Mi"),
        ),
        (_deployment(), {"profile": "router-0.10"}, 8, _size("1", "512Mi")),
    ],
)
def test_a_picker_is_as_large_as_its_work(
    deployment: ModelDeployment, serving: dict[str, Any], replicas: int, size: dict[str, dict[str, str]]
) -> None:
    assert picker_resources(deployment, Serving.model_validate(serving), replicas) == size


@pytest.mark.parametrize(
    ("deployment", "endpoints"),
    [
        (_deployment(), 1),
        (_deployment(count=3), 3),
        (_deployment(topology={"tensor": 8, "pipeline": 2}), 1),
        # vLLM listens on a port for each copy.
        (_deployment(balance="Port", topology={"data": 4, "dataLocal": 4}), 4),
        (_deployment(topology={"data": 8, "dataLocal": 4}), 8),
        (_deployment(prefill={"workers": _deployment(count=2).spec.workers.model_dump()}), 3),
    ],
)
def test_endpoints_are_pods_and_ports_of_all_that_is_picked(
    deployment: ModelDeployment, endpoints: int
) -> None:
    assert endpoints_of_replica(deployment) == endpoints


@pytest.mark.parametrize(
    ("endpoints", "size"),
    [
        (0, _size("500m", "512Mi")),
        (1, _size("500m", "512Mi")),
        (4, _size("500m", "512Mi")),
        (5, _size("1", "512Mi")),
        (8, _size("1", "512Mi")),
        (9, _size("2", "1Gi")),
        (16, _size("2", "1Gi")),
        (20, _size("4", "2Gi")),
        (33, _size("8", "4Gi")),
        (100, _size("8", "8Gi")),
        (5000, _size("8", "8Gi")),
    ],
)
def test_a_picker_grows_with_its_endpoints(endpoints: int, size: dict[str, dict[str, str]]) -> None:
    assert size_for(endpoints, interval=0.15) == size


@pytest.mark.parametrize(
    ("interval", "size"),
    [
        (0.05, _size("2", "512Mi")),
        (0.15, _size("1", "512Mi")),
        (1.0, _size("1", "512Mi")),
        (5.0, _size("500m", "512Mi")),
    ],
)
def test_scraping_often_costs(interval: float, size: dict[str, dict[str, str]]) -> None:
    assert size_for(8, interval=interval) == size
