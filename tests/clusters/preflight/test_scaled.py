"""Workloads that are scaled: what their cluster lacks, and what an edit of their document does."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from own_cluster import east_problem

from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan
from inferfleet.serving.scaler import OWNED

Start = Callable[..., FakeCluster]
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
HPAS = {"HorizontalPodAutoscaler": ("horizontalpodautoscalers", True)}

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "coder"}


def workload(between: str | None = None, *, replicas: int = 2, **annotations: str) -> dict[str, Any]:
    made = thing(
        "Deployment",
        "coder",
        "ml",
        labels=OURS,
        spec={"replicas": replicas, "template": {"metadata": {"labels": {}}, "spec": {}}},
    )
    if between:
        annotations["inferfleet.dev/replicas"] = between
    made["metadata"]["annotations"] = annotations
    return made


def scaler(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "coder", "namespace": "ml", "labels": OURS}
    spec = {"scaleTargetRef": _TARGET, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


HPA = scaler("HorizontalPodAutoscaler", "autoscaling/v2", metrics=[{"type": "Pods"}])
KEDA = scaler("ScaledObject", "keda.sh/v1alpha1")


def look(fake: FakeCluster, *wanted: dict[str, Any]) -> Observation:
    made = tuple(
        KubeObject(
            f"{one['kind']} n", one, ignore=OWNED if "inferfleet.dev/replicas" in _annotations(one) else ()
        )
        for one in wanted
    )
    components = (Component("ModelReplicas", "east", made),)
    east = DesiredCluster(Connection("east", "existing/east", "active", config_key="east"), components)
    return observe(Desired("prod", (east,), Plan(), frozenset(), ()), {"east": fake.kubeconfig})


def _annotations(one: dict[str, Any]) -> dict[str, str]:
    return one["metadata"].get("annotations") or {}


def test_autoscalers_without_an_adapter_are_told_and_stop_nothing(cluster: Start) -> None:
    seen = look(cluster(kinds=KINDS | {"autoscaling/v2": HPAS}), workload("1-3"), HPA)
    assert (seen.unknown, seen.problems) == (
        {},
        (
            east_problem(
                "nothing on cluster 'east' serves custom.metrics.k8s.io, where HorizontalPodAutoscalers read "
                "metrics, so deployments that they scale keep the replicas that they have, between min and "
                "max",
                "Install an adapter there, such as prometheus-adapter, or write scaling.by: KEDA",
                severity="notice",
            ),
        ),
    )


def test_scaled_objects_are_left_out_where_nobody_knows_keda(cluster: Start) -> None:
    seen = look(cluster(), workload("1-3"), KEDA)
    assert (seen.unknown, seen.problems) == (
        {"east": frozenset({("keda.sh/v1alpha1", "ScaledObject")})},
        (
            east_problem(
                "cluster 'east' does not know ScaledObject of keda.sh/v1alpha1, so nobody scales coder: they "
                "keep the replicas that they have",
                "Install KEDA there and run `pulumi up` again, or write scaling.by: HPA",
                severity="notice",
            ),
        ),
    )


@pytest.mark.parametrize("runs", [False, True])
def test_the_kinds_of_keda_without_keda_are_told(cluster: Start, runs: bool) -> None:
    """It scales by an API of metrics, which it serves itself."""
    kinds = KINDS | {"keda.sh/v1alpha1": {"ScaledObject": ("scaledobjects", True)}}
    served = {"external.metrics.k8s.io/v1beta1": {}} if runs else {}
    told = look(cluster(kinds=kinds | served), workload("1-3"), KEDA).problems
    keda = east_problem(
        "cluster 'east' knows ScaledObject, and no KEDA serves external.metrics.k8s.io there, so nobody "
        "scales coder: they keep the replicas that they have",
        "See whether its operator and its metrics server run (`kubectl get apiservices "
        "v1beta1.external.metrics.k8s.io`)",
        severity="notice",
    )
    assert told == (() if runs else (keda,))


def test_a_number_in_place_of_a_range_is_told(cluster: Start) -> None:
    seen = look(cluster(objects=[workload("1-3", replicas=3)]), workload())
    assert (seen.scaled, seen.problems) == (
        {("east", "ml", "coder")},
        (
            east_problem(
                "Deployment ml/coder on cluster 'east' was scaled from 1 to 3, and has 2 from now on; a "
                "scaler of this stack ends last and may set another number until then",
                "Write replicas: {min: 2, max: 2} for one update first, or run `pulumi up --refresh` after "
                "this one",
                severity="warning",
            ),
        ),
    )


def test_a_number_in_place_of_the_same_range_is_as_it_should_be(cluster: Start) -> None:
    seen = look(cluster(objects=[workload("2-2")]), workload())
    assert (seen.scaled, seen.problems) == ({("east", "ml", "coder")}, ())


def test_a_workload_goes_on_to_take_its_number_over(cluster: Start) -> None:
    seen = look(cluster(objects=[workload(**{"pulumi.com/patchForce": "true"})]), workload())
    assert (seen.scaled, seen.problems) == ({("east", "ml", "coder")}, ())


@pytest.mark.parametrize(("replicas", "told"), [(3, False), (4, True)])
def test_more_replicas_than_the_plan_has_room_for_are_told(replicas: int, told: bool, cluster: Start) -> None:
    runs = workload("1-5", replicas=replicas)
    problem = east_problem(
        "4 replicas of Deployment ml/coder run on cluster 'east', and the plan has room for 3: no update "
        "ends any, because somebody else scales it",
        "Have its scaler keep to 1 to 3, or raise replicas.max",
        severity="warning",
    )
    assert look(cluster(objects=[runs]), workload("1-3")).problems == ((problem,) if told else ())
    known = KINDS | {"autoscaling/v2": HPAS, "custom.metrics.k8s.io/v1beta2": {}}
    # A scaler of the stack ends what is too many, as soon as the update has told it.
    scaled = look(cluster(objects=[runs], kinds=known), workload("1-3"), HPA)
    assert scaled.problems == ()
