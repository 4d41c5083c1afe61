"""Where requests, health and metrics of an engine's pods are, with and without data parallelism."""

from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import roles
from inferfleet.fleet.roles import Health, every_pod_serves
from inferfleet.fleet.shapes import Shape


def _deployment(balance: str | None = None, *, engine: Any = None, **topology: int) -> ModelDeployment:
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen"},
            "spec": {
                "replicas": 1,
                "engine": engine or {"model": "m"},
                "workers": {"topology": {"tensor": 1, **topology}, "balance": balance},
            },
        }
    )


@pytest.mark.parametrize(
    ("balance", "topology", "wanted"),
    [
        (None, {}, (8000,)),
        (None, {"tensor": 8, "pipeline": 2}, (8000,)),
        (None, {"data": 4, "data_local": 4}, (8000,)),
        ("Port", {"data": 4, "data_local": 4}, (8000, 8001, 8002, 8003)),
        (None, {"data": 4, "data_local": 2}, (8000, 8001)),
        (None, {"data": 4, "data_local": 1}, (8000,)),
        (None, {"data": 32, "data_local": 16}, (8000,)),
        ("Pod", {"data": 4, "data_local": 2}, (8000,)),
        ("Engine", {"data": 4, "data_local": 2}, (8000,)),
        (None, {"pipeline": 2, "data": 2}, (8000,)),
    ],
)
def test_each_copy_of_a_pod_has_a_port_only_where_a_picker_spreads_the_requests(
    balance: str | None, topology: dict[str, int], wanted: tuple[int, ...]
) -> None:
    assert roles.request_ports(_deployment(balance, **topology), "decode") == wanted


@pytest.mark.parametrize(
    ("deployment", "shape", "wanted"),
    [
        (_deployment(tensor=8, pipeline=2), Shape(2, 8), False),
        (_deployment(data=4, data_local=2), Shape(2, 2), True),
        (_deployment(data=4), Shape(4, 1), True),
        (_deployment("Pod", data=4, data_local=2), Shape(2, 2), True),
        (_deployment("Engine", data=4, data_local=2), Shape(2, 2), False),
        (_deployment(tensor=16, data=2), Shape(4, 8), False),
        (_deployment(tensor=8, data=2, pipeline=2), Shape(4, 8), False),
        (_deployment(engine={"type": "SGLang"}, data=2), Shape(2, 1), False),
        (_deployment("Pod", engine={"type": "Other"}, data=2), Shape(2, 1), True),
    ],
)
def test_followers_serve_where_each_pod_has_copies_and_an_api_server_of_its_own(
    deployment: ModelDeployment, shape: Shape, wanted: bool
) -> None:
    assert every_pod_serves(deployment, "decode", shape.pods) is wanted


def test_a_pod_with_several_ports_tells_its_health_on_that_of_its_supervisor() -> None:
    assert roles.health(_deployment(data=4, data_local=2), "decode") == Health(9256, "/health", "/ready")
    assert roles.health(_deployment(data=4), "decode") == Health(8000, "/health", "/health")
    assert roles.health(_deployment(engine={"type": "Other"}), "decode") == Health(8000, None, None)


def test_metrics_are_on_every_port_of_a_pod_or_beside_them() -> None:
    assert roles.metrics_ports(_deployment(data=4, data_local=2), "decode") == (8000, 8001)
    assert roles.metrics_ports(_deployment(engine={"type": "Triton"}), "decode") == (8002,)


def test_ports_end_at_the_last_one_there_is() -> None:
    deployment = _deployment("Port", engine={"port": 65534}, data=4, data_local=4)
    assert roles.request_ports(deployment, "decode") == (65534, 65535)


def test_pickers_read_the_ports_of_a_pod_in_one_text() -> None:
    deployment = _deployment(data=4, data_local=2)
    assert roles.active_ports(roles.serving_ports(deployment, "decode", Shape(2, 2))) == "8000,8001"
    assert roles.serving_ports(_deployment(tensor=8, data=2), "decode", Shape(4, 4)) == (8000,)
