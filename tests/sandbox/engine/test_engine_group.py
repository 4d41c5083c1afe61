"""An engine in many pods works when all of them were told what fits together, and says what does not."""

import asyncio
from typing import Any

import pytest
from own_addresses import own_address

from sandbox.engine.failure import EngineFailure
from sandbox.engine.group import Group
from sandbox.engine.protocol import Start
from sandbox.engine.rendezvous import Rendezvous
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering

ENV = {"LWS_LEADER_ADDRESS": "k-0.k.ml", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "1"}


def read(script: str, *, engine: str = "vllm", gpus: int = 8) -> Settings:
    start = Start(
        id="uid",
        name="ml/k-0",
        address="127.1.0.2",
        port=30000 if engine == "sglang" else 8000,
        engine=engine,
        args=("sh", "-c", script),
        env=ENV,
        gpus=gpus,
    )
    return settings(start, Steering())


NODES = "vllm serve Q -tp 8 -pp 2 --nnodes $LWS_GROUP_SIZE --master-addr $LWS_LEADER_ADDRESS"
WIDE = "vllm serve Q -dp 16 -dpl 8 -dpa $LWS_LEADER_ADDRESS -dpp 5555"
SGLANG = (
    "python3 -m sglang.launch_server --model-path Q --tp 16 --nnodes 2 --host 0.0.0.0 --enable-metrics "
    "--dist-init-addr $LWS_LEADER_ADDRESS:20000"
)
ALIKE = "--nnodes 2, tensor 8, pipeline 2, data 1"
COPIES = "tensor 1, pipeline 1, data 16"
LEADER = "k-0.k.ml"


@pytest.mark.parametrize(
    ("actual", "answers", "group"),
    [
        (read(NODES), "requests", Group("nodes", LEADER, 29501, 2, alike=ALIKE)),
        (read(f"{NODES} -r $LWS_WORKER_INDEX --master-port 4000 --headless"), "nothing",
         Group("nodes", LEADER, 4000, 2, first=1, headless=True, alike=ALIKE)),
        (read(WIDE), "requests", Group("copies", LEADER, 5555, 16, count=8, alike=COPIES)),
        (read(f"{WIDE} --headless -dpr $((LWS_WORKER_INDEX * 8))"), "nothing",
         Group("copies", LEADER, 5555, 16, 8, 8, headless=True, alike=COPIES)),
        (read(f"{WIDE} -dpr 8 --data-parallel-hybrid-lb"), "requests",
         Group("copies", LEADER, 5555, 16, 8, 8, balanced=True, alike=COPIES)),
        (read(f"{WIDE} -r $LWS_WORKER_INDEX --data-parallel-multi-port-external-lb"), "requests",
         Group("copies", LEADER, 5555, 16, 8, 8, balanced=True, alike=COPIES)),
        (read("vllm serve Q -dp 2 --data-parallel-rank 1 -dpa k", gpus=1), "requests",
         Group("copies", "k", 29550, 2, 1, 1, balanced=True, alike="tensor 1, pipeline 1, data 2")),
        (read(f"{SGLANG} --node-rank $LWS_WORKER_INDEX", engine="sglang"), "health",
         Group("nodes", LEADER, 20000, 2, 1, headless=True,
               alike="--nnodes 2, tensor 16, pipeline 1, attention 1")),
        (read(f"{SGLANG} --dp 16 --enable-dp-attention", engine="sglang"), "requests",
         Group("nodes", LEADER, 20000, 2, alike="--nnodes 2, tensor 16, pipeline 1, attention 16")),
        (read(f"{SGLANG} --attn-dp-size 8", engine="sglang"), "requests",
         Group("nodes", LEADER, 20000, 2, alike="--nnodes 2, tensor 16, pipeline 1, attention 8")),
        (read("vllm serve Q -dp 8"), "requests", None),
    ],
)  # fmt: skip
def test_flags_say_which_part_of_a_group_a_pod_is(
    actual: Settings, answers: str, group: Group | None
) -> None:
    assert (actual.answers, actual.group) == (answers, group)


def test_with_a_load_balancer_of_many_ports_each_copy_has_its_own() -> None:
    wide = read(f"{WIDE} --data-parallel-multi-port-external-lb --port 8200")
    assert (wide.ports, wide.health_port) == (tuple(range(8200, 8208)), 9256)


@pytest.mark.parametrize(
    ("script", "more", "says"),
    [
        (f"{NODES} -r 2", {}, "node_rank=2 must be less than nnodes=2"),
        (f"{NODES} -r 1", {}, "collective_rpc should not be called on follower node"),
        (f"{NODES} -r 0 --headless", {}, "no pod has an API server"),
        (f"{NODES} --nnodes 3", {}, "world_size=16 must be divisible by nnodes=3"),
        (NODES, {"gpus": 4}, "World size (8) is larger than the number of available GPUs (4)"),
        ("vllm serve Q -tp 8 -pp 2", {}, "World size (16) is larger than the number of available GPUs (8)"),
        (f"{WIDE} -dpr 8", {}, None),
        (f"{WIDE} -dpr 12", {}, "data_parallel_rank (19) must be in the range [0, 16)"),
        (f"{WIDE} --headless -dph", {}, "data_parallel_hybrid_lb is not applicable in headless mode"),
        (f"{WIDE} -dph -dpm", {}, "Cannot use more than one data parallel load balancing mode"),
        (f"{WIDE} -dpm --port 9250", {}, "9256 overlaps with child rank ports 9250-9257"),
        (SGLANG.replace("16", "15"), {"engine": "sglang"}, "tp_size must be divisible by number of nodes"),
        (f"{SGLANG} --dp 2", {"engine": "sglang"}, "data-parallel replicas are not supported"),
        (SGLANG.replace(":20000", ""), {"engine": "sglang"}, "--dist-init-addr must be given as host:port"),
        (f"{SGLANG} --node-rank 2", {"engine": "sglang"}, "node_rank=2 must be less than nnodes=2"),
    ],
)
def test_a_pod_refuses_what_it_cannot_be(script: str, more: dict[str, Any], says: str | None) -> None:
    if says is None:
        assert read(script, **more).group is not None
        return
    with pytest.raises(EngineFailure) as refusal:
        read(script, **more)
    assert says in str(refusal.value)


def node(rank: int, *, alike: str = "same", size: int = 2, address: str = LEADER, port: int = 4711) -> Group:
    return Group("nodes", address, port, size, first=rank, headless=rank > 0, alike=alike)


def copies(first: int, *, headless: bool, balanced: bool = False, address: str = LEADER) -> Group:
    return Group("copies", address, 4712, 4, first, 2, headless=headless, balanced=balanced, alike="same")


async def known(name: str) -> str | None:
    return {LEADER: own_address(1), "elsewhere": own_address(9)}.get(name)


def pod(number: int, group: Group, seconds: float = 300) -> Rendezvous:
    own = own_address(number + 1)
    return Rendezvous(group, known, str, name=f"ml/k-{number}", own=own, seconds=seconds)


def met(*groups: Group, seconds: float = 300) -> list[str]:
    """What each pod says when they meet: nothing, or why it ended."""

    async def says(joining: Rendezvous) -> str:
        try:
            await joining.join()
        except EngineFailure as failure:
            await joining.close()
            return str(failure)
        return ""

    async def meet() -> list[str]:
        pods = [pod(number, group, seconds) for number, group in enumerate(groups)]
        said = await asyncio.gather(*(says(joining) for joining in pods))
        await asyncio.gather(*(joined.close() for joined in pods))
        return said

    return asyncio.run(meet())


def test_pods_that_fit_together_are_one_engine() -> None:
    assert met(node(0), node(1)) == ["", ""]
    assert met(copies(0, headless=False), copies(2, headless=True)) == ["", ""]
    balanced = [copies(first, headless=False, balanced=True) for first in (0, 2)]
    assert met(*balanced) == ["", ""]


LOST = "RuntimeError: [gloo/transport/tcp/pair.cc] Connection closed by peer "


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ((node(0), node(0)), ["rank 0 joined twice; the second is ml/k-1"] * 2),
        ((node(0, size=3), node(1, size=3), node(1, size=3)), ["rank 1 joined twice"] * 3),
        ((node(0), node(1, alike="other")), ["Configuration mismatch detected for rank 1 (ml/k-1)"] * 2),
        ((copies(0, headless=False, address="elsewhere"),), ["Cannot assign requested address"]),
        ((copies(0, headless=False), copies(2, headless=False, balanced=True)), ["must use --headless"] * 2),
    ],
)
def test_pods_that_do_not_fit_together_say_why(groups: tuple[Group, ...], says: list[str]) -> None:
    _say(met(*groups), says)


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ((node(0),), ["DistStoreError: Timed out after 1.5 seconds waiting for clients. 1/2 clients joined"]),
        ((node(0), node(1, port=4)), ["1/2 clients joined", "timed out after 1500ms"]),
        ((node(0), node(1, address="nobody")), ["1/2 clients", "network addresses of (nobody, 4711) cannot"]),
        ((node(0, address="nobody"),), ["network addresses of (nobody, 4711) cannot be retrieved"]),
        ((copies(2, headless=True),), ["Did not receive response from front-end process at k-0.k.ml:4712"]),
    ],
)
def test_pods_that_wait_in_vain_say_for_what(groups: tuple[Group, ...], says: list[str]) -> None:
    _say(met(*groups, seconds=1.5), says)


def _say(said: list[str], says: list[str]) -> None:
    # A third pod may only see that the connection is gone.
    assert [part in text or LOST in text for part, text in zip(says, said, strict=True)] == [True] * len(said)
    assert any(says[0] in text for text in said)


def test_what_is_no_engine_is_dropped_and_named() -> None:
    lines: list[str] = []

    async def probed() -> None:
        host = Rendezvous(node(0), known, lines.append, name="ml/k-0", own=own_address(1), seconds=300)
        member = pod(1, node(1))
        joining = asyncio.create_task(host.join())
        async with asyncio.timeout(300):
            while not lines:
                await asyncio.sleep(0)
        for said in (b"", b"GET /metrics HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection(own_address(1), 4711)
            writer.write(said)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        await asyncio.gather(joining, member.join())
        await asyncio.gather(host.close(), member.close())

    asyncio.run(probed())
    assert [line.partition("connected")[2] for line in lines[1:]] == [
        " to the port of the group and is no engine: dropped"
    ] * 2


@pytest.mark.parametrize("leaves", [0, 1])
def test_a_group_ends_with_any_of_its_pods(leaves: int) -> None:
    async def leave() -> None:
        pods = [pod(0, node(0)), pod(1, node(1))]
        await asyncio.gather(*(joining.join() for joining in pods))
        await pods[leaves].close()
        try:
            await pods[1 - leaves].broken()
        finally:
            await pods[1 - leaves].close()

    with pytest.raises(EngineFailure) as end:
        asyncio.run(leave())
    assert str(end.value).startswith(LOST)
