"""Forwards TCP connections from a pod's address to a port of this machine, unchanged."""

import asyncio
from collections.abc import Mapping
from functools import partial

# Seconds between attempts to connect to a program that does not listen yet.
RETRY_SECONDS = 0.1


class Forwarding:
    """The listeners of one pod. `ports` maps each port of the pod to the port of 127.0.0.1 behind it.

    A port refuses connections as long as nothing listens behind it, as if the program itself were there.
    """

    def __init__(self, address: str, ports: Mapping[int, int]) -> None:
        self._address = address
        self._ports = dict(ports)
        self._servers: list[asyncio.Server] = []
        self._waiting: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Bind every port, and listen on each as soon as the port behind it does. Raises OSError."""
        loop = asyncio.get_running_loop()
        try:
            for port, private in self._ports.items():
                server = await loop.create_server(
                    partial(_ClientSide, private), self._address, port, start_serving=False
                )
                self._servers.append(server)
        except OSError:
            self.close()
            raise
        for server, private in zip(self._servers, self._ports.values(), strict=True):
            self._waiting.append(asyncio.create_task(_listen(server, private)))

    def close(self) -> None:
        """Stop listening. Open connections end with the program behind them."""
        for task in self._waiting:
            task.cancel()
        for server in self._servers:
            server.close()
        self._waiting.clear()
        self._servers.clear()


async def _listen(server: asyncio.Server, private: int) -> None:
    await _until_listening(private)
    await server.start_serving()


async def _until_listening(private: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", private)
        except OSError:
            await asyncio.sleep(RETRY_SECONDS)
        else:
            writer.close()
            return


class _Side(asyncio.Protocol):
    """One end of a forwarded connection. What it receives is sent at the other end."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: asyncio.Transport | None = None

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            self.other.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.resume_reading()

    def eof_received(self) -> bool:
        if self.other is not None and self.other.can_write_eof() and not self.other.is_closing():
            self.other.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None:
            self.other.close()


class _ClientSide(_Side):
    """The end that a client connected to."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.pause_reading()
        self._connecting = asyncio.get_running_loop().create_task(self._connect(transport))

    async def _connect(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        try:
            far, end = await loop.create_connection(_Side, "127.0.0.1", self._port)
        except OSError:
            transport.abort()
            return
        if transport.is_closing():
            far.close()
            return
        end.transport, end.other, self.other = far, transport, far
        transport.resume_reading()
