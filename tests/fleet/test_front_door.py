"""Where InferenceGateways lead, by which names and weights, and what is wrong with them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from small_fleet import cluster, deployment, fleet, gke, lock

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.decisions import Backend
from inferfleet.fleet.front_door import (
    Door,
    DoorBackend,
    DoorRoute,
    Failover,
    doors,
    failovers,
    front_door_problems,
)
from inferfleet.fleet.planning import plan
from inferfleet.fleet.traffic import Requests

REGION = "topology.kubernetes.io/region"
TEAM_A = {"name": "team-a", "keys": [{"secretRef": {"name": "keys", "key": "team-a"}}]}


def place(name: str, region: str, *, state: str = "active", **gateway: Any) -> InferenceCluster:
    made = cluster(name, {"l4": ("l4", 9)}, labels={REGION: region}, state=state)
    spec = made.model_dump(by_alias=True, exclude_unset=True)
    spec["spec"]["serving"]["gateway"] |= gateway
    return InferenceCluster.model_validate(spec)


def gateway(name: str = "main", hubs: Sequence[str] = ("east",), **spec: Any) -> InferenceGateway:
    who = {} if "open" in spec else {"callers": [TEAM_A]}
    listeners = {"http": {}}
    return InferenceGateway.model_validate(
        {"metadata": {"name": name}, "spec": {"clusters": hubs, "listeners": listeners, **who, **spec}}
    )


def behind(name: str, *entries: tuple[int, str], **spec: Any) -> ModelService:
    """A service of deployments with weights, behind the gateway `main`."""
    endpoints = [
        {"weight": weight, "selector": {"matchLabels": {"inferfleet.dev/deployment": one}}}
        for weight, one in entries
    ]
    return ModelService.model_validate(
        {
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"endpoints": endpoints, "gateways": ["main"], **spec},
        }
    )


def documents_of(*documents: Any, settings: Settings | None = None) -> Documents:
    gateways = {one.metadata.name: one for one in documents if isinstance(one, InferenceGateway)}
    others = [one for one in documents if not isinstance(one, InferenceGateway)]
    made = replace(fleet(*others), gateways=gateways)
    return replace(made, settings=settings) if settings else made


def led(documents: Documents, placements: dict[str, int], **services: tuple[str, ...]) -> tuple[Door, ...]:
    before = lock(placements, services)
    planned = plan(documents, before)
    return doors(documents, planned.endpoints, planned.services, before)


def told(documents: Documents, placements: dict[str, int] | None = None) -> list[str]:
    before = lock(placements or {})
    planned = plan(documents, before)
    door = doors(documents, planned.endpoints, planned.services, before)
    return [
        f"{problem.severity} {problem.key} {problem.path}: {problem.what}"
        for problem in front_door_problems(documents, planned.endpoints, door)
    ]


CANARY = (
    place("east", "us"),
    place("west", "us"),
    deployment("stable", 4),
    deployment("canary", 1),
)
SPREAD = {"stable east/l4": 2, "stable west/l4": 2, "canary west/l4": 1}


def test_a_gateway_leads_to_clusters_by_the_sum_of_their_shares() -> None:
    documents = documents_of(*CANARY, gateway(), behind("chat", (80, "stable"), (20, "canary")))
    assert led(documents, SPREAD) == (
        Door(
            "main",
            "east",
            (
                DoorRoute(
                    "ml/chat",
                    ("shared",),
                    Requests("/ml/chat", ("/v1",)),
                    (DoorBackend("east", 2), DoorBackend("west", 3)),
                    ("team-a",),
                    ("east", "west"),
                ),
            ),
        ),
    )


def tuned(name: str, *adapters: str) -> Any:
    listed = [
        {"name": one, "source": {"repository": f"acme/{one}", "revision": "a" * 40}, "rank": 8}
        for one in adapters
    ]
    return deployment(name, 1, engine={"model": "a/b", "servedNames": ["chat"], "adapters": listed})


def test_names_of_adapters_lead_to_their_service() -> None:
    documents = documents_of(
        place("east", "us"),
        tuned("one", "poems", "jokes"),
        tuned("two", "poems"),
        gateway(),
        behind("one", (1, "one")),
        behind("two", (1, "one"), (1, "two"), models=["chat:poems"]),
    )
    [door] = led(documents, {"one east/l4": 1, "two east/l4": 1})
    assert door.models == (
        ("chat", "ml/one"),
        ("chat:jokes", "ml/one"),
        ("chat:poems", "ml/one"),
        ("chat:poems", "ml/two"),
    )
    assert [problem for problem in told(documents) if "chat:poems" in problem] == [
        "error ml/two spec.models: service ml/two answers to model chat:poems at gateway main, and so does "
        "service ml/one: a name leads to one of the two"
    ]


def test_an_adapter_that_a_deployment_lacks_is_no_name_of_the_service() -> None:
    documents = documents_of(
        place("east", "us"),
        tuned("one", "poems", "jokes"),
        tuned("two", "poems"),
        gateway(),
        behind("both", (1, "one"), (1, "two")),
    )
    before = {"one east/l4": 1, "two east/l4": 1}
    [door] = led(documents, before)
    assert [model for model, _ in door.models] == ["chat", "chat:poems"]
    warnings = [problem.what for problem in plan(documents, lock(before)).problems]
    assert warnings == [
        "ml/one serves chat:jokes, and ml/two does not: service ml/both sends requests to both, and one of "
        "them answers 404"
    ]


def test_the_route_of_a_cluster_splits_by_the_same_shares() -> None:
    behind_a_gateway = documents_of(*CANARY, gateway(), behind("chat", (80, "stable"), (20, "canary")))
    planned = plan(behind_a_gateway, lock(SPREAD))
    assert {route.cluster: route.backends for route in planned.services} == {
        "east": (Backend("ml/stable", 1),),
        "west": (Backend("ml/canary", 1), Backend("ml/stable", 2)),
    }


@pytest.mark.parametrize(
    ("hub", "prefer", "backends"),
    [
        ("east", "SameRegion", [DoorBackend("east", 1), DoorBackend("west", 1, fallback=True)]),
        ("west", "SameRegion", [DoorBackend("west", 1), DoorBackend("east", 1, fallback=True)]),
        ("hub", "SameRegion", [DoorBackend("east", 1), DoorBackend("west", 3)]),
        ("east", "Weight", [DoorBackend("east", 1), DoorBackend("west", 3)]),
    ],
)
def test_clusters_of_the_own_region_come_first(hub: str, prefer: str, backends: list[DoorBackend]) -> None:
    documents = documents_of(
        place("east", "us"),
        place("west", "eu"),
        place("hub", "asia"),
        deployment("a", 4),
        gateway(hubs=[hub]),
        behind("chat", (1, "a"), prefer=prefer),
    )
    [door] = led(documents, {"a east/l4": 1, "a west/l4": 3}, chat=("east", "west"))
    assert door.routes[0].backends == tuple(backends)
    assert door.routes[0].new == ()


def test_what_a_loss_does_is_known_before_the_next_update() -> None:
    documents = documents_of(
        place("east", "us"),
        place("west", "eu"),
        deployment("a", 4),
        deployment("b", 1),
        gateway(hubs=["east", "west"]),
        behind("chat", (1, "a")),
        behind("other", (1, "b"), models=["shared"]),
    )
    planned = led(documents, {"a east/l4": 1, "a west/l4": 3, "b west/l4": 1})
    assert failovers(planned, "west") == (
        Failover("main", "east", "ml/chat", ("east",)),
        Failover("main", "east", "ml/other", ()),
        Failover("main", "west", "ml/chat", ()),
        Failover("main", "west", "ml/other", ()),
    )
    assert failovers(planned, "east") == (
        Failover("main", "east", "ml/chat", ()),
        Failover("main", "east", "ml/other", ()),
        Failover("main", "west", "ml/chat", ("west",)),
    )


def test_a_cluster_that_is_lost_gets_nothing() -> None:
    documents = documents_of(
        place("east", "us"),
        place("west", "us", state="lost"),
        deployment("a", 2),
        gateway(),
        behind("chat", (1, "a")),
    )
    [door] = led(documents, {"a east/l4": 1, "a west/l4": 1}, chat=("east", "west"))
    assert door.routes[0].backends == (DoorBackend("east", 1),)


def test_no_gateway_stands_on_a_cluster_that_is_given_up() -> None:
    documents = documents_of(
        place("east", "us", state="lost"),
        place("west", "us"),
        deployment("a", 1),
        gateway(hubs=["east", "west"]),
        behind("chat", (1, "a")),
    )
    assert [door.hub for door in led(documents, {"a west/l4": 1})] == ["west"]
    assert told(documents) == [
        "warning main spec.clusters[0]: gateway main stands on cluster east, which is lost: nothing of it "
        "changes there"
    ]


def test_two_services_cannot_have_one_name_at_a_gateway() -> None:
    documents = documents_of(
        place("east", "us"),
        deployment("a", 1),
        gateway(),
        behind("chat", (1, "a")),
        behind("other", (1, "a")),
    )
    assert told(documents) == [
        "error ml/other spec.gateways: service ml/other answers to model shared at gateway main, and so does "
        "service ml/chat: a name leads to one of the two"
    ]


def test_gateways_of_a_cluster_count_requests_in_one_place() -> None:
    limits = {"redis": {"address": "redis:6379"}}
    documents = documents_of(
        place("east", "us"),
        place("west", "us"),
        deployment("a", 1),
        gateway("first", limits=limits),
        gateway("main", ("west", "east"), limits={**limits, "whenGone": "Refuse"}),
        gateway("third", ("west",)),
        behind("chat", (1, "a"), gateways=["first", "main", "third"]),
    )
    assert told(documents) == [
        "error main spec.limits: gateways first and main on cluster east have different limits, and Envoy "
        "Gateway counts in one place for all gateways of a cluster"
    ]


def test_a_limit_needs_a_place_where_requests_are_counted() -> None:
    with pytest.raises(ValidationError, match="team-a has requestsPerMinute, and nothing counts requests"):
        gateway(callers=[{**TEAM_A, "requestsPerMinute": 60}])


def test_a_name_that_not_all_endpoints_declare_is_refused() -> None:
    documents = documents_of(
        place("east", "us"),
        deployment("a", 1, engine={"servedNames": ["chat", "shared"]}),
        deployment("b", 1),
        gateway(),
        behind("chat", (1, "a"), (1, "b"), models=["chat"]),
    )
    assert told(documents) == [
        "error ml/chat spec.models[0]: service ml/chat answers to model chat, which ml/b does not serve: "
        "engines refuse names that they do not know"
    ]


def test_a_service_whose_endpoints_are_gone_is_answered_with_a_reason() -> None:
    documents = documents_of(place("east", "us"), gateway(), behind("chat", (1, "a")), deployment("a", 0))
    [door] = led(documents, {})
    assert door.routes[0].backends == ()
    assert told(documents) == [
        "warning ml/chat spec.gateways: service ml/chat has no endpoint on any cluster that answers, so "
        "gateway main answers 503 for it"
    ]


@pytest.mark.parametrize(
    ("secrets", "problem"),
    [
        ({"inferfleet-system/keys": ("team-a",)}, []),
        ({}, []),
        (
            {"inferfleet-system/keys": ("team-b",)},
            [
                "error main spec.callers[0].keys[0].secretRef.key: caller team-a has key team-a of secret "
                "keys, and the stack holds only team-b for inferfleet-system/keys",
                "error main spec.callers: secret inferfleet-system/keys has team-b, which is no key of a "
                "caller, and a gateway lets in whoever has a key of any entry",
            ],
        ),
    ],
)
def test_every_entry_of_a_secret_is_a_caller(secrets: dict[str, tuple[str, ...]], problem: list[str]) -> None:
    documents = documents_of(
        place("east", "us"),
        deployment("a", 1),
        gateway(),
        behind("chat", (1, "a")),
        settings=Settings(stack="test", secrets=secrets),
    )
    assert told(documents) == problem


def test_a_caller_may_use_services_of_the_gateway_alone() -> None:
    documents = documents_of(
        place("east", "us"),
        deployment("a", 1),
        gateway(callers=[{**TEAM_A, "services": ["ml/chat", "ml/other"]}]),
        behind("chat", (1, "a")),
    )
    assert told(documents) == [
        "error main spec.callers[0].services[1]: caller team-a may use service ml/other, which is not behind "
        "gateway main"
    ]


def test_a_gateway_in_another_network_than_a_cluster_is_refused() -> None:
    """Each new GKE cluster has a network of its own."""
    hub = place("hub", "us")
    inside = gke("east", {"l4": ("l4", 9)})
    spec = inside.model_dump(by_alias=True, exclude_unset=True)
    spec["spec"]["serving"] = {
        "gateway": {"className": "gke-l7-rilb", "provider": "gke", "address": "10.0.0.9"}
    }
    addressed = InferenceCluster.model_validate(spec)
    chat = behind("chat", (1, "a"))
    documents = documents_of(hub, inside, deployment("a", 1), gateway(hubs=["hub"]), chat)
    assert told(documents, {"a east/l4": 1}) == [
        "error east spec.serving.gateway: gateway main on cluster hub does not reach the gateway of cluster "
        "east, which is in a network of the cluster's own"
    ]
    reached = documents_of(hub, addressed, deployment("a", 1), gateway(hubs=["hub"]), chat)
    assert told(reached, {"a east/l4": 1}) == []


def test_a_gateway_reaches_no_gateway_that_is_closed_to_others() -> None:
    closed = place("east", "us", provider="istio")
    documents = documents_of(
        place("hub", "us"), closed, deployment("a", 1), gateway(hubs=["hub"]), behind("chat", (1, "a"))
    )
    assert told(documents, {"a east/l4": 1}) == [
        "error east spec.serving.gateway: gateway main on cluster hub does not reach the gateway of cluster "
        "east, which has serviceType: ClusterIP, and is reached from inside of its cluster alone"
    ]


def test_two_gateways_cannot_have_one_host_name() -> None:
    documents = documents_of(
        place("east", "us"),
        deployment("a", 1),
        gateway(hostname="ai.acme.com"),
        gateway("other", hostname="ai.acme.com"),
        behind("chat", (1, "a"), gateways=["main", "other"]),
    )
    assert told(documents) == [
        "error other spec.hostname: gateway other has host name ai.acme.com, and so has gateway main: a name "
        "leads to one of the two"
    ]
