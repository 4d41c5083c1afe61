"""InferenceGateways are asked whom they let in, and one that lets in others, or nobody, ends the update."""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing

from inferfleet.clusters.update import confirm, front_doors
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.front_door import Door, DoorBackend, DoorRoute
from inferfleet.fleet.traffic import Requests

Start = Callable[..., FakeCluster]
OWN = "sk-of-the-stack"
SYSTEM = "inferfleet-system"
LABELS = {"app.kubernetes.io/managed-by": "inferfleet"}
ROUTES = (
    DoorRoute("ml/chat", ("chat",), Requests("/ml/chat", ("/v1",)), (DoorBackend("us", 1),), ("team-a",)),
    DoorRoute("ml/none", ("none",), Requests("/ml/none", ("/v1",)), (), ("team-a",)),
)


@dataclass
class Address:
    """A gateway that answers by the caller, and by the model or else the path."""

    answers: Mapping[tuple[str, str], int]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        address = self

        class Handler(BaseHTTPRequestHandler):
            def _reply(self, what: str) -> None:
                caller = "own" if self.headers["Authorization"] == f"Bearer {OWN}" else "nobody"
                address.asked.append((caller, what))
                self.send_response(address.answers[caller, what])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self._reply(self.path)

            def do_POST(self) -> None:
                self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"])

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


GUARDED = {
    ("nobody", "/v1/models"): 401,
    ("own", "/v1/models"): 200,
    ("own", "chat"): 403,
    ("own", "/ml/chat/v1/models"): 403,
}


@pytest.fixture
def address() -> Iterator[Callable[..., Address]]:
    made: list[Address] = []

    def start(**answers: int) -> Address:
        named = {"nobody": ("nobody", "/v1/models"), "chat": ("own", "chat"), "list": ("own", "/v1/models")}
        made.append(Address({**GUARDED, **{named[name]: status for name, status in answers.items()}}))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_doors, "SECONDS", 0.3)
    monkeypatch.setattr(front_doors, "_EVERY", 0.02)
    for name, seconds in (("REFUSED_SECONDS", 0.4), ("ELSEWHERE_SILENT_SECONDS", 0.2), ("_EVERY", 0.02)):
        monkeypatch.setattr(confirm, name, seconds)


def told(fake: FakeCluster, port: int, *, keys: bool = True, accepted: str = "True") -> list[str]:
    """What is said of a gateway at a port of this machine."""
    listeners = [{"name": "http", "protocol": "HTTP", "port": port}]
    gateway = thing("Gateway", "front-main", SYSTEM, labels=LABELS, spec={"listeners": listeners})
    secret = thing("Secret", "front-main.confirming", SYSTEM, labels=LABELS)
    policy = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "SecurityPolicy",
        "metadata": {"name": "front-main", "namespace": SYSTEM, "labels": LABELS},
    }
    made = tuple(
        KubeObject(f"hub/{SYSTEM}/{one['metadata']['name']}", one)
        for one in (gateway, *((secret, policy) if keys else ()))
    )
    hub = DesiredCluster(
        Connection("hub", "existing/hub", "active", config_key="hub"),
        (Component("FrontDoor", "hub/front-main", made),),
        front_doors={"main": made[0]},
    )
    desired = Desired("local", (hub,), Plan(), frozenset(), (), doors=(Door("main", "hub", ROUTES),))
    programmed = [{"type": type_, "status": "True"} for type_ in ("Accepted", "Programmed")]
    status = {"addresses": [{"value": "127.0.0.1"}], "conditions": programmed}
    condition = {"type": "Accepted", "status": accepted, "reason": "Invalid", "message": "no key"}
    data = {"inferfleet.confirming": base64.b64encode(OWN.encode()).decode()}
    fake.kinds["gateway.envoyproxy.io/v1alpha1"] = {"SecurityPolicy": ("securitypolicies", True)}
    fake.objects += [
        {**gateway, "status": status},
        {**secret, "data": data},
        {**policy, "status": {"ancestors": [{"conditions": [condition]}]}},
    ]
    ask = confirm.confirmer(desired, {"hub": fake.kubeconfig}, container_api="")

    async def asked() -> list[str]:
        return [f"{problem.severity}: {problem.what}" for problem in await ask("hub")]

    return asyncio.run(asked())


def test_a_gateway_is_asked_with_a_key_that_may_use_nothing(cluster: Start, address: Any) -> None:
    asked = address()
    assert told(cluster(), asked.port) == []
    assert sorted(asked.asked) == sorted(GUARDED)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"nobody": 200}, "200 to a request without a key, where 401 is right"),
        ({"chat": 200}, "200 to a key that may not use model chat, where 403 is right"),
        ({"chat": 404}, "404 to a key that may not use model chat, where 403 is right"),
        (
            {"list": 500, "nobody": 500},
            "500 to a request without a key, where 401 is right; 500 to the stack's own key, asking for "
            "the models, where 200 is right",
        ),
    ],
)
def test_one_that_lets_in_others_or_nobody_ends_the_update(
    cluster: Start, address: Any, answers: dict[str, int], said: str
) -> None:
    asked = address(**answers)
    assert told(cluster(), asked.port) == [f"error: gateway main on cluster 'hub' answers {said}"]


def test_one_that_is_open_lets_in_everybody(cluster: Start, address: Any) -> None:
    asked = address(nobody=200)
    assert told(cluster(), asked.port, keys=False) == []
    assert asked.asked == [("nobody", "/v1/models")]


def test_one_that_is_not_reached_from_here_is_not_asked(cluster: Start, address: Any) -> None:
    gone = address()
    gone.close()
    [said] = told(cluster(), gone.port)
    assert said.startswith("notice: gateway main on cluster 'hub' was not asked whom it lets in: ")


def test_a_policy_that_is_refused_ends_the_update(cluster: Start, address: Any) -> None:
    assert told(cluster(), address().port, accepted="False") == [
        f"error: cluster 'hub': SecurityPolicy {SYSTEM}/front-main Accepted=False (Invalid): no key"
    ]
