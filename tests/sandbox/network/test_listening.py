"""A program that asks for all addresses gets the one of its pod, and what names an address keeps it."""

import asyncio
import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from sandbox.agent.programs.listening import Listening
from sandbox.child import end, spawn
from sandbox.network.listening import instead, launch, possible

ADDRESS = "127.9.9.9"
# A server that asks for all addresses, by either protocol, and for one; it prints what it got.
SERVER = """
import socket, sys, time
both = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
old, own = socket.create_server(("", 0)), socket.create_server(("127.0.0.1", 0))
print(*(server.getsockname()[0] for server in (both, old, own)), both.getsockname()[1], flush=True)
try:
    socket.create_server(("", old.getsockname()[1]))
except OSError as error:
    print(error.errno, flush=True)
time.sleep(600)
"""


def _ipv4(address: str, port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)


def _ipv6(address: str, port: int) -> bytes:
    wanted = socket.inet_pton(socket.AF_INET6, address)
    return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + wanted + bytes(4)


@pytest.mark.parametrize(
    ("sockaddr", "where"),
    [
        (_ipv4("0.0.0.0", 9002), (ADDRESS, 9002)),
        (_ipv6("::", 9002), (f"::ffff:{ADDRESS}", 9002)),
        (_ipv4("127.0.0.1", 9002), None),
        (_ipv6("::1", 9002), None),
        (struct.pack("=H", socket.AF_UNIX) + bytes(30), None),
        (b"\x02", None),
    ],
)
def test_only_all_addresses_become_one(sockaddr: bytes, where: tuple[str, int] | None) -> None:
    assert instead(sockaddr, ADDRESS) == where


async def _lines(count: int) -> tuple[list[str], bool]:
    """What the server prints, and whether one can connect to it at the address."""
    listening = Listening(ADDRESS)
    supervisor = listening.supervise()
    process = await spawn(
        *launch(supervisor, Path(sys.executable)),
        "-c",
        SERVER,
        pass_fds=(supervisor,),
        stdout=asyncio.subprocess.PIPE,
    )
    os.close(supervisor)
    await listening.begin()
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            lines = [(await process.stdout.readline()).decode().strip() for _ in range(count)]
            _, writer = await asyncio.open_connection(ADDRESS, int(lines[0].split()[-1]))
            writer.close()
            return lines, True
    finally:
        await end(process, 0)


def test_a_server_gets_the_address_and_the_errors_of_a_bind() -> None:
    if not possible():
        pytest.skip("this machine does not let a program be asked for")
    lines, connected = asyncio.run(_lines(2))
    assert lines[0].split()[:3] == [f"::ffff:{ADDRESS}", ADDRESS, "127.0.0.1"]
    assert (lines[1], connected) == ("98", True)  # the address is in use
