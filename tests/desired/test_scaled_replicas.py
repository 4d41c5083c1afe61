"""Replicas between two numbers: what is planned, what is registered, and what updates leave alone."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, Document, cluster, deployment, made
from test_on_cloud import on_gke

from inferfleet.desired import desired
from inferfleet.desired.transition import with_numbers, without_kinds
from inferfleet.desired.values import Desired, KubeObject
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.spot import Spot

WAITING = {"name": "vllm:num_requests_waiting", "target": "5"}
QUEUE = {"name": "inference_pool_average_queue_size", "target": 3}
KEDA = ("keda.sh/v1alpha1", "ScaledObject")


def _scaled(least: int, most: int, *metrics: dict[str, Any], by: str = "HPA", **spec: Any) -> Document:
    scaling = {"by": by, "metrics": list(metrics or (() if by == "External" else (WAITING,)))}
    return deployment("a", {"min": least, "max": most}, scaling=scaling, **spec)  # type: ignore[arg-type]


def _objects(found: Desired, name: str = "east") -> dict[str, KubeObject]:
    [here] = [one for one in found.clusters if one.connection.cluster == name]
    return {f"{thing.kind} {thing.kubernetes_name}": thing for thing in here.objects}


def test_the_plan_has_room_for_the_most_and_each_placement_its_share_of_the_fewest() -> None:
    plan = made(cluster("east"), cluster("west", pools=("l4",)), _scaled(3, 5)).plan
    east, west = (Spot("ml/a", name, (("decode", "l4"),)) for name in ("east", "west"))
    assert plan.placements == (Placement(east, 3, 2), Placement(west, 2, 1))
    assert plan.lock.placements == {east: 3, west: 2}


def test_a_scaled_workload_begins_with_the_most_and_its_number_is_somebody_elses() -> None:
    found = _objects(made(cluster("east"), _scaled(2, 5)))
    workload = found["Deployment a-decode-l4"]
    fixed = _objects(made(cluster("east"), deployment("a", 5)))["Deployment a-decode-l4"]
    annotations = {"inferfleet.dev/replicas": "2-5"}
    metadata = {**fixed.manifest["metadata"], "annotations": annotations}
    manifest = {**fixed.manifest, "metadata": metadata}
    assert workload == replace(fixed, manifest=manifest, ignore=("spec.replicas",))


def test_an_autoscaler_of_kubernetes_comes_after_the_workload_that_it_scales() -> None:
    found = _objects(made(cluster("east"), _scaled(1, 4, WAITING, QUEUE)))
    hpa = found["HorizontalPodAutoscaler a-decode-l4"]
    assert (hpa.manifest["spec"], hpa.after[-1], hpa.ignore) == (
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a-decode-l4"},
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": [
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": "vllm:num_requests_waiting"},
                        "target": {"type": "AverageValue", "averageValue": "5"},
                    },
                },
                {
                    "type": "External",
                    "external": {
                        "metric": {
                            "name": "inference_pool_average_queue_size",
                            "selector": {"matchLabels": {"name": "a"}},
                        },
                        "target": {"type": "Value", "value": "3"},
                    },
                },
            ],
        },
        found["Deployment a-decode-l4"].key,
        (),
    )


def test_nobody_of_the_stack_scales_what_others_do() -> None:
    found = _objects(made(cluster("east"), _scaled(1, 4, by="External")))
    fixed = _objects(made(cluster("east"), deployment("a", 4)))
    assert (found.keys(), found["Deployment a-decode-l4"].ignore) == (fixed.keys(), ("spec.replicas",))


@pytest.mark.parametrize("state", ["drained", "abandoned"])
def test_what_others_move_to_begins_with_all_whether_the_lock_knows_of_it_or_not(state: str) -> None:
    documents = (cluster("east", state=state), cluster("west"), _scaled(1, 4))
    moved = made(*documents, lock=made(cluster("east"), _scaled(1, 4)).plan.lock)
    # The lock is committed before the update that moves them, and written before one that is killed.
    again = made(*documents, lock=moved.plan.lock)
    assert (len(moved.plan.changes), again.plan.changes) == (2, ())
    for each in (moved, again):
        assert each.plan.placements == (Placement(Spot("ml/a", "west", (("decode", "l4"),)), 4, 1),)
        assert _objects(each, "west")["Deployment a-decode-l4"].manifest["spec"]["replicas"] == 4


def test_a_workload_of_the_other_kind_begins_with_all_its_replicas() -> None:
    before = made(cluster("east"), _scaled(1, 2))
    grouped = _grouped(_scaled(1, 2))
    after = made(cluster("east"), grouped, lock=before.plan.lock)
    assert (after.plan.changes, before.plan.placements) == ((), after.plan.placements)
    numbers = [
        (thing.kind, thing.manifest["spec"]["replicas"])
        for found in (before, after)
        for thing in _objects(found).values()
        if thing.kind in ("Deployment", "LeaderWorkerSet") and thing.ignore
    ]
    assert numbers == [("Deployment", 2), ("LeaderWorkerSet", 2)]


def _grouped(document: Document) -> Document:
    topology = document.spec.workers.topology.model_copy(update={"pipeline": 2})  # type: ignore[union-attr]
    workers = document.spec.workers.model_copy(update={"topology": topology})  # type: ignore[union-attr]
    spec = document.spec.model_copy(update={"workers": workers})
    return document.model_copy(update={"spec": spec})  # type: ignore[return-value]


def test_a_number_of_replicas_takes_over_from_who_scaled_them() -> None:
    fixed = made(cluster("east"), deployment("a", 2))
    taken = with_numbers(fixed, {("east", "ml", "a-decode-l4")})
    before, after = (_objects(one)["Deployment a-decode-l4"].manifest for one in (fixed, taken))
    annotations = {"pulumi.com/patchForce": "true"}
    assert after == {**before, "metadata": {**before["metadata"], "annotations": annotations}}
    scaled = made(cluster("east"), _scaled(1, 2))
    assert with_numbers(scaled, {("east", "ml", "a-decode-l4")}) == scaled


def _watched(name: str = "east", **monitoring: Any) -> Document:
    return cluster(name, serving={"gateway": {"className": "any"}, "monitoring": monitoring})


def test_keda_asks_the_prometheus_of_the_cluster_about_the_pods_of_the_placement() -> None:
    found = made(_watched(server="http://prometheus:9090"), _scaled(1, 4, WAITING, QUEUE, by="KEDA"))
    made_object = _objects(found)["ScaledObject a-decode-l4"]
    server = {"serverAddress": "http://prometheus:9090", "ignoreNullValues": "false"}
    pods = 'namespace="ml",pod=~"a-decode-l4-[a-z0-9]+-[a-z0-9]{5}"'
    pool = 'namespace="ml",name="a"'
    assert made_object.manifest["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a-decode-l4"},
        "minReplicaCount": 1,
        "maxReplicaCount": 4,
        "triggers": [
            {
                "type": "prometheus",
                "metricType": "AverageValue",
                "metadata": server | {"query": f"sum(vllm:num_requests_waiting{{{pods}}})", "threshold": "5"},
            },
            {
                "type": "prometheus",
                "metricType": "Value",
                "metadata": server
                | {"query": f"max(inference_pool_average_queue_size{{{pool}}})", "threshold": "3"},
            },
        ],
    }
    left = without_kinds(found, {"east": {KEDA}})
    assert _objects(left).keys() == _objects(found).keys() - {"ScaledObject a-decode-l4"}


def test_googles_adapter_has_names_of_its_own() -> None:
    found = _objects(
        made(
            _watched(engines="PodMonitoring", pickers="PodMonitoring"),
            _scaled(1, 4, WAITING, QUEUE),
        )
    )
    hpa = found["HorizontalPodAutoscaler a-decode-l4"]
    of_pods, of_pool = hpa.manifest["spec"]["metrics"]
    assert (of_pods["pods"]["metric"], of_pool["external"]["metric"]) == (
        {"name": "prometheus.googleapis.com|vllm:num_requests_waiting|gauge"},
        {
            "name": "prometheus.googleapis.com|inference_pool_average_queue_size|gauge",
            "selector": {"matchLabels": {"metric.labels.name": "a", "resource.labels.namespace": "ml"}},
        },
    )


def test_google_is_asked_about_the_pool_of_one_cluster_alone() -> None:
    documents = on_gke(serving={"monitoring": {"pickers": "PodMonitoring"}})
    scaled = _scaled(1, 4, QUEUE)
    found = _objects(desired(replace(documents, deployments={"ml/a": scaled}), NOTHING))
    [metric] = found["HorizontalPodAutoscaler a-decode-l4"].manifest["spec"]["metrics"]
    assert metric["external"]["metric"]["selector"]["matchLabels"] == {
        "metric.labels.name": "a",
        "resource.labels.namespace": "ml",
        "resource.labels.cluster": "east-e4da5b",
        "resource.labels.location": "us-east4",
    }


def test_values_that_google_adds_up_are_told() -> None:
    def told(*clusters: str) -> list[str]:
        watched = [_watched(name, pickers="PodMonitoring") for name in clusters]
        warnings = made(*watched, _scaled(4, 4, QUEUE)).warnings
        return [warning.what.partition(",")[0] for warning in warnings if warning.severity == "warning"]

    what = "inference_pool_average_queue_size of cluster 'east' comes from Google Cloud"
    assert (told("east"), told("east", "west")) == ([], [what])


def test_groups_of_pods_are_scaled_as_one() -> None:
    found = _objects(made(cluster("east"), _grouped(_scaled(1, 2))))
    [workload] = [thing for thing in found.values() if thing.kind == "LeaderWorkerSet"]
    [hpa] = [thing for thing in found.values() if thing.kind == "HorizontalPodAutoscaler"]
    assert hpa.manifest["spec"]["scaleTargetRef"] == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "name": workload.kubernetes_name,
    }
    assert (workload.manifest["spec"]["replicas"], workload.ignore) == (2, ("spec.replicas",))
    other = {**workload.manifest, "spec": {**workload.manifest["spec"], "replicas": 1}}
    assert _written(other) == _written(workload.manifest)


def _written(manifest: dict[str, Any]) -> str:
    from inferfleet.serving.workload import awaited

    return str(awaited(manifest)["metadata"]["annotations"]["inferfleet.dev/spec"])


@pytest.mark.parametrize(
    ("scaled", "on", "what"),
    [
        (
            _scaled(1, 2, by="KEDA"),
            cluster("east"),
            "replicas of ml/a on cluster 'east' are scaled by KEDA, and no Prometheus is named there that it "
            "could ask",
        ),
        (
            _scaled(1, 2, {"name": "llm_d_epp_average_queue_size", "target": 5}),
            cluster("east"),
            "pickers of profile gie-1.5 have no metric llm_d_epp_average_queue_size (cluster 'east')",
        ),
    ],
)
def test_what_has_no_metrics_is_refused(scaled: Document, on: Document, what: str) -> None:
    with pytest.raises(InvalidDocuments) as refused:
        made(on, scaled)
    assert [problem.what for problem in refused.value.problems] == [what]


def test_more_placements_than_the_fewest_replicas_are_told() -> None:
    found = made(cluster("east"), cluster("west"), _scaled(1, 2))
    told = [problem for problem in found.warnings if problem.path == "spec.replicas.min"]
    assert [(problem.severity, problem.what) for problem in told] == [
        ("notice", "ml/a has 2 placements, and each keeps a replica: at least 2 run, and min is 1")
    ]


@pytest.mark.parametrize(
    ("written", "kept", "asked"),
    [
        ("5", "5", "5"),
        (0.8, "800m", "0.8"),
        ("1500m", "1500m", "1.5"),
        ("1000m", "1", "1"),
        ("3000", "3k", "3000"),
        ("0.0005", "500u", "0.0005"),
    ],
)
def test_a_target_is_written_as_the_api_server_keeps_it_and_keda_reads_it(
    written: str | float, kept: str, asked: str
) -> None:
    metric = {"name": "vllm:num_requests_running", "target": written}
    hpa = _objects(made(cluster("east"), _scaled(1, 2, metric)))["HorizontalPodAutoscaler a-decode-l4"]
    [scaled] = hpa.manifest["spec"]["metrics"]
    assert scaled["pods"]["target"] == {"type": "AverageValue", "averageValue": kept}
    server = _watched(server="http://prometheus:9090")
    keda = _objects(made(server, _scaled(1, 2, metric, by="KEDA")))["ScaledObject a-decode-l4"]
    [trigger] = keda.manifest["spec"]["triggers"]
    assert trigger["metadata"]["threshold"] == asked
