"""Programs that listen at all addresses and read files at fixed paths have network and root of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.network import namespace, sockets
from sandbox.network.obstacles import obstacle
from sandbox.network.own_pod import command
from sandbox.network.pod_network import entering

PODS = ("10.4.0.7", "10.4.0.8")
# Listens at all addresses, and says what stands in a file of its own.
PROGRAM = """
import socket
server = socket.create_server(("0.0.0.0", 19000))
print("ready", flush=True)
while True:
    client, _ = server.accept()
    client.sendall(open("/certs/name").read().encode())
    client.close()
"""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The folder of a network namespace, and the process that holds it."""
    if why := obstacle():
        pytest.skip(str(why))
    if os.getuid() != 0:
        pytest.skip("only root may make pairs of devices and mounts here")
    folder = tmp_path_factory.mktemp("held")
    program = [sys.executable, "-I", "-S", str(Path(namespace.__file__)), str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == namespace.READY
        yield folder, holder.pid
        holder.kill()


def test_two_pods_have_the_same_port_and_path_and_are_told_apart(
    held: tuple[Path, int], tmp_path: Path
) -> None:
    folder, pid = held
    python = str(Path(sys.executable).resolve())
    with ExitStack() as running:
        for address in PODS:
            certs = tmp_path / address
            certs.mkdir()
            (certs / "name").write_text(address)
            begin = command(address, tmp_path / f"root-{address}", {"/certs": str(certs)})
            process = running.enter_context(
                subprocess.Popen(
                    [*entering(pid), *begin, python, "-I", "-S", "-c", PROGRAM],
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            running.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
        for address in PODS:
            with sockets.connect(folder, address, 19000) as client:
                client.setblocking(True)
                assert client.makefile().read() == address
    assert not Path("/certs").exists()


def test_a_pod_that_cannot_have_them_says_why(held: tuple[Path, int], tmp_path: Path) -> None:
    _, pid = held
    begin = command(PODS[0], tmp_path / "root", {"/certs": str(tmp_path / "missing")})
    done = subprocess.run([*entering(pid), *begin, "/bin/true"], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{tmp_path}/missing at {tmp_path}/root/certs: No such file or directory" in done.stderr
    assert json.loads(begin[-1])["address"] == PODS[0]
