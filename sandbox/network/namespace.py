"""A network namespace in which all of 10.0.0.0/8 is this machine's own, and a socket that leads into it.

It is run as `python -I -S namespace.py FOLDER`, and imports nothing but the standard library. The namespace
is there for as long as a process is in it. It has one device, loopback, and no route that leads out. Without
arguments the program makes a namespace, ends, and prints why it could not.

Sockets belong to the namespace they were made in, whoever uses them. So whoever asks at the Unix socket
`FOLDER/namespace.sock` is given sockets of the namespace: requests are lines of JSON, `["connect", host,
port]` or `["listen", host, port]`, and each is answered by an empty line and the socket, or by the reason.
"""

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

SOCKET = "namespace.sock"
READY = "ready"
# Every address of this network is the machine's own, as those of 127.0.0.0/8 are everywhere.
ADDRESS, NETMASK = "10.0.0.1", "255.0.0.0"
# unshare(2)
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
# netdevice(7)
_SET_FLAGS, _SET_ADDRESS, _SET_NETMASK = 0x8914, 0x8916, 0x891C
_UP, _LOOPBACK, _RUNNING = 0x1, 0x8, 0x40
_CONNECT_SECONDS = 10.0


def separate() -> None:
    """Move this process, which has one thread, into a new network namespace. Raises OSError.

    Without the right to make one, it is made in a new user namespace, where this user keeps its number.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NETWORK) != 0:
        if libc.unshare(NEW_USER | NEW_NETWORK) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{user} {user} 1")
        (own / "gid_map").write_text(f"{group} {group} 1")
    with socket.socket() as device:
        fcntl.ioctl(device, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP | _LOOPBACK | _RUNNING))
        for what, value in ((_SET_ADDRESS, ADDRESS), (_SET_NETMASK, NETMASK)):
            address = struct.pack("16sH2x4s8x", b"lo:1", socket.AF_INET, socket.inet_aton(value))
            fcntl.ioctl(device, what, address)
    # As in a pod, any program may listen on port 80. Programs of root may anyway, and in many containers
    # nobody may write below /proc/sys.
    try:
        Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    except OSError:
        if user != 0:
            raise


def serve(folder: Path) -> None:
    """Give sockets of this namespace to whoever asks, until this process ends."""
    os.chdir(folder)  # the address of a Unix socket has at most 107 characters
    with suppress(FileNotFoundError):
        os.unlink(SOCKET)
    server = socket.socket(socket.AF_UNIX)
    server.bind(SOCKET)
    server.listen(128)
    print(READY, flush=True)
    while True:
        client, _ = server.accept()
        threading.Thread(target=_answer, args=(client,), daemon=True).start()


def _answer(client: socket.socket) -> None:
    with client, suppress(OSError, ValueError):
        what, host, port = json.loads(client.makefile().readline())
        try:
            made = (
                socket.create_server((host, port), backlog=1024)
                if what == "listen"
                else socket.create_connection((host, port), _CONNECT_SECONDS)
            )
        except OSError as error:
            client.sendall(f"{error.strerror or error}\n".encode())
            return
        with made:
            socket.send_fds(client, [b"\n"], [made.fileno()])


if __name__ == "__main__":
    try:
        separate()
    except OSError as error:
        sys.exit(str(error.strerror))
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]))
