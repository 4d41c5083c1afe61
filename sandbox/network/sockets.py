"""Sockets of a cluster's network for processes outside of it."""

import json
import os
import socket
from pathlib import Path

from sandbox.network.namespace import SOCKET

# Seconds to wait for an answer: a little more than the other side takes to give up.
_SECONDS = 15.0


def connect(cluster_folder: Path, host: str, port: int) -> socket.socket:
    """Return a connection to an address inside of the cluster's network. Raises OSError."""
    return _ask(cluster_folder, "connect", host, port)


def listen(cluster_folder: Path, host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address inside of the cluster's network. Raises OSError."""
    return _ask(cluster_folder, "listen", host, port)


def _ask(cluster_folder: Path, what: str, host: str, port: int) -> socket.socket:
    # By way of the folder's descriptor, because the address of a Unix socket has at most 107 characters.
    folder = os.open(cluster_folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_SECONDS)
            client.connect(f"/proc/self/fd/{folder}/{SOCKET}")
            client.sendall(json.dumps([what, host, port]).encode() + b"\n")
            words, descriptors, _, _ = socket.recv_fds(client, 1024, 1)
    finally:
        os.close(folder)
    if descriptors:
        return socket.socket(fileno=descriptors[0])
    why = words.decode(errors="replace").strip() or "its network has ended"
    raise ConnectionError(f"{host}:{port}: {why}")
