"""Which PodDisruptionBudgets stand on the clusters of a stack."""

from typing import Any

from small_stack import NOTHING, cluster, deployment, made, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Companion, Edited, Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin

KIND = "PodDisruptionBudget"


def _budgets(found: Desired) -> list[tuple[str, dict[str, str]]]:
    return [
        (one.name, one.manifest["spec"]["selector"]["matchLabels"])
        for part in found.clusters
        for one in part.objects
        if one.kind == KIND
    ]


OURS = {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode"}


def test_two_replicas_on_two_pools_of_a_cluster_have_one_budget() -> None:
    found = made(cluster("east", pools=("l4", "other")), deployment("a", 2, gpus=4))
    assert _budgets(found) == [("east/ml/a-decode", OURS)]


def test_one_replica_on_each_cluster_has_none_because_a_budget_of_one_would_hold_nothing() -> None:
    assert _budgets(made(cluster("east"), cluster("west"), deployment("a", 2))) == []


def test_a_range_has_the_budget_of_its_most_and_the_number_that_runs_does_not_change_it() -> None:
    scaled = {"replicas": {"min": 1, "max": 3}, "scaling": {"by": "External"}}
    document = deployment("a", **scaled)  # type: ignore[arg-type]
    assert _budgets(made(cluster("east"), document)) == [("east/ml/a-decode", OURS)]


def test_a_workload_stays_as_it_is_with_and_without_a_budget() -> None:
    """So an upgrade restarts nothing."""
    one, none = (made(cluster("east"), deployment("a", 2, disruptionBudget=said)) for said in ("One", "None"))
    without = [thing for thing in one.clusters[0].objects if thing.kind != KIND]
    assert (without, _budgets(none)) == (list(none.clusters[0].objects), [])


class Config(contract.Config):
    """A plugin that has nothing to set."""


def _mine(template: PodTemplate, request: Request, config: Config) -> Edited:
    spec = {"minAvailable": 1, "selector": {"matchLabels": OURS}}
    name = request.companion_name("mine")
    beside: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
    return Edited(template, (Companion(beside),))


def test_where_a_plugin_brings_a_budget_there_is_no_other() -> None:
    registry = builtin().with_(Plugin("mine", Config, _mine, version="1.0.0"))
    documents = stack(cluster("east"), deployment("a", 2, plugins=[{"name": "mine"}]))
    found = desired(documents, NOTHING, registry=registry)
    assert [name for name, _ in _budgets(found)] == ["east/ml/a-decode-l4-mine"]
