"""InferenceGateways on clusters: what comes before what, and keys that would open too much or nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml
from small_fleet import cluster, deployment, fleet, lock

from inferfleet.desired.addons import addon_components
from inferfleet.desired.build import desired
from inferfleet.desired.clusters import Site
from inferfleet.desired.front_door import key_problems
from inferfleet.desired.values import ClusterAddon, Desired, ObjectNeed
from inferfleet.documents.documents import Documents, Rendered
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.settings import Settings

SYSTEM = "inferfleet-system"
KEYS = [{"secretRef": {"name": "keys", "key": "team-a"}}, {"secretRef": {"name": "keys", "key": "team-a.2"}}]


def at(name: str, address: str | None) -> InferenceCluster:
    made = cluster(name, {"l4": ("l4", 9)}).model_dump(by_alias=True, exclude_unset=True)
    if address:
        made["spec"]["serving"]["gateway"]["address"] = address
    return InferenceCluster.model_validate(made)


def documents(address: str | None = None) -> Documents:
    gateway = InferenceGateway.model_validate(
        {
            "metadata": {"name": "main"},
            "spec": {
                "clusters": ["hub"],
                "listeners": {"http": {}},
                "callers": [{"name": "team-a", "keys": KEYS}],
            },
        }
    )
    hub = cluster("hub", {}).model_dump(by_alias=True, exclude_unset=True)
    chat = ModelService.model_validate(
        {
            "metadata": {"name": "chat", "namespace": "ml"},
            "spec": {"endpoints": [{"selector": {}}], "gateways": ["main"]},
        }
    )
    secrets = {"inferfleet-system/keys": ("team-a", "team-a.2")}
    made = fleet(
        Settings(stack="test", secrets=secrets),
        InferenceCluster.model_validate(hub),
        at("east", address),
        deployment("a", 1),
        chat,
    )
    return replace(made, gateways={"main": gateway})


def file(text: str) -> dict[str, Any]:
    """The configuration of Envoy Gateway, as its chart renders it."""
    metadata = {"name": "envoy-gateway-config", "namespace": "envoy-gateway-system"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"envoy-gateway.yaml": text},
    }


def thing(api_version: str, kind: str) -> dict[str, Any]:
    metadata = {"name": kind.lower(), "namespace": "envoy-gateway-system"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


ENVOY_GATEWAY = Rendered(
    "h1:eg",
    {},
    (
        thing("apps/v1", "Deployment"),
        thing("batch/v1", "Job"),
        thing("v1", "ServiceAccount"),
        file("extensionApis: {}\nlogging: {level: {default: info}}\n"),
    ),
)


def managed() -> Documents:
    """The hub has Envoy Gateway from the stack."""
    made = documents("east.acme.com")
    hub = made.clusters["hub"].model_dump(by_alias=True, exclude_unset=True)
    hub["spec"]["serving"] = {"stack": {"envoyGateway": "Managed"}}
    clusters = {**made.clusters, "hub": InferenceCluster.model_validate(hub)}
    return replace(made, clusters=clusters, installed={"envoyGateway": {"1.9.1": ENVOY_GATEWAY}})


def on_hub(made: Desired) -> dict[str, Any]:
    """The objects on the hub by kind and name."""
    [hub] = [one for one in made.clusters if one.connection.cluster == "hub"]
    return {f"{item.kind} {item.kubernetes_name}": item for item in hub.objects}


def first_of(objects: Mapping[str, Any], name: str) -> set[str]:
    """What on the hub comes before an object, however far."""
    by_key = {item.key: title for title, item in objects.items()}
    found: set[str] = set()
    open_keys = list(objects[name].after)
    while open_keys:
        title = by_key.get(open_keys.pop())
        if title and title not in found:
            found.add(title)
            open_keys += objects[title].after
    return found


@pytest.mark.parametrize("route", ["front-main.ml.chat", "front-main.ml.chat.path"])
def test_a_service_is_guarded_before_it_is_reached(route: str) -> None:
    objects = on_hub(desired(documents("east.acme.com"), lock({"a east/l4": 1}, {"chat": ("east",)})))
    assert first_of(objects, f"HTTPRoute {route}") == {
        "Namespace inferfleet-system",
        "Secret front-main.confirming",
        "Secret keys",
        "EnvoyProxy front-main",
        "Gateway front-main",
        "SecurityPolicy front-main",
        "ClientTrafficPolicy front-main",
        "BackendTrafficPolicy front-main",
        "HTTPRouteFilter front-main.unknown",
        "HTTPRouteFilter front-main.nowhere",
        "HTTPRouteFilter front-main.models",
        "Secret front-main.steady",
        "SecurityPolicy front-main.steady",
        "HTTPRoute front-main.steady",
        "ServiceAccount front-main-router",
        "Service front-main-router",
        "PodDisruptionBudget front-main-router",
        "Deployment front-main-router",
        "HTTPRoute front-main.catch-all",
        "EnvoyExtensionPolicy front-main.router",
        "Backend front-main.east",
        "SecurityPolicy front-main.ml.chat",
        "BackendTrafficPolicy front-main.ml.chat",
    }


def test_envoy_gateway_comes_with_its_class_before_the_gateway() -> None:
    made = desired(managed(), lock({"a east/l4": 1}))
    assert [one.addons for one in made.clusters] == [
        (),
        (ClusterAddon("envoyGateway", "1.9.1", f"Gateway {SYSTEM}/front-main and 12 more"),),
    ]
    objects = on_hub(made)
    installed = ["ServiceAccount serviceaccount", "ConfigMap envoy-gateway-config", "Job job"]
    assert first_of(objects, "GatewayClass eg") == {*installed, "Deployment deployment"}
    assert first_of(objects, "Deployment deployment") == {*installed}
    assert objects["GatewayClass eg"].manifest["spec"] == {
        "controllerName": "gateway.envoyproxy.io/gatewayclass-controller"
    }
    for title in ("Gateway front-main", "EnvoyProxy front-main", "SecurityPolicy front-main"):
        assert "GatewayClass eg" in first_of(objects, title)


def test_what_gateways_need_of_its_configuration_is_added_to_what_is_rendered() -> None:
    [hub] = [one for one in desired(managed(), lock({})).clusters if one.connection.cluster == "hub"]
    site = Site("hub", None)
    counted = {"extensionApis": {"enableBackend": True}, "rateLimit": {"backend": {"type": "Redis"}}}
    configured = replace(hub, envoy_gateway=counted)
    [component] = addon_components(managed(), site, configured, hub.addons)
    [text] = [item.manifest["data"] for item in component.objects if item.kind == "ConfigMap"]
    assert yaml.safe_load(text["envoy-gateway.yaml"]) == {
        "extensionApis": {"enableBackend": True},
        "logging": {"level": {"default": "info"}},
        "rateLimit": {"backend": {"type": "Redis"}},
    }


def test_a_cluster_without_node_pools_has_no_gateway_of_its_own() -> None:
    made = desired(documents("east.acme.com"), lock({"a east/l4": 1}))
    assert {one.connection.cluster: one.gateway is not None for one in made.clusters} == {
        "east": True,
        "hub": False,
    }
    assert [title for title in on_hub(made) if title.startswith("Gateway ")] == ["Gateway front-main"]


def test_a_cluster_may_have_neither_node_pools_nor_a_gateway() -> None:
    alone = fleet(cluster("hub", {}))
    [hub] = desired(alone, lock({})).clusters
    assert [*hub.objects] == []


def test_secrets_that_the_stack_does_not_hold_are_looked_for() -> None:
    held = documents("east.acme.com")
    assert [one.objects_needed for one in desired(held, lock({"a east/l4": 1})).clusters] == [(), ()]
    without = replace(held, settings=Settings(stack="test"))
    [_, hub] = desired(without, lock({"a east/l4": 1})).clusters
    assert hub.objects_needed == (
        ObjectNeed(
            "Secret",
            "inferfleet-system",
            "keys",
            keys=("team-a", "team-a.2"),
            deployments=("gateway main",),
            kind="InferenceGateway",
            key="main",
            path="spec.callers[0].keys[0].secretRef",
        ),
    )


@pytest.mark.parametrize(("services", "waits"), [({}, True), ({"chat": ("east",)}, False)])
def test_a_route_waits_for_clusters_that_are_new_to_its_service_alone(
    services: dict[str, tuple[str, ...]], waits: bool
) -> None:
    made = desired(documents("east.acme.com"), lock({"a east/l4": 1}, services))
    route = on_hub(made)["HTTPRoute front-main.ml.chat"]
    [own] = [item.key for one in made.clusters for item in one.objects if item.kubernetes_name == "chat-svc"]
    assert (own in route.after) == waits


@pytest.mark.parametrize(
    ("address", "endpoints", "address_of"),
    [
        (None, [], "east"),
        ("10.1.2.3", [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}], None),
    ],
)
def test_an_address_has_a_name_and_no_route_waits_for_it(
    address: str | None, endpoints: list[Any], address_of: str | None
) -> None:
    objects = on_hub(desired(documents(address), lock({"a east/l4": 1})))
    [title] = [title for title in objects if title.startswith("EndpointSlice")]
    assert objects[title].manifest["endpoints"] == endpoints
    assert objects[title].address_of == address_of
    assert title not in first_of(objects, "HTTPRoute front-main.ml.chat")
    [backend] = [item for name, item in objects.items() if name == "Backend front-main.east"]
    [endpoint] = backend.manifest["spec"]["endpoints"]
    assert endpoint["fqdn"]["hostname"] == (
        f"{objects[title].kubernetes_name}.inferfleet-system.svc.cluster.local"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"team-a": "sk-1", "team-a.2": "sk-2"}, []),
        ({"team-a": "sk-1"}, []),
        ({"team-a": "", "team-a.2": "sk-2"}, ["key team-a of gateway main is empty"]),
        (
            {"team-a": "sk-1\n", "team-a.2": "sk-2"},
            [
                "key team-a of gateway main has blanks or a newline at an end, with which no client's key is "
                "equal to it"
            ],
        ),
        ({"team-a": "sk-1", "team-a.2": "sk-1"}, ["key team-a.2 of gateway main is that of team-a too"]),
    ],
)
def test_a_key_that_breaks_all_of_them_is_refused(values: dict[str, str], said: list[str]) -> None:
    found = [*key_problems(documents(), {("inferfleet-system", "keys"): values})]
    assert [problem.what for problem in found] == said
    assert "sk-" not in "".join(map(str, found))
