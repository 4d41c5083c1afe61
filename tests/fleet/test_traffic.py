"""Which requests routes take, and what is said where two take the same."""

from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, lock, service

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.fleet.decisions import ExposedPath
from inferfleet.fleet.planning import plan
from inferfleet.fleet.traffic import (
    Requests,
    exposed_loading_problems,
    exposed_paths,
    of_deployment,
    of_service,
)

EAST = cluster("east", {"l4": ("l4", 9)})


def _routed(name: str, route: dict[str, Any], *selects: str) -> ModelService:
    entries = [{"selector": {"matchLabels": {"inferfleet.dev/deployment": one}}} for one in selects]
    return ModelService.model_validate(
        {"metadata": {"name": name, "namespace": "ml"}, "spec": {"endpoints": entries, "route": route}}
    )


@pytest.mark.parametrize(
    ("engine", "route", "requests"),
    [
        ("vLLM", {}, Requests("/ml/deployments/a", ("/v1",))),
        ("SGLang", {}, Requests("/ml/deployments/a", ("/v1",))),
        ("Triton", {}, Requests("/ml/deployments/a", ("/v1", "/v2"))),
        ("Other", {"paths": ["/score"]}, Requests("/ml/deployments/a", ("/score",))),
        ("vLLM", {"path": "/"}, Requests("", ("/v1",))),
        (
            "vLLM",
            {"path": "/", "paths": ["/"], "hostnames": ["a.b"], "headers": {"X-B": "2", "X-A": "1"}},
            Requests("", ("/",), ("a.b",), (("X-A", "1"), ("X-B", "2"))),
        ),
    ],
)
def test_a_deployment_takes_the_paths_of_its_engine(
    engine: str, route: dict[str, Any], requests: Requests
) -> None:
    assert of_deployment(deployment("a", 1, engine={"type": engine}, route=route)) == requests


@pytest.mark.parametrize(
    ("route", "requests"),
    [
        ({}, Requests("/ml/chat", ("/v1", "/v2"))),
        ({"path": "/", "hostnames": ["a.b"]}, Requests("", ("/", "/v1", "/v2"), ("a.b",))),
        ({"paths": ["/v1"]}, Requests("/ml/chat", ("/v1",))),
    ],
)
def test_a_service_takes_the_paths_of_all_its_engines(route: dict[str, Any], requests: Requests) -> None:
    documents = fleet(
        EAST,
        deployment("a", 1, engine={"type": "Triton"}),
        deployment("b", 1, route={"path": "/", "paths": ["/"], "headers": {"x-b": "1"}}),
        _routed("chat", route, "a", "b"),
    )
    [planned] = plan(documents, lock({})).services
    assert of_service(documents, planned) == requests


def _said(documents: Documents) -> list[tuple[str, str, str, str]]:
    problems = plan(documents, lock({})).problems
    return [(one.kind, one.key, one.path, one.what) for one in problems if "route" in one.path]


OWN = "ModelDeployment", "ml/a", "spec.route.paths"
LISTED = "ModelService", "ml/chat", "spec.route.paths"
SELECTED = "ModelService", "ml/chat", "spec.endpoints"


@pytest.mark.parametrize(
    ("own", "of_service", "paths"),
    [
        ({}, {}, {"/v1": OWN}),
        ({"paths": ["/rerank"]}, {"paths": ["/rerank", "/score"]}, {"/rerank": OWN, "/score": LISTED}),
        ({}, {"paths": ["/score", "/v1"]}, {"/score": LISTED, "/v1": OWN}),
        ({"enabled": False}, {"paths": ["/score"]}, {"/score": LISTED}),
        ({"enabled": False}, {}, {"/v1": SELECTED}),
    ],
)
def test_an_endpoint_is_reached_under_the_paths_of_all_routes_to_it(
    own: dict[str, Any], of_service: dict[str, Any], paths: dict[str, tuple[str, str, str]]
) -> None:
    documents = fleet(
        EAST, deployment("a", 1, route=own), deployment("b", 1), _routed("chat", of_service, "a")
    )
    planned = plan(documents, lock({}))
    assert exposed_paths(documents, planned.endpoints, planned.services) == {
        ("ml/a", "east"): tuple(ExposedPath(path, *place) for path, place in paths.items()),
        ("ml/b", "east"): (ExposedPath("/v1", "ModelDeployment", "ml/b", "spec.route.paths"),),
    }


def test_two_that_take_the_same_requests_are_both_named() -> None:
    route = {"path": "/", "hostnames": ["a.example.com", "b.example.com"]}
    documents = fleet(
        EAST,
        deployment("a", 1, route={"path": "/", "hostnames": ["a.example.com"]}),
        _routed("chat", route, "a"),
    )
    same = "requests to /v1 for host a.example.com on cluster east, and so does"
    rest = "its gateway would send all of them to one of the two"
    assert _said(documents) == [
        ("ModelDeployment", "ml/a", "spec.route", f"deployment ml/a takes {same} service ml/chat: {rest}"),
        ("ModelService", "ml/chat", "spec.route", f"service ml/chat takes {same} deployment ml/a: {rest}"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"path": "/", "hostnames": ["b.example.com"]},
        {"path": "/", "hostnames": ["a.example.com"], "headers": {"x-a": "1"}},
        {"path": "/", "hostnames": ["a.example.com"], "paths": ["/v2"]},
        {"path": "/"},
        {},
    ],
)
def test_another_host_header_or_path_is_no_conflict(other: dict[str, Any]) -> None:
    first = deployment("a", 1, route={"path": "/", "hostnames": ["a.example.com"]})
    assert _said(fleet(EAST, first, _routed("chat", other, "a"))) == []


def test_a_service_of_many_engines_has_too_many_paths() -> None:
    many = [
        deployment(name, 1, route={"paths": [f"/{name}{number}" for number in range(9)]})
        for name in ("a", "b")
    ]
    assert _said(fleet(EAST, *many, service("chat", (1, {})))) == [
        (
            "ModelService",
            "ml/chat",
            "spec.route.paths",
            "service ml/chat has 18 paths of engines on cluster east, and a route takes at most 16",
        )
    ]


def test_a_path_by_which_anybody_loads_adapters_is_told() -> None:
    adapter = {"name": "poems", "source": {"repository": "acme/poems", "revision": "a" * 40}, "rank": 8}
    documents = fleet(
        EAST,
        deployment("open", 1, engine={"type": "SGLang", "model": "a/b", "adapters": [adapter]}),
        deployment("guarded", 1, engine={"model": "a/b", "adapters": [adapter]}),
        _routed("chat", {"path": "/", "paths": ["/"], "hostnames": ["a.b"]}, "open"),
        _routed("talk", {"path": "/", "paths": ["/"], "hostnames": ["c.d"]}, "guarded"),
    )
    planned = plan(documents, lock({}))
    told = exposed_loading_problems(documents, planned.endpoints, planned.services)
    assert [(problem.key, problem.path, problem.what) for problem in told] == [
        (
            "ml/chat",
            "spec.route.paths",
            "ml/chat exposes / of SGLang engines with adapters, by which whoever reaches the gateway has "
            "ml/open load adapters of any folder (/load_lora_adapter)",
        )
    ]
