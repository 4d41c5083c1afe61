"""Two engines speak to each other at the address and port that one has told, and at no other."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from own_addresses import own_address

from sandbox.engine.completion import Completion
from sandbox.engine.failure import EngineFailure
from sandbox.engine.handover.channel import TransferFailed
from sandbox.engine.handover.layout import Layout
from sandbox.engine.handover.transfer import Transfer
from sandbox.engine.handover.ways import Handover, handover_of
from sandbox.engine.load import Load

T = TypeVar("T")
LAYOUT = Layout("NixlConnector", "vllm:v1", "Q", "auto", "auto", 16, 1)
ASKED = Completion("cmpl-1", 0, "q", True, False, False, 40, ("q",), "length", "text")
ADDRESS = {"prefill": own_address(13), "decode": own_address(14), "name": own_address(13)}


async def _resolve(name: str) -> str | None:
    return ADDRESS.get(name)


class Engine:
    """The handover of one pod, its load and what it said."""

    def __init__(self, pod: str, **transfer: Any) -> None:
        self.load, self.logs = Load(4), [""]
        address = ADDRESS[pod]
        nixl = Transfer("nixl", "both", LAYOUT, host=address, port=15600)
        self.handover: Handover = handover_of(
            replace(nixl, **transfer),
            pod=pod,
            address=address,
            resolve=_resolve,
            load=self.load,
            say=self.logs.append,
        )


def run(test: Coroutine[Any, Any, T], *engines: Engine) -> T:
    async def opened() -> T:
        for engine in engines:
            await engine.handover.open()
        try:
            return await test
        finally:
            for engine in engines:
                await engine.handover.close()

    return asyncio.run(opened())


async def prefilled(prefill: Engine) -> Completion:
    """The request to the decode, after the prefill has computed it."""
    offered = replace(ASKED, transfer={"kv_transfer_params": {"do_remote_decode": True}})
    told = await prefill.handover.offer(offered)
    await asyncio.sleep(0)
    return replace(ASKED, transfer=told)


@pytest.mark.parametrize("host", [ADDRESS["prefill"], "name"], ids=["address", "name"])
def test_a_prompt_fills_the_cache_of_the_prefill_until_the_decode_has_it(host: str) -> None:
    prefill, decode = Engine("prefill", host=host), Engine("decode")

    async def hand_over() -> tuple[int, str | None, int]:
        asked = await prefilled(prefill)
        params = asked.transfer["kv_transfer_params"]
        assert (len(params["remote_block_ids"]), params["remote_host"], params["tp_size"]) == (3, host, 1)
        held = prefill.load.held
        got = await decode.handover.obtain(asked)
        await asyncio.sleep(0)
        with pytest.raises(TransferFailed, match="does not have cmpl-1"):
            await decode.handover.obtain(asked)
        return held, got, prefill.load.held

    assert run(hand_over(), prefill, decode) == (40, "prefill", 0)


def test_blocks_that_nobody_reads_are_given_up_after_their_lease() -> None:
    prefill, decode = Engine("prefill", lease=0.01), Engine("decode")

    async def wait() -> int:
        asked = await prefilled(prefill)
        while prefill.load.held:
            await asyncio.sleep(0.001)
        with pytest.raises(TransferFailed, match="does not have"):
            await decode.handover.obtain(asked)
        return prefill.load.held

    assert run(wait(), prefill, decode) == 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"remote_engine_id": "another"}, "Remote NIXL agent engine ID mismatch. Expected another,received"),
        ({"remote_host": "localhost"}, "Remote NIXL agent engine ID mismatch"),
        ({"remote_host": "unknown"}, "NIXL handshake with tcp://unknown:15600 failed: unknown host"),
        ({"remote_host": "10.0.0.1"}, "NIXL handshake with tcp://10.0.0.1:15600 failed: unknown host"),
        ({"remote_port": 15601}, "failed: Connect"),
    ],
)
def test_an_address_that_is_not_the_prefill_s_is_no_way_to_it(wrong: dict[str, Any], says: str) -> None:
    prefill, decode = Engine("prefill"), Engine("decode")

    async def ask() -> None:
        params = (await prefilled(prefill)).transfer["kv_transfer_params"]
        await decode.handover.obtain(replace(ASKED, transfer={"kv_transfer_params": params | wrong}))

    with pytest.raises(TransferFailed, match=says.replace(".", r"\.")):
        run(ask(), prefill, decode)


@pytest.mark.parametrize("params", [None, {}, {"do_remote_decode": True}, {"do_remote_prefill": True}])
def test_a_request_without_a_prefill_is_computed_by_the_decode(params: dict[str, Any] | None) -> None:
    decode = Engine("decode")
    asked = replace(ASKED, transfer={"kv_transfer_params": params})
    assert run(decode.handover.obtain(asked), decode) is None
    assert decode.logs == [""]


@pytest.mark.parametrize("port", [{}, {"remote_port": "next door"}])
def test_parameters_that_lack_something_are_in_the_log_and_not_used(port: dict[str, str]) -> None:
    decode = Engine("decode")
    params = {"do_remote_prefill": True, "remote_block_ids": [1], "remote_host": "prefill"}
    params |= {"remote_engine_id": "e", "remote_request_id": "r", **port}
    asked = replace(ASKED, transfer={"kv_transfer_params": params})
    assert run(decode.handover.obtain(asked), decode) is None
    assert "Got invalid KVTransferParams" in decode.logs[-1]


@pytest.mark.parametrize(
    ("host", "says"),
    [("127.9.9.9", "Cannot assign requested address"), ("decode", "Cannot assign"), ("x", "Cannot assign")],
)
def test_a_side_channel_is_at_the_pod_s_own_address(host: str, says: str) -> None:
    prefill = Engine("prefill", host=host)
    with pytest.raises(EngineFailure, match=says):
        asyncio.run(prefill.handover.open())


def test_two_channels_at_one_port_are_refused() -> None:
    prefill = Engine("prefill")
    with pytest.raises(EngineFailure, match="Address already in use"):
        run(Engine("prefill").handover.open(), prefill)


def test_what_is_no_engine_is_not_answered() -> None:
    prefill = Engine("prefill")

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection(ADDRESS["prefill"], 15600)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        said = await reader.read()
        writer.close()
        return said

    assert run(ask(), prefill) == b""


def test_sglang_s_prefill_waits_for_the_decode_and_the_decode_for_the_prefill() -> None:
    ways = {"way": "bootstrap", "host": "", "port": 18998}
    prefill, decode = Engine("prefill", role="prefill", **ways), Engine("decode", role="decode", **ways)
    room = {"bootstrap_host": ADDRESS["prefill"], "bootstrap_port": 18998, "bootstrap_room": 7}
    asked = replace(ASKED, transfer=room)

    async def meet() -> list[Any]:
        assert await prefill.handover.obtain(asked) is None
        decoding = asyncio.create_task(decode.handover.obtain(asked))
        await asyncio.sleep(0.05)
        return [await prefill.handover.offer(asked), await decoding]

    assert run(meet(), prefill, decode) == [{}, "prefill"]
    other = Engine("decode", role="decode", layout=replace(LAYOUT, block_size=64), **ways)
    with pytest.raises(TransferFailed, match="Page size mismatch: prefill server has page_size=16"):
        run(other.handover.obtain(asked), prefill)


@pytest.mark.parametrize(
    ("connector", "found"), [("ExampleConnector", "prefill"), ("LMCacheConnectorV1", None)]
)
def test_files_are_found_by_their_tokens_alone_and_entries_of_lmcache_by_their_format(
    connector: str, found: str | None
) -> None:
    layout = replace(LAYOUT, connector=connector)
    stored = {"way": "storage", "store": f"/{connector}"}
    prefill = Engine("prefill", **stored, role="prefill", layout=layout)
    decode = Engine("decode", **stored, role="decode", layout=replace(layout, dtype="float16", tensor=2))

    async def test() -> str | None:
        await prefill.handover.offer(ASKED)
        return await decode.handover.obtain(ASKED)

    assert run(test(), prefill, decode) == found
