"""What an update tells of the pods that it waits for: each end once, and at last what it waited for."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from inferfleet import listening
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

ENDED = {"terminated": {"exitCode": 1, "message": "1/2 clients joined"}}
END = "engine ended with exit code 1: 1/2 clients joined"
THING = "LeaderWorkerSet east/ml/kimi"


def _workload(timeout: int) -> KubeObject:
    manifest = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi", "namespace": "ml"},
    }
    return KubeObject("east/ml/kimi", manifest, timeout=timeout)


def _pod(name: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": "n", "containers": [{"name": "engine"}]},
        "status": {"containerStatuses": [{"name": "engine", **status}]},
    }


class _Api:
    """Pods as they are seen one time after the other; the last ones stay."""

    def __init__(self, *seen: list[dict[str, Any]]) -> None:
        self.seen = list(seen)
        self.asked: set[tuple[str, str]] = set()

    def items(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        self.asked.add((path, query["labelSelector"]))
        yield from self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]


def _heard(api: _Api, monkeypatch: pytest.MonkeyPatch, *, timeout: int = 3) -> tuple[list[str], list[str]]:
    """What is warned of, and told as a failure, in an update that gives up after so many seconds."""
    workload = _workload(timeout)
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", (workload,)),)
    )
    desired = Desired("prod", (cluster,), Plan(), frozenset(), ())

    def ask(asked: Desired, kubeconfigs: Any, question: Any, **_: Any) -> None:
        question(asked.clusters[0].connection, api)

    monkeypatch.setattr(listening, "ask", ask)
    monkeypatch.setattr(listening, "_EVERY", 0.01)
    monkeypatch.setattr(listening, "_TOLD_EVERY", 0.01)
    monkeypatch.setattr(listening, "_BEFORE", timeout - 0.2)
    warned: list[str] = []
    failed: list[str] = []
    listen = listening.listening(desired, {}, container_api="")
    asyncio.run(listen(workload, warned.append, failed.append))
    return warned, failed


def test_an_end_is_told_once_and_again_with_what_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = _pod("kimi-0", state={"waiting": {"reason": "ContainerCreating"}})
    api = _Api([_pod("kimi-0", state=ENDED)], [_pod("kimi-0", lastState=ENDED)], [waiting])
    warned, failed = _heard(api, monkeypatch)
    assert warned == [f"{THING}: pod kimi-0: {END}"]
    assert failed == [
        f"{THING} is not available after 3 s: kimi-0 Starting: ContainerCreating; kimi-0 before: {END}"
    ]
    assert api.asked == {("/api/v1/namespaces/ml/pods", "leaderworkerset.sigs.k8s.io/name=kimi")}


def test_without_a_pod_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _heard(_Api([]), monkeypatch) == ([], [])
