"""What an update replaces where it is, though no replica moves."""

from typing import Any

import pytest

from inferfleet.clusters.preflight.workloads import remade_workload_problems
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem

LABELS = {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode", "inferfleet.dev/placement": "h"}
CLAIMED = {"inferfleet.dev/claimed-gpus": "8"}


def _pod(*, claimed: bool = False, **spec: Any) -> dict[str, Any]:
    limits = {} if claimed else {"resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "8"}}}
    metadata = {"annotations": spec.pop("annotations", {}) | (CLAIMED if claimed else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "engine", **limits}], **spec}}


def _made(kind: str, spec: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "a-decode-h", "namespace": "ml", "labels": labels}
    return {"apiVersion": "any/v1", "kind": kind, "metadata": metadata, "spec": spec}


def single(replicas: int = 1, *, surge: int = 0, labels: dict[str, str] = LABELS, **pod: Any) -> Any:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    return _made("Deployment", {"replicas": replicas, "strategy": strategy, "template": _pod(**pod)}, labels)


def grouped(replicas: int = 1, size: int = 2, *, surge: int = 0, **pod: Any) -> Any:
    rolling = {"rollingUpdateConfiguration": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    group = {"size": size, "leaderTemplate": _pod(**pod), "workerTemplate": _pod(**pod)}
    spec = {"replicas": replicas, "rolloutStrategy": rolling, "leaderWorkerTemplate": group}
    return _made("LeaderWorkerSet", spec, LABELS)


def scaled(workload: Any) -> Any:
    annotations = {"inferfleet.dev/replicas": "1-3"}
    return workload | {"metadata": workload["metadata"] | {"annotations": annotations}}


def _warning(what: str, next_step: str) -> Problem:
    return Problem(what, next_step, "spec.workers", kind="ModelDeployment", key="ml/a", severity="warning")


def _remade(before: Any, after: Any) -> list[Problem]:
    components = (Component("ModelReplicas", "east", (KubeObject("n", after),)),)
    cluster = DesiredCluster(Connection("east", "existing/east", "active"), components)
    return list(remade_workload_problems(cluster, [before]))


@pytest.mark.parametrize(
    ("before", "after", "shapes"),
    [
        (
            single(2),
            grouped(),
            "a Deployment of 2 pods now and will be a LeaderWorkerSet of 1 group of 2 pods",
        ),
        (
            grouped(2, size=4) | {"metadata": {"name": "a-4a6f4e", "namespace": "ml", "labels": LABELS}},
            single(),
            "a LeaderWorkerSet of 2 groups of 4 pods now and will be a Deployment of 1 pod",
        ),
    ],
)
def test_a_workload_that_becomes_one_of_the_other_kind_is_told(before: Any, after: Any, shapes: str) -> None:
    assert _remade(before, after) == [
        _warning(
            f"ml/{before['metadata']['name']} on cluster 'east' is {shapes}: an update makes the new one, "
            "waits until it is ready, and then ends all pods of the old one, which take the requests until "
            "then",
            "Where another warning says that it fits only once others are gone, the update does not wait, "
            "and nothing serves there until the new pods have loaded their model: let another placement "
            "serve meanwhile, or make room for both",
        )
    ]


ONE = (
    "it has one group, and nothing serves there until the new one has loaded its model",
    "Add a replica first, or write rollout: Surge where there is room for another",
)


@pytest.mark.parametrize(
    ("before", "after", "changes", "meanwhile"),
    [
        (grouped(), grouped(size=4), "size of groups 2 becomes 4", ONE),
        (
            single(2, schedulerName="default-scheduler"),
            single(2, schedulerName="kai-scheduler"),
            "scheduler default-scheduler becomes kai-scheduler",
            (
                "one pod of 2 after another, and the others take the requests meanwhile",
                "Let it run when they suffice",
            ),
        ),
        (
            grouped(),
            grouped(surge=1, claimed=True),
            "GPUs of a pod 8 by an extended resource becomes 8 by claims (DRA)",
            ("a new group is ready before an old one ends", "Look at what changes, and let it run"),
        ),
        (
            grouped(annotations={"scheduling.k8s.io/group-name": "a"}, schedulerName="volcano"),
            grouped(),
            "scheduler volcano becomes default-scheduler; PodGroup a becomes none",
            ONE,
        ),
        # Somebody scales them: no update sets the number.
        (scaled(grouped()), scaled(grouped(3, size=4)), "size of groups 2 becomes 4", ONE),
        (
            grouped(2),
            scaled(grouped(3, size=4)),
            "size of groups 2 becomes 4",
            (
                "one group of 2 after another, and the others take the requests meanwhile",
                "Let it run when they suffice",
            ),
        ),
        (scaled(grouped(3)), grouped(size=4), "size of groups 2 becomes 4", ONE),
    ],
)
def test_pods_that_are_all_replaced_where_they_are_are_told_with_what_serves_meanwhile(
    before: Any, after: Any, changes: str, meanwhile: tuple[str, str]
) -> None:
    how, next_step = meanwhile
    assert _remade(before, after) == [
        _warning(
            f"an update replaces all pods of {after['kind']} ml/a-decode-h on cluster 'east' where they are "
            f"({changes}): {how}",
            next_step,
        )
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (single(2, schedulerName="default-scheduler"), single(3)),
        (grouped(), grouped(replicas=3)),
        (single(0), grouped()),
        (single(labels={**LABELS, "inferfleet.dev/placement": "other"}), grouped()),
        (single(labels={}), single(labels={}, schedulerName="other")),
    ],
)
def test_numbers_others_workloads_and_those_without_pods_are_not_told(before: Any, after: Any) -> None:
    assert _remade(before, after) == []


def test_a_role_of_its_own_is_told_where_it_is_written() -> None:
    labels = {**LABELS, "inferfleet.dev/role": "encode"}
    [told] = _remade(single(labels=labels), single(labels=labels, schedulerName="kai-scheduler"))
    assert (told.path, told.key) == ("spec.roles.encode.workers", "ml/a")
