"""Clusters are asked once what serves stands there, and what does not serve ends the update."""

from contextlib import nullcontext
from dataclasses import replace

import pulumi
import pytest
from recording import run

from inferfleet.desired.values import (
    Component,
    Confirm,
    Connection,
    Desired,
    DesiredCluster,
    KubeObject,
    Served,
)
from inferfleet.documents.problems import Problem, Severity, cluster_problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.spot import Spot

ROUTE = KubeObject(
    "east/ml/one",
    {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"namespace": "ml", "name": "one"},
    },
)
EAST = DesiredCluster(
    Connection("east", "existing/east", "active"),
    (Component("ModelEndpoint", "east/ml/one", (ROUTE,)),),
    served={"ml/one": Served((), (ROUTE.key,))},
)
WORKLOAD = KubeObject(
    "east/ml/one-l4",
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "ml", "name": "one-l4"}},
)
WITH_WORKLOAD = replace(
    EAST,
    components=(*EAST.components, Component("ModelReplicas", "east/ml/one/l4", (WORKLOAD,))),
    workloads={Spot("ml/one", "east", (("serve", "l4"),)): (WORKLOAD.key,)},
)
LOST = replace(EAST, connection=replace(EAST.connection, state="lost"))
WITHOUT_ROUTES = replace(EAST, components=(), served={})


def _desired(cluster: DesiredCluster) -> Desired:
    return Desired("local", (cluster,), Plan(), frozenset(), ())


def _told(severity: Severity, asked: list[str]) -> Confirm:
    async def confirm(cluster: str) -> tuple[Problem, ...]:
        asked.append(cluster)
        return (cluster_problem(cluster, "it is refused", "Mend it", severity=severity),)

    return confirm


def test_a_pool_that_is_refused_ends_the_update() -> None:
    with pytest.raises(pulumi.RunError) as ended:
        run(_desired(EAST), preview=False, confirm=_told("error", []))
    assert str(ended.value) == str(cluster_problem("east", "it is refused", "Mend it"))


def test_problems_of_all_clusters_are_told_at_once() -> None:
    other = replace(ROUTE, name="west/ml/one")
    west = DesiredCluster(
        Connection("west", "existing/west", "active"),
        (Component("ModelEndpoint", "west/ml/one", (other,)),),
        served={"ml/one": Served((), (other.key,))},
    )
    both = Desired("local", (EAST, west), Plan(), frozenset(), ())
    texts = {"east": "text of a kubeconfig", "west": "text of a kubeconfig"}
    asked: list[str] = []
    with pytest.raises(pulumi.RunError) as ended:
        run(both, preview=False, kubeconfigs=texts, confirm=_told("error", asked))
    problem = str(cluster_problem("east", "it is refused", "Mend it"))
    assert (sorted(asked), str(ended.value)) == (["east", "west"], f"{problem}\n{problem}")


def test_pools_are_asked_about_also_when_nothing_of_them_changes() -> None:
    """As with --target and --run-program: the engine answers with what its state has."""
    asked: list[str] = []
    with pytest.raises(pulumi.RunError):
        run(_desired(EAST), preview=False, confirm=_told("error", asked))
    assert asked == ["east"]


@pytest.mark.parametrize("severity", ["warning", "notice"])
def test_what_is_not_known_does_not_end_it(severity: Severity) -> None:
    asked: list[str] = []
    run(_desired(EAST), preview=False, confirm=_told(severity, asked))
    assert asked == ["east"]


@pytest.mark.parametrize(
    ("cluster", "preview", "failing"),
    [
        pytest.param(EAST, True, (), id="in a preview"),
        pytest.param(LOST, False, (), id="on a lost cluster"),
        pytest.param(WITHOUT_ROUTES, False, (), id="where there are no routes"),
        pytest.param(EAST, False, (ROUTE.name,), id="where a route failed"),
        pytest.param(WITH_WORKLOAD, False, (WORKLOAD.name,), id="where a workload failed"),
    ],
)
def test_nobody_is_asked(cluster: DesiredCluster, preview: bool, failing: tuple[str, ...]) -> None:
    asked: list[str] = []
    ends = pytest.raises(pulumi.RunError, match="1 resources failed") if failing else nullcontext()
    with ends:
        run(_desired(cluster), preview=preview, failing=failing, confirm=_told("error", asked))
    assert asked == []
