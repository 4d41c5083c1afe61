"""What stands between a request and its model is killed or bent: it is told by name, and mended."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asking import ask, until, url
from documents import model, service
from project import Project

from sandbox.places import StackPlaces
from sandbox.processes import Process, processes_in


@pytest.fixture(scope="module")
def serving(standing: Project) -> Project:
    """One model on east, and a service of it."""
    standing.write("models", model("one"), service("chat", one=1))
    done = standing.up()
    assert done.code == 0, done.output
    return standing


@pytest.fixture
def chat(serving: Project) -> Iterator[str]:
    """The service's URL. It answers before and after."""
    way = url(serving, "east", "ml/chat")
    until("it answers", lambda: ask(way).status == 200)
    yield way
    until("it answers again", lambda: {ask(way).status for _ in range(5)} == {200})


@pytest.mark.parametrize("companion", ["network", "agent", "gateway"])
def test_a_killed_companion_is_told_and_started_again_by_up(
    serving: Project, chat: str, companion: str
) -> None:
    [process] = _processes(serving, companion)
    os.kill(process.pid, signal.SIGKILL)
    # Its way in, its pickers and engines, or its Envoys, end with it.
    until("nobody answers", lambda: ask(chat).status != 200)
    told = serving.cli("sandbox", "status", "--stack", serving.stack)
    assert f"the {companion} of east ended" in told.stdout
    assert _missing(serving) == {"east": [companion], "west": []}

    repaired = serving.cli("sandbox", "up", "--stack", serving.stack)
    assert repaired.returncode == 0, repaired.stderr
    assert _missing(serving) == {"east": [], "west": []}


def test_a_killed_envoy_is_started_again_by_its_gateway(serving: Project, chat: str) -> None:
    [process] = _processes(serving, "envoy")
    os.kill(process.pid, signal.SIGKILL)
    until("another runs", lambda: {one.pid for one in _processes(serving, "envoy")} - {process.pid})


NEXT = "What was changed by hand comes back with `pulumi up --refresh`"
# Object, what is bent, the part that says so, and its words.
BENT: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "the picker's Service selects nothing": (
        "service/one-epp",
        {"selector": {"app.kubernetes.io/name": "nothing"}},
        "InferencePool ml/one",
        "the selector app.kubernetes.io/name=nothing of Service ml/one-epp matches no pod",
    ),
    "the picker's Service leads to another port": (
        "service/one-epp",
        {"ports": [{"name": "grpc-ext-proc", "port": 9002, "targetPort": 9009}]},
        "InferencePool ml/one",
        "Service ml/one-epp sends port 9002 to 9009, where no container of Deployment ml/one-epp listens "
        "(it has: 9002, 9003, 9090)",
    ),
    "the pool names a port its picker's Service lacks": (
        "inferencepool/one",
        {"endpointPickerRef": {"port": {"number": 9999}}},
        "InferencePool ml/one",
        "Service ml/one-epp has no port 9999, which it names (it has: 9002, 9090)",
    ),
    "the pool names a port its engines lack": (
        "inferencepool/one",
        {"targetPorts": [{"number": 9000}]},
        "InferencePool ml/one",
        "it sends requests to port 9000 of its pods, where none of their containers listens "
        "(they have: 8000)",
    ),
    "the pool selects nothing": (
        "inferencepool/one",
        {"selector": {"matchLabels": {"inferfleet.dev/deployment": "nothing"}}},
        "InferencePool ml/one",
        "its selector inferfleet.dev/deployment=nothing,inferfleet.dev/serves=true matches no pod",
    ),
    "the service's route names a pool that is not there": (
        "httproute/chat-svc",
        {"rules": [{"backendRefs": [{"group": "inference.networking.k8s.io", "kind": "InferencePool",
                                     "name": "nothing", "port": 8000}]}]},
        "HTTPRoute ml/chat-svc",
        "ResolvedRefs=False (BackendNotFound): there is no InferencePool ml/nothing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BENT)
def test_status_names_an_object_that_was_bent(serving: Project, chat: str, case: str) -> None:
    object_, spec, part, words = BENT[case]
    with bent(serving, object_, spec):
        until("requests fail", lambda: ask(chat).status != 200)
        told = until("status says so", lambda: serving.broken("east").get(part))
    assert told == words
    until("status is content again", lambda: not serving.broken("east"))


def test_an_update_waits_for_routes_until_pickers_they_lead_to_have_a_service(
    serving: Project, chat: str
) -> None:
    serving.kubectl("east", "delete", "service/one-epp", "-n", "ml")
    serving.write("more", service("talk", one=1))
    failed = serving.up()
    told = serving.broken("east").get("HTTPRoute ml/talk-svc")
    mended = serving.up("--refresh")

    assert failed.code != 0
    awaited = '{.status.parents[0].conditions[?(@.type=="ResolvedRefs")].status}=True (found "False")'
    assert f"Waiting for {awaited}" in failed.output
    assert told == (
        "ResolvedRefs=False (BackendNotFound): InferencePool ml/one has no picker: "
        "there is no Service ml/one-epp"
    )
    assert (mended.code, mended.operations) == (0, {"Service east/ml/one-epp": "create"}), mended.output


def test_an_update_names_all_that_is_gone_or_at_zero_and_a_refresh_brings_it_back(
    serving: Project, chat: str
) -> None:
    deployments = {made["metadata"]["name"] for made in serving.items("east", "deployment")}
    [engine] = deployments - {"one-epp"}
    serving.kubectl("east", "delete", "httproute/chat-svc", "-n", "ml")
    serving.kubectl("east", "scale", "deployment/one-epp", "-n", "ml", "--replicas=0")
    serving.kubectl("east", "scale", f"deployment/{engine}", "-n", "ml", "--replicas=0")
    asked = serving.cli("sandbox", "chat", "chat", "--stack", serving.stack)
    more = f"`inferfleet status --stack {serving.stack}` says what else is missing."
    failed = serving.up()
    mended = serving.up("--refresh")

    assert (asked.returncode, asked.stderr.strip()) == (
        1,
        "service ml/chat has no HTTPRoute on the clusters that run: no update made it yet, or somebody "
        f"deleted it. Run `pulumi up --refresh`; {more}",
    )
    assert (failed.code != 0, failed.operations) == (True, {})
    for gone in (
        "HTTPRoute ml/chat-svc does not exist, or lacks this stack's label",
        "Deployment ml/one-epp was scaled to spec.replicas 0, where 1 is desired",
        f"Deployment ml/{engine} was scaled to spec.replicas 0, where 1 is desired",
    ):
        assert f"cluster 'east': {gone}. {NEXT}" in failed.output
    assert (mended.code, mended.operations) == (
        0,
        {
            "HTTPRoute east/ml/chat-svc": "create",
            "Deployment east/ml/one-epp": "update",
            f"Deployment east/ml/{engine}": "update",
        },
    ), mended.output


@contextmanager
def bent(project: Project, object_: str, spec: dict[str, Any]) -> Iterator[None]:
    def patch(kind: str, changes: Any) -> None:
        project.kubectl("east", "patch", object_, "-n", "ml", "--type", kind, "-p", json.dumps(changes))

    whole = json.loads(project.kubectl("east", "get", object_, "-n", "ml", "-o", "json"))["spec"]
    patch("merge", {"spec": spec})
    try:
        yield
    finally:
        patch("json", [{"op": "replace", "path": "/spec", "value": whole}])


def _missing(project: Project) -> dict[str, list[str]]:
    """The companions that do not run, by cluster."""
    told = json.loads(project.cli("sandbox", "status", "--stack", project.stack, "--json").stdout)
    return {one["name"]: one["missing"] for one in told["clusters"]}


def _processes(project: Project, program: str) -> list[Process]:
    folder = StackPlaces(project.root, project.stack).cluster_folder("east")
    return [one for one in processes_in(folder) if one.program.name == program]
