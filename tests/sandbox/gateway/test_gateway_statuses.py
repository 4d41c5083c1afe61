"""What the gateway controller writes back to the objects it serves, and when."""

from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from gateway_objects import (
    gateway,
    listener,
    meta,
    picker_of,
    pod,
    pool,
    route,
    rule,
    snapshot,
    to_pool,
    to_service,
)

from sandbox.cluster.objects import Object
from sandbox.cluster.populate import CONTROLLER
from sandbox.gateway.conditions import condition, dated
from sandbox.gateway.config import config
from sandbox.gateway.snapshot import Snapshot
from sandbox.gateway.statuses import changes

NETWORK = IPv4Network("127.4.255.0/24")
NOW = "2026-05-01T00:00:00Z"
GROUP = "gateway.networking.k8s.io"
AT = ("127.4.255.1", 8080)
ENGINE = pod("qwen-a", {"model": "qwen"}, "127.4.0.1")
GATEWAY = f"/apis/{GROUP}/v1/namespaces/infra/gateways/edge/status"
ROUTE = f"/apis/{GROUP}/v1/namespaces/ml/httproutes/qwen/status"
POOL = "/apis/inference.networking.k8s.io/v1/namespaces/ml/inferencepools/qwen/status"
CLASS = f"/apis/{GROUP}/v1/gatewayclasses/ours/status"


def statuses_of(there: Snapshot, ports: dict[tuple[str, int], str] | None = None) -> dict[str, Any]:
    return changes(config(there, NETWORK), there, ports={AT: ""} if ports is None else ports, now=NOW)


def said(kind: str, reason: str = "", message: str = "") -> Object:
    """A condition: true without a message."""
    made = condition(kind, (reason, message) if message else None, generation=1)
    return made | {"lastTransitionTime": NOW}


def parent(*conditions: Object, **ref: str) -> Object:
    return {"parentRef": ref, "controllerName": CONTROLLER, "conditions": list(conditions)}


def test_everything_that_serves_says_so() -> None:
    assert statuses_of(snapshot(gateway(), route(), pool(), *picker_of(), ENGINE)) == {
        CLASS: {"conditions": [said("Accepted")]},
        GATEWAY: {
            "addresses": [{"type": "IPAddress", "value": "127.4.255.1"}],
            "conditions": [said("Accepted"), said("Programmed")],
            "listeners": [
                {
                    "name": "http",
                    "supportedKinds": [{"group": GROUP, "kind": "HTTPRoute"}],
                    "attachedRoutes": 1,
                    "conditions": [said("Accepted"), said("Programmed"), said("ResolvedRefs")],
                }
            ],
        },
        ROUTE: {"parents": [parent(said("Accepted"), said("ResolvedRefs"), name="edge", namespace="infra")]},
        POOL: {
            "parents": [
                parent(
                    said("Accepted"),
                    said("ResolvedRefs"),
                    group=GROUP,
                    kind="Gateway",
                    name="edge",
                    namespace="infra",
                )
            ]
        },
    }


def test_what_is_said_already_is_not_written_again() -> None:
    objects = [gateway(), route(), pool(), *picker_of(), ENGINE]
    first = statuses_of(snapshot(*objects))
    by_kind = {"gatewayClassName": GATEWAY, "parentRefs": ROUTE, "endpointPickerRef": POOL}
    for kube_object in objects:
        for field, path in by_kind.items():
            if field in kube_object["spec"]:
                kube_object["status"] = first[path]
    again = snapshot(*objects)
    again.classes["ours"]["status"] = first[CLASS]
    assert statuses_of(again) == {}


def test_a_port_that_nobody_serves_yet_is_not_programmed() -> None:
    why = ("Pending", "port 8080 of 127.4.255.1: your user may not listen on ports below 1024.")
    status = statuses_of(snapshot(gateway()), {AT: "your user may not listen on ports below 1024."})[GATEWAY]
    assert status["conditions"] == [said("Accepted"), said("Programmed", *why)]
    assert status["listeners"][0]["conditions"][1] == said("Programmed", *why)


def test_a_gateway_without_a_listener_that_works_is_refused() -> None:
    tls = listener("tls", port=443, protocol="HTTPS")
    status = statuses_of(snapshot(gateway(listeners=[tls])))[GATEWAY]
    why = ("ListenersNotValid", "the sandbox can serve none of the listeners; see their conditions")
    assert status["conditions"] == [said("Accepted", *why), said("Programmed", *why)]
    assert status["listeners"][0]["conditions"] == [
        said("Accepted", "UnsupportedProtocol", "the sandbox serves HTTP only, not HTTPS"),
        said("Programmed", "Invalid", "the sandbox serves HTTP only, not HTTPS"),
        said("ResolvedRefs"),
    ]


def test_a_route_names_everything_that_is_missing() -> None:
    there = snapshot(gateway(), route("qwen", rule("/x", to_pool("gone"), to_service("web"))))
    (status,) = statuses_of(there)[ROUTE]["parents"]
    message = "there is no InferencePool ml/gone; there is no Service ml/web"
    assert status["conditions"] == [said("Accepted"), said("ResolvedRefs", "BackendNotFound", message)]


def test_a_pool_names_what_its_picker_lacks_and_that_no_route_is_taken() -> None:
    there = snapshot(gateway(), route("qwen", hostnames=["b.com"]), pool(port=9999), *picker_of())
    there.gateways["infra/edge"]["spec"]["listeners"] = [listener(hostname="a.com")]
    (status,) = statuses_of(there)[POOL]["parents"]
    assert status["conditions"] == [
        said("Accepted", "HTTPRouteNotAccepted", "Gateway infra/edge accepts no route to the pool"),
        said("ResolvedRefs", "InvalidExtensionRef", "Service ml/qwen-epp has no port 9999 (it has: 9002)"),
    ]


def test_other_controllers_keep_their_word_and_ours_goes_with_the_reason_for_it() -> None:
    foreign = {"parentRef": {"name": "x"}, "controllerName": "somebody.else/gateway", "conditions": []}
    left = route("qwen", parentRefs=[{"name": "x"}])
    left["status"] = {"parents": [foreign, parent(said("Accepted"), name="edge")]}
    assert statuses_of(snapshot(left))[ROUTE] == {"parents": [foreign]}


def test_what_nobody_routes_to_is_left_alone() -> None:
    untouched = pool("other") | {"metadata": meta("other")}
    assert set(statuses_of(snapshot(gateway(), untouched))) == {CLASS, GATEWAY}


def test_a_condition_is_as_old_as_its_truth() -> None:
    old = "2026-01-01T00:00:00Z"
    present = {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": old}]}
    true, false = condition("A", None, generation=2), condition("A", ("No", "no"), generation=2)
    assert dated({"conditions": [true]}, present, NOW)["conditions"][0]["lastTransitionTime"] == old
    assert dated({"conditions": [false]}, present, NOW)["conditions"][0]["lastTransitionTime"] == NOW


def test_a_gateway_for_which_google_makes_no_load_balancer_waits_in_googles_words() -> None:
    words = "error cause: gceSync: generic::failed_precondition: Insert: not allowed."
    noted = {"metadata": {"name": "ours", "annotations": {"sandbox.inferfleet.dev/refused": words}}}
    seen = snapshot(gateway())
    told = statuses_of(replace(seen, classes={"ours": {**seen.classes["ours"], **noted}}))[GATEWAY]
    assert (told["addresses"], told["conditions"][1]["reason"], told["conditions"][1]["message"]) == (
        [],
        "Pending",
        words,
    )


def test_a_pool_says_in_googles_words_that_its_gateway_does_not_take_it() -> None:
    of_class = "gke-l7-global-external-managed"
    seen = snapshot(gateway(gatewayClassName=of_class), route(), pool(), *picker_of("qwen"), ENGINE)
    told = statuses_of(replace(seen, classes={of_class: seen.classes["ours"]}))[POOL]
    accepted = told["parents"][0]["conditions"][0]
    assert (accepted["status"], accepted["reason"], accepted["message"]) == (
        "False",
        "NotSupportedByParent",
        'Bind of InferencePool "ml/qwen" to GatewayRef "infra/edge" failed: Unsupported gateway: '
        f"gatewayclass {of_class} does not support inference pools",
    )
