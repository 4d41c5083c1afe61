"""Services of type LoadBalancer get addresses, which lead to their ready pods."""

from ipaddress import IPv4Network
from typing import Any

from sandbox.network.load_balancers import addresses, events, places, statuses

NETWORK = IPv4Network("127.4.255.0/24")
NOW = "2026-01-01T00:00:00Z"


def service(name: str, *, age: int = 0, ip: str | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "infra", "creationTimestamp": f"2026-01-01T00:00:{age:02}Z"},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 8080}], **spec},
        "status": {"loadBalancer": {"ingress": [{"ip": ip}]} if ip else {}},
    }


def endpoints(of: str, *pods: tuple[str, bool], port: int = 80, name: str = "http") -> dict[str, Any]:
    return {
        "metadata": {"namespace": "infra", "labels": {"kubernetes.io/service-name": of}},
        "ports": [{"name": name, "port": port}],
        "endpoints": [{"addresses": [pod], "conditions": {"ready": ready}} for pod, ready in pods],
    }


def test_a_service_keeps_its_address_and_others_get_free_ones_from_the_end() -> None:
    services = [service("new", age=2), service("kept", age=3, ip="127.4.255.254"), service("old", age=1)]
    assert addresses(services, NETWORK) == {
        "infra/kept": "127.4.255.254",
        "infra/old": "127.4.255.253",
        "infra/new": "127.4.255.252",
    }


def test_an_address_of_another_network_is_replaced() -> None:
    given = addresses([service("moved", ip="192.0.2.1")], NETWORK)
    assert statuses([service("moved", ip="192.0.2.1")], given, {}, now=NOW) == {
        "/api/v1/namespaces/infra/services/moved/status": {
            "loadBalancer": {"ingress": [{"ip": "127.4.255.254"}]}
        }
    }


def test_a_status_that_is_right_is_not_written_again() -> None:
    services = [service("kept", ip="127.4.255.9"), service("inside", type="ClusterIP")]
    assert statuses(services, addresses(services, NETWORK), {}, now=NOW) == {}


def test_an_address_leads_to_the_ready_pods_at_the_ports_they_have() -> None:
    services = [service("g", ip="127.4.255.1"), service("inside", type="ClusterIP")]
    slices = [
        endpoints("g", ("10.4.0.9", True), ("10.4.0.8", False)),
        endpoints("g", ("10.4.0.7", True)),
        endpoints("g", ("10.4.0.7", True), name="status", port=15021),
        endpoints("inside", ("10.4.0.6", True)),
    ]
    assert places(services, slices, addresses(services, NETWORK)) == {
        ("127.4.255.1", 8080): (("10.4.0.7", 80), ("10.4.0.9", 80))
    }


def test_an_address_without_ready_pods_leads_nowhere() -> None:
    services = [service("g", ip="127.4.255.1")]
    assert places(services, [], addresses(services, NETWORK)) == {("127.4.255.1", 8080): ()}


WHY = {("127.4.255.1", 8080): "Address already in use."}
SAID = {
    "type": "LoadBalancerPortsError",
    "status": "True",
    "reason": "PortNotAvailable",
    "message": "port 8080: Address already in use.",
    "lastTransitionTime": NOW,
}


def test_a_service_has_no_address_while_a_port_is_taken_outside_and_says_why() -> None:
    taken = service("g", ip="127.4.255.1")
    path = "/api/v1/namespaces/infra/services/g/status"
    given = addresses([taken], NETWORK)
    said = {"loadBalancer": {"ingress": []}, "conditions": [SAID]}
    assert statuses([taken], given, WHY, now=NOW) == {path: said}
    told = {**taken, "status": {"conditions": [SAID]}}
    assert statuses([told], given, WHY, now="2026-01-02T00:00:00Z") == {}
    back = {"loadBalancer": {"ingress": [{"ip": "127.4.255.1"}]}, "conditions": []}
    assert statuses([told], given, {}, now=NOW) == {path: back}


def test_the_service_and_its_gateway_have_an_event_of_a_port_that_is_taken() -> None:
    taken = service("g-istio", ip="127.4.255.1")
    taken["metadata"] |= {"uid": "u1", "ownerReferences": [{"kind": "Gateway", "name": "g"}]}
    gateway = {"metadata": {"namespace": "infra", "name": "g", "uid": "u2"}, "spec": {"listeners": []}}
    other = {"metadata": {"namespace": "infra", "name": "other", "uid": "u3"}, "spec": {"listeners": []}}
    given = addresses([taken], NETWORK)
    made = events([taken], [gateway, other], given, WHY, now=NOW)
    assert [(event["involvedObject"], event["message"]) for event in made] == [
        (
            {"apiVersion": version, "kind": kind, "namespace": "infra", "name": name, "uid": uid},
            SAID["message"],
        )
        for version, kind, name, uid in (
            ("v1", "Service", "g-istio", "u1"),
            ("gateway.networking.k8s.io/v1", "Gateway", "g", "u2"),
        )
    ]
    assert events([taken], [gateway, other], given, {}, now=NOW) == []
