"""The engine of the sandbox takes what engine-args writes: each pod has its own part of its worker."""

from dataclasses import replace
from typing import Any

import pytest
from inferfleet.plugins.builtin.engine_args import Config, edit
from one_request import REQUEST

from inferfleet.plugins.contract import Edited
from sandbox.engine.group import Group
from sandbox.engine.protocol import Start
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering

LABELS = {"vLLM": "vllm", "SGLang": "sglang"}
COMMANDS = {
    "vLLM": ["vllm", "serve", "Q"],
    "SGLang": ["python3", "-m", "sglang.launch_server", "--model-path=Q", "--host=0.0.0.0"],
}


def _pods(engine: str, pods: int, gpus: int, **facts: Any) -> list[Settings]:
    """What the pods of a worker do, by their numbers."""
    topology = {"tensor": 1, "pipeline": 1, "data": 1, "data_local": 1, "port": 8000, **facts}
    deployment = replace(REQUEST.deployment, engine=engine, **topology)
    started = []
    for number in range(pods):
        position: Any = "Worker" if number else "Entry"
        request = replace(REQUEST, deployment=deployment, position=position, group_size=pods, gpus=gpus)
        container = {"name": "engine", "image": "x", "command": COMMANDS[engine]}
        edited = edit({"metadata": {}, "spec": {"containers": [container]}}, request, Config())
        template = edited.template if isinstance(edited, Edited) else edited
        (written,) = template["spec"]["containers"]
        start = Start(
            id="uid",
            name=f"ml/k-0-{number}",
            address=f"127.1.0.{number + 2}",
            port=deployment.port,
            engine=LABELS[engine],
            args=(*written["command"], *written["args"]),
            env={
                "LWS_LEADER_ADDRESS": "k-0.k.ml",
                "LWS_GROUP_SIZE": str(pods),
                "LWS_WORKER_INDEX": str(number),
            },
            gpus=gpus,
        )
        started.append(settings(start, Steering()))
    return started


def _part(pod: Settings) -> tuple[int, int, int]:
    """Size of the group, the pod's first rank, and how many it has."""
    assert isinstance(pod.group, Group)
    return pod.group.size, pod.group.first, pod.group.count


@pytest.mark.parametrize(
    ("pods", "parts", "answers"),
    [
        (_pods("vLLM", 2, 8, tensor=8, pipeline=2), [(2, 0, 1), (2, 1, 1)], "nothing"),
        (_pods("vLLM", 2, 8, tensor=16), [(2, 0, 1), (2, 1, 1)], "nothing"),
        (
            _pods("vLLM", 4, 8, tensor=16, data=2, balance="external"),
            [(4, 0, 1), (4, 1, 1), (4, 2, 1), (4, 3, 1)],
            "nothing",
        ),
        (
            _pods("vLLM", 3, 2, data=6, data_local=2, balance="multiPort"),
            [(6, 0, 2), (6, 2, 2), (6, 4, 2)],
            "requests",
        ),
        (_pods("vLLM", 2, 8, tensor=8, data=2, balance="external"), [(2, 0, 1), (2, 1, 1)], "requests"),
        (_pods("vLLM", 2, 16, data=32, data_local=16, balance="hybrid"), [(2, 0, 1), (2, 1, 1)], "requests"),
        (_pods("vLLM", 2, 2, data=4, data_local=2), [(2, 0, 1), (2, 1, 1)], "nothing"),
        (_pods("SGLang", 2, 8, tensor=16, port=30000), [(2, 0, 1), (2, 1, 1)], "health"),
    ],
)
def test_each_pod_has_its_part(pods: list[Settings], parts: list[tuple[int, int, int]], answers: str) -> None:
    assert [_part(pod) for pod in pods] == parts
    assert [pod.answers for pod in pods] == ["requests", *([answers] * (len(pods) - 1))]
    assert len({(pod.group.address, pod.group.port, pod.group.alike) for pod in pods if pod.group}) == 1


def test_a_pod_listens_on_a_port_for_each_of_its_copies() -> None:
    pods = _pods("vLLM", 2, 4, data=8, data_local=4, balance="multiPort")
    assert [(pod.ports, pod.health_port) for pod in pods] == [((8000, 8001, 8002, 8003), 9256)] * 2
