"""The Deployment of a placement, and how long it is waited for."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.spot import Spot
from inferfleet.serving.workload import await_seconds, progress_deadline, unawaited, workload

Make = Callable[..., ModelDeployment]

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [], "terminationGracePeriodSeconds": 130},
}
SELECTOR = {
    "inferfleet.dev/deployment": "qwen",
    "inferfleet.dev/role": "decode",
    "inferfleet.dev/placement": "h100",
}


def test_a_placement_is_one_deployment_that_deletes_before_it_creates(deployment: Make, spot: Spot) -> None:
    made = workload(
        deployment=deployment(count=2),
        spot=spot,
        role="decode",
        replicas=3,
        template=TEMPLATE,
        deadline=4000,
        stack="prod",
    )
    assert made == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "qwen-decode-h100",
            "namespace": "ml",
            "labels": {
                "app.kubernetes.io/managed-by": "inferfleet",
                "inferfleet.dev/stack": "prod",
                **SELECTOR,
            },
        },
        "spec": {
            "replicas": 6,
            "selector": {"matchLabels": SELECTOR},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "progressDeadlineSeconds": 4000,
            "revisionHistoryLimit": 2,
            "template": TEMPLATE,
        },
    }
    assert made["spec"]["template"] is not TEMPLATE


def test_a_surging_rollout_creates_before_it_deletes(deployment: Make, spot: Spot) -> None:
    made = workload(
        deployment=deployment(rollout="Surge"),
        spot=spot,
        role="decode",
        replicas=1,
        template=TEMPLATE,
        deadline=1,
        stack="s",
    )
    assert made["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_a_workload_that_is_not_awaited_says_so_and_is_otherwise_the_same() -> None:
    made = {"kind": "Deployment", "metadata": {"name": "x", "annotations": {"a": "b"}}, "spec": {}}
    skipped = unawaited(made)
    assert skipped.pop("metadata") == {
        "name": "x",
        "annotations": {"a": "b", "pulumi.com/skipAwait": "true"},
    }
    assert skipped == {"kind": "Deployment", "spec": {}}
    assert made["metadata"]["annotations"] == {"a": "b"}
    assert unawaited({"metadata": {"name": "x"}})["metadata"]["annotations"] == {
        "pulumi.com/skipAwait": "true"
    }


@pytest.mark.parametrize(
    ("replicas", "count", "autoscaled", "startup", "seconds"),
    [
        (1, 1, False, None, 130 + 900 + 1800),
        (1, 1, True, None, 600 + 130 + 900 + 1800),
        (2, 3, False, "60s", 6 * (130 + 900 + 60)),
        (0, 1, False, "60s", 130 + 900 + 60),
    ],
)
def test_the_budget_covers_a_rollout_of_one_pod_after_another(
    deployment: Make, replicas: int, count: int, autoscaled: bool, startup: str | None, seconds: int
) -> None:
    document = deployment(count=count, engine={"startup": startup})
    deadline = progress_deadline(deployment=document, role="decode", autoscaled=autoscaled, template=TEMPLATE)
    assert await_seconds(deployment=document, role="decode", replicas=replicas, deadline=deadline) == seconds


def test_a_budget_ends_before_pulumi_can_count_no_further(deployment: Make) -> None:
    document = deployment(count=64)
    assert await_seconds(deployment=document, role="decode", replicas=10_000, deadline=88_000) == 2**31 - 1
