"""The ways in which an engine takes prompts from others and hands over its own."""

import asyncio
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from sandbox.engine.completion import BadRequest, Completion
from sandbox.engine.handover.channel import Channel, Peer, Resolve, TransferFailed
from sandbox.engine.handover.layout import refusal
from sandbox.engine.handover.transfer import FILES, Transfer
from sandbox.engine.load import Load

# Seconds for which SGLang's engines wait for each other; the real ones wait for 300.
ROOM_SECONDS = 30.0
# How many prompts a shared storage holds.
STORED = 4096
_NEEDED = ("remote_engine_id", "remote_request_id", "remote_host", "remote_port")
_block_ids = itertools.count()


class BelowThreshold(Exception):  # noqa: N818 (it is an answer, and no error)
    """The request wants more of its prompt from the cache than is there."""


class Handover(Protocol):
    """How the engine of one pod takes and gives prompts."""

    async def open(self) -> None:
        """Be there for others. Raises EngineFailure."""

    async def close(self) -> None:
        """Be there no longer."""

    def check(self, asked: Completion) -> None:
        """Raise BadRequest for a request that the engine refuses."""

    async def obtain(self, asked: Completion) -> str | None:
        """Return the pod that computed the prompt, or None if this one has to.

        Raises TransferFailed and BelowThreshold.
        """

    async def offer(self, asked: Completion) -> dict[str, Any]:
        """Hand the computed prompt over, and return what the answer says of that. Raises TransferFailed."""


def handover_of(
    transfer: Transfer, *, pod: str, address: str, resolve: Resolve, load: Load, say: Callable[[str], None]
) -> Handover:
    """Return the handover of the engine in `pod`. `say` gets lines for its log."""
    if transfer.way == "storage":
        return SharedStorage(transfer, pod)
    failed = "RuntimeError: NIXL" if transfer.way == "nixl" else "KVTransferError: the"
    channel = Channel(pod, transfer.layout, address, resolve, failed=failed)
    return Nixl(transfer, channel, load, say) if transfer.way == "nixl" else Bootstrap(transfer, channel)


class Nixl:
    """vLLM's NixlConnector: the answer of one engine tells the other where it finds the prompt's blocks."""

    def __init__(self, transfer: Transfer, channel: Channel, load: Load, say: Callable[[str], None]) -> None:
        self._transfer = transfer
        self._channel = channel
        self._load = load
        self._say = say
        self._leases: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        await self._channel.open(self._transfer.host, self._transfer.port)

    async def close(self) -> None:
        for lease in self._leases:
            lease.cancel()
        await self._channel.close()

    def check(self, asked: Completion) -> None:
        return None

    async def obtain(self, asked: Completion) -> str | None:
        params = asked.transfer.get("kv_transfer_params") or {}
        if not params.get("do_remote_prefill") or not params.get("remote_block_ids"):
            return None
        if not all(params.get(name) for name in _NEEDED) or not isinstance(params["remote_port"], int):
            self._say(
                f"WARNING Got invalid KVTransferParams: {params}. This request will not utilize KVTransfer"
            )
            return None

        def check(peer: Peer) -> str:
            expected = params["remote_engine_id"]
            if why := refusal(self._transfer.layout, peer.layout, strict=self._transfer.strict):
                return why
            if peer.engine != expected:
                return (
                    f"RuntimeError: Remote NIXL agent engine ID mismatch. Expected {expected},"
                    f"received {peer.engine}."
                )
            return ""

        host, port, key = str(params["remote_host"]), int(params["remote_port"]), params["remote_request_id"]
        return (await self._channel.ask(host, port, str(key), check, seconds=0)).pod

    async def offer(self, asked: Completion) -> dict[str, Any]:
        params = asked.transfer.get("kv_transfer_params") or {}
        if not params.get("do_remote_decode") or asked.finish != "length":
            return {}
        lease = asyncio.create_task(self._lease(asked.id, asked.prompt_tokens))
        self._leases.add(lease)
        lease.add_done_callback(self._leases.discard)
        blocks = -(-asked.prompt_tokens // self._transfer.layout.block_size)
        told = {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": list(itertools.islice(_block_ids, blocks)),
            "remote_engine_id": self._channel.engine,
            "remote_request_id": asked.id,
            "remote_host": self._transfer.host,
            "remote_port": self._transfer.port,
            "tp_size": self._transfer.layout.tensor,
        }
        return {"kv_transfer_params": told}

    async def _lease(self, key: str, tokens: int) -> None:
        """Keep the blocks of a prompt in the cache until they are read, or for as long as the lease says."""
        taken = self._channel.keep(key)
        self._load.held += tokens
        try:
            await asyncio.wait([taken], timeout=self._transfer.lease)
        finally:
            self._load.held -= tokens
            self._channel.drop(key)


class Bootstrap:
    """SGLang's way: both engines get the request at once, and meet in a room of the one that computes."""

    def __init__(self, transfer: Transfer, channel: Channel) -> None:
        self._transfer = transfer
        self._channel = channel

    async def open(self) -> None:
        if self._transfer.role == "prefill":
            await self._channel.open("0.0.0.0", self._transfer.port)

    async def close(self) -> None:
        await self._channel.close()

    def check(self, asked: Completion) -> None:
        if asked.transfer.get("bootstrap_room") is None:
            raise BadRequest(
                "Invalid request: Disaggregated request received without bootstrap room id. "
                f"req.rid='{asked.id}'"
            )

    async def obtain(self, asked: Completion) -> str | None:
        if self._transfer.role == "prefill":
            return None
        host, room = asked.transfer.get("bootstrap_host"), asked.transfer["bootstrap_room"]
        if not host:
            raise TransferFailed(f"KVTransferError(bootstrap_room={room}): the request has no bootstrap_host")
        port = int(asked.transfer.get("bootstrap_port") or self._transfer.port)
        return (await self._channel.ask(str(host), port, str(room), self._refusal, seconds=ROOM_SECONDS)).pod

    async def offer(self, asked: Completion) -> dict[str, Any]:
        if self._transfer.role == "prefill":
            room = str(asked.transfer["bootstrap_room"])
            done, _ = await asyncio.wait([self._channel.keep(room)], timeout=ROOM_SECONDS)
            self._channel.drop(room)
            if not done:
                raise TransferFailed(
                    f"KVTransferError(bootstrap_room={room}): no decode instance came within "
                    f"{ROOM_SECONDS:g} seconds"
                )
        return {}

    def _refusal(self, peer: Peer) -> str:
        own = self._transfer.layout
        if differences := own.differences(peer.layout):
            return f"RuntimeError: prefill and decode instances differ: {differences}"
        if own.block_size != peer.layout.block_size:
            return (
                f"RuntimeError: Page size mismatch: prefill server has page_size={peer.layout.block_size}, "
                f"but decode server has page_size={own.block_size}."
            )
        return ""


# What the pods of this process have put into storages, by storage, what tells caches apart there, and prompt:
# the pod that did.
_stored: OrderedDict[tuple[str, str, str], str] = OrderedDict()


class SharedStorage:
    """Connectors of vLLM over a storage. All pods that name the same one are taken to share it."""

    def __init__(self, transfer: Transfer, pod: str) -> None:
        self._transfer = transfer
        self._pod = pod

    async def open(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def check(self, asked: Completion) -> None:
        return None

    async def obtain(self, asked: Completion) -> str | None:
        pod = None if self._transfer.role == "prefill" else _stored.get(self._key(asked))
        if pod is None and (asked.transfer.get("cache_hit_threshold") or 0) > 0:
            raise BelowThreshold
        return pod

    async def offer(self, asked: Completion) -> dict[str, Any]:
        if self._transfer.role != "decode":
            _stored[self._key(asked)] = self._pod
            while len(_stored) > STORED:
                _stored.popitem(last=False)
        return {}

    def _key(self, asked: Completion) -> tuple[str, str, str]:
        # vLLM's own files have names of the tokens alone, whoever made them; LMCache's keys have the model,
        # its numbers, and how many GPUs hold a part.
        layout = self._transfer.layout
        own = layout.connector in FILES
        apart = "" if own else repr((layout.model, layout.dtype, layout.cache_dtype, layout.tensor))
        return self._transfer.store, apart, hashlib.sha256(asked.prompt.encode()).hexdigest()
