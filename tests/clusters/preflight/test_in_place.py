"""Companions that an update changes under pods that run and read them."""

from collections.abc import Callable
from typing import Any

from fake_cluster import FakeCluster, thing
from own_cluster import east_problem

from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def reading(text: str | None) -> dict[str, Any]:
    """A workload whose pods have this annotation."""
    annotations = {"annotations": {"inferfleet.dev/companions": text}} if text else {}
    template = {"metadata": {"labels": {}, **annotations}, "spec": {}}
    return thing("Deployment", "coder", "ml", labels=OURS, spec={"replicas": 1, "template": template})


def problems(fake: FakeCluster, wanted: dict[str, Any]) -> tuple[Any, ...]:
    components = (Component("ModelReplicas", "east", (KubeObject("n", wanted),)),)
    east = DesiredCluster(Connection("east", "existing/east", "active", config_key="east"), components)
    desired = Desired("prod", (east,), Plan(), frozenset(), ())
    return observe(desired, {"east": fake.kubeconfig}).problems


def test_companions_that_change_under_pods_that_read_them_are_told(
    cluster: Callable[..., FakeCluster],
) -> None:
    runs = reading("ConfigMap/coder-a@11111111,ConfigMap/coder-b@11111111,ServiceAccount/coder-c@11111111")
    wanted = reading("ConfigMap/coder-a@22222222,ConfigMap/coder-b@11111111,ConfigMap/coder-d@33333333")
    assert problems(cluster(objects=[runs]), wanted) == (
        east_problem(
            "on cluster 'east' an update changes ConfigMap coder-a while pods of ml/coder run and read it: "
            "they may see what is new before they are replaced",
            "If they must not, let the plugin name it by its contents: "
            "request.companion_name(..., contents=data)",
            severity="warning",
        ),
    )
    for before in (None, "odd", "ConfigMap/coder-d@33333333"):
        assert problems(cluster(objects=[reading(before)]), wanted) == ()
