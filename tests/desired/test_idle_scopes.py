"""Links of chains that act on no pod of the stack."""

from typing import Any

import pytest
from small_stack import Document, cluster, deployment, stack

from inferfleet.desired.pods import chains
from inferfleet.documents.kinds.base import PluginScope
from inferfleet.documents.loading.validation import validated
from inferfleet.documents.problems import Problem
from inferfleet.plugins.registry import builtin

ENGINE = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}}
PAIR = {"topology": {"tensor": 1, "pipeline": 2}, "template": ENGINE}
ROLES = {"encode": {"workers": {"topology": {"tensor": 1}, "template": ENGINE}}}


def link(**scope: Any) -> list[dict[str, Any]]:
    return [{"name": "accelerator", "scope": scope}]


def idle(*documents: Document, **settings: Any) -> tuple[Problem, ...]:
    return chains(stack(*documents, **settings), builtin()).problems


@pytest.mark.parametrize(
    ("documents", "settings", "whose", "place"),
    [
        (
            [deployment("a", plugins=link(target="Worker"))],
            {},
            "any role of deployment ml/a",
            {"path": "spec.plugins[0].scope.target", "kind": "ModelDeployment", "key": "ml/a"},
        ),
        (
            [deployment("a", workers=PAIR, roles=ROLES, plugins=link(target="Worker", roles=["encode"]))],
            {},
            "role encode of deployment ml/a",
            {"path": "spec.plugins[0].scope.target", "kind": "ModelDeployment", "key": "ml/a"},
        ),
        (
            [deployment("a"), deployment("b")],
            {"plugins": link(target="Worker")},
            "any role of deployments of the stack",
            {"path": "plugins[0].scope.target", "kind": "Settings", "key": "test"},
        ),
    ],
)
def test_a_scope_of_followers_that_no_worker_has_is_told_once(
    documents: list[Document], settings: dict[str, Any], whose: str, place: dict[str, str]
) -> None:
    assert idle(cluster("east"), *documents, **settings) == (
        Problem(
            "scope of plugin accelerator is target Worker, the followers of workers of several pods, and "
            f"workers of {whose} have one pod: the plugin does nothing",
            "Write target: All or Entry, or remove the plugin",
            severity="warning",
            **place,
        ),
    )


@pytest.mark.parametrize(
    ("documents", "settings"),
    [
        ([deployment("a", workers=PAIR, plugins=link(target="Worker"))], {}),
        ([deployment("a"), deployment("b", workers=PAIR)], {"plugins": link(target="Worker")}),
        ([deployment("a", plugins=link(target="Entry"))], {}),
        ([deployment("a", gpus=8, plugins=link(target="Worker"))], {}),  # over nodes of four GPUs
        ([], {"plugins": link(target="Worker")}),
    ],
)
def test_a_scope_that_some_pod_may_be_in_is_not_told(
    documents: list[Document], settings: dict[str, Any]
) -> None:
    assert idle(cluster("east"), *documents, **settings) == ()


def test_a_scope_without_a_role_is_refused() -> None:
    read, problems = validated(PluginScope, {"roles": []})
    assert read is None
    assert [(problem.path, problem.what, problem.next_step) for problem in problems] == [
        ("roles", "roles must not be empty", "Give it a value, or remove the field")
    ]
