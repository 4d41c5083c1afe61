"""Where a Gateway is reached, and the URLs of what it serves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Address:
    """A Gateway's first address and its first listener for HTTP, or for HTTPS where it has no other."""

    host: str
    port: int
    secure: bool = False


def address_of(gateway: Mapping[str, Any]) -> Address | None:
    """Return the address of a Gateway read from a cluster; None while its controller has set none."""
    addresses = (gateway.get("status") or {}).get("addresses") or []
    hosts = [address["value"] for address in addresses if address.get("value")]
    listeners = (gateway.get("spec") or {}).get("listeners") or []
    served = sorted(
        (listener["protocol"] == "HTTPS", place, int(listener["port"]))
        for place, listener in enumerate(listeners)
        if listener.get("protocol") in ("HTTP", "HTTPS")
    )
    if not hosts or not served:
        return None
    secure, _, port = served[0]
    return Address(str(hosts[0]), port, secure)


def url(address: Address | None, path: str) -> str | None:
    """Return the URL of `path`, which begins with a slash."""
    if address is None:
        return None
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{'https' if address.secure else 'http'}://{host}:{address.port}{path}"
