"""Objects wait for webhooks that are called for them, and what follows a definition until it is served."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import FakeCluster

from inferfleet.clusters.update import served
from inferfleet.clusters.update.served import serving_waiter
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

Start = Callable[..., FakeCluster]
PATH = "/api/v1/namespaces/lws-system/services/https:hooks:443/proxy/mutate"
HOOKS = KubeObject(
    "hooks",
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [
            {"clientConfig": {"service": {"name": "hooks", "namespace": "lws-system", "path": "/mutate"}}}
        ],
    },
)


def item(kind: str, **more: Any) -> KubeObject:
    return KubeObject(f"east/{kind}", {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}, **more)


SET = item("LeaderWorkerSet", webhooks=(HOOKS,))
DEFINITION = KubeObject(
    "east/sets",
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Set", "plural": "sets"},
            "versions": [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}],
        },
    },
)


def waited(server: FakeCluster, asked: KubeObject, *, seconds: float = 60) -> str | None:
    connection = Connection("east", "existing/east", "active", config_key="east")
    component = Component("ModelReplicas", "east/a", (SET, DEFINITION))
    desired = Desired("prod", (DesiredCluster(connection, (component,)),), Plan(), frozenset(), ())
    waiter = serving_waiter(
        desired, {"east": server.kubeconfig}, container_api="http://127.0.0.1:1", seconds=seconds
    )
    return asyncio.run(_twice(waiter, asked))


async def _twice(waiter: Any, asked: KubeObject) -> str | None:
    first = await waiter(asked)
    return first if first is not None else await waiter(asked)


def test_a_webhook_that_answers_is_asked_once(cluster: Start) -> None:
    server = cluster(behind={PATH: (415, {})})
    assert waited(server, SET) is None
    assert [path for path, _ in server.asked].count(PATH) == 1


def test_a_webhook_that_does_not_answer_in_time_keeps_its_object_from_being_written(
    cluster: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_PAUSE", 0.01)
    said = waited(cluster(behind={PATH: (503, {})}), SET, seconds=1)
    assert said is not None
    assert said.startswith(
        "the webhooks that the API server of cluster 'east' calls for LeaderWorkerSet a do not answer within "
        "1 s: status 503. "
    )


def test_a_definition_is_served_once_the_schema_of_all_kinds_has_it(cluster: Start) -> None:
    server = cluster(behind={"/openapi/v2": (200, {"paths": {"/apis/example.com/v1/sets": {}}})})
    assert waited(server, DEFINITION) is None
    assert [path for path, _ in server.asked] == ["/openapi/v2"] * 2


def test_a_schema_that_does_not_have_a_definition_in_time_says_so(
    cluster: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_PAUSE", 0.01)
    server = cluster(behind={"/openapi/v2": (200, {"paths": {}})})
    assert waited(server, DEFINITION, seconds=1) == (
        "the API server of cluster 'east' does not serve what CustomResourceDefinition sets.example.com "
        "defines within 1 s: its schema has no /apis/example.com/v1/sets. See whether it is overloaded, and "
        "run the same command again"
    )
