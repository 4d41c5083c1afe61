"""What gateways say of pools is asked once the routes to them stand, and what they refuse ends the update."""

from contextlib import nullcontext
from dataclasses import replace

import pulumi
import pytest
from recording import run

from inferfleet.api.problems import Problem, Severity, cluster_problem
from inferfleet.desired.values import (
    Component,
    Confirm,
    Connection,
    Desired,
    DesiredCluster,
    KubeObject,
    Served,
)
from inferfleet.fleet.decisions import Plan

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
    ],
)
def test_nobody_is_asked(cluster: DesiredCluster, preview: bool, failing: tuple[str, ...]) -> None:
    asked: list[str] = []
    ends = pytest.raises(pulumi.RunError, match="1 resources failed") if failing else nullcontext()
    with ends:
        run(_desired(cluster), preview=preview, failing=failing, confirm=_told("error", asked))
    assert asked == []
