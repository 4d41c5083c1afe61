"""The typed values of selectors that CEL itself does not have: quantities, versions, addresses and URLs.

Each is a message with one text in a normal form, so that equal values are equal messages. The field is named
`in`, a reserved word of CEL: no expression can read it.
"""

from functools import cache
from typing import Any

TYPES = ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR", "kubernetes.URL")
QUANTITY, SEMVER, IP, CIDR, URL = TYPES
# As messages name them.
SPOKEN = {QUANTITY: "quantity", SEMVER: "semver", IP: "ip", CIDR: "cidr", URL: "url"}
_FIELD = "in"


@cache
def pool() -> Any:
    """Return the descriptor pool that has the types, and no others."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    own = descriptor_pool.DescriptorPool()
    for package in ("kubernetes", "net"):
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        for name in TYPES:
            if name.startswith(f"{package}."):
                message = file.message_type.add(name=name.partition(".")[2])
                message.field.add(name=_FIELD, number=1, type=9, label=1)
        own.Add(file)
    return own


@cache
def _message(name: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def made(name: str, text: str) -> Any:
    """Return a value of the type with its text in the normal form."""
    value = _message(name)()
    setattr(value, _FIELD, text)
    return value


def text_of(value: Any) -> str:
    """Return the text of a value in its normal form."""
    return str(getattr(value, _FIELD))


def type_of(value: Any) -> str:
    """Return the full name of the type of a value, "" when it is none of these."""
    descriptor = getattr(value, "DESCRIPTOR", None)
    return str(descriptor.full_name) if descriptor is not None else ""
