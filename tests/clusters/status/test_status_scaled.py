"""Replicas that somebody else scales: how many should be ready, and which number is a drift."""

import copy
from pathlib import Path
from typing import Any

import pytest
from status_fleet import DOCUMENTS, NOW, POD, WORKLOAD, all_serving, desired_in

from inferfleet.clusters.status.read import LiveCluster
from inferfleet.clusters.status.status import status
from inferfleet.clusters.status.values import Phase

SCALED = DOCUMENTS.replace("  replicas: 1\n", "  replicas: {min: 1, max: 2}\n  scaling: {by: External}\n")


def _with(folder: Path, replicas: int, pods: int, **annotations: str) -> Any:
    fleet = desired_in(folder, DOCUMENTS if annotations else SCALED)
    healthy = all_serving(fleet)
    objects: dict[Any, Any] = copy.deepcopy(dict(healthy.objects))
    objects[WORKLOAD]["spec"]["replicas"] = replicas
    objects[WORKLOAD]["status"]["updatedReplicas"] = pods
    by_scale = {"manager": "kube-controller-manager", "subresource": "scale"}
    metadata = objects[WORKLOAD]["metadata"]
    metadata["managedFields"] = [{**by_scale, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
    metadata["annotations"] = metadata.get("annotations", {}) | annotations
    [engine] = [pod for pod in healthy.pods if pod["metadata"]["name"] == POD]
    more = [copy.deepcopy(engine) for _ in range(pods)]
    for number, pod in enumerate(more):
        pod["metadata"]["name"] = f"{POD}{number}"
    others = [pod for pod in healthy.pods if pod is not engine]
    return status(fleet, {"east": LiveCluster(objects, (*more, *others))}, NOW)


@pytest.mark.parametrize("replicas", [1, 2])
def test_as_many_as_the_scaler_says_should_be_ready(replicas: int, tmp_path: Path) -> None:
    told = _with(tmp_path, replicas, replicas)
    [placement] = told.deployments[0].placements
    assert (placement.phase, placement.wanted, placement.ready) == (Phase.READY, replicas, replicas)
    assert told.drift == ()


def test_fewer_pods_than_the_scaler_says_are_pending(tmp_path: Path) -> None:
    [placement] = _with(tmp_path, 2, 1).deployments[0].placements
    assert (placement.phase, placement.wanted, placement.ready) == (Phase.PENDING, 2, 1)


def test_a_number_that_the_plan_has_no_room_for_is_a_drift(tmp_path: Path) -> None:
    told = _with(tmp_path, 5, 5)
    assert [(drift.field, drift.found, drift.wanted) for drift in told.drift] == [
        ("spec.replicas", "5", "1 to 2")
    ]


def test_a_number_that_is_an_updates_again_is_a_drift_where_an_autoscaler_changed_it(tmp_path: Path) -> None:
    told = _with(tmp_path, 2, 2, **{"pulumi.com/patchForce": "true"})
    assert [(drift.field, drift.found, drift.wanted) for drift in told.drift] == [("spec.replicas", "2", "1")]
    assert _with(tmp_path, 2, 2, other="").drift == ()
