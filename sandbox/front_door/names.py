"""A DNS server for pods with a network of their own: cluster names as their cluster's DNS would answer, and
the names by which documents say how other clusters are reached.

Answers are of RFC 1035: one question, addresses of type A, no name compression but of the question.
"""

import asyncio
import struct
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import cast

_A, _IN, _ANY = 1, 1, 255
_RESPONSE, _RECURSION, _NO_SUCH_NAME = 0x8400, 0x0080, 3
_SECONDS = 5
_QUESTION_NAME = 0xC00C


class Resolver(asyncio.DatagramProtocol):
    """Answers with what `addresses` returns for a name in small letters, without the dot at its end."""

    def __init__(self, addresses: Callable[[str], list[str]]) -> None:
        self._addresses = addresses

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, client: tuple[str, int]) -> None:
        if len(data) > 12:
            self._transport.sendto(answer(data, self._addresses), client)


def answer(query: bytes, addresses: Callable[[str], list[str]]) -> bytes:
    """Return the answer to a query."""
    labels, end = [], 12
    while length := query[end]:
        labels.append(query[end + 1 : end + 1 + length].decode(errors="replace").lower())
        end += 1 + length
    kind, _ = struct.unpack_from("!HH", query, end + 1)
    found = addresses(".".join(labels))
    records = b"".join(
        struct.pack("!HHHIH", _QUESTION_NAME, _A, _IN, _SECONDS, 4) + IPv4Address(address).packed
        for address in (found if kind in (_A, _ANY) else ())
    )
    number = len(found) if kind in (_A, _ANY) else 0
    flags = _RESPONSE | _RECURSION | (0 if found else _NO_SUCH_NAME)
    head = query[:2] + struct.pack("!HHHHH", flags, 1, number, 0, 0)
    return head + query[12 : end + 5] + records
