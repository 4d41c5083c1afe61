"""What a cluster with `serving.monitoring` has more than one without it."""

from typing import Any

from small_stack import Document, cluster, deployment, made, service

from inferfleet.desired.transition import without_kinds
from inferfleet.desired.values import Desired, KubeObject

POD_MONITOR = ("monitoring.coreos.com/v1", "PodMonitor")


def _watched(name: str = "east", **monitoring: Any) -> Document:
    return cluster(name, serving={"gateway": {"className": "any"}, "monitoring": monitoring})


def _objects(found: Desired, cluster: str = "east") -> dict[str, KubeObject]:
    [here] = [one for one in found.clusters if one.connection.cluster == cluster]
    return {f"{made.kind} {made.name}": made for made in here.objects}


def test_monitoring_adds_objects_and_changes_none() -> None:
    models = (deployment("a"), deployment("b", namespace="other"), service("s"))
    plain = _objects(made(cluster("east"), *models))
    watched = _objects(made(_watched(engines="PodMonitor", pickers="PodMonitor"), *models))
    assert {name: watched[name] for name in plain} == plain
    assert {name: watched[name].after for name in watched.keys() - plain.keys()} == {
        f"{kind} {name}": (
            f"kubernetes:core/v1:Namespace east/{space}",
            # Kubernetes deletes the Secret of a token whose account is not there.
            *([account] if name.endswith("metrics-reader") and kind != "ServiceAccount" else []),
        )
        for space, model in (("ml", "a"), ("other", "b"))
        for kind, name in (
            ("PodMonitor", f"east/{space}/{model}-decode"),
            ("PodMonitor", f"east/{space}/{model}-epp"),
            ("ServiceAccount", f"east/{space}/inferfleet-metrics-reader"),
            ("Secret", f"east/{space}/inferfleet-metrics-reader"),
            ("ClusterRole", f"east/inferfleet:{space}:metrics-reader"),
            ("ClusterRoleBinding", f"east/inferfleet:{space}:metrics-reader"),
        )
        for account in [f"kubernetes:core/v1:ServiceAccount east/{space}/inferfleet-metrics-reader"]
    }


def test_no_value_of_the_token_is_part_of_what_is_desired() -> None:
    watched = _objects(made(_watched(pickers="PodMonitor"), deployment("a")))
    assert watched["Secret east/ml/inferfleet-metrics-reader"].manifest.keys() == {
        "apiVersion",
        "kind",
        "metadata",
        "type",
    }


def test_objects_of_kinds_that_a_cluster_does_not_know_are_left_out_there_alone() -> None:
    watched = [_watched(name, engines="PodMonitor", pickers="PodMonitor") for name in ("east", "west")]
    found = made(*watched, deployment("a", 2, clusterSelector={}), deployment("b", 2))
    left = without_kinds(found, {"east": frozenset({POD_MONITOR}), "west": frozenset()})
    [east] = [one for one in left.clusters if one.connection.cluster == "east"]
    [before] = [one for one in found.clusters if one.connection.cluster == "east"]
    assert {one.kind for one in before.objects} - {one.kind for one in east.objects} == {"PodMonitor"}
    assert [one for one in before.objects if one.kind != "PodMonitor"] == list(east.objects)
    assert _objects(left, "west") == _objects(found, "west")


def test_several_replicas_of_a_picker_are_scraped_by_the_name_of_their_edition() -> None:
    model = deployment("a", endpointPicker={"replicas": 2})
    found = _objects(made(_watched(pickers="PodMonitor"), model))
    [monitor] = [one for one in found.values() if one.kind == "PodMonitor"]
    [picker] = [one for one in found.values() if one.kind == "Deployment" and one.name.endswith("-epp")]
    assert monitor.name == picker.name
    assert monitor.manifest["spec"]["selector"] == picker.manifest["spec"]["selector"]
