"""Becomes another program in a network and a root of its own, inside of the network of a cluster's pods.

It is run as `python -I -S own_pod.py SPEC PROGRAM [ARGUMENT ...]` in the network of the cluster, and imports
nothing but the standard library. SPEC is JSON: the pod's `address`, the folder that becomes its `root`, and
`mounts`, paths in it with the folders or files that are there.

Programs that listen at all addresses, such as Envoy Gateway's proxies, would meet each other where pods share
a network: each gets a pair of devices, of which one end stays in the network of the cluster. Every address
there is the machine's own; the route to the pod's comes before, as the local table is asked first and the
longer prefix wins. Files at fixed paths, such as `/certs`, are those of one pod: the root has the machine's
own folders and the pod's mounts. It takes the right to make devices and mounts, which root has.
"""

import ctypes
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

# unshare(2), setns(2), mount(2)
_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000
# rtnetlink(7), linux/if_link.h, linux/rtnetlink.h
_NEWLINK, _NEWADDR, _NEWROUTE = 16, 20, 24
_REQUEST, _ACK, _CREATE, _EXCL = 0x1, 0x4, 0x400, 0x200
_ADDRESS, _LOCAL = 1, 2
_IFNAME, _LINKINFO, _NET_NS_FD = 3, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_UP = 0x1
_TABLE_MAIN, _TABLE_LOCAL = 254, 255
_STATIC, _UNIVERSE, _LINK, _UNICAST = 4, 0, 253, 1
_OIF, _DST, _GATEWAY, _ONLINK = 4, 1, 5, 4
# By which pods reach everything: the other end of their pair has it.
_NEXT_HOP = "169.254.1.1"
_GONE_SECONDS = 10.0
_libc = ctypes.CDLL(None, use_errno=True)


def command(address: str, root: Path, mounts: dict[str, str]) -> list[str]:
    """Return the beginning of a command line whose rest runs in a network and a root of its own."""
    spec = json.dumps({"address": address, "root": str(root), "mounts": mounts})
    return [str(Path(sys.executable).resolve()), "-I", "-S", str(Path(__file__)), spec]


def main(spec: str, program: str, *arguments: str) -> None:
    """Replace this process by the program. Never returns."""
    wanted = json.loads(spec)
    try:
        _network(wanted["address"])
        _root(Path(wanted["root"]), wanted["mounts"])
    except OSError as error:
        sys.exit(f"{program} could not be started in a network and a root of its own: {error}")
    os.execve(program, [program, *arguments], dict(os.environ))


def _network(address: str) -> None:
    """Move this process into a network with the one address, and routes to and from the cluster's."""
    cluster = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _check(_libc.unshare(_NEW_NETWORK))
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    # 15 characters at most, and one for each address.
    outer = f"p{int.from_bytes(socket.inet_aton(address)):x}"
    with _Netlink() as netlink:
        peer = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
        peer += _attribute(_IFNAME, outer.encode() + b"\0")
        peer += _attribute(_NET_NS_FD, struct.pack("=I", cluster))
        info = _attribute(_INFO_KIND, b"veth") + _attribute(_INFO_DATA, _attribute(_VETH_PEER, peer))
        link = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
        link += _attribute(_IFNAME, b"eth0\0") + _attribute(_LINKINFO, info)
        _make(netlink, link)
        netlink.up("lo")
        index = netlink.up("eth0")
        netlink.address(index, address)
        netlink.ask(_NEWROUTE, _route(0, _TABLE_MAIN, index, gateway=_NEXT_HOP), _CREATE)
    _setns(cluster)
    # In this network alone: pods with networks of their own reach each other by way of it.
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    with _Netlink() as netlink:
        index = netlink.up(outer)
        netlink.address(index, _NEXT_HOP)
        netlink.ask(_NEWROUTE, _route(32, _TABLE_LOCAL, index, there=address), _CREATE)
    _setns(own)


def _make(netlink: "_Netlink", link: bytes) -> None:
    """Make the pair. The kernel takes that of a program which has just ended away a little later."""
    until = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            netlink.ask(_NEWLINK, link, _CREATE | _EXCL)
            return
        except FileExistsError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class _Netlink:
    def __enter__(self) -> "_Netlink":
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def up(self, device: str) -> int:
        """Bring a device up, and return its number."""
        index = socket.if_nametoindex(device)
        self.ask(_NEWLINK, struct.pack("=BBHiII", 0, 0, 0, index, _UP, _UP))
        return index

    def address(self, index: int, address: str) -> None:
        """Give a device an address of its own."""
        own = socket.inet_aton(address)
        head = struct.pack("=BBBBi", socket.AF_INET, 32, 0, _UNIVERSE, index)
        self.ask(_NEWADDR, head + _attribute(_LOCAL, own) + _attribute(_ADDRESS, own), _CREATE | _EXCL)

    def ask(self, kind: int, body: bytes, flags: int = 0) -> None:
        """Send a request and wait for its acknowledgement. Raises OSError."""
        head = struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | _ACK | flags, 1, 0)
        self._socket.send(head + body)
        answer = self._socket.recv(65536)
        (number,) = struct.unpack_from("=i", answer, 16)
        if number:
            raise OSError(-number, os.strerror(-number))


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)


def _route(prefix: int, table: int, index: int, *, there: str = "", gateway: str = "") -> bytes:
    scope = _UNIVERSE if gateway else _LINK
    body = struct.pack(
        "=BBBBBBBBI", socket.AF_INET, prefix, 0, 0, table, _STATIC, scope, _UNICAST, _ONLINK if gateway else 0
    )
    if there:
        body += _attribute(_DST, socket.inet_aton(there))
    if gateway:
        body += _attribute(_GATEWAY, socket.inet_aton(gateway))
    return body + _attribute(_OIF, struct.pack("=I", index))


def _root(root: Path, mounts: dict[str, str]) -> None:
    """Make a root with the machine's folders and the pod's mounts, and move into it."""
    _check(_libc.unshare(_NEW_MOUNTS))
    _mount("none", Path("/"), _REC | _PRIVATE)
    root.mkdir(parents=True, exist_ok=True)
    for entry in sorted(Path("/").iterdir()):
        here = root / entry.name
        if entry.is_symlink():
            if not here.is_symlink():
                here.symlink_to(entry.readlink())
        elif entry.is_dir() and not any(path == f"/{entry.name}" for path in mounts):
            here.mkdir(exist_ok=True)
            _mount(str(entry), here, _BIND | _REC)
    for path, source in mounts.items():
        here = root / path.lstrip("/")
        if not here.exists():
            if Path(f"/{path.split('/')[1]}").exists():
                continue  # below one of the machine's own folders nothing is made
            here.mkdir(parents=True)
        _mount(source, here, _BIND | _REC)
    os.chroot(root)
    os.chdir("/")


def _mount(source: str, target: Path, flags: int) -> None:
    if _libc.mount(source.encode(), str(target).encode(), None, flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{source} at {target}: {os.strerror(number)}")


def _setns(descriptor: int) -> None:
    _check(_libc.setns(descriptor, _NEW_NETWORK))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
