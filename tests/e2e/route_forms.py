"""Requests to routes in which a gateway rewrites nothing, for test files that have a gateway."""

import json

import pytest
from asking import ask, status_of, url
from project import Project

ONE = "ml/deployments/one"
# Reached under the engine's own paths: by host name, and by header as OtterScale does.
AT_THE_ROOT = {
    "hosted": ({"hostnames": ["root.example.com"]}, {"Host": "root.example.com"}),
    "headed": (
        {"paths": ["/"], "headers": {"OtterScale-Model-Name": "headed"}},
        {"OtterScale-Model-Name": "headed"},
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", AT_THE_ROOT)
def test_a_route_at_the_root_answers_under_the_engine_s_own_paths(
    answering: Project, name: str, stream: bool
) -> None:
    _, headers = AT_THE_ROOT[name]
    root = url(answering, "east", "").rstrip("/")
    said = [ask(root, headers=headers, stream=stream) for _ in range(5)]
    assert {(one.status, one.pod.startswith(f"ml/{name}-")) for one in said} == {(200, True)}
    assert ask(root, stream=stream).status == 404
    route = json.loads(answering.kubectl("east", "get", "httproute", name, "-n", "ml", "-o", "json"))
    assert [rule.get("filters") for rule in route["spec"]["rules"]] == [None]


@pytest.mark.parametrize(
    ("name", "path", "status"),
    [("hosted", "/health", 404), ("headed", "/health", 200)],
)
def test_other_paths_of_an_engine_are_reached_where_its_route_lists_them(
    answering: Project, name: str, path: str, status: int
) -> None:
    root = url(answering, "east", "").rstrip("/")
    assert status_of(f"{root}{path}", AT_THE_ROOT[name][1]) == status


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/models", 200),
        ("/v1", 404),
        ("/health", 404),
        ("/metrics", 404),
        ("", 404),
        ("/", 404),
        ("x/v1/models", 404),
    ],
)
def test_a_path_is_handed_on_without_the_prefix_of_its_route(
    answering: Project, path: str, status: int
) -> None:
    assert status_of(f"{url(answering, 'east', ONE)}{path}") == status
