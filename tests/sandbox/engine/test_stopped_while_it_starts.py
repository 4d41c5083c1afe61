"""An engine that is stopped at any moment of its start says so once, and leaves no port taken."""

import asyncio
import json
import socket

from own_addresses import own_address

from sandbox.engine.pod_engine import PodEngine
from sandbox.engine.protocol import EventKind, Start

PORTS = (18000, 29501, 5600)  # of requests, of the group, and of computed prompts
TRANSFER = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
# More turns of the loop than a start needs.
TURNS = 60


def engine() -> Start:
    address = own_address(1)
    args = ["--model=qwen", f"--port={PORTS[0]}", "--nnodes=2", "--pipeline-parallel-size=2"]
    args += [f"--master-addr={address}", "--kv-transfer-config", json.dumps(TRANSFER)]
    env = {"VLLM_NIXL_SIDE_CHANNEL_HOST": address}
    return Start("uid-1", "ml/q-1", address, PORTS[0], "vllm", tuple(args), env, gpus=1)


async def told(turns: int) -> tuple[list[str], set[int]]:
    """What an engine tells that is stopped after so many turns of the loop, and ports it then listens at."""
    events: list[str] = []

    def send(kind: EventKind, text: str, code: int | None = None) -> None:
        if kind == "resolve":
            loop.call_soon(pod.resolved, text, text)
        elif kind != "log":
            events.append(kind)

    loop = asyncio.get_running_loop()
    pod = PodEngine(engine(), send)
    for _ in range(turns):
        await asyncio.sleep(0)
    before = listening()
    await pod.stop(grace=0)
    assert listening() == set()
    return events, before


def listening() -> set[int]:
    found = set()
    for port in PORTS:
        with socket.socket() as client:
            if client.connect_ex((own_address(1), port)) == 0:
                found.add(port)
    return found


def test_one_that_is_stopped_while_it_starts_frees_its_ports_and_says_so_once() -> None:
    seen = [asyncio.run(told(turns)) for turns in range(TURNS)]
    assert {tuple(events) for events, _ in seen} == {("stopped",), ("started", "stopped")}
    # At the end it had all of them.
    assert (seen[0][1], seen[-1][1]) == (set(), set(PORTS))
