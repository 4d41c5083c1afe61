"""What a sandbox lets others reach: sockets that listen, and files that are not its owner's alone."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from sandbox.processes import PROC, Process

# States in these tables of /proc/net (proc(5)): a TCP socket that listens, and one of UDP that is bound.
LISTENING, BOUND = "0A", "07"
PRIVATE = "private "
TABLES = {"tcp": LISTENING, "tcp6": LISTENING, "udp": BOUND, "udp6": BOUND}


def listening(processes: Iterable[Process]) -> dict[tuple[str, int], set[str]]:
    """The addresses that each process listens on, by the name of its program and its number.

    Those of another network namespace than ours begin with PRIVATE.
    """
    found: dict[tuple[str, int], set[str]] = {}
    here = (PROC / "self" / "ns" / "net").stat().st_ino
    for process in processes:
        own = set(_sockets(process.pid))
        with suppress(OSError):  # it has ended meanwhile
            before = "" if (PROC / str(process.pid) / "ns" / "net").stat().st_ino == here else PRIVATE
            for local in _listening(process.pid, own) if own else ():
                found.setdefault((process.program.name, process.pid), set()).add(before + _address(local))
    return found


def _listening(pid: int, sockets: set[str]) -> Iterator[str]:
    """The local addresses of those sockets, by their inodes, that listen in the namespace of the process."""
    for table, wanted in TABLES.items():
        for line in (PROC / str(pid) / "net" / table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == wanted and inode in sockets:
                yield local


def beyond_loopback(found: dict[tuple[str, int], set[str]]) -> list[str]:
    """What can be reached from outside of this machine, or may be on another one."""
    return [
        f"{program} {address}"
        for (program, _), addresses in found.items()
        for address in addresses
        if not _is_private(address) and not _is_loopback(address.removeprefix(PRIVATE))
    ]


def open_to_others(folder: Path) -> list[str]:
    """Files and folders, the folder itself included, on which others than the owner have rights."""
    return [f"{stat.filemode(mode)} {path}" for path, mode in modes(folder) if mode & 0o077]


def modes(folder: Path) -> Iterator[tuple[Path, int]]:
    """Everything in the folder and its mode; links have none of their own."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            with suppress(FileNotFoundError):  # what runs has removed it meanwhile
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode):
                    yield path, mode


def _sockets(pid: int) -> Iterator[str]:
    with suppress(OSError):  # it has ended meanwhile
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                kind, _, inode = os.readlink(descriptor).partition(":")
                if kind == "socket":
                    yield inode.strip("[]")


def _address(text: str) -> str:
    """`127.0.0.1` for `0100007F:1F90`: words of four bytes, each with its lowest byte first."""
    raw = bytes.fromhex(text.partition(":")[0])
    turned = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    return str(IPv4Address(turned) if len(turned) == 4 else IPv6Address(turned))


def _is_private(address: str) -> bool:
    """Whether it is a pod's address in a network namespace of its own."""
    return address.startswith(f"{PRIVATE}10.")


def _is_loopback(address: str) -> bool:
    if ":" not in address:
        return IPv4Address(address).is_loopback
    mapped = IPv6Address(address).ipv4_mapped
    return mapped.is_loopback if mapped else IPv6Address(address).is_loopback
