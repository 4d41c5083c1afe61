"""Rules of HTTPRoutes in Envoy's words."""

import re
from typing import Any

import pytest
from gateway_objects import rule

from sandbox.cluster.objects import Object
from sandbox.gateway.matching import envoy_headers, envoy_match, envoy_rewrite, envoy_timeout, precedence


def match(path: str, kind: str = "PathPrefix", **headers: str) -> Object:
    return rule(path, kind=kind, headers=headers)["matches"][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (match("/ml"), {"path_separated_prefix": "/ml"}),
        (match("/ml/"), {"path_separated_prefix": "/ml"}),
        (match("/"), {"prefix": "/"}),
        ({}, {"prefix": "/"}),
        (match("/v1", "Exact"), {"path": "/v1"}),
        (
            match("/ml", tier="gold"),
            {
                "path_separated_prefix": "/ml",
                "headers": [{"name": "tier", "string_match": {"exact": "gold"}}],
            },
        ),
    ],
)
def test_a_match_is_by_whole_path_elements_and_exact_headers(given: Object, made: Any) -> None:
    assert envoy_match(given) == made


def test_exact_paths_win_then_longer_prefixes_then_more_headers() -> None:
    best_first = [
        match("/a", "Exact"),
        match("/a/b/c"),
        match("/a/b", x="1", y="2"),
        match("/a/b", x="1"),
        match("/a/b"),
        match("/"),
    ]
    assert sorted((best_first[3], *best_first[:3], *best_first[4:]), key=precedence) == best_first


@pytest.mark.parametrize(
    ("prefix", "replacement", "paths"),
    [
        ("/foo", "/", {"/foo": "/", "/foo/": "/", "/foo/bar": "/bar", "/foo/bar/": "/bar/"}),
        ("/foo/", "/", {"/foo": "/", "/foo/bar": "/bar"}),
        ("/foo", "/xyz", {"/foo": "/xyz", "/foo/": "/xyz/", "/foo/bar": "/xyz/bar"}),
        ("/foo", "/xyz/", {"/foo": "/xyz", "/foo/bar": "/xyz/bar"}),
        ("/", "/xyz", {"/": "/xyz/", "/bar": "/xyz/bar"}),
        ("/", "/", {"/": "/", "/bar": "/bar"}),
        ("/a.b+c", "/", {"/a.b+c/d": "/d"}),
    ],
)
def test_a_replaced_prefix_leaves_one_slash(prefix: str, replacement: str, paths: dict[str, str]) -> None:
    change = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": replacement}}
    made = envoy_rewrite(match(prefix), {"filters": [{"type": "URLRewrite", "urlRewrite": change}]})
    assert {path: rewritten(path, prefix, made) for path in paths} == paths


def rewritten(path: str, prefix: str, action: dict[str, Any]) -> str:
    """What Envoy makes of the path."""
    if "prefix_rewrite" in action:
        return str(action["prefix_rewrite"]) + path.removeprefix(prefix.rstrip("/"))
    change = action["regex_rewrite"]
    return re.sub(change["pattern"]["regex"], change["substitution"], path)


def test_the_host_name_is_replaced_and_a_prefix_stays_text() -> None:
    change = {"hostname": "inner", "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": r"/a\1"}}
    made = envoy_rewrite(match("/"), {"filters": [{"type": "URLRewrite", "urlRewrite": change}]})
    assert made == {
        "host_rewrite_literal": "inner",
        "regex_rewrite": {"pattern": {"regex": "^/"}, "substitution": r"/a\\1/"},
    }


def test_headers_are_set_added_and_removed_as_they_are_written() -> None:
    change = {"set": [{"name": "a", "value": "100%"}], "add": [{"name": "b", "value": "2"}], "remove": ["c"]}
    made = envoy_headers({"filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": change}]})
    assert made == {
        "request_headers_to_add": [
            {"header": {"key": "a", "value": "100%%"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"},
            {"header": {"key": "b", "value": "2"}, "append_action": "APPEND_IF_EXISTS_OR_ADD"},
        ],
        "request_headers_to_remove": ["c"],
    }


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600s", "3600s"), ("1h30m", "5400s"), ("250ms", "0.250s"), ("0s", "0s"), (None, "0s")],
)
def test_a_timeout_is_told_in_seconds_and_none_means_none(text: str | None, seconds: str) -> None:
    assert envoy_timeout({"timeouts": {"request": text}} if text else {}) == seconds
