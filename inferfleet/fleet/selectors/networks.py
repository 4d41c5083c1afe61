"""Kubernetes' functions on IP addresses, networks (CIDR) and URLs.

Rules: https://kubernetes.io/docs/reference/using-api/cel/ (IP address, CIDR and URL library).
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from inferfleet.api.wording import shown
from inferfleet.fleet.selectors.limits import BUDGET, Unusable
from inferfleet.fleet.selectors.values import CIDR, IP, URL, made, text_of, type_of


def ip(value: Any) -> Any:
    """Return the address of a text, or the address of a network as it was written."""
    if type_of(value) == CIDR:
        return made(IP, text_of(value).partition("/")[0])
    return made(IP, str(_address(_text(value))))


def is_ip(text: str) -> bool:
    """Return whether `ip` can read the text."""
    return _reads(_address, text)


def is_canonical(text: str) -> bool:
    """Return whether the address is written in its one recommended form (RFC 5952)."""
    return str(_address(text)) == text


def family(value: Any) -> int:
    """Return 4 or 6."""
    return _of(value).version


def is_unspecified(value: Any) -> bool:
    """Return whether it is 0.0.0.0 or ::."""
    return _of(value).is_unspecified


def is_loopback(value: Any) -> bool:
    """Return whether it is an address of the machine itself."""
    return _of(value).is_loopback


def is_link_local_multicast(value: Any) -> bool:
    """Return whether it is in 224.0.0.0/24 or ff02::/16."""
    address = _of(value)
    if isinstance(address, IPv4Address):
        return address in IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def is_link_local_unicast(value: Any) -> bool:
    """Return whether it is in 169.254.0.0/16 or fe80::/10."""
    return _of(value).is_link_local


def is_global_unicast(value: Any) -> bool:
    """Return whether it is a single address beyond the local link, private ones included."""
    address = _of(value)
    other = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (other or str(address) == "255.255.255.255")


def cidr(text: str) -> Any:
    """Return the network of a text such as 10.0.0.0/8, with the address as it is written."""
    address, _, length = text.partition("/")
    network = _network(text)
    return made(CIDR, f"{_address(address)}/{network.prefixlen}") if length else made(CIDR, str(network))


def is_cidr(text: str) -> bool:
    """Return whether `cidr` can read the text."""
    return _reads(_network, text)


def contains_ip(network: Any, value: Any) -> bool:
    """Return whether an address, as a value or a text, is in the network."""
    address = _of(value) if type_of(value) == IP else _address(_text(value))
    own = _network_of(network)
    return own.version == address.version and address in own


def contains_cidr(network: Any, value: Any) -> bool:
    """Return whether another network, as a value or a text, is a part of the network."""
    other = _network_of(value) if type_of(value) == CIDR else _network(_text(value))
    own = _network_of(network)
    if isinstance(own, IPv4Network) and isinstance(other, IPv4Network):
        return other.subnet_of(own)
    return isinstance(own, IPv6Network) and isinstance(other, IPv6Network) and other.subnet_of(own)


def masked(network: Any) -> Any:
    """Return the network with its first address."""
    return made(CIDR, str(_network_of(network)))


def prefix_length(network: Any) -> int:
    """Return the number of bits that all addresses of the network share."""
    return _network_of(network).prefixlen


def url(text: str) -> Any:
    """Return the URL of a text that is absolute, or an absolute path."""
    _parts(text)
    return made(URL, text)


def is_url(text: str) -> bool:
    """Return whether `url` can read the text."""
    return _reads(_parts, text)


def url_part(value: Any, name: str) -> Any:
    """Return a part of a URL: scheme, host, hostname, port, path or query; "" when there is none."""
    if type_of(value) != URL:
        raise Unusable("a url was expected")
    parts = _parts(text_of(value))
    BUDGET.take(len(text_of(value)))
    host = parts.netloc.rpartition("@")[2]
    if name == "query":
        return parse_qs(parts.query, keep_blank_values=True, max_num_fields=1000)
    if name in ("hostname", "port"):
        bare, _, port = host.rpartition("]") if "]" in host else ("", "", host)
        start, colon, number = port.rpartition(":")
        own = start if colon else port
        return number if name == "port" and colon else "" if name == "port" else bare.lstrip("[") or own
    if name == "path":
        return quote(parts.path, safe="/%:@!$&'()*+,;=~-._")
    return host if name == "host" else parts.scheme


def _reads(read: Any, text: str) -> bool:
    try:
        read(text)
    except Unusable:
        return False
    return True


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unusable("a text was expected")
    return value


def _of(value: Any) -> IPv4Address | IPv6Address:
    if type_of(value) != IP:
        raise Unusable("an ip was expected")
    return _address(text_of(value))


def _network_of(value: Any) -> IPv4Network | IPv6Network:
    if type_of(value) != CIDR:
        raise Unusable("a cidr was expected")
    return _network(text_of(value))


@lru_cache(maxsize=256)
def _address(text: str) -> IPv4Address | IPv6Address:
    try:
        address = ip_address(text)
    except ValueError:
        raise Unusable(f"{shown(text)!r} is not an IP address") from None
    # As in Kubernetes: no zones, and no IPv4 addresses written as IPv6.
    if isinstance(address, IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise Unusable(f"{shown(text)!r} is not an IP address without a zone or an IPv4 address in it")
    return address


@lru_cache(maxsize=256)
def _network(text: str) -> IPv4Network | IPv6Network:
    address, slash, length = text.partition("/")
    if not (slash and length.isdigit() and len(length) <= 3 and length == str(int(length))):
        raise Unusable(f"{shown(text)!r} is not a network such as 10.0.0.0/8")
    _address(address)
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise Unusable(f"{shown(text)!r} is not a network such as 10.0.0.0/8") from None


@lru_cache(maxsize=256)
def _parts(text: str) -> SplitResult:
    problem = Unusable(f"{shown(text)!r} is not an absolute URL")
    if not text.isprintable():
        raise problem
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise problem from None
    if not (parts.scheme or text.startswith("/")):
        raise problem
    return parts
