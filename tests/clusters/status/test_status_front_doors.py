"""The status of InferenceGateways, and of clusters on which nothing else stands."""

from datetime import UTC, datetime
from typing import Any

import pytest

from inferfleet.cli.verbs.status import as_values, tables
from inferfleet.clusters.status.read import LiveCluster, key_of
from inferfleet.clusters.status.status import status
from inferfleet.clusters.status.values import ClusterStatus, FrontDoorStatus, PartStatus, Phase, Status
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

SYSTEM = "inferfleet-system"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(version: str, kind: str, name: str, **spec: Any) -> KubeObject:
    metadata = {"name": name, "namespace": SYSTEM, "labels": {"inferfleet.dev/gateway": "main"}}
    manifest = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    return KubeObject(f"hub/{SYSTEM}/{name}", manifest)


GATEWAY = made(
    "gateway.networking.k8s.io/v1",
    "Gateway",
    "front-main",
    listeners=[{"name": "http", "protocol": "HTTP", "port": 80}],
)
POLICY = made("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "front-main")
ROUTE = made(
    "gateway.networking.k8s.io/v1", "HTTPRoute", "front-main.ml.chat", parentRefs=[{"name": "front-main"}]
)
KEYS = made("v1", "Secret", "keys")
ROUTER = made("apps/v1", "Deployment", "front-main-router", replicas=2)
HUB = DesiredCluster(
    Connection("hub", "existing/hub", "active"),
    (
        Component("FrontDoor", "hub/front-main", (GATEWAY, KEYS, ROUTER, POLICY)),
        Component("FrontDoorService", "hub/front-main.ml.chat", (ROUTE,)),
    ),
    front_doors={"main": GATEWAY},
)
TRUE = [{"type": type_, "status": "True"} for type_ in ("Accepted", "Programmed", "ResolvedRefs")]
REFUSED = {"type": "Accepted", "status": "False", "reason": "Invalid", "message": "no key"}
STATUSES: dict[str, dict[str, Any]] = {
    "Gateway": {"conditions": TRUE, "addresses": [{"value": "10.0.0.5"}]},
    "SecurityPolicy": {
        "ancestors": [
            {"ancestorRef": {"sectionName": "http"}, "conditions": [{"type": "Merged", "status": "True"}]},
            {"conditions": TRUE},
        ]
    },
    "HTTPRoute": {"parents": [{"parentRef": {"name": "front-main"}, "conditions": TRUE}]},
    "Secret": {},
    "Deployment": {},
}


def seen(**statuses: dict[str, Any]) -> Status:
    # As items of lists, which say neither version nor kind.
    there = {
        key_of(item): {
            "metadata": item.manifest["metadata"],
            "spec": item.manifest["spec"],
            "status": (STATUSES | statuses)[item.kind],
        }
        for item in HUB.objects
    }
    desired = Desired("prod", (HUB,), Plan(), frozenset(), ())
    return status(desired, {"hub": LiveCluster(there)}, NOW)


READY = tuple(
    PartStatus("hub", f"{kind} {SYSTEM}/{name}", Phase.READY)
    for kind, name in (
        ("Gateway", "front-main"),
        ("Deployment", "front-main-router"),
        ("SecurityPolicy", "front-main"),
        ("HTTPRoute", "front-main.ml.chat"),
    )
)


def test_a_gateway_is_ready_once_all_of_it_is_served() -> None:
    assert seen() == Status(
        "prod",
        (ClusterStatus("hub"),),
        (),
        (),
        front_doors=(FrontDoorStatus("main", "hub", "10.0.0.5", READY),),
    )


@pytest.mark.parametrize(
    ("statuses", "phase", "row"),
    [
        (
            {"SecurityPolicy": {"ancestors": [{"conditions": [REFUSED]}]}},
            Phase.FAILED,
            (f"  SecurityPolicy {SYSTEM}/front-main", Phase.FAILED, None, "Accepted=False (Invalid): no key"),
        ),
        (
            {"HTTPRoute": {}},
            Phase.PENDING,
            (
                f"  HTTPRoute {SYSTEM}/front-main.ml.chat",
                Phase.PENDING,
                None,
                f"Gateway {SYSTEM}/front-main has not accepted it yet",
            ),
        ),
    ],
)
def test_what_is_not_served_is_shown_with_the_reason(
    statuses: dict[str, Any], phase: Phase, row: tuple[Any, ...]
) -> None:
    told = seen(**statuses)
    assert list(tables(told))[1:] == [
        (
            "InferenceGateways",
            ("gateway", "phase", "address", "what"),
            [("main on hub", phase, "10.0.0.5", None), row],
        )
    ]
    assert as_values(told)["frontDoors"][0]["phase"] == phase
