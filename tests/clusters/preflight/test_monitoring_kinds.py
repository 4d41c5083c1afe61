"""Objects of monitoring that a cluster does not know: which they are, and the notice of them."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing

from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.clusters.preflight.prerequisites import kinds_to_come
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

Start = Callable[..., FakeCluster]
OPERATOR, GOOGLE = "monitoring.coreos.com/v1", "monitoring.googleapis.com/v1"
OF_OPERATOR = {"PodMonitor": ("podmonitors", True), "ServiceMonitor": ("servicemonitors", True)}
POD_MONITOR, GOOGLES = (OPERATOR, "PodMonitor"), (GOOGLE, "PodMonitoring")


def _thing(kind: tuple[str, str], name: str) -> dict[str, Any]:
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name, "namespace": "ml"}}


def _wanted(*objects: dict[str, Any]) -> DesiredCluster:
    made = tuple(KubeObject(one["metadata"]["name"], one) for one in objects)
    connection = Connection("east", "existing/east", "active", config_key="east")
    return DesiredCluster(connection, (Component("ModelEndpoint", "east", made),))


def _look(fake: FakeCluster, *objects: dict[str, Any]) -> Observation:
    desired = Desired("prod", (_wanted(*objects),), Plan(), frozenset(), ())
    return observe(desired, {"east": fake.kubeconfig})


MONITORS = (
    thing("Namespace", "ml"),
    _thing(POD_MONITOR, "a-decode"),
    _thing(POD_MONITOR, "a-epp"),
    _thing(GOOGLES, "b-decode"),
)


def test_what_a_cluster_does_not_know_is_a_notice_and_stops_nothing(cluster: Start) -> None:
    seen = _look(cluster(), *MONITORS)
    assert seen.unknown == {"east": frozenset({POD_MONITOR, GOOGLES})}
    [problem] = seen.problems
    assert (problem.severity, problem.path, problem.what) == (
        "notice",
        "spec.serving.monitoring",
        "cluster 'east' does not know PodMonitor of monitoring.coreos.com/v1 and PodMonitoring of "
        "monitoring.googleapis.com/v1, so 3 objects of serving.monitoring are left out",
    )


def test_what_a_cluster_knows_is_kept(cluster: Start) -> None:
    seen = _look(cluster(kinds=KINDS | {OPERATOR: OF_OPERATOR}), *MONITORS)
    assert seen.unknown == {"east": frozenset({GOOGLES})}
    assert [problem.severity for problem in seen.problems] == ["notice"]


@pytest.mark.parametrize("kinds", [KINDS, KINDS | {OPERATOR: OF_OPERATOR}])
def test_a_cluster_without_monitoring_is_told_nothing(cluster: Start, kinds: Any) -> None:
    seen = _look(cluster(kinds=kinds), thing("Namespace", "ml"))
    assert (seen.unknown, seen.problems) == ({}, ())


def test_a_monitor_that_a_plugin_adds_is_needed_as_everything_of_plugins(cluster: Start) -> None:
    def told(*kinds: str) -> list[tuple[str, str]]:
        components = tuple(
            Component(kind, "east", (KubeObject(f"{kind}-monitor", _thing(POD_MONITOR, "a")),))  # type: ignore[arg-type]
            for kind in kinds
        )
        connection = Connection("east", "existing/east", "active", config_key="east")
        desired = Desired("prod", (DesiredCluster(connection, components),), Plan(), frozenset(), ())
        fake = cluster()
        return [(one.severity, one.path) for one in observe(desired, {"east": fake.kubeconfig}).problems]

    error, notice = ("error", ""), ("notice", "spec.serving.monitoring")
    assert told("ModelReplicas") == [error]
    assert told("ModelEndpoint") == [notice]
    assert told("ModelReplicas", "ModelEndpoint") == [error, notice]


def test_google_installs_its_own_kind_with_a_cluster_and_no_other() -> None:
    assert kinds_to_come(_wanted(*MONITORS)) == {POD_MONITOR}
