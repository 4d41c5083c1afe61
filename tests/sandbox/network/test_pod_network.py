"""Pods of a cluster have a network of their own, which is reached from outside by its sockets alone."""

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from threading import Thread

import pytest

from sandbox.network import egress, namespace, sockets
from sandbox.network.obstacles import Obstacle, meant, obstacle, step
from sandbox.network.pod_network import entering
from sandbox.network.relay import dialled, relay

POD = "10.4.0.7"
PROGRAM = str(Path(namespace.__file__))
# What a program finds: the addresses of its devices, and whether a pod's address is its own.
LOOKS = f"""
import json, os, socket
socket.create_server(("{POD}", 80))
print(json.dumps([os.getuid(), [name for _, name in socket.if_nameindex()]]))
"""


# Made by modules of the kernel in every network namespace; they are down.
DEVICES_OF_EVERY_NAMESPACE = ("tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The folder of a network namespace, and the process that holds it."""
    if why := obstacle():
        pytest.skip(str(why))
    folder = tmp_path_factory.mktemp("a-folder-whose-name-is-too-long-for-a-unix-socket") / ("x" * 100)
    folder.mkdir()
    command = [sys.executable, "-I", "-S", PROGRAM, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == namespace.READY
        yield folder, holder.pid
        holder.kill()


def test_a_program_that_enters_has_the_pods_addresses_and_no_way_out(held: tuple[Path, int]) -> None:
    _, pid = held
    command = [*entering(pid), str(Path(sys.executable).resolve()), "-I", "-S", "-c", LOOKS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    user = subprocess.run(["id", "-u"], capture_output=True, text=True, check=True).stdout
    number, devices = json.loads(done.stdout)
    assert (number, set(devices) - set(DEVICES_OF_EVERY_NAMESPACE)) == (int(user), {"lo"})


def test_sockets_of_the_namespace_lead_into_it(held: tuple[Path, int]) -> None:
    folder, _ = held
    with sockets.listen(folder, POD, 8000) as server, sockets.connect(folder, POD, 8000) as client:
        served, _ = server.accept()
        with served:
            client.sendall(b"from outside")
            assert (served.recv(100), client.getpeername()) == (b"from outside", (POD, 8000))
    with pytest.raises(OSError, match="Cannot assign requested address"):
        socket.create_server((POD, 8000))


def test_what_does_not_listen_there_is_refused_by_name(held: tuple[Path, int]) -> None:
    with pytest.raises(ConnectionError, match=r"10\.4\.0\.7:81: Connection refused"):
        sockets.connect(held[0], POD, 81)


def test_a_namespace_that_has_ended_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        sockets.connect(tmp_path, POD, 80)


def test_a_relay_passes_on_all_bytes_and_the_end_of_them() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = await reader.read()  # until the client has said that it is done
        writer.write(said.upper())
        writer.close()

    async def scenario() -> bytes:
        there = await asyncio.start_server(echo, "127.0.0.1", 0)
        host, port = there.sockets[0].getsockname()
        here = socket.create_server(("127.0.0.1", 0))
        address = here.getsockname()
        async with there, await relay(here, partial(dialled, host, port)):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"a" * 300_000)
            writer.write_eof()
            return await reader.read()

    assert asyncio.run(scenario()) == b"A" * 300_000


def test_a_relay_cuts_off_a_client_whose_other_side_is_not_there() -> None:
    async def nobody() -> socket.socket:
        raise ConnectionRefusedError

    async def scenario() -> bytes:
        here = socket.create_server(("127.0.0.1", 0))
        address = here.getsockname()
        async with await relay(here, nobody):
            reader, _ = await asyncio.open_connection(*address)
            return await reader.read()

    assert asyncio.run(scenario()) == b""


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {},
            "In a container it takes the capability SYS_ADMIN, or a seccomp profile that allows unshare(2)",
        ),
        (
            {"kernel/unprivileged_userns_clone": "0", "user/max_user_namespaces": "9"},
            "To allow it: sudo sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1", "user/max_net_namespaces": "0"},
            "To allow it: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 && "
            "sudo sysctl user.max_net_namespaces=15000",
        ),
    ],
)
def test_a_machine_without_namespaces_says_which_setting_would_allow_them(
    values: dict[str, str], words: str
) -> None:
    assert step(values) == words
    assert str(Obstacle("Operation not permitted", words)) == (
        f"this machine does not let you make a network namespace (Operation not permitted). {words}"
    )


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("No space left on device", "the limit of their number is reached"),
        ("Operation not permitted", "Operation not permitted"),
    ],
)
def test_a_limit_is_not_told_as_a_full_disk(word: str, meaning: str) -> None:
    assert meant(word) == meaning


@pytest.mark.parametrize(
    ("user", "said"),
    [([], ""), (["setpriv", "--reuid=65534", "--clear-groups"], "Read-only file system")],
    ids=["root", "an ordinary user"],
)
def test_where_proc_sys_is_only_read_root_alone_has_a_namespace(user: list[str], said: str) -> None:
    python = str(Path(sys.executable).resolve())
    mounted = "mount -o bind,ro /proc/sys /proc/sys && "
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", f"{mounted} true"], capture_output=True)
    others = subprocess.run([*user, python, "-c", ""], capture_output=True)
    if why := obstacle() or tried.returncode or others.returncode:
        pytest.skip(str(why))
    program = shlex.join([*user, python, "-I", "-S", "-c", Path(PROGRAM).read_text()])
    command = ["unshare", "--mount", "sh", "-c", f"{mounted} exec {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (int(bool(said)), said)


def test_a_proc_sys_that_is_only_read_is_named_with_what_would_let_it_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "Read-only file system\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert str(obstacle()) == (
        "this machine does not let you make a network namespace (/proc/sys: Read-only file system). Run it "
        "as root of the container, or let /proc/sys be written: `docker run --security-opt "
        "systempaths=unconfined`, or `procMount: Unmasked` of a pod's securityContext"
    )


def test_an_api_server_that_asks_with_connect_reaches_pods_and_what_is_outside(
    held: tuple[Path, int],
) -> None:
    folder, _ = held

    async def said(target: str) -> bytes:
        server = await egress.serve(folder, IPv4Network("10.0.0.0/8"))
        async with server:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            path = f"/proc/self/fd/{descriptor}/{egress.SOCKET}"
            reader, writer = await asyncio.open_unix_connection(path)
            os.close(descriptor)
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head:
                return head
            writer.write(b"hello\n")
            echoed = await reader.readline()
            writer.close()
            return echoed

    with sockets.listen(folder, POD, 8001) as inside, socket.create_server(("127.0.0.1", 0)) as outside:
        for listening in (inside, outside):
            Thread(target=_echo_once, args=(listening,), daemon=True).start()
        assert asyncio.run(said(f"{POD}:8001")) == b"hello\n"
        assert asyncio.run(said(f"127.0.0.1:{outside.getsockname()[1]}")) == b"hello\n"
    assert asyncio.run(said(f"{POD}:9")).startswith(b"HTTP/1.1 502 ")


def _echo_once(listening: socket.socket) -> None:
    client, _ = listening.accept()
    with client, client.makefile("rwb") as stream:
        stream.write(stream.readline())
        stream.flush()
