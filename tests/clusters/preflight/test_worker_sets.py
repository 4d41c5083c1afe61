"""What keeps a cluster from running LeaderWorkerSets is told before anything is written there."""

from typing import Any

import pytest

from inferfleet.clusters.connections.api import ApiResource, RefusedError
from inferfleet.clusters.preflight.prerequisites import INSTALL_WORKER_SETS, worker_set_problems
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject

KIND = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
SERVED = {KIND: ApiResource("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets", namespaced=True)}
MANIFEST = {"apiVersion": KIND[0], "kind": KIND[1], "metadata": {"name": "kimi", "namespace": "ml"}}


def _webhooks(*groups: str) -> dict[str, Any]:
    return {"webhooks": [{"rules": [{"apiGroups": [group]}]} for group in groups]}


WEBHOOKS = {"items": [_webhooks("apps"), _webhooks("leaderworkerset.x-k8s.io", "")]}
# Kueue has one for the kinds of others.
OF_KUEUE = {"items": [_webhooks("kueue.x-k8s.io", "leaderworkerset.x-k8s.io")]}


def _definition(*fields: str) -> dict[str, Any]:
    status = {"properties": {field: {} for field in fields}}
    schema = {"openAPIV3Schema": {"properties": {"status": status}}}
    return {"spec": {"versions": [{"name": "v1", "schema": schema}]}}


class _Api:
    """Answers by the last part of a path; a number is a refusal."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def get(self, path: str) -> dict[str, Any]:
        kind = path.split("/")[4]
        answer = self.answers[kind]
        if isinstance(answer, int):
            raise RefusedError(answer, path)
        return dict(answer)


def _told(definition: Any, webhooks: Any, *objects: KubeObject) -> list[str]:
    wanted = DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", objects),)
    )
    api: Any = _Api(customresourcedefinitions=definition, mutatingwebhookconfigurations=webhooks)
    problems = list(worker_set_problems(api, wanted, SERVED))
    assert {problem.next_step for problem in problems} <= {INSTALL_WORKER_SETS}
    return [problem.what for problem in problems]


NEW, OLD = _definition("conditions", "observedGeneration"), _definition("conditions")
TOO_OLD = (
    "the LeaderWorkerSets of cluster 'east' are older than 0.9.0: their status does not say which "
    "generation it is of, so an update could not tell when ml/kimi has rolled"
)
NOBODY = (
    "cluster 'east' knows LeaderWorkerSets, and has no controller of theirs: no webhook of "
    "leaderworkerset.x-k8s.io is configured, so no pods would be made of ml/kimi"
)


@pytest.mark.parametrize(
    ("definition", "webhooks", "told"),
    [
        (NEW, WEBHOOKS, []),
        (OLD, WEBHOOKS, [TOO_OLD]),
        (NEW, {"items": []}, [NOBODY]),
        (NEW, OF_KUEUE, [NOBODY]),
        (OLD, {"items": []}, [TOO_OLD, NOBODY]),
        (403, 403, []),
    ],
)
def test_an_old_installation_and_none_are_told(definition: Any, webhooks: Any, told: list[str]) -> None:
    assert _told(definition, webhooks, KubeObject("east/ml/kimi", MANIFEST)) == told


def test_a_cluster_without_such_workloads_is_not_asked() -> None:
    assert _told(500, 500) == []
