"""The channel of an engine: others ask there for prompts that it has computed, and it asks at theirs.

The wire is one of the sandbox: lines of JSON. What is said first is who the engine is and what its cache is
like, as in the handshakes of NIXL and of SGLang's bootstrap server.
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from sandbox.engine.failure import EngineFailure
from sandbox.engine.handover.layout import Layout

# Seconds for which an engine waits for an answer: RCVTIMEO in vLLM's handshake.
ANSWER_SECONDS = 5.0
_OWN_POD = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")

# Returns the address of a name, or None for an unknown one.
Resolve = Callable[[str], Awaitable[str | None]]


class TransferFailed(Exception):  # noqa: N818 (people read its text, not its name)
    """A prompt that could not be had from another engine, in that engine's words."""


@dataclass(frozen=True)
class Peer:
    """An engine at the other end of a channel: the id of its run, its pod and its cache."""

    engine: str
    pod: str
    layout: Layout


class Channel:
    """The channel of the engine in `pod`, which listens at the pod's own `address`.

    What is said of a transfer that failed begins with `failed`.
    """

    def __init__(self, pod: str, layout: Layout, address: str, resolve: Resolve, *, failed: str) -> None:
        self.engine = str(uuid.uuid4())
        self._own = Peer(self.engine, pod, layout)
        self._address = address
        self._resolve = resolve
        self._failed = failed
        self._kept: dict[str, asyncio.Future[None]] = {}
        self._server: asyncio.Server | None = None
        self._handlers: set[asyncio.Task[None]] = set()

    async def open(self, host: str, port: int) -> None:
        """Listen at the port. Raises EngineFailure if it is taken, or `host` is not this pod."""
        if await self._address_of(host) != self._address:
            raise EngineFailure(
                f"zmq.error.ZMQError: Cannot assign requested address (addr='tcp://{host}:{port}')"
            )
        try:
            # Kept before it listens: who is cancelled meanwhile has to close it.
            self._server = await asyncio.start_server(self._accept, self._address, port, start_serving=False)
            await self._server.start_serving()
        except OSError as error:
            raise EngineFailure(
                f"zmq.error.ZMQError: Address already in use (addr='tcp://{host}:{port}')"
            ) from error

    async def close(self) -> None:
        """Stop listening, and forget what nobody has asked for."""
        if self._server is not None:
            self._server.close()
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        for taken in self._kept.values():
            taken.cancel()
        self._kept.clear()

    def keep(self, key: str) -> asyncio.Future[None]:
        """Keep a computed prompt under this key until it is asked for, which ends the future."""
        self._kept[key] = asyncio.get_running_loop().create_future()
        return self._kept[key]

    def drop(self, key: str) -> None:
        """Keep it no longer."""
        self._kept.pop(key, None)

    async def ask(
        self, host: str, port: int, key: str, check: Callable[[Peer], str], *, seconds: float
    ) -> Peer:
        """Take the prompt from the engine at this address, and return whose it was.

        `check` says why that engine cannot be asked. It may compute for `seconds`. Raises TransferFailed.
        """
        where = f"tcp://{host}:{port}"
        address = await self._address_of(host)
        if address is None:
            raise TransferFailed(f"{self._failed} handshake with {where} failed: unknown host")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_connection(address, port)
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or "no answer"
            raise TransferFailed(f"{self._failed} handshake with {where} failed: {why}") from error
        try:
            said = await _answer(reader, writer, {"get": "meta"}, ANSWER_SECONDS)
            peer = Peer(str(said["engine"]), str(said["pod"]), Layout(**said["layout"]))
            if why := check(peer):
                raise TransferFailed(why)
            said = await _answer(reader, writer, {"read": key, "seconds": seconds}, seconds + ANSWER_SECONDS)
        except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
            raise TransferFailed(f"{self._failed} transfer from {where} failed: {error!r}") from error
        finally:
            writer.close()
        if not said.get("kept"):
            raise TransferFailed(f"{self._failed} transfer from {where} failed: it does not have {key}")
        return peer

    async def _address_of(self, host: str) -> str | None:
        """Return the address of a host, or None for one that no pod of the sandbox can reach."""
        if host in _OWN_POD:
            return self._address
        try:
            # All pods have addresses of one such network, 127.0.0.0/8 or 10.0.0.0/8 (see cluster/podnet.py).
            return host if ip_address(host) in ip_network(f"{self._address}/8", strict=False) else None
        except ValueError:
            return await self._resolve(host)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this in a task
        self._handlers.add(task)
        try:
            # What comes from something that is no engine ends the connection.
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            asked = json.loads(line)
            answer: dict[str, Any] = asdict(self._own)
            if "read" in asked:
                answer = {"kept": await self._take(str(asked["read"]), float(asked["seconds"]))}
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()

    async def _take(self, key: str, seconds: float) -> bool:
        """Give up what is kept, if it is there within so many seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while key not in self._kept and loop.time() < until:
            await asyncio.sleep(_POLL_SECONDS)
        taken = self._kept.pop(key, None)
        if taken is None or taken.done():
            return False
        taken.set_result(None)
        return True


# Seconds between looks at whether a prompt has been computed.
_POLL_SECONDS = 0.02


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: dict[str, Any], seconds: float
) -> dict[str, Any]:
    writer.write(json.dumps(question).encode() + b"\n")
    async with asyncio.timeout(seconds):
        line = await reader.readline()
    if not line:
        raise ConnectionError("it ended meanwhile")
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise ValueError(f"{line!r} is no answer")
    return answer
