"""Pods are found by the names that a cluster's DNS would answer, and by no others."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from sandbox.agent.names import address_of


def service(name: str, *, headless: bool = True, unready: bool = True) -> dict[str, Any]:
    spec = {"selector": {"set": name}, "clusterIP": "None" if headless else "10.0.0.9"}
    return {
        "metadata": {"namespace": "ml", "name": name},
        "spec": {**spec, "publishNotReadyAddresses": unready},
    }


def pod(name: str, of: str, address: str | None, *, ready: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"namespace": "ml", "name": name, "labels": {"set": of}},
        "spec": {"hostname": name, "subdomain": of},
        "status": {"conditions": conditions, **({"podIP": address} if address else {})},
    }


HERE = IPv4Network("127.0.0.0/8")
PODS = [
    pod("kimi-0", "kimi", "127.4.0.2"),
    pod("kimi-0-1", "kimi", "127.4.0.10", ready=True),
    pod("kimi-1", "kimi", None),
    pod("strict-0", "strict", "127.4.0.4"),
    pod("web-0", "web", "127.4.0.5", ready=True),
]
SERVICES = [service("kimi"), service("strict", unready=False), service("web", headless=False)]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("kimi-0.kimi.ml", "127.4.0.2"),
        ("kimi-0.kimi.ml.svc.cluster.local.", "127.4.0.2"),
        ("kimi-0.kimi.ml.svc", "127.4.0.2"),
        ("kimi-0-1.kimi", "127.4.0.10"),
        ("kimi", "127.4.0.2"),
        ("kimi.ml", "127.4.0.2"),
        ("web", "127.4.0.5"),
        ("127.4.0.7", "127.4.0.7"),
        # A pod has no name of its own, only with its Service; and one of another namespace is not this one.
        ("kimi-0", None),
        ("kimi-0.kimi.other", None),
        ("kimi-0.strict.ml", None),
        # Without an address, and not ready where the Service wants that.
        ("kimi-1.kimi.ml", None),
        ("strict-0.strict.ml", None),
        ("kimi-0.kimi.ml.example.com", None),
        # Nothing in the sandbox reaches out.
        ("10.0.0.9", None),
    ],
)
def test_names_are_answered_as_in_a_cluster(name: str, address: str | None) -> None:
    assert address_of(name, "ml", pods=PODS, services=SERVICES, reachable=HERE) == address


def test_short_names_belong_to_the_namespace_that_asks() -> None:
    assert address_of("kimi", "other", pods=PODS, services=SERVICES, reachable=HERE) is None
    assert address_of("kimi.ml", "other", pods=PODS, services=SERVICES, reachable=HERE) == "127.4.0.2"
