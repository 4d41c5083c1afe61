"""What an update tells of the pods that it waits for: each end once, and at last what it waited for."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from inferfleet.clusters.connections.api import Event, RefusedError
from inferfleet.clusters.connections.ask import refusal
from inferfleet.clusters.update import pods as module
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan

ENDED = {"terminated": {"exitCode": 1, "message": "1/2 clients joined"}}
END = "engine ended with exit code 1: 1/2 clients joined"
SET = "leaderworkerset.sigs.k8s.io/name"
THING = "LeaderWorkerSet east/ml/kimi"
ENDING = "To end it now, press Ctrl-C once; then mend the document and run `pulumi up --refresh`"
MANAGED = "app.kubernetes.io/managed-by"
DEPLOYMENTS = "inferfleet.dev/deployment"


def _labels(deployment: str) -> dict[str, str]:
    label = "inferfleet.dev"
    return {f"{label}/deployment": deployment, f"{label}/role": "decode", f"{label}/placement": "h100"}


def _workload(name: str, timeout: int) -> KubeObject:
    manifest = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "ml", "labels": _labels(name)},
        "spec": {"replicas": 1},
    }
    return KubeObject(f"east/ml/{name}", manifest, timeout=timeout)


def _pod(name: str, *, namespace: str = "ml", **status: Any) -> dict[str, Any]:
    kimi = name.rpartition("-")[0]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": _labels(kimi) | {SET: kimi}},
        "spec": {"nodeName": "n", "containers": [{"name": "engine"}]},
        "status": {"containerStatuses": [{"name": "engine", **status}]},
    }


class _Api:
    """Pods as they become one after the other; behind them nothing happens."""

    def __init__(self, *seen: list[dict[str, Any]]) -> None:
        self.seen = seen
        self.asked: set[tuple[str, str]] = set()

    def follow(self, path: str, *, query: dict[str, str], seconds: float) -> Iterator[tuple[Event, ...]]:
        self.asked.add((path, query["labelSelector"]))
        for pods in self.seen:
            yield tuple(("MODIFIED", pod) for pod in pods)
        while True:
            time.sleep(seconds)
            yield ()


Told = tuple[list[str], list[str]]


def _heard(api: _Api, monkeypatch: pytest.MonkeyPatch, *sets: str | KubeObject) -> tuple[list[Told], int]:
    """What is warned of, and told as a failure, of each workload in an update that gives up after 3 s; and
    how many threads asked.
    """
    workloads = tuple(_workload(one, 3) if isinstance(one, str) else one for one in sets)
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", workloads),)
    )
    desired = Desired("prod", (cluster,), Plan(), frozenset(), ())
    askers: list[str] = []

    def ask(asked: Desired, kubeconfigs: Any, question: Any, **_: Any) -> dict[str, Problem | None]:
        connection = asked.clusters[0].connection
        askers.append(connection.cluster)
        try:
            return {connection.cluster: question(connection, api)}
        except RefusedError as refused:
            return {connection.cluster: refusal(connection, refused)}

    monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(module, "_EVERY", 0.01)
    monkeypatch.setattr(module, "_REPORT_EVERY", 0.01)
    monkeypatch.setattr(module, "_FIRST", 0.05)
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setattr(module, "_BEFORE", 2.8)
    listen = module.pod_listener(desired, {}, container_api="")
    told: list[Told] = [([], []) for _ in workloads]

    async def update() -> None:
        waits = [
            listen(workload, warned.append, failed.append)
            for workload, (warned, failed) in zip(workloads, told, strict=True)
        ]
        await asyncio.gather(*waits)

    asyncio.run(update())
    return told, len(askers)


def test_an_end_is_told_once_and_again_with_what_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = _pod("kimi-0", state={"waiting": {"reason": "ContainerCreating"}})
    api = _Api([_pod("kimi-0", state=ENDED)], [_pod("kimi-0", lastState=ENDED)], [waiting])
    [(warned, failed)], _ = _heard(api, monkeypatch, "kimi")
    assert warned == [f"{THING}: pod kimi-0: {END}. The update waits 3 s more. {ENDING}"]
    assert failed == [
        f"{THING} is not available after 3 s: kimi-0 Starting: ContainerCreating; kimi-0 before: {END}"
    ]
    assert api.asked == {("/api/v1/pods", f"{DEPLOYMENTS} in (kimi)")}


def _picker() -> KubeObject:
    label = "app.kubernetes.io/name"
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "kimi-epp",
            "namespace": "ml",
            "labels": {MANAGED: "inferfleet"},
        },
        "spec": {
            "selector": {"matchLabels": {label: "kimi-epp"}},
            "template": {"metadata": {"labels": {label: "kimi-epp", MANAGED: "inferfleet"}}},
        },
    }
    return KubeObject("east/ml/kimi-epp", manifest, timeout=3)


def test_pods_of_a_picker_are_told_of_too(monkeypatch: pytest.MonkeyPatch) -> None:
    label, picker = "app.kubernetes.io/name", _picker()
    pod = _pod("kimi-epp-0")
    pod["metadata"]["labels"] = {label: "kimi-epp"}
    ended = {"exitCode": 1, "message": "no such plugin"}
    pod["status"] = {"containerStatuses": [{"name": "epp", "lastState": {"terminated": ended}}]}
    api = _Api([pod])
    [(warned, failed)], _ = _heard(api, monkeypatch, picker)
    thing, end = "Deployment east/ml/kimi-epp", "ended with exit code 1: no such plugin"
    assert warned == [f"{thing}: pod kimi-epp-0: epp {end}. The update waits 3 s more. {ENDING}"]
    assert failed == [
        f"{thing} is not available after 3 s: kimi-epp-0 Starting; kimi-epp-0 before: epp {end}"
    ]
    assert api.asked == {("/api/v1/pods", f"{label} in (kimi-epp)")}


def test_without_a_pod_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    other = _pod("kimi-0", namespace="other", state=ENDED)
    assert _heard(_Api([other]), monkeypatch, "kimi") == ([([], [])], 1)


def test_all_workloads_of_a_cluster_are_read_in_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [f"r{number}" for number in range(41)]
    api = _Api([_pod("r7-0", lastState=ENDED, ready=True, state={"running": {}})])
    told, askers = _heard(api, monkeypatch, *sets)
    assert [thing for thing, (warned, _) in zip(sets, told, strict=True) if warned] == ["r7"]
    assert ("/api/v1/pods", DEPLOYMENTS) in api.asked
    assert askers == 1


def test_pods_of_before_that_serve_are_told_of_with_the_first_end(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = _labels("web")
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web-decode-h100", "namespace": "ml", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
    }

    def pod(name: str, template: str, created: str, **status: Any) -> dict[str, Any]:
        made = _pod(name, **status)
        made["metadata"] |= {"creationTimestamp": created, "labels": labels | {"pod-template-hash": template}}
        return made

    old = pod("old-0", "a", "2026-08-01T11:00:00Z")
    old["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    new = pod("new-0", "b", "2026-08-01T11:01:00Z", lastState=ENDED)
    last = pod("new-0", "b", "2026-08-01T11:01:00Z", lastState={"terminated": {"exitCode": 137}})
    told, askers = _heard(
        _Api([old, new], [old, new], [last]),
        monkeypatch,
        KubeObject("east/ml/web-decode-h100", manifest, timeout=3),
        "kimi",
    )
    assert askers == 1
    [(warned, failed), (of_kimi, _)] = told
    thing = "Deployment east/ml/web-decode-h100"
    assert warned == [
        f"{thing}: pod new-0: engine ended with exit code 137. "
        f"The update waits 3 s more, and 1 pod of before serves meanwhile. {ENDING}"
    ]
    assert failed == [
        f"{thing} is not available after 3 s: new-0 Starting; new-0 before: engine ended with exit code 137"
    ]
    assert of_kimi == []


class _Refusing(_Api):
    """Credentials that may not watch pods but those of some namespaces."""

    def __init__(self, *seen: list[dict[str, Any]], allowed: tuple[str, ...] = ()) -> None:
        super().__init__(*seen)
        self.allowed = [f"/api/v1/namespaces/{namespace}/pods" for namespace in allowed]

    def follow(self, path: str, *, query: dict[str, str], seconds: float) -> Iterator[tuple[Event, ...]]:
        if path not in self.allowed:
            raise RefusedError(403, path)
        yield from super().follow(path, query=query, seconds=seconds)


def test_credentials_for_namespaces_alone_ask_for_the_pods_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = _workload("qwen", 3)
    elsewhere.manifest["metadata"]["namespace"] = "chat"
    pods = [_pod("kimi-0", lastState=ENDED), _pod("qwen-0", namespace="chat", lastState=ENDED)]
    api = _Refusing(pods, allowed=("chat", "ml"))
    told, askers = _heard(api, monkeypatch, "kimi", elsewhere)
    assert [len(warned) for warned, _ in told] == [1, 1]
    query = f"{DEPLOYMENTS} in (kimi,qwen)"
    assert {(path, query) for path in api.allowed} <= api.asked
    assert askers == 1


def test_credentials_that_may_not_watch_pods_are_told_of_once_for_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, askers = _heard(_Refusing(), monkeypatch, "kimi", "qwen", _picker())
    warnings = [warning for warned, _ in told for warning in warned]
    assert warnings == [
        "spec.cluster.existing.kubeconfig: what pods say while they are waited for is not known, and is "
        "asked for again: cluster 'east' refused GET /api/v1/namespaces/ml/pods (403): the credentials may "
        "not read this. Give them the right to read and write it"
    ]
    assert askers > 2
