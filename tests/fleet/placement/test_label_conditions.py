"""Conditions on labels, as Kubernetes' selectors have them: of clusters, endpoints and namespaces."""

from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, placed, service

from inferfleet.documents.kinds.base import LabelSelector
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

CLUSTERS = (
    cluster("bare", {"p": ("l4", 1)}),
    cluster("dev", {"p": ("l4", 1)}, labels={"tier": "dev"}),
    cluster("prod", {"p": ("l4", 1)}, labels={"tier": "prod"}),
)


@pytest.mark.parametrize(
    ("operator", "values", "expected", "text"),
    [
        ("In", ["prod", "canary"], ["prod"], "tier in (prod,canary)"),
        ("NotIn", ["prod"], ["bare", "dev"], "tier notin (prod)"),
        ("Exists", [], ["dev", "prod"], "tier"),
        ("DoesNotExist", [], ["bare"], "!tier"),
    ],
)
def test_clusters_are_selected_by_conditions(
    operator: str, values: list[str], expected: list[str], text: str
) -> None:
    condition = {"key": "tier", "operator": operator, "values": values}
    model = deployment("m", 3, gpus=4, clusterSelector={"matchExpressions": [condition]})
    planned = plan(fleet(*CLUSTERS, model), Lock(stack="test"))
    assert sorted(placed(planned)) == [f"m {name}/p" for name in expected]
    assert [
        reason.why.partition(", needs ")[2] for reason in planned.unplaced[0].reasons if not reason.pool
    ] == [text] * (3 - len(expected))


def test_all_conditions_and_labels_hold_together() -> None:
    selector = LabelSelector.model_validate(
        {
            "matchLabels": {"tier": "prod"},
            "matchExpressions": [
                {"key": "site", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
            ],
        }
    )
    assert (str(selector), selector.matches({"tier": "prod", "site": "x"})) == ("tier=prod, site, !old", True)
    assert not selector.matches({"tier": "prod"})
    assert not selector.matches({"tier": "prod", "site": "x", "old": ""})


def test_a_condition_that_no_cluster_meets_is_told() -> None:
    selector: dict[str, Any] = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["test"]}]}
    planned = plan(fleet(*CLUSTERS, deployment("m", 1, clusterSelector=selector)), Lock(stack="test"))
    assert [problem.what for problem in planned.problems] == [
        "clusterSelector tier in (test) matches no cluster"
    ]


def test_services_select_by_conditions_too() -> None:
    chat = service("chat", (1, {}))
    entry = {
        "weight": 1,
        "selector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["prod"]}]},
    }
    chat = type(chat).model_validate(
        {"metadata": {"name": "chat", "namespace": "ml"}, "spec": {"endpoints": [entry]}}
    )
    planned = plan(fleet(*CLUSTERS, deployment("m", 3, gpus=4), chat), Lock(stack="test"))
    assert [route.cluster for route in planned.services] == ["prod"]
