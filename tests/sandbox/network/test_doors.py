"""Each address of a Gateway leads from outside into the cluster."""

from ipaddress import IPv4Network
from typing import Any

from sandbox.network.doors import doors

NETWORK = IPv4Network("127.4.255.0/24")


def gateway(*ports: int, address: str | None = None) -> dict[str, Any]:
    listeners = [{"name": f"p{port}", "port": port} for port in ports]
    status = {"addresses": [{"type": "IPAddress", "value": address}]} if address else {}
    return {"metadata": {"name": "g"}, "spec": {"listeners": listeners}, "status": status}


def test_every_port_of_a_gateway_leads_to_the_same_address_inside() -> None:
    one = gateway(80, 8080, address="127.4.255.1")
    assert doors([one], NETWORK) == {
        ("127.4.255.1", 80): (("127.4.255.1", 80),),
        ("127.4.255.1", 8080): (("127.4.255.1", 8080),),
    }


def test_gateways_without_an_address_of_the_cluster_have_no_door() -> None:
    others = [gateway(80), gateway(80, address="192.0.2.1"), gateway(80, address="models.example.com")]
    assert doors(others, NETWORK) == {}
