"""The budgets by which nodes are drained of one pod of a deployment, or one group, at a time."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.workload import disruption_budgets

Make = Callable[..., ModelDeployment]


def _budget(role: str = "decode") -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": f"qwen-{role}",
            "namespace": "ml",
            "labels": {
                "app.kubernetes.io/managed-by": "inferfleet",
                "inferfleet.dev/stack": "prod",
                "inferfleet.dev/deployment": "qwen",
                "inferfleet.dev/role": role,
            },
        },
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {
                "matchLabels": {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/role": role},
            },
        },
    }


@pytest.mark.parametrize(
    ("replicas", "count", "found"), [(1, 1, ()), (2, 1, (_budget(),)), (1, 2, (_budget(),)), (0, 2, ())]
)
def test_a_role_with_two_pods_on_a_cluster_has_a_budget_and_one_with_a_single_pod_has_none(
    deployment: Make, replicas: int, count: int, found: tuple[Any, ...]
) -> None:
    assert disruption_budgets(deployment=deployment(count=count), stack="prod", replicas=replicas) == found


def test_each_role_has_a_budget_of_its_own_if_it_has_several_pods(deployment: Make) -> None:
    """So a drain may take a pod of prefill and one of decode."""
    template = {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}}
    judge = {"workers": {"count": 2, "topology": {"tensor": 1}, "template": template}}
    document = deployment(roles={"judge": judge})
    assert disruption_budgets(deployment=document, stack="prod", replicas=1) == (_budget("judge"),)
    assert disruption_budgets(deployment=document, stack="prod", replicas=2) == (_budget(), _budget("judge"))


def test_a_role_that_somebody_else_keeps_a_budget_for_has_none(deployment: Make) -> None:
    """The eviction of a pod of two budgets fails."""
    none = deployment(disruptionBudget="None")
    assert disruption_budgets(deployment=none, stack="prod", replicas=4) == ()
    assert disruption_budgets(deployment=deployment(), stack="prod", replicas=4, elsewhere={"decode"}) == ()
