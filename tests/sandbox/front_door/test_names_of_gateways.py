"""What pods with a network of their own are told of names."""

import struct

import pytest

from sandbox.front_door.names import answer

A, AAAA = 1, 28


def asked(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    # As resolvers ask: with a record of the size of answers that they take.
    more = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)
    return (
        b"\x12\x34"
        + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 1)
        + labels
        + b"\0"
        + struct.pack("!HH", kind, 1)
        + more
    )


def told(name: str, kind: int) -> tuple[int, list[str]]:
    """The code of the answer, and its addresses."""
    known = {"us.gateways.example.com": ["10.0.0.100"], "two.example.com": ["10.0.0.1", "10.0.0.2"]}
    reply = answer(asked(name, kind), lambda one: known.get(one, []))
    number, flags, questions, answers, _, more = struct.unpack_from("!HHHHHH", reply)
    assert (number, questions, more) == (0x1234, 1, 0)
    records = reply[len(reply) - 16 * answers :]
    addresses = [".".join(map(str, records[at + 12 : at + 16])) for at in range(0, len(records), 16)]
    return flags & 0xF, addresses


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("us.gateways.example.com", A, (0, ["10.0.0.100"])),
        ("US.Gateways.example.com", A, (0, ["10.0.0.100"])),
        ("two.example.com", A, (0, ["10.0.0.1", "10.0.0.2"])),
        ("us.gateways.example.com", AAAA, (0, [])),
        ("eu.gateways.example.com", A, (3, [])),
    ],
)
def test_a_name_is_answered_with_its_addresses(name: str, kind: int, said: tuple[int, list[str]]) -> None:
    assert told(name, kind) == said
