"""What is paused stays as it is, whatever documents say meanwhile; one update makes up for it afterwards."""

import json
from typing import Any

import pytest
from documents import FRUGAL, Document, deployment, east, service, west
from project import Project

L4 = "NVIDIA L4"
# Objects of several pickers have other names with whatever these run.
PICKERS = {"endpointPicker": FRUGAL | {"replicas": 2}}
CHATTY = {"serving": {"gateway": {"className": "inferfleet-sandbox", "port": 8080}, "eppFlags": {"v": 3}}}
KINDS = (
    "configmaps,deployments,gateways,httproutes,inferencepools,networkpolicies,poddisruptionbudgets,"
    "rolebindings,roles,secrets,serviceaccounts,services"
)
# What API servers write into metadata, also where a controller sets a status.
BY_SERVERS = ("managedFields", "resourceVersion")
OURS, CHAT = "app.kubernetes.io/managed-by=inferfleet", "inferfleet.dev/deployment=chat"


def chat(**spec: Any) -> Document:
    return deployment("chat", on="east", gpu=L4, **{**PICKERS, **spec})


def other_chat(**spec: Any) -> Document:
    """Other pods, more of them, which a budget guards, without a route of their own."""
    plugins = [{"name": "demo-pod-tweaks", "config": {"env": [{"name": "A", "value": "b"}]}}]
    image = "docker.io/vllm/vllm-openai:v1"
    route = {"enabled": False}
    return chat(gpus=2, replicas=2, image=image, plugins=plugins, route=route, **spec)


def code(**spec: Any) -> Document:
    return deployment("code", on="east", gpu=L4, **spec)


def marks(project: Project, cluster: str, *labels: str) -> dict[str, str]:
    """The objects of inferfleet on a cluster with these labels, without what controllers write."""
    found = project.items(cluster, KINDS, "-l", ",".join((OURS, *labels)))
    return {f"{item['kind']} {item['metadata']['name']}": _content(item) for item in found}


def _content(item: dict[str, Any]) -> str:
    metadata = {key: value for key, value in item["metadata"].items() if key not in BY_SERVERS}
    return json.dumps({**item, "metadata": metadata, "status": None}, sort_keys=True)


@pytest.fixture(scope="module")
def serving(standing: Project) -> Project:
    standing.begin(
        clusters=[east(), west()],
        chat=[chat()],
        code=[code(), service("all", chat=1, code=1)],
        here=[deployment("here", on="west", gpu=L4)],
    )
    done = standing.up()
    assert done.code == 0, done.output
    return standing


def test_a_paused_deployment_stays_as_it_is_until_it_goes_on(serving: Project) -> None:
    before = marks(serving, "east", CHAT)
    serving.write("chat", other_chat(paused=True), deployment("new", gpu=L4, paused=True))
    serving.write("code", code(replicas=2), service("all", chat=1, code=1))
    serving.write("clusters", east(**CHATTY), west())
    seen = serving.preview()
    done = serving.up()
    assert done.code == 0, done.output
    assert "ml/chat is paused: nothing of it changes" in done.output
    assert "ml/new is paused: the lock has no replica of it, so none is made" in done.output
    assert seen.operations == done.operations
    assert done.operations == {
        "Deployment east/ml/code-decode-l4": "update",
        "Deployment east/ml/code-epp": "update",
        "PodDisruptionBudget east/ml/code-decode": "create",
    }
    assert marks(serving, "east", CHAT) == before
    assert serving.up().operations == {}

    serving.write("chat", other_chat())
    done = serving.up()
    assert done.code == 0, done.output
    assert {name for name in done.operations if "chat" not in name} == {"HTTPRoute east/ml/all-svc"}
    assert done.operations["Deployment east/ml/chat-decode-l4"] == "update"
    assert done.operations["PodDisruptionBudget east/ml/chat-decode"] == "create"
    assert done.operations["HTTPRoute east/ml/chat"] == "delete"
    after = marks(serving, "east", CHAT)
    assert {kind.partition(" ")[0] for kind in before.keys() - after.keys()} >= {"HTTPRoute", "InferencePool"}
    assert serving.up().operations == {}


def test_on_a_paused_cluster_nothing_changes_until_it_is_active(serving: Project) -> None:
    before = marks(serving, "west")
    serving.write("clusters", east(**CHATTY), west(state="paused", **CHATTY))
    added = deployment("added", on="west", gpu=L4, unplaced="Warn")
    image = "docker.io/vllm/vllm-openai:v1"
    edited = deployment("here", on="west", gpu=L4, image=image, replicas=2, unplaced="Warn")
    serving.write("here", edited, added)
    done = serving.up()
    assert done.code == 0, done.output
    assert "cluster west is paused: nothing changes on it" in done.output
    assert done.operations == {}
    assert marks(serving, "west") == before
    status = serving.cli("status", "--stack", serving.stack)
    assert "paused: nothing of it changes" in status.stdout

    serving.write("clusters", east(**CHATTY), west(**CHATTY))
    done = serving.up()
    assert done.code == 0, done.output
    assert done.operations["Deployment west/ml/here-decode-l4"] == "update"
    assert done.operations["Deployment west/ml/added-decode-l4"] == "create"


def test_a_paused_deployment_that_only_the_lock_moved_stays_where_it_serves(serving: Project) -> None:
    services = (service("all", chat=1, code=1), service("only", chat=1))
    serving.write("code", code(), *services)
    done = serving.up()
    assert done.code == 0, done.output
    before = marks(serving, "east", CHAT)
    routes = marks(serving, "east", "inferfleet.dev/service")
    assert sorted(routes) == ["HTTPRoute all-svc", "HTTPRoute only-svc"]
    lock = serving.lock_file.read_text()
    assert lock.count("ml/chat east ") == 1
    serving.lock_file.write_text(lock.replace("ml/chat east ", "ml/chat west "))
    serving.write("chat", other_chat(paused=True))
    serving.write("code", code(replicas=2), *services)
    done = serving.up()
    assert done.code == 0, done.output
    assert done.operations == {
        "Deployment east/ml/code-decode-l4": "update",
        "PodDisruptionBudget east/ml/code-decode": "create",
    }
    assert marks(serving, "east", CHAT) == before
    assert marks(serving, "east", "inferfleet.dev/service") == routes
    assert marks(serving, "west", CHAT) == {}
    assert marks(serving, "west", "inferfleet.dev/service") == {}
    shown = serving.run("pulumi", "stack", "output", "--stack", serving.stack, "--json").stdout
    outputs = json.loads(shown)
    assert (outputs["services"]["ml/only"], [*outputs["urls"]["ml/only"]]) == (["east"], ["east"])
