"""The way of an API server to the pods of its cluster, which are in a network namespace and it is not.

It asks with CONNECT at a Unix socket, as API servers ask a Konnectivity server, which GKE has:
https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/. Everything that it asks for inside of
clusters goes this way: the subresource `proxy` of pods and Services, and webhooks, which are outside here.
"""

import asyncio
import os
import socket
from ipaddress import IPv4Network, ip_address
from pathlib import Path
from typing import Any

import yaml

from sandbox.network import sockets
from sandbox.network.relay import dialled, join

# In the folder of the cluster, where its API server is started: a Unix socket has at most 107 characters.
SOCKET = "egress.sock"
_CONFIGURATION: dict[str, Any] = {
    "apiVersion": "apiserver.k8s.io/v1beta1",
    "kind": "EgressSelectorConfiguration",
    "egressSelections": [
        {
            "name": "cluster",
            "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": SOCKET}}},
        }
    ],
}


def flag(folder: Path) -> str:
    """Write how a cluster's API server reaches pods into its folder, and return kwokctl's flag for that."""
    file = folder / "egress.yaml"
    file.write_text(yaml.safe_dump(_CONFIGURATION))
    return f"kube-apiserver=egress-selector-config-file={file}"


async def serve(folder: Path, inside: IPv4Network) -> asyncio.Server:
    """Connect whoever asks at the cluster's socket; addresses of `inside` are those of its network."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            host, port = place(await reader.readuntil(b"\r\n\r\n"))
            if _within(host, inside):
                there = await asyncio.to_thread(sockets.connect, folder, host, port)
                there.setblocking(False)
            else:
                there = await dialled(host, port)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            writer.write(f"HTTP/1.1 502 {' '.join(str(error).split()) or 'no answer'}\r\n\r\n".encode())
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await join(reader, writer, there)

    return await asyncio.start_unix_server(answer, sock=_listening(folder))


def place(head: bytes) -> tuple[str, int]:
    """Return host and port of a CONNECT request. Raises ValueError for any other."""
    method, target, *_ = head.decode().split()
    host, _, port = target.rpartition(":")
    if method != "CONNECT":
        raise ValueError(f"{method} is not CONNECT")
    return host.strip("[]"), int(port)


def _within(host: str, network: IPv4Network) -> bool:
    try:
        return ip_address(host) in network
    except ValueError:
        return False  # a name


def _listening(folder: Path) -> socket.socket:
    (folder / SOCKET).unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        made.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
    finally:
        os.close(descriptor)
    made.listen(128)
    return made
