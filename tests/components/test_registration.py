"""What components hand to the engine, recorded by a mock in place of it."""

import base64
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pytest
from recording import own
from recording import run as recorded

from inferfleet.clusters.connections.kubeconfig import access
from inferfleet.components.provider import NOWHERE
from inferfleet.desired.values import (
    Component,
    Connection,
    Desired,
    DesiredCluster,
    KubeObject,
    Outputs,
    Resource,
)
from inferfleet.documents.loading.schema import descriptions
from inferfleet.fleet.decisions import Plan, ServiceRoute
from inferfleet.serving.gateway import Address
from inferfleet.serving.scaler import OWNED

THEIRS = {"dc1": Address("shared.example.com", 443, secure=True)}
STATUS = {"status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.5"}]}}
ANSWERS = {"kubernetes:gateway.networking.k8s.io/v1:Gateway": STATUS}
run = partial(recorded, answers=ANSWERS, theirs=THEIRS)


def _object(kind: str, name: str, **more: Any) -> KubeObject:
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "ml", "name": name}}
    return KubeObject(f"east/ml/{name}", manifest, **more)


NAMESPACE = KubeObject(
    "east/ml", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}, retain=True
)
SECRET = _object("Secret", "token", after=(NAMESPACE.key,))


def secret(value: Any) -> dict[str, Any]:
    """A secret as it travels: Pulumi's signature for secrets around the value."""
    return {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": value}


GATEWAY = KubeObject(
    "east/inferfleet-system/inferfleet",
    {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"namespace": "inferfleet-system", "name": "inferfleet"},
        "spec": {"gatewayClassName": "any", "listeners": [{"protocol": "HTTP", "port": 8080}]},
    },
    timeout=300,
)
WORKLOAD = KubeObject(
    "east/ml/x-decode-l4",
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "ml", "name": "x-decode-l4"},
        "spec": {"replicas": 2},
    },
    after=(NAMESPACE.key, SECRET.key),
    timeout=2700,
)


def _desired(state: Any = "active") -> Desired:
    held = state in ("paused", "lost")
    cluster = DesiredCluster(
        Connection("east", "existing/east", state),
        components=(
            Component("ServingStack", "east", (NAMESPACE, SECRET), held=held),
            Component("ModelReplicas", "east/ml/x-l4", (WORKLOAD,), held=held),
        ),
    )
    return Desired("local", (cluster,), Plan(), frozenset(), ())


STACK = ("pulumi:pulumi:Stack", "inferfleet-local")
SERVING = ("inferfleet:components:ServingStack", "east")
REPLICAS = ("inferfleet:components:ModelReplicas", "east/ml/x-l4")
FLEET = ("inferfleet:components:Fleet", "local")


def test_everything_is_registered_under_its_component_with_the_manifest_key_for_key() -> None:
    recorder, monitor = run(_desired(), preview=False)
    parents = {key: own(request.parent) for key, request in monitor.requests.items() if request.parent}
    assert parents == {
        FLEET: STACK,
        ("pulumi:providers:kubernetes", "east"): FLEET,
        SERVING: FLEET,
        ("kubernetes:core/v1:Namespace", "east/ml"): SERVING,
        ("kubernetes:core/v1:Secret", "east/ml/token"): SERVING,
        REPLICAS: FLEET,
        ("kubernetes:apps/v1:Deployment", "east/ml/x-decode-l4"): REPLICAS,
    }
    assert recorder.inputs["kubernetes:apps/v1:Deployment", "east/ml/x-decode-l4"] == WORKLOAD.manifest


def test_a_preview_registers_what_an_update_registers() -> None:
    previewed, _ = run(_desired(), preview=True)
    updated, _ = run(_desired(), preview=False)
    assert previewed.inputs == updated.inputs


def test_a_workload_waits_for_what_it_needs_as_long_as_its_budget() -> None:
    _, monitor = run(_desired(), preview=False)
    request = monitor.requests["kubernetes:apps/v1:Deployment", "east/ml/x-decode-l4"]
    assert {own(urn) for urn in request.dependencies} == {
        ("kubernetes:core/v1:Namespace", "east/ml"),
        ("kubernetes:core/v1:Secret", "east/ml/token"),
    }
    assert (request.customTimeouts.create, request.customTimeouts.update) == ("2700s", "2700s")


def test_namespaces_stay_when_they_leave_the_program_and_other_objects_go() -> None:
    _, monitor = run(_desired(), preview=False)
    retained = {name for (_, name), request in monitor.requests.items() if request.retainOnDelete}
    assert retained == {"east/ml"}


def test_a_secret_gets_its_value_from_the_configuration_as_a_secret() -> None:
    recorder, _ = run(_desired(), preview=False)
    assert recorder.inputs["kubernetes:core/v1:Secret", "east/ml/token"]["data"] == secret(
        {"key": "czNjcjN0"}
    )


PROVIDER = {
    "clusterIdentifier": "existing/east",
    "kubeconfig": secret("text of a kubeconfig"),
    "enableConfigMapMutable": "true",
    "enableSecretMutable": "true",
}


@pytest.mark.parametrize(
    ("state", "skip", "delete", "ignored_by_provider", "ignored_by_objects"),
    [
        ("active", "false", "false", [], []),
        ("cordoned", "false", "false", [], []),
        ("drained", "false", "false", [], []),
        ("paused", "false", "false", [], ["*"]),
        ("lost", "true", "false", ["kubeconfig", "context"], ["*"]),
        ("abandoned", "true", "true", ["kubeconfig", "context"], []),
    ],
)
def test_what_is_paused_or_does_not_answer_is_left_alone(
    state: str, skip: str, delete: str, ignored_by_provider: list[str], ignored_by_objects: list[str]
) -> None:
    recorder, monitor = run(_desired(state), preview=False)
    provider = "pulumi:providers:kubernetes", "east"
    assert recorder.inputs[provider] == {
        **PROVIDER,
        "skipUpdateUnreachable": skip,
        "deleteUnreachable": delete,
    }
    assert list(monitor.requests[provider].ignoreChanges) == ignored_by_provider
    workload = monitor.requests["kubernetes:apps/v1:Deployment", "east/ml/x-decode-l4"]
    assert list(workload.ignoreChanges) == ignored_by_objects


def test_what_stands_and_no_document_has_is_registered_by_type_and_name() -> None:
    token = "kubernetes:gateway.networking.k8s.io/v1:HTTPRoute"
    [cluster] = _desired("paused").clusters
    standing = (Resource("ModelReplicas", token, "east/ml/x"),)
    kept = replace(cluster.components[1], standing=standing)
    cluster = replace(cluster, components=(cluster.components[0], kept))
    recorder, monitor = run(replace(_desired("paused"), clusters=(cluster,)), preview=False)
    route = monitor.requests[token, "east/ml/x"]
    assert (recorder.inputs[token, "east/ml/x"], list(route.ignoreChanges), own(route.parent)) == (
        {},
        ["*"],
        REPLICAS,
    )


def test_a_namespace_that_stands_alone_is_never_deleted() -> None:
    [cluster] = _desired("paused").clusters
    places = (("kubernetes:core/v1:Namespace", "east/old"), ("kubernetes:core/v1:Secret", "east/old/token"))
    standing = tuple(Resource("ServingStack", *place) for place in places)
    cluster = replace(cluster, components=(Component("ServingStack", "east", (), standing=standing),))
    _, monitor = run(replace(_desired("paused"), clusters=(cluster,)), preview=False)
    assert [monitor.requests[place].retainOnDelete for place in places] == [True, False]


@pytest.mark.parametrize(("state", "ignored"), [("active", ["spec.replicas"]), ("lost", ["*"])])
def test_a_field_of_somebody_else_is_ignored(state: str, ignored: list[str]) -> None:
    [cluster] = _desired(state).clusters
    scaled = replace(cluster.components[1], objects=(replace(WORKLOAD, ignore=OWNED),))
    cluster = replace(cluster, components=(*cluster.components[:1], scaled))
    _, monitor = run(replace(_desired(state), clusters=(cluster,)), preview=False)
    workload = monitor.requests["kubernetes:apps/v1:Deployment", "east/ml/x-decode-l4"]
    assert list(workload.ignoreChanges) == ignored


def test_a_cluster_without_a_kubeconfig_is_never_the_one_that_is_active_on_the_machine() -> None:
    """Which the engine's provider takes where it gets an empty text."""
    recorder, _ = run(_desired("lost"), preview=False, kubeconfigs={})
    given = recorder.inputs["pulumi:providers:kubernetes", "east"]["kubeconfig"]
    assert given == secret(NOWHERE)
    assert access(NOWHERE, None).server == "https://cluster.invalid"


def test_a_file_that_is_named_like_a_kubeconfig_is_never_read_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's provider reads a file of that name, and runs the commands in it."""
    monkeypatch.chdir(tmp_path)
    assert len(NOWHERE.rpartition("/")[2]) > 255
    (tmp_path / "text of a kubeconfig").write_text("users: []")
    with pytest.raises(pulumi.RunError, match="has the text of a kubeconfig for its name"):
        run(_desired(), preview=True)


def _with_gateways() -> Desired:
    east = DesiredCluster(
        Connection("east", "existing/east", "active"),
        (Component("ServingStack", "east", (GATEWAY,)),),
        gateway=GATEWAY,
    )
    # dc1 and dc2 use gateways that exist; that of dc2 has no address.
    others = (DesiredCluster(Connection(name, f"existing/{name}", "active"), ()) for name in ("dc1", "dc2"))
    routes = tuple(ServiceRoute("ml/chat", name, ()) for name in ("dc1", "dc2", "east"))
    return Desired("local", (*others, east), Plan(services=routes), frozenset(), ())


def test_the_stack_exports_where_gateways_and_services_are_reached() -> None:
    recorder, _ = run(_with_gateways(), preview=False)
    assert recorder.outputs == {
        "placements": {},
        "services": {"ml/chat": ["dc1", "dc2", "east"]},
        "gateways": {"dc1": "shared.example.com", "east": "10.0.0.5"},
        "urls": {
            "ml/chat": {
                "dc1": "https://shared.example.com:443/ml/chat/",
                "east": "http://10.0.0.5:8080/ml/chat/",
            }
        },
        "frontDoors": {},
        "plugins": {},
        "ready": {},
    }


def _slice(cluster: str) -> KubeObject:
    manifest = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"namespace": "inferfleet-system", "name": cluster},
        "endpoints": [],
    }
    return KubeObject(f"a/inferfleet-system/{cluster}", manifest, address_of=cluster)


def test_a_front_door_is_registered_once_the_gateways_are_that_it_leads_to() -> None:
    """Its cluster comes first here, and the other's address is known only after that."""
    desired = _with_gateways()
    door = replace(GATEWAY, name="a/inferfleet-system/front-main")
    hub = DesiredCluster(
        Connection("a", "existing/a", "active"),
        (Component("FrontDoor", "a/front-main", (door, _slice("east"))),),
        front_doors={"main": door},
    )
    recorder, _ = run(replace(desired, clusters=(hub, *desired.clusters)), preview=False)
    endpoints = recorder.inputs["kubernetes:discovery.k8s.io/v1:EndpointSlice", "a/inferfleet-system/east"]
    assert endpoints["endpoints"] == [{"addresses": ["10.0.0.5"], "conditions": {"ready": True}}]
    assert recorder.outputs["frontDoors"] == {"main": {"a": "10.0.0.5"}}


def test_a_value_that_is_invented_is_a_secret_that_no_later_update_changes() -> None:
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "ml", "name": "own"}}
    own = KubeObject("a/ml/own", manifest, invented="key", ignore=("data",))
    hub = DesiredCluster(
        Connection("a", "existing/a", "active"), (Component("FrontDoor", "a/front-main", (own,)),)
    )
    recorder, monitor = run(Desired("local", (hub,), Plan(), frozenset(), ()), preview=False)
    data = recorder.inputs["kubernetes:core/v1:Secret", "a/ml/own"]["data"]
    assert data == secret({"key": data["value"]["key"]})
    assert len(base64.b64decode(data["value"]["key"])) == 43
    assert list(monitor.requests["kubernetes:core/v1:Secret", "a/ml/own"].ignoreChanges) == ["data"]


def test_a_front_door_finds_no_gateway_with_a_host_name_that_no_document_says() -> None:
    hub = DesiredCluster(
        Connection("a", "existing/a", "active"),
        (Component("FrontDoor", "a/front-main", (_slice("dc1"),)),),
    )
    with pytest.raises(pulumi.RunError, match=r"host name shared\.example\.com.*serving\.gateway\.address"):
        run(replace(_with_gateways(), clusters=(hub, *_with_gateways().clusters)), preview=False)


def test_every_output_is_described() -> None:
    recorder, _ = run(_with_gateways(), preview=False)
    assert recorder.outputs.keys() == Outputs.__annotations__.keys() == descriptions(Outputs).keys()


def test_a_preview_does_not_know_the_address_of_a_new_gateway() -> None:
    recorder, _ = run(_with_gateways(), preview=True)
    services = {"ml/chat": ["dc1", "dc2", "east"]}
    assert recorder.outputs == {
        "placements": {},
        "services": services,
        "frontDoors": {},
        "plugins": {},
        "ready": {},
    }


def test_a_gateway_is_registered_key_for_key_though_its_status_is_read() -> None:
    recorder, _ = run(_with_gateways(), preview=False)
    found = recorder.inputs["kubernetes:gateway.networking.k8s.io/v1:Gateway", GATEWAY.name]
    assert found == GATEWAY.manifest
