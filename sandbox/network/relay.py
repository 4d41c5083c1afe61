"""Relays connections from one network to another, byte by byte."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

_CHUNK = 2**16


async def relay(listening: socket.socket, dial: Callable[[], Awaitable[socket.socket]]) -> asyncio.Server:
    """Connect every client of the listening socket with what `dial` returns for it, until it is closed.

    A client whose other side cannot be reached (OSError) is cut off.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await dial()
        except OSError:
            writer.transport.abort()
            return
        await join(reader, writer, there)

    return await asyncio.start_server(serve, sock=listening)


async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: socket.socket) -> None:
    """Copy what comes from each side to the other, until both have ended."""
    there_reader, there_writer = await asyncio.open_connection(sock=there)
    try:
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))
    except OSError:
        for one in (writer, there_writer):
            one.transport.abort()
    finally:
        writer.close()
        there_writer.close()


async def dialled(host: str, port: int) -> socket.socket:
    """Return a connection of this process's own network. Raises OSError."""
    made = socket.socket()
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, (host, port))
    except BaseException:
        made.close()
        raise
    return made


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side has ended; the end of what is sent is passed on, as answers may still come."""
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()
