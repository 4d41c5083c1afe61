"""The same requests through Istio: its control plane makes the gateway, an ordinary Envoy is told by it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import ask, status_of, until, url
from documents import annotated, cluster, model
from gateways_of_others import OTHER, SHARED
from project import Project
from reaching import config_dump, values_of
from route_forms import (
    AT_THE_ROOT,
    ONE,
    test_a_path_is_handed_on_without_the_prefix_of_its_route,
    test_a_route_at_the_root_answers_under_the_engine_s_own_paths,
    test_other_paths_of_an_engine_are_reached_where_its_route_lists_them,
)
from sandboxes import running

# Every gateway does these: pytest runs them on what `answering` is here.
from test_answers import (
    models,
    test_a_killed_engine_is_avoided_and_comes_back,
    test_a_route_of_a_namespace_that_is_not_the_stacks_is_not_taken,
    test_killed_pickers_fail_as_their_pools_say_and_come_back,
    test_no_program_holds_more_inotify_instances_than_up_counts_for_it,
    test_two_thousand_requests_are_split_by_the_weights,
)
from test_broken_parts import BENT, bent

from sandbox.network.obstacles import obstacle

__all__ = [
    "test_a_killed_engine_is_avoided_and_comes_back",
    "test_a_path_is_handed_on_without_the_prefix_of_its_route",
    "test_a_route_at_the_root_answers_under_the_engine_s_own_paths",
    "test_a_route_of_a_namespace_that_is_not_the_stacks_is_not_taken",
    "test_killed_pickers_fail_as_their_pools_say_and_come_back",
    "test_no_program_holds_more_inotify_instances_than_up_counts_for_it",
    "test_other_paths_of_an_engine_are_reached_where_its_route_lists_them",
    "test_two_thousand_requests_are_split_by_the_weights",
]
STACK = "istio"
GATEWAY = {
    "className": "istio",
    "provider": "istio",
    "port": 8080,
    "serviceType": "LoadBalancer",
}
MISSING = "the service's route names a pool that is not there"
LEADS = "HTTPRoute ml/one leads to InferencePool ml/one, which does not serve:"
# What Istio says of it, and the requests that it breaks.
WORDS = {MISSING: ("ResolvedRefs=False (BackendNotFound): backend(nothing) not found", "ml/chat")}


NAMED = model(
    "named", route={"hostnames": ["one.example.com", "*.any.example.com"], "headers": {"x-team": "blue"}}
)


def slow(**more: Any) -> dict[str, Any]:
    """A model that takes half a second for a token."""
    return annotated(model("slow", **more), tokens_per_second="2")


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    if why := obstacle():
        pytest.skip(str(why))
    with running(tmp_path_factory.mktemp("istio"), STACK, _east(GATEWAY)) as project:
        # The picker of `one` serves without TLS, those of the others with certificates of their own.
        rooted = [model(name, route={"path": "/", **form}) for name, (form, _) in AT_THE_ROOT.items()]
        project.write("models", *models(), model("one"), NAMED, slow(), *rooted)
        done = project.up()
        assert done.code == 0, done.output
        yield project


def test_an_envoy_of_istio_s_own_deployment_knows_the_pools(answering: Project) -> None:
    [gateway] = answering.items("east", "gateways")
    assert {one["type"]: (one["status"], one["reason"]) for one in gateway["status"]["conditions"]} == {
        "Accepted": ("True", "Accepted"),
        "Programmed": ("True", "Programmed"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
    }
    [proxy] = _items(answering, "pods", "inferfleet-system")
    told = config_dump(answering, "east", f"inferfleet-system/{proxy['metadata']['name']}")
    pools = [one["metadata"]["name"] for one in _items(answering, "inferencepools", "ml")]
    assert pools
    assert [pool for pool in pools if f"{pool}-ip-" not in told] == []
    # Each gateway listens at its pod's address: others on the same port do not get its requests.
    assert f'"address": "{proxy["status"]["podIP"]}"' in told


def test_the_real_controller_fills_slices_with_the_addresses_of_ready_pods(answering: Project) -> None:
    pods = {one["metadata"]["name"]: one["status"]["podIP"] for one in _items(answering, "pods", "ml")}
    slices = _items(answering, "endpointslices", "ml")
    filled = {
        endpoint["targetRef"]["name"]: endpoint["addresses"]
        for one in slices
        for endpoint in one["endpoints"]
        if endpoint["conditions"]["ready"]
    }
    assert filled == {name: [address] for name, address in pods.items()}
    assert all(address.startswith("10.") for address in pods.values())


def test_a_second_update_leaves_what_istio_made_alone(answering: Project) -> None:
    assert answering.up().operations == {}


def test_gateways_on_one_port_get_their_own_requests_alone(answering: Project, tmp_path: Path) -> None:
    ours = url(answering, "east", ONE)
    manifest = tmp_path / "other.yaml"
    manifest.write_text(OTHER)
    answering.kubectl("east", "apply", "-f", str(manifest))
    try:

        def address() -> str | None:
            [other] = _items(answering, "gateways", "ml")
            return next((one["value"] for one in other.get("status", {}).get("addresses", [])), None)

        base = f"http://{until('it has an address', address)}:8080"
        until("it answers", lambda: ask(f"{base}/other").status == 200)
        said = {ask(way).status for way in (f"{base}/other", ours) * 10}
        strange = {ask(way).status for way in (f"{base}/{ONE}", f"{ours.removesuffix(ONE)}other") * 10}
        assert (said, strange) == ({200}, {404})
    finally:
        answering.kubectl("east", "delete", "-f", str(manifest))


@pytest.mark.parametrize(
    ("host", "team", "status"),
    [
        ("one.example.com", "blue", 200),
        ("one.example.com:8080", "blue", 200),
        ("a.any.example.com", "blue", 200),
        ("a.b.any.example.com", "blue", 200),
        ("any.example.com", "blue", 404),
        ("two.example.com", "blue", 404),
        ("one.example.com", "red", 404),
        ("one.example.com", "", 404),
    ],
)
def test_a_route_takes_requests_for_its_host_names_with_its_headers(
    answering: Project, host: str, team: str, status: int
) -> None:
    headers = {"Host": host, **({"x-team": team} if team else {})}
    assert status_of(f"{url(answering, 'east', 'ml/deployments/named')}/v1/models", headers) == status


def test_a_request_may_take_as_long_as_its_route_says(answering: Project) -> None:
    """The routes that we write give an hour, to streams too; others show that Istio goes by it."""
    way = url(answering, "east", "ml/deployments/slow")
    route = json.loads(answering.kubectl("east", "get", "httproute", "slow", "-n", "ml", "-o", "json"))
    [rule] = route["spec"]["rules"]
    assert rule["timeouts"] == {"request": "3600s"}
    [proxy] = _items(answering, "pods", "inferfleet-system")
    told = json.loads(config_dump(answering, "east", f"inferfleet-system/{proxy['metadata']['name']}"))
    assert values_of(told, "timeout", of="ml.slow.0") == {"3600s"}
    assert values_of(told, "stream_idle_timeout") == {"0s"}
    # Longer than any time limit of Envoy's own.
    assert ask(way, tokens=40, stream=True).status == 200
    for limit in ("request", "backendRequest"):
        patch = {"spec": {"rules": [{**rule, "timeouts": {limit: "1s"}}]}}
        answering.kubectl(
            "east", "patch", "httproute/slow", "-n", "ml", "--type=merge", "-p", json.dumps(patch)
        )
        until("it is cut off", lambda: ask(way, tokens=40).status == 504)
    restored = answering.up("--refresh")
    assert restored.code == 0, restored.output
    until("it may take its time again", lambda: ask(way, tokens=8).status == 200)


def test_an_update_ends_with_an_error_where_the_service_of_a_picker_is_gone(answering: Project) -> None:
    way = url(answering, "east", ONE)
    answering.kubectl("east", "delete", "service", "one-epp", "-n", "ml")
    until("requests fail", lambda: ask(way).status != 200)
    unnoticed = answering.up()
    assert unnoticed.code != 0
    assert f"{LEADS} its endpoint picker's Service ml/one-epp does not exist" in unnoticed.output
    # Istio looks for the Service again when a route changes, and not when it is back.
    answering.kubectl("east", "annotate", "httproute/one", "-n", "ml", "example.com/touched=yes")
    until("Istio says so", lambda: "InvalidExtensionRef" in values_of(_pool(answering, "one"), "reason"))
    refused = answering.up()
    assert refused.code != 0
    words = "ResolvedRefs=False (InvalidExtensionRef): Referenced ExtensionRef not found one-epp"
    assert f"{LEADS} {words}" in refused.output
    assert answering.preview().code == 0
    restored = answering.up("--refresh")
    assert restored.code == 0, restored.output
    until("it answers again", lambda: {ask(way).status for _ in range(5)} == {200})


@pytest.mark.parametrize("case", BENT)
def test_status_names_an_object_that_was_bent_in_istio_s_words(answering: Project, case: str) -> None:
    object_, spec, part, ours = BENT[case]
    words, path = WORDS.get(case, (ours, ONE))
    way = url(answering, "east", path)
    until("it answers", lambda: ask(way).status == 200)
    with bent(answering, object_, spec):
        until("requests fail", lambda: ask(way).status != 200)
        assert until("status says so", lambda: answering.broken("east").get(part)) == words
    until("it answers again", lambda: {ask(way).status for _ in range(5)} == {200})


@pytest.mark.parametrize(
    "tls",
    [{"mode": "MUTUAL"}, {"mode": "DISABLE"}],
    ids=["certificates that are not there", "no TLS"],
)
def test_a_rule_that_does_not_suit_its_picker_breaks_requests_until_it_is_restored(
    answering: Project, tls: dict[str, Any]
) -> None:
    """Istio has no condition for it: `status` tells what differs from the documents."""
    way = url(answering, "east", "ml/deployments/closed")
    patch = {"spec": {"trafficPolicy": {"tls": tls}}}
    answering.kubectl(
        "east", "patch", "destinationrule/closed-epp", "-n", "ml", "--type=merge", "-p", json.dumps(patch)
    )
    until("requests fail", lambda: ask(way).status != 200)
    told = answering.cli("status", "--stack", STACK).stdout
    assert "DestinationRule ml/closed-epp" in told
    assert "spec.trafficPolicy.tls.mode" in told
    restored = answering.run("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--stack", STACK)
    assert restored.returncode == 0, restored.stdout
    until("it answers again", lambda: {ask(way).status for _ in range(5)} == {200})


def test_routes_go_to_a_gateway_of_others_and_back(answering: Project, tmp_path: Path) -> None:
    manifest = tmp_path / "shared.yaml"
    manifest.write_text(SHARED)
    answering.kubectl("east", "apply", "-f", str(manifest))
    try:
        theirs = {"ref": {"name": "theirs", "namespace": "shared"}, "provider": "istio"}
        answering.write("clusters", _east(theirs))
        until(
            "it has an address", lambda: _items(answering, "gateways", "shared")[0]["status"].get("addresses")
        )
        moved = answering.up()
        assert moved.code == 0, moved.output
        assert moved.operations["Gateway east/inferfleet-system/inferfleet"] == "delete"
        way = url(answering, "east", ONE)
        assert ":8081/" in way
        until("it answers there", lambda: {ask(way).status for _ in range(5)} == {200})
        exported = json.loads(answering.run("pulumi", "stack", "output", "--json").stdout)
        assert exported["urls"]["ml/chat"]["east"] == f"{url(answering, 'east', 'ml/chat')}/"
        assert answering.broken("east") == {}
    finally:
        answering.write("clusters", _east(GATEWAY))
        back = answering.up()
        answering.kubectl("east", "delete", "-f", str(manifest))
    assert back.code == 0, back.output
    assert ask(url(answering, "east", ONE)).status == 200


def _east(gateway: dict[str, Any]) -> dict[str, Any]:
    return cluster("east", stack=STACK, pools={"l4": ("nvidia-l4-4x", 5)}, serving={"gateway": gateway})


def _pool(project: Project, name: str) -> dict[str, Any]:
    return next(one for one in _items(project, "inferencepools", "ml") if one["metadata"]["name"] == name)


def _items(project: Project, kind: str, namespace: str) -> list[dict[str, Any]]:
    """The objects of one namespace on east."""
    return [one for one in project.items("east", kind) if one["metadata"]["namespace"] == namespace]
