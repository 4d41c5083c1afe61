"""From a Gateway as it stands on a cluster to the URLs of what it serves."""

from typing import Any

import pytest

from inferfleet.serving.gateway import Address, address_of, url

HTTP = {"name": "http", "protocol": "HTTP", "port": 80}
HTTPS = {"name": "https", "protocol": "HTTPS", "port": 443}
TCP = {"name": "tcp", "protocol": "TCP", "port": 9000}


@pytest.mark.parametrize(
    ("listeners", "addresses", "found"),
    [
        ([HTTP], ["10.0.0.5"], Address("10.0.0.5", 80)),
        ([HTTPS, HTTP], ["10.0.0.5", "10.0.0.6"], Address("10.0.0.5", 80)),
        ([TCP, HTTPS], ["shared.example.com"], Address("shared.example.com", 443, secure=True)),
        ([TCP], ["10.0.0.5"], None),
        ([HTTP], [], None),
    ],
)
def test_a_gateway_is_reached_at_its_first_address_and_first_listener_for_http(
    listeners: list[Any], addresses: list[str], found: Address | None
) -> None:
    status = {"addresses": [{"type": "IPAddress", "value": one} for one in addresses]}
    assert address_of({"spec": {"listeners": listeners}, "status": status}) == found


def test_a_gateway_without_status_has_no_address() -> None:
    assert address_of({"spec": {"listeners": [HTTP]}, "status": None}) is None


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (Address("10.0.0.5", 8080), "http://10.0.0.5:8080/ml/chat/"),
        (Address("shared.example.com", 443, secure=True), "https://shared.example.com:443/ml/chat/"),
        (Address("2001:db8::5", 80), "http://[2001:db8::5]:80/ml/chat/"),
        (None, None),
    ],
)
def test_a_url_names_host_port_and_path(address: Address | None, found: str | None) -> None:
    assert url(address, "/ml/chat/") == found
