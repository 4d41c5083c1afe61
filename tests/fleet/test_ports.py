"""Where requests, health and metrics of an engine's pods are, with and without data parallelism."""

from typing import Any

import pytest

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import ports
from inferfleet.fleet.ports import Health
from inferfleet.fleet.shapes import Shape

_SCRIPT = ("bash", "-c")
_VLLM = "vllm serve m --data-parallel-size 16 --data-parallel-size-local 8"


def _deployment(
    *args: str, follower: tuple[str, ...] | None = None, engine: Any = None, **topology: int
) -> ModelDeployment:
    own: dict[str, Any] = {"template": _template(args)}
    if follower is not None:
        own = {"entry": own, "follower": {"template": _template(follower)}}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen"},
            "spec": {
                "replicas": 1,
                "engine": engine or {},
                "workers": {"topology": {"tensor": 1, **topology}, **own},
            },
        }
    )


def _by_ray(entry: str, follower: str, **topology: int) -> ModelDeployment:
    return _deployment(*_SCRIPT, entry, follower=(*_SCRIPT, follower), **topology)


def _template(args: tuple[str, ...]) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "engine", "image": "x", "args": list(args)}]}}


@pytest.mark.parametrize(
    ("args", "topology", "wanted"),
    [
        ((), {}, (8000,)),
        (("-tp", "8", "-pp", "2"), {"tensor": 8, "pipeline": 2}, (8000,)),
        (("-dp", "4"), {"data": 4, "data_local": 4}, (8000,)),
        (("-dp", "4", "-dpm"), {"data": 4, "data_local": 4}, (8000, 8001, 8002, 8003)),
        ((), {"data": 4, "data_local": 2}, (8000, 8001)),
        ((), {"data": 4, "data_local": 1}, (8000,)),
        ((), {"data": 32, "data_local": 16}, (8000,)),
        (("-dph",), {"data": 4, "data_local": 2}, (8000,)),
        (("--data_parallel_start_rank", "$(RANK)"), {"data": 4, "data_local": 2}, (8000,)),
        ((), {"pipeline": 2, "data": 2}, (8000,)),
    ],
)
def test_each_copy_of_a_pod_has_a_port_only_where_a_picker_spreads_the_requests(
    args: tuple[str, ...], topology: dict[str, int], wanted: tuple[int, ...]
) -> None:
    assert ports.pool_ports(_deployment(*args, **topology), "decode") == wanted


@pytest.mark.parametrize(
    ("deployment", "shape", "wanted"),
    [
        (_deployment(tensor=8, pipeline=2), Shape(2, 8), False),
        (_deployment(data=4, data_local=2), Shape(2, 2), True),
        (_deployment(data=4), Shape(4, 1), True),
        (_deployment("-dph", data=4, data_local=2), Shape(2, 2), True),
        (_deployment(follower=("--headless",), data=4, data_local=2), Shape(2, 2), False),
        (_deployment(tensor=16, data=2), Shape(4, 8), False),
        (_deployment(tensor=8, data=2, pipeline=2), Shape(4, 8), False),
        (_deployment(engine={"type": "SGLang"}, data=2), Shape(2, 1), False),
    ],
)
def test_followers_serve_where_each_pod_has_copies_and_an_api_server_of_its_own(
    deployment: ModelDeployment, shape: Shape, wanted: bool
) -> None:
    assert ports.followers_serve(deployment, "decode", shape) is wanted


@pytest.mark.parametrize(
    ("deployment", "shape"),
    [
        (
            _by_ray(
                f"bash multi-node-serving.sh leader; {_VLLM} --data-parallel-backend=ray",
                "bash multi-node-serving.sh worker --ray_address=$LWS_LEADER_ADDRESS",
                data=16,
                data_local=8,
            ),
            Shape(2, 8),
        ),
        (
            _by_ray(
                "ray start --head --port=6379; vllm serve m -tp 8 -dp 2",
                "ray start --address=$LWS_LEADER_ADDRESS:6379 --block",
                tensor=8,
                data=2,
            ),
            Shape(2, 8),
        ),
    ],
)
def test_with_ray_the_entry_takes_the_requests_for_the_copies_of_all_pods(
    deployment: ModelDeployment, shape: Shape
) -> None:
    assert ports.pool_ports(deployment, "decode") == (8000,)
    assert ports.health(deployment, "decode") == Health(8000, "/health", "/health")
    assert not ports.followers_serve(deployment, "decode", shape)


def test_a_pod_with_several_ports_tells_its_health_on_that_of_its_supervisor() -> None:
    assert ports.health(_deployment(data=4, data_local=2), "decode") == Health(9256, "/health", "/ready")
    own = _deployment("--data-parallel-supervisor-port=9300", data=4, data_local=2)
    assert ports.health(own, "decode") == Health(9300, "/health", "/ready")
    assert ports.health(_deployment(data=4), "decode") == Health(8000, "/health", "/health")
    assert ports.health(_deployment(engine={"type": "Other"}), "decode") == Health(8000, None, None)


def test_metrics_are_on_every_port_of_a_pod_or_beside_them() -> None:
    assert ports.metrics_ports(_deployment(data=4, data_local=2), "decode") == (8000, 8001)
    assert ports.metrics_ports(_deployment(engine={"type": "Triton"}), "decode") == (8002,)


def test_pods_of_a_worker_meet_on_ports_of_their_own() -> None:
    assert ports.group_ports(_deployment(), "decode") == ()
    assert ports.group_ports(_deployment(data=4), "decode") == (29550,)
    assert ports.group_ports(_deployment("-dpp", "5555", data=4), "decode") == (5555,)
    assert ports.group_ports(_deployment("--nnodes=2", tensor=8, pipeline=2), "decode") == (29501,)
    sglang = _deployment("--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000", engine={"type": "SGLang"})
    assert ports.group_ports(sglang, "decode") == (20000,)


def test_ports_end_at_the_last_one_there_is() -> None:
    deployment = _deployment("-dpm", engine={"port": 65534}, data=4, data_local=4)
    assert ports.pool_ports(deployment, "decode") == (65534, 65535)


def test_where_pods_meet_is_read_of_what_plugins_made_of_an_entry() -> None:
    deployment = _deployment(tensor=8, pipeline=2)
    edited = _template(("--nnodes=2", "--master-port=7000"))["spec"]
    assert ports.group_ports(deployment, "decode", edited) == (7000,)


def test_pickers_read_the_ports_of_a_pod_in_one_text() -> None:
    deployment = _deployment(data=4, data_local=2)
    assert ports.active_ports(ports.serving_ports(deployment, "decode", Shape(2, 2))) == "8000,8001"
    assert ports.serving_ports(_deployment(tensor=8, data=2), "decode", Shape(4, 4)) == (8000,)
