"""What was changed by hand, as a part of the status: on clusters and in Google Cloud."""

import copy
from pathlib import Path
from typing import Any

from small_gke import decided, written
from status_fleet import NOW, ROUTE, SERVICE, all_serving, desired_in

from inferfleet.clusters.status.read import LiveCloudCluster, LiveCluster
from inferfleet.clusters.status.status import status
from inferfleet.clusters.status.values import Phase


def test_what_was_changed_on_a_cluster_is_told_and_still_serves(tmp_path: Path) -> None:
    fleet = desired_in(tmp_path)
    healthy = all_serving(fleet)
    objects: dict[Any, Any] = copy.deepcopy(dict(healthy.objects))
    objects[ROUTE]["spec"]["rules"][0]["backendRefs"][0]["kind"] = "Service"
    objects[SERVICE]["metadata"]["labels"]["inferfleet.dev/stack"] = "theirs"
    actual = status(fleet, {"east": LiveCluster(objects, healthy.pods)}, NOW)
    assert (actual.phase, [(drift.thing, drift.field, drift.found) for drift in actual.drift]) == (
        Phase.READY,
        [
            ("east Service ml/qwen-epp", "metadata.labels.inferfleet.dev/stack", "theirs"),
            ("east HTTPRoute ml/qwen", "spec.rules[0].backendRefs[qwen].kind", "Service"),
        ],
    )


def test_a_pool_that_was_changed_in_the_cloud_is_told(tmp_path: Path) -> None:
    desired, cloud = decided(written(tmp_path))
    answer = {"nodePools": [{"name": cloud.pool_names["l4"]}]}
    drift = status(desired, {}, NOW, in_cloud={"east": LiveCloudCluster(answer)}).drift
    assert "pool east/h100: node pool is not there, documents say " + cloud.pool_names["h100"] in map(
        str, drift
    )
    assert status(desired, {}, NOW).drift == ()
