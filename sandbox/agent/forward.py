"""Forwards TCP connections from a pod's address to a port of this machine, unchanged."""

import asyncio
from collections.abc import Mapping
from functools import partial

# Between looks at whether a program listens already.
LOOK_SECONDS = 0.1


class Forwarding:
    """Listeners of one pod; `ports` are its own -> those of 127.0.0.1 behind them.

    A port refuses connections for as long as nothing listens behind it, as if the program itself were there.
    """

    def __init__(self, address: str, ports: Mapping[int, int]) -> None:
        self._address = address
        self._ports = dict(ports)
        self._servers: list[asyncio.Server] = []
        self._looking: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Every port is taken, and listens when the one behind it does. Raises OSError."""
        loop = asyncio.get_running_loop()
        try:
            for port, private in self._ports.items():
                server = await loop.create_server(
                    partial(_Near, private), self._address, port, start_serving=False
                )
                self._servers.append(server)
        except OSError:
            self.close()
            raise
        for server, private in zip(self._servers, self._ports.values(), strict=True):
            self._looking.append(asyncio.create_task(_listen(server, private)))

    def close(self) -> None:
        """Nothing listens; connections end with the program behind them."""
        for task in self._looking:
            task.cancel()
        for server in self._servers:
            server.close()
        self._looking.clear()
        self._servers.clear()


async def _listen(server: asyncio.Server, private: int) -> None:
    await _until_listening(private)
    await server.start_serving()


async def _until_listening(private: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", private)
        except OSError:
            await asyncio.sleep(LOOK_SECONDS)
        else:
            writer.close()
            return


class _Side(asyncio.Protocol):
    """One end of a forwarded connection; what comes in goes out at the other."""

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


class _Near(_Side):
    """The end a client connected to."""

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
