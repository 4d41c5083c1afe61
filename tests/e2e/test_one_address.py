"""One address for two clusters: keys, names of models, and failover, by the real Envoy Gateway."""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from documents import API, cluster, deployment
from http_asking import request
from project import Project
from sandboxes import running

from sandbox import clusters
from sandbox.engine.http_server import POD
from sandbox.network.obstacles import obstacle

STACK = "front-door"
KEYS = {"team-a": "sk-a-1", "team-a.2": "sk-a-2", "team-b": "sk-b-1", "team-c": "sk-c-1"}
LATER = {"team-d": "sk-d-1"}
ADDRESSES: dict[Path, str] = {}
BUDGET = 9
REGION = "topology.kubernetes.io/region"
UNKNOWN = "model_not_found"


def region(name: str) -> dict[str, Any]:
    gateway = {"className": "inferfleet-sandbox", "port": 8080, "address": f"{name}.gateways.example.com"}
    made = cluster(name, stack=STACK, pools={"l4": ("nvidia-l4-4x", 1)}, serving={"gateway": gateway})
    made["metadata"]["labels"] = {REGION: name}
    return made


def hub() -> dict[str, Any]:
    made = cluster("hub", stack=STACK, pools={})
    made["metadata"]["labels"] = {REGION: "us"}
    del made["spec"]["serving"]
    return made


def gateway(*names: str, **spec: Any) -> dict[str, Any]:
    """The gateway, with more callers of these names."""

    def key(entry: str) -> dict[str, Any]:
        return {"secretRef": {"name": "keys", "key": entry}}

    callers = [
        {"name": "team-a", "keys": [key("team-a"), key("team-a.2")]},
        {"name": "team-b", "keys": [key("team-b")], "services": ["ml/other"]},
        {"name": "team-c", "keys": [key("team-c")], "requestsPerMinute": BUDGET},
        *({"name": name, "keys": [key(name)]} for name in names),
    ]
    limits = {"redis": {"address": "redis.example.com:6379"}, "whenGone": "Refuse"}
    return {
        "apiVersion": API,
        "kind": "InferenceGateway",
        "metadata": {"name": "main"},
        "spec": {
            "clusters": ["hub"],
            "listeners": {"http": {"port": 8000}},
            "callers": callers,
            "limits": limits,
            **spec,
        },
    }


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "ModelService",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "gateways": ["main"],
            "endpoints": [{"selector": {"matchLabels": {"inferfleet.dev/deployment": name}}}],
            **spec,
        },
    }


def selected(name: str, weight: int) -> dict[str, Any]:
    return {"weight": weight, "selector": {"matchLabels": {"inferfleet.dev/deployment": name}}}


MODELS = (
    deployment("chat", replicas=2, engine={"servedNames": ["chat", "again", "shared", "both"]}),
    deployment("other", engine={"servedNames": ["other", "more", "both"]}),
    service("chat", models=["chat", "again"]),
    service("other", models=["other"]),
    service(
        "both", models=["both"], prefer="Weight", endpoints=[selected("chat", 80), selected("other", 20)]
    ),
)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    if why := obstacle():
        pytest.skip(str(why))
    if os.getuid() != 0:
        pytest.skip("only root may give pods networks of their own here")
    # The sandbox has Envoy Gateway where documents say that a gateway stands.
    documents = (hub(), region("us"), region("eu"), gateway())
    with running(tmp_path_factory.mktemp(STACK), STACK, *documents) as project:
        project.configure(secrets={"inferfleet-system/keys": KEYS})
        project.write("models", *MODELS)
        done = project.up()
        assert done.code == 0, done.output
        yield project


def address(project: Project) -> str:
    # Asked once: the command takes a second, and the address stays.
    if project.root not in ADDRESSES:
        told = json.loads(project.run("pulumi", "stack", "output", "frontDoors", "--json").stdout)
        ADDRESSES[project.root] = f"http://{told['main']['hub']}:8000"
    return ADDRESSES[project.root]


def asked(
    front: Project, path: str, model: str | None = None, *, key: str = "", **headers: str
) -> tuple[int, Any]:
    """Status and body of an answer."""
    sent: Mapping[str, str] = {**({"Authorization": f"Bearer {key}"} if key else {}), **headers}
    body = None if model is None else {"model": model, "messages": [{"role": "user", "content": "Hi"}]}
    return request(f"{address(front)}{path}", body, sent)


def pod(url: str, body: Any, headers: Mapping[str, str]) -> str:
    """Name of the pod that answers."""
    sent = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with build_opener(ProxyHandler({})).open(sent, timeout=60) as answer:
        return str(answer.headers[POD])


@contextmanager
def load(front: Project) -> Iterator[Counter[int]]:
    """Statuses of requests that follow each other until the block ends."""
    statuses: Counter[int] = Counter()
    ended = threading.Event()

    def ask() -> None:
        url, key = f"{at}/v1/chat/completions", f"Bearer {KEYS['team-a']}"
        body = {"model": "chat", "messages": [{"role": "user", "content": "Hi"}]}
        while not ended.wait(0.05):
            statuses[request(url, body, {"Authorization": key})[0]] += 1

    at = address(front)
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield statuses
    finally:
        ended.set()
        thread.join()
        print(f"{dict(statuses)} requests by status")


def test_who_may_use_what(front: Project) -> None:
    chat, path = "/v1/chat/completions", "/ml/chat/v1/chat/completions"
    a, second, b = KEYS["team-a"], KEYS["team-a.2"], KEYS["team-b"]
    forged = {"X-Gateway-Model-Name": "other", "x-client-id": "team-a"}
    statuses = {
        "nobody": asked(front, chat, "chat")[0],
        "another key": asked(front, chat, "chat", key="sk-none")[0],
        "nobody by path": asked(front, path, "chat")[0],
        "a": asked(front, chat, "chat", key=a)[0],
        "a's second key": asked(front, chat, "chat", key=second)[0],
        "a by path": asked(front, path, "chat", key=a)[0],
        "a by the other header": asked(front, chat, "chat", **{"x-api-key": a})[0],
        "b without right": asked(front, chat, "chat", key=b)[0],
        "b by path": asked(front, path, "chat", key=b)[0],
        "b as somebody else": asked(front, chat, "chat", key=b, **forged)[0],
        "b with right": asked(front, chat, "other", key=b)[0],
        "the steady key": asked(front, chat, "chat", key="opens-nothing")[0],
    }
    assert statuses == {
        "nobody": 401,
        "another key": 401,
        "nobody by path": 401,
        "a": 200,
        "a's second key": 200,
        "a by path": 200,
        "a by the other header": 200,
        "b without right": 403,
        "b by path": 403,
        "b as somebody else": 403,
        "b with right": 200,
        "the steady key": 401,
    }


def test_models_are_listed_and_an_unknown_one_is_told_as_openai_tells(front: Project) -> None:
    key = KEYS["team-a"]
    status, listed = asked(front, "/v1/models", key=key)
    assert (status, [one["id"] for one in listed["data"]]) == (200, ["again", "both", "chat", "other"])
    status, told = asked(front, "/v1/chat/completions", "shared", key=key)
    assert (status, told["error"]["code"]) == (404, UNKNOWN)


def minute() -> int:
    return int(time.time() // 60)


def in_one_minute(front: Project) -> Counter[tuple[str, int]]:
    """Answers to the limited caller in one minute of the clock, in which he asked nothing else."""
    key, statuses = KEYS["team-c"], Counter[tuple[str, int]]()
    for _ in range(3):
        begun, statuses = minute(), Counter()
        for _ in range(BUDGET):
            statuses["chat", asked(front, "/v1/chat/completions", "chat", key=key)[0]] += 1
            statuses["again", asked(front, "/v1/chat/completions", "again", key=key)[0]] += 1
            statuses["path", asked(front, "/ml/other/v1/chat/completions", "other", key=key)[0]] += 1
        ended = minute()
        if ended == begun:
            break
        while minute() == ended:
            asked(front, "/v1/models", key=KEYS["team-a"])
    return statuses


def test_a_limited_caller_has_one_budget_for_all_names_and_paths(front: Project) -> None:
    third = {200: BUDGET // 3, 429: 2 * BUDGET // 3}
    assert in_one_minute(front) == {
        (way, status): number for way in ("chat", "again", "path") for status, number in third.items()
    }
    assert asked(front, "/v1/chat/completions", "chat", key=KEYS["team-a"])[0] == 200


def test_a_canary_on_one_of_two_clusters_gets_its_share(front: Project) -> None:
    body = {"model": "both", "messages": [{"role": "user", "content": "Hi"}]}
    url, sent = f"{address(front)}/v1/chat/completions", {"Authorization": f"Bearer {KEYS['team-a']}"}
    with ThreadPoolExecutor(8) as several:
        answers = several.map(
            lambda _: pod(url, body, sent).partition("-")[0].removeprefix("ml/"), range(1_000)
        )
    pods = Counter(answers)
    # Within five standard deviations of 1,000 draws.
    assert pods.total() == pods["chat"] + pods["other"]
    assert 137 <= pods["other"] <= 263


def test_no_request_is_lost_while_keys_and_services_come_and_go(front: Project) -> None:
    path = "/ml/more/v1/chat/completions"

    def as_d() -> int:
        return asked(front, path, "more", key=LATER["team-d"])[0]

    with load(front) as statuses:
        before = as_d()
        front.configure(secrets={"inferfleet-system/keys": KEYS | LATER})
        front.write("clusters", hub(), region("us"), region("eu"), gateway("team-d"))
        front.write("models", *MODELS, service("more", models=["more"], endpoints=[selected("other", 1)]))
        came = front.up()
        assert came.code == 0, came.output
        between = as_d()
        front.configure(secrets={"inferfleet-system/keys": KEYS})
        front.write("clusters", hub(), region("us"), region("eu"), gateway())
        front.write("models", *MODELS)
        went = front.up()
        assert went.code == 0, went.output
    # A path of no service has no route, and nobody is asked for a key.
    assert (before, between, as_d()) == (404, 200, 404)
    assert statuses == {200: statuses.total()}


def test_a_second_update_changes_nothing(front: Project) -> None:
    assert front.up().operations == {}


def test_requests_go_on_elsewhere_while_a_cluster_is_gone(front: Project) -> None:
    statuses: Counter[int] = Counter()
    for number in range(300):
        if number == 100:
            clusters.stop(front.root, STACK, "us")
        statuses[asked(front, "/v1/chat/completions", "chat", key=KEYS["team-a"])[0]] += 1
    clusters.start(front.root, STACK, "us")
    assert statuses == {200: 300}
