"""The stand-in takes commands without a script, and each pod of a worker has its own part of it."""

import pytest

from sandbox.engine.group import Group
from sandbox.engine.protocol import Start
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering

VLLM = "vllm serve Q --served-model-name chat c --revision main --port 8000 --shutdown-timeout 90"
SGLANG = (
    "python3 -m sglang.launch_server --model-path Q --served-model-name chat --host 0.0.0.0 --enable-metrics"
)
NODES = "--nnodes $(LWS_GROUP_SIZE) --node-rank $(LWS_WORKER_INDEX)"
JOINED = f"{NODES} --master-addr $(LWS_LEADER_ADDRESS)"
LOCAL = "--data-parallel-size-local"
MANY_PORTS = "--data-parallel-multi-port-external-lb --node-rank $(LWS_WORKER_INDEX)"
COPIES = "--enable-expert-parallel --data-parallel-address $(LWS_LEADER_ADDRESS)"


def _pods(command: str, flags: str, *, pods: int, gpus: int, followers: str = "") -> list[Settings]:
    """What the pods of a worker do, by their numbers. Those after the first have more flags."""
    engine, port = ("sglang", 30000) if command == SGLANG else ("vllm", 8000)
    started = []
    for number in range(pods):
        start = Start(
            id="uid",
            name=f"ml/k-0-{number}",
            address=f"127.1.0.{number + 2}",
            port=port,
            engine=engine,
            args=tuple(f"{command} {flags} {followers if number else ''}".split()),
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
    ("command", "flags", "pods", "gpus", "followers", "parts", "answers"),
    [
        (VLLM, f"--tensor-parallel-size 8 --pipeline-parallel-size 2 {JOINED}", 2, 8, "--headless",
         [(2, 0, 1), (2, 1, 1)], "nothing"),
        (VLLM, f"--tensor-parallel-size 16 {JOINED}", 2, 8, "--headless", [(2, 0, 1), (2, 1, 1)], "nothing"),
        (VLLM, f"--tensor-parallel-size 16 --data-parallel-size 2 {JOINED}", 4, 8, "--headless",
         [(4, 0, 1), (4, 1, 1), (4, 2, 1), (4, 3, 1)], "nothing"),
        (VLLM, f"--data-parallel-size 4 {LOCAL} 2 {JOINED}", 2, 2, "--headless",
         [(2, 0, 1), (2, 1, 1)], "nothing"),
        (VLLM, f"--data-parallel-size 4 {LOCAL} 2 {COPIES}", 2, 2,
         "--headless --data-parallel-start-rank 2", [(4, 0, 2), (4, 2, 2)], "nothing"),
        (VLLM, f"--data-parallel-size 32 {LOCAL} 16 --data-parallel-hybrid-lb {JOINED}", 2, 16, "",
         [(2, 0, 1), (2, 1, 1)], "requests"),
        (VLLM, f"-tp 8 --data-parallel-size 2 {COPIES} --data-parallel-rank $(LWS_WORKER_INDEX)", 2, 8, "",
         [(2, 0, 1), (2, 1, 1)], "requests"),
        (VLLM, f"--data-parallel-size 6 {LOCAL} 2 {MANY_PORTS} {COPIES}", 3, 2, "",
         [(6, 0, 2), (6, 2, 2), (6, 4, 2)], "requests"),
        (SGLANG, f"--tp-size 16 --attn-dp-size 8 {NODES} --dist-init-addr $(LWS_LEADER_ADDRESS):20000",
         2, 8, "", [(2, 0, 1), (2, 1, 1)], "health"),
    ],
)  # fmt: skip
def test_each_pod_has_its_part(
    command: str,
    flags: str,
    pods: int,
    gpus: int,
    followers: str,
    parts: list[tuple[int, int, int]],
    answers: str,
) -> None:
    read = _pods(command, flags, pods=pods, gpus=gpus, followers=followers)
    assert [_part(pod) for pod in read] == parts
    assert [pod.answers for pod in read] == ["requests", *([answers] * (len(read) - 1))]
    assert len({(pod.group.address, pod.group.port, pod.group.alike) for pod in read if pod.group}) == 1
    assert [note for pod in read for note in pod.notes] == []


def test_a_pod_listens_on_a_port_for_each_of_its_copies() -> None:
    flags = f"--data-parallel-size 8 {LOCAL} 4 {MANY_PORTS} {COPIES}"
    pods = _pods(VLLM, flags, pods=2, gpus=4)
    assert [(pod.ports, pod.health_port) for pod in pods] == [((8000, 8001, 8002, 8003), 9256)] * 2


def test_one_pod_serves_under_all_of_its_names() -> None:
    transfer = '--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_producer"}'
    [pod] = _pods(VLLM, f"--tensor-parallel-size 2 {transfer}", pods=1, gpus=2)
    assert (pod.names, pod.port, pod.group, pod.ending.seconds) == (("chat", "c"), 8000, None, 90)
    assert pod.transfer is not None
    assert (pod.transfer.way, pod.transfer.layout.model) == ("nixl", "Q")
